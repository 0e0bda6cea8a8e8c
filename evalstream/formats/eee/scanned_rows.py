"""The rows of some lines as the scanner returns them: records, kinds, and columns."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final

from evalstream.model.row_record import RECORD_BYTES
from evalstream.model.sample_record import ROW_WORDS
from evalstream.parsing.native.binding import COLUMNS
from evalstream.parsing.native.scanner import Scanner

_COLUMN: Final = {name: place for place, name in enumerate(COLUMNS)}
_WORDS: Final = len(COLUMNS)
_RECORD_WORDS: Final = RECORD_BYTES // 8
_SAMPLE_GROUP: Final = 3
"""The index of the word of a sample row that numbers its group."""

_OUTPUT: Final = 6
"""The index of the word of a record that digests the model's output."""


class ScannedRows:
    """The scanner's results for some lines.

    `lines` counts all lines, `kinds` the rows that it took by what they have in common, and
    `records` are their row records. The columns are those of listed rows that it took.
    """

    def __init__(self, scanner: Scanner, first: int) -> None:
        self._scanner, self._words = scanner, scanner.words()
        self.records, self.kinds = scanner.records(), scanner.kinds()
        self.lines, self._first = scanner.line - first, first
        flags = self._all("flags")
        self._taken: Sequence[int] = range(len(flags))
        if 0 in flags:
            self._taken = [place for place, flag in enumerate(flags) if flag]
        self._has_left = len(self._taken) < len(flags)

    def __len__(self) -> int:
        """Return how many rows are listed."""
        return len(self._taken)

    def left(self) -> Sequence[tuple[int, int, int]]:
        """Return index, start and end of the lines that were not taken."""
        if not self._has_left:
            return ()
        columns = map(self._all, ("line", "start", "stop", "flags"))
        return [
            (line - self._first, start, stop)
            for line, start, stop, flags in zip(*columns, strict=True)
            if not flags
        ]

    def column(self, name: str) -> list[int]:
        """Return a column of the listed rows."""
        column = self._all(name)
        return [column[place] for place in self._taken] if self._has_left else column

    def texts(self, name: str, behind: str) -> list[bytes]:
        """Return a text of each listed row; each text ends where the next one starts."""
        texts = self._texts
        places = zip(self.column(name), self.column(behind), strict=True)
        return [texts[start:stop] for start, stop in places]

    def digest(self, place: int) -> str:
        """Return what sample_hash of a listed row should be, if it is wrong."""
        start = self._taken[place] * _WORDS
        digest: str = self._words[start + _COLUMN["digest"] : start + _WORDS].tobytes().hex()
        return digest

    def links(self) -> list[int]:
        """Return the words that link the rows to those of other runs, LINK_WORDS for each."""
        return self._scanner.links()

    def samples(self, groups: Mapping[int, int]) -> array[int]:
        """Return the words of the rows for a comparison; `groups` numbers the row groups."""
        words = array("Q", self._scanner.samples())
        if any(scope != group for scope, group in groups.items()):
            scopes = words[_SAMPLE_GROUP::ROW_WORDS]
            words[_SAMPLE_GROUP::ROW_WORDS] = array("Q", map(groups.__getitem__, scopes))
        return words

    def add_outputs(self, digests: Iterator[int]) -> None:
        """Join digests of the model's output with those of the choices in the records."""
        words = array("Q", self.records)
        both = zip(words[_OUTPUT::_RECORD_WORDS], digests, strict=True)
        words[_OUTPUT::_RECORD_WORDS] = array("Q", [choices ^ said for choices, said in both])
        self.records = words.tobytes()

    @cached_property
    def _texts(self) -> bytes:
        """The texts of the taken rows: few blocks need any."""
        return self._scanner.texts()

    def _all(self, name: str) -> list[int]:
        return self._words[_COLUMN[name] :: _WORDS].tolist()

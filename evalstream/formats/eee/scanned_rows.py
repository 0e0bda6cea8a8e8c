"""The scanner's results for rows, column by column."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from evalstream.model.row_record import RECORD_BYTES
from evalstream.model.sample_record import ROW_WORDS
from evalstream.parsing.native.binding import COLUMNS, Scanner

_COLUMN: Final = {name: place for place, name in enumerate(COLUMNS)}
_WORDS: Final = len(COLUMNS)
_RECORD_WORDS: Final = RECORD_BYTES // 8
_SAMPLE_GROUP: Final = 3
"""The index of the word of a sample row that numbers its group."""

_OUTPUT: Final = 6
"""The index of the word of a record that digests the model's output."""


class ScannedRows:
    """The scanner's results for some lines, column by column, and for the rows that it took.

    `lines` counts all lines, `numbers` are those of the taken rows, `records` are their row
    records, and `doubts` are the rules that may find something in them, as bits.
    """

    def __init__(self, scanner: Scanner, first: int) -> None:
        self._scanner, self._words, self._texts = scanner, scanner.words(), scanner.texts()
        self.records = scanner.records()
        flags = self._all("flags")
        self.lines = len(flags)
        self._kinds = {*flags}
        self._taken: Sequence[int] = range(self.lines)
        self.numbers: Sequence[int] = range(first, first + self.lines)
        if 0 in self._kinds:
            self._taken = [place for place, flag in enumerate(flags) if flag]
            self.numbers = [first + place for place in self._taken]
        self.doubts = self.column("doubts")

    def __len__(self) -> int:
        """Return how many rows were taken."""
        return len(self._taken)

    def left(self) -> Sequence[tuple[int, int, int]]:
        """Return index, start and end of the lines that were not taken."""
        if len(self) == self.lines:
            return ()
        taken = frozenset(self._taken)
        lines = zip(range(self.lines), self._all("start"), self._all("stop"), strict=True)
        return [line for line in lines if line[0] not in taken]

    def column(self, name: str) -> list[int]:
        """Return a column of the taken rows."""
        column = self._all(name)
        return column if len(self) == self.lines else [column[place] for place in self._taken]

    def have(self, flags: int) -> bool:
        """Tell whether a line has one of some flags."""
        return any(kind & flags for kind in self._kinds)

    def deviate(self) -> bool:
        """Tell whether a row deviates from its schema, or is in doubt."""
        return any(self.doubts) or any(self.column("signature"))

    def having(self, flag: int) -> list[int]:
        """Return the numbers of the rows that have a flag."""
        if not self.have(flag):
            return []
        flags = zip(self.numbers, self.column("flags"), strict=True)
        return [number for number, said in flags if said & flag]

    def alike(self) -> Counter[tuple[int, int, int]]:
        """Count the rows with the same group, score (the bits of a double) and flags."""
        return Counter(zip(*map(self.column, ("scope", "score", "flags")), strict=True))

    def texts(self, name: str, behind: str) -> list[bytes]:
        """Return a text of each taken row; each text ends where the next one starts."""
        texts = self._texts
        places = zip(self.column(name), self.column(behind), strict=True)
        return [texts[start:stop] for start, stop in places]

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

    def _all(self, name: str) -> list[int]:
        return self._words[_COLUMN[name] :: _WORDS].tolist()

"""The doc_ids of the rows of one filter: a set in little memory, and the first that repeats.

Also what the docs are, as digests by their ids.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import islice
from operator import gt
from typing import Final

from evalstream.model.data_class import NamedTuple

CHUNK: Final = 4096
"""Number of ids that one number of the set holds, a bit each."""

MOST_CHUNKS: Final = 200_000
"""Above it the ids are too scattered to be compared: about 120 MB."""


class IdRun(NamedTuple):
    """Rows whose doc_ids follow each other, at the same distance of lines."""

    first: int
    rows: int
    line: int
    step: int


class IdRuns:
    """The doc_ids of rows in order, packed into runs."""

    def __init__(self) -> None:
        self.runs: list[IdRun] = []

    @property
    def last(self) -> int:
        """The doc_id of the last row, -1 without rows."""
        return self.runs[-1].first + self.runs[-1].rows - 1 if self.runs else -1

    def add(self, doc_id: int, line: int) -> None:
        """Add a row that comes after the rows so far."""
        if self.runs:
            first, rows, start, step = self.runs[-1]
            if doc_id == first + rows and (rows == 1 or line == start + step * rows):
                step = line - start if rows == 1 else step
                self.runs[-1] = IdRun(first, rows + 1, start, step)
                return
        self.runs.append(IdRun(doc_id, 1, line, 1))


class Repeated(NamedTuple):
    """The first row whose doc_id an earlier row of its filter has."""

    line: int
    doc_id: int


class DocIds:
    """The doc_ids of one filter over a whole file.

    `count` counts distinct ids, `repeats` the rows beyond them, and `first_repeat` is the first
    such row. `is_scattered` says that there are ids in too many places to be compared: then the
    other figures are of some rows only.
    """

    def __init__(self) -> None:
        self.count = self.repeats = 0
        self.first_repeat: Repeated | None = None
        self.highest = -1
        self.is_scattered = False
        self._chunks: dict[int, int] = {}

    def add(self, run: IdRun, shift: int) -> None:
        """Add the rows of a run, whose lines start `shift` lines into the file."""
        self.highest = max(self.highest, run.first + run.rows - 1)
        at, left = run.first, run.rows
        while left and not self.is_scattered:
            chunk, place = divmod(at, CHUNK)
            taken = min(left, CHUNK - place)
            mask = ((1 << taken) - 1) << place
            before = self._chunks.get(chunk, 0)
            if both := before & mask:
                self.repeats += both.bit_count()
                if self.first_repeat is None:
                    doc_id = chunk * CHUNK + _lowest(both)
                    line = shift + run.line + run.step * (doc_id - run.first)
                    self.first_repeat = Repeated(line, doc_id)
            self._chunks[chunk] = before | mask
            self.count += taken - both.bit_count()
            at, left = at + taken, left - taken
            self.is_scattered = len(self._chunks) > MOST_CHUNKS

    def __iter__(self) -> Iterator[int]:
        """Iterate over the ids, in their order."""
        for chunk in sorted(self._chunks):
            bits, first = self._chunks[chunk], chunk * CHUNK
            while bits:
                # Most ids follow each other.
                start = _lowest(bits)
                stop = _lowest(~bits >> start) + start
                yield from range(first + start, first + stop)
                bits = bits >> stop << stop

    def find_missing(self, other: DocIds) -> int | None:
        """Return the lowest id that another filter lacks, None if it has all."""
        for chunk in sorted(self._chunks):
            lacking = self._chunks[chunk] & ~other._chunks.get(chunk, 0)
            if lacking:
                return chunk * CHUNK + _lowest(lacking)
        return None

    def first_gap(self) -> int:
        """Return the lowest id that no row has."""
        chunk = 0
        while self._chunks.get(chunk, 0) == _FULL:
            chunk += 1
        return chunk * CHUNK + _lowest(~self._chunks.get(chunk, 0))


class DocDigests:
    """64 bits of the digests of docs by doc_id, in 16 bytes for each; the last of an id counts."""

    def __init__(self) -> None:
        self._ids, self._digests = array("Q"), array("Q")

    def add(self, doc_ids: range, digests: array[int]) -> None:
        """Add the digests of docs with consecutive ids."""
        self._ids.extend(doc_ids)
        self._digests.extend(digests)

    def select(self, doc_ids: Iterable[int]) -> Iterator[tuple[array[int], array[int]]]:
        """Iterate over rising ids and their digests in batches; 0 is one that is not known."""
        if any(map(gt, self._ids, islice(self._ids, 1, None))):
            order = sorted(range(len(self._ids)), key=self._ids.__getitem__)
            self._ids, self._digests = (
                array("Q", map(one.__getitem__, order)) for one in (self._ids, self._digests)
            )
        left = iter(doc_ids)
        while batch := array("Q", islice(left, CHUNK)):
            known = slice(bisect_right(self._ids, batch[0]) - 1, bisect_right(self._ids, batch[-1]))
            are_all = self._ids[known] == batch
            yield batch, self._digests[known] if are_all else array("Q", map(self._find, batch))

    def _find(self, doc_id: int) -> int:
        place = bisect_right(self._ids, doc_id) - 1
        return self._digests[place] if place >= 0 and self._ids[place] == doc_id else 0


_FULL: Final = (1 << CHUNK) - 1


def _lowest(bits: int) -> int:
    return (bits & -bits).bit_length() - 1

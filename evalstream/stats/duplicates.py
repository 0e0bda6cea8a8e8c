"""Rows that score the same sample, by an index in memory."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, suppress
from enum import IntEnum
from operator import itemgetter
from os import pread
from typing import IO, TYPE_CHECKING, Final

from evalstream.model.data_class import NamedTuple
from evalstream.model.row_record import ABSENT, RECORD_BYTES, SAMPLE_AT, RowRecord, RowRecords
from evalstream.stats.coverage import WORTH_A_TABLE, Coverage
from evalstream.stats.score_sums import fixed_point

if TYPE_CHECKING:
    from evalstream.parsing.native.record_index import Index


BYTES_PER_KEY: Final = 168
"""Bytes of memory that a dict takes for a row, measured on CPython."""


class FirstSeenIndex:
    """Finds the first row with the same digest of its sample or of its input.

    `place` is the byte position of the digest in a record. A compiled table takes a sixth of the
    time of a dict, and at most half of the memory.
    """

    def __init__(self, place: int) -> None:
        self._place, self._rows = place, 0
        self._known: dict[bytes, int] = {}
        self._table: Index | None = None

    def expect(self, rows: int) -> None:
        """Make room for about so many rows, before the first one is added."""
        if rows >= WORTH_A_TABLE:
            self._table = _table()
        if self._table is not None:
            self._table.expect(rows)

    def size(self, more: int) -> int:
        """Return how many bytes of memory it takes, at most, while `more` rows are added."""
        if self._table is not None:
            return self._table.size(more)
        return (self._rows + more) * BYTES_PER_KEY

    def read_from(self, file: int) -> None:
        """Read the digests from a file, by its descriptor, that holds the records of all rows.

        A dict keeps them in memory.
        """
        if self._table is not None:
            self._table.read_from(file)

    def add(self, block: RowRecords) -> list[int] | None:
        """Add rows, and return for each the number of the first row with the same digest.

        Rows are numbered from 0. None means that all rows are new.
        """
        if not self._rows and self._table is None:
            self.expect(len(block))
        start = self._rows
        self._rows += len(block)
        if self._table is not None:
            return self._table.add(block.data, self._place)
        rows = range(start, self._rows)
        firsts = list(map(self._known.setdefault, block.digests(self._place), rows))
        return None if firsts == list(rows) else firsts


def _table() -> Index | None:
    from evalstream.parsing.native.binding import library
    from evalstream.parsing.native.record_index import Index

    loaded = library()
    return None if loaded is None else Index(loaded)


class DuplicateKind(IntEnum):
    """The kinds of duplicate rows, in the order of their codes on one line."""

    OTHER_INPUT = 1
    SAME_INPUT = 2
    SAME_BYTES = 3
    SAME_REPEAT = 4
    UNMARKED_REPEAT = 5
    RENAMED_REPEAT = 6
    RENAMED_COPY = 7
    OTHER_OUTPUT = 8


class DuplicateMatch(NamedTuple):
    """A row that duplicates or contradicts an earlier one, which is on line `earlier`."""

    line: int
    kind: DuplicateKind
    offset: int
    earlier: int


class RowStore:
    """The records of rows, block by block; in a temporary file from `to_file` on."""

    def __init__(self) -> None:
        self._starts: list[tuple[int, int]] = []
        self._blocks: list[RowRecords] = []
        self._rows = 0
        self._file: IO[bytes] | None = None

    @property
    def is_in_file(self) -> bool:
        """Whether the records are in a file."""
        return self._file is not None

    def add(self, block: RowRecords, shift: int) -> None:
        """Add some rows, whose lines start `shift` lines into the file."""
        self._starts.append((self._rows, shift))
        self._rows += len(block)
        if self._file is None:
            self._blocks.append(block)
        else:
            self._file.write(block.data)
            self._file.flush()

    def to_file(self) -> int | None:
        """Move all records to a file, in their order, and return its descriptor.

        Returns None, and keeps the records in memory, if no temporary file can be written.
        """
        import tempfile

        with ExitStack() as failing, suppress(OSError):
            file = failing.enter_context(tempfile.TemporaryFile(prefix="evalstream-"))
            file.writelines(block.data for block in self._blocks)
            file.flush()
            failing.pop_all()
            self._file = file
            self._blocks.clear()
            return file.fileno()
        return None

    def row(self, number: int) -> tuple[RowRecord, int]:
        """Return the record of a row, by its number from 0, and its line in the file."""
        place = bisect_right(self._starts, number, key=itemgetter(0)) - 1
        start, shift = self._starts[place]
        if self._file is None:
            record = self._blocks[place].record(number - start)
        else:
            data = pread(self._file.fileno(), RECORD_BYTES, number * RECORD_BYTES)
            record = RowRecords(data).record(0)
        return record, record.line + shift

    def release(self) -> Iterator[tuple[int, RowRecords]]:
        """Iterate over all blocks with their first line numbers, and remove them from the store."""
        self._blocks.reverse()
        if self._file is not None:
            self._file.seek(0)
        stops = [*(start for start, _ in self._starts[1:]), self._rows]
        for (start, shift), stop in zip(self._starts, stops, strict=False):
            if self._file is None:
                yield shift, self._blocks.pop()
            else:
                yield shift, RowRecords(self._file.read((stop - start) * RECORD_BYTES))
        self.close()

    def close(self) -> None:
        """Delete the temporary file."""
        if self._file is not None:
            self._file.close()


class SampleIndex:
    """Finds rows that score a sample which an earlier row scores.

    `store` holds all rows added so far, including the block that is being added. `grouped` counts
    the rows whose sample has several rows.
    """

    def __init__(self, store: RowStore) -> None:
        self.coverage = Coverage()
        self.grouped = 0
        self._firsts, self._store = FirstSeenIndex(SAMPLE_AT), store
        self._groups: dict[bytes, SampleGroup] = {}
        self._rows = 0
        self.size, self.read_from = self._firsts.size, self._firsts.read_from
        self.expect = self._firsts.expect

    def add(self, block: RowRecords, shift: int) -> list[DuplicateMatch]:
        """Add rows, whose lines start `shift` lines into the file, and return their matches."""
        firsts, start = self._firsts.add(block), self._rows
        self._rows += len(block)
        if firsts is None:
            self.coverage.add_block(block)
            return []
        places, words = block.places(), block.sample_words()
        self.coverage.add_marks(places, block.marks())
        new_rows = [index for index, first in enumerate(firsts, start) if first == index]
        self.coverage.add_firsts(
            [places[i - start] for i in new_rows], [words[i - start] for i in new_rows]
        )
        matches: list[DuplicateMatch] = []
        for index, first in enumerate(firsts):
            if first != start + index:
                matches += self._later(block.record(index), shift, first, words[index])
        return matches

    def _later(
        self, record: RowRecord, shift: int, first: int, word: int
    ) -> Iterator[DuplicateMatch]:
        """Add a row whose sample row number `first` scores first."""
        group = self._groups.get(record.sample)
        if group is None:
            group = self._groups[record.sample] = SampleGroup(*self._store.row(first))
        self.grouped += 1
        line = record.line + shift
        found = list(group.add(record, line))
        group.cover(record, word, self.coverage, is_repeated=is_repetition(found))
        for kind, earlier in found:
            yield DuplicateMatch(line, kind, record.offset, earlier)


_AGAIN: Final = frozenset(
    {DuplicateKind.SAME_BYTES, DuplicateKind.SAME_REPEAT, DuplicateKind.UNMARKED_REPEAT}
)
"""The kinds that mean: the row repeats an earlier one and does not count as a repeat."""


def is_repetition(found: Iterable[tuple[DuplicateKind, int]]) -> bool:
    """Tell from a row's matches whether it only repeats an earlier row."""
    return any(kind in _AGAIN for kind, _ in found)


class SampleGroup:
    """The rows of one sample that has several rows.

    `places` holds for each result the number of repeats of the sample and the sum of its scores
    there: a float while there is one row, later in units of 2**-1074.
    """

    __slots__ = ("contents", "input", "line", "outputs", "places", "repeats")

    def __init__(self, first: RowRecord, line: int) -> None:
        self.line, self.input = line, first.input
        self.contents = {first.content: line}
        result = first.result_identity
        self.repeats = {(result, first.mark): line}
        self.outputs = {first.mark: (first.output, result, line)}
        self.places: dict[int, tuple[int, float | int | None]] = {first.place: (1, first.score)}

    def add(self, record: RowRecord, line: int) -> Iterator[tuple[DuplicateKind, int]]:
        """Add one more row, and return the kinds of its matches with the earlier lines."""
        earlier = self.contents.setdefault(record.content, line)
        if earlier != line:
            yield DuplicateKind.SAME_BYTES, earlier
        else:
            yield from self.add_unless_copy(record, line)

    def add_unless_copy(self, record: RowRecord, line: int) -> Iterator[tuple[DuplicateKind, int]]:
        """Add a row as `add` does, given that no earlier row has the same bytes."""
        if record.input != self.input and ABSENT not in (record.input, self.input):
            yield DuplicateKind.OTHER_INPUT, self.line
        scored = record.result_identity
        repeated = self.repeats.setdefault((scored, record.mark), line)
        if repeated != line:
            yield (
                DuplicateKind.SAME_REPEAT if record.mark else DuplicateKind.UNMARKED_REPEAT,
                repeated,
            )
            return
        output, other, before = self.outputs.setdefault(record.mark, (record.output, scored, line))
        if output != record.output and other != scored and output and record.output:
            yield DuplicateKind.OTHER_OUTPUT, before

    def cover(self, record: RowRecord, word: int, coverage: Coverage, *, is_repeated: bool) -> None:
        """Count one more row for its result; with `is_repeated` it does not count as a repeat."""
        place = record.place
        if place not in self.places:
            self.places[place] = 1, record.score
            coverage.add(place, word, first=False)
            return
        repeats, total = self.places[place]
        if not is_repeated:
            coverage.repeat(place, repeats)
            repeats += 1
        before = fixed_point(total) if isinstance(total, float) else total
        score = fixed_point(record.score)
        if before is None or score is None:
            coverage.pair(place, None)
            self.places[place] = repeats, None
            return
        coverage.pair(place, before * score)
        self.places[place] = repeats, before + score

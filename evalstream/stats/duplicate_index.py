"""Index of duplicate rows over a whole file, in memory and on disk past a memory limit."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, suppress
from operator import itemgetter
from os import pread
from typing import IO, TYPE_CHECKING, Final

from evalstream.model.row_record import (
    ABSENT,
    INPUT_AT,
    RECORD_BYTES,
    SAMPLE_AT,
    RowRecord,
    RowRecords,
)
from evalstream.model.temporary_file import open_temporary_file
from evalstream.stats.coverage import WORTH_A_TABLE, Coverage
from evalstream.stats.duplicates import (
    DuplicateMatch,
    InputGroup,
    SameSampleRows,
    SampleGroup,
    is_repetition,
)

if TYPE_CHECKING:
    from evalstream.parsing.native.record_index import Index
    from evalstream.stats.spill import Spill

BYTES_PER_KEY: Final = 168
"""Bytes of memory that a dict takes for a row, measured on CPython."""

BYTES_PER_ROW: Final = 440
"""Most memory per row in bytes: its record and two dict entries."""

BYTES_PER_LATER_ROW: Final = 980
"""More bytes for a row whose sample an earlier row scores, measured for pairs of rows."""

BYTES_PER_GROUPED_ROW: Final = 700
"""More bytes for a row whose input an earlier row shows under another sample."""

BYTES_PER_EXPECTED_ROW: Final = 32
"""Most bytes that the tables take for a row that is expected."""

RECORDS_SHARE: Final = 8
"""Records may take one in so many bytes of the limit; the tables need the others."""

_MOST_BYTES_PER_ROW: Final = BYTES_PER_ROW + BYTES_PER_LATER_ROW + BYTES_PER_GROUPED_ROW


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
        with ExitStack() as failing, suppress(OSError):
            file = failing.enter_context(open_temporary_file())
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


class TooManyGrouped(Exception):
    """More rows are in groups than memory is meant for."""


class FirstSeenIndex:
    """Finds the first row with the same digest of its sample or of its input.

    `place` is the byte position of the digest in a record. A compiled table takes a sixth of the
    time of a dict, and at most half of the memory. `store` holds all rows added so far, including
    the block that is being added, and `grouped` counts the rows that are in a group of several;
    above `most_grouped` of them, TooManyGrouped is raised.
    """

    def __init__(self, place: int, store: RowStore, most_grouped: float = math.inf) -> None:
        self.grouped = 0
        self._most_grouped = most_grouped
        self._place, self._store, self._rows = place, store, 0
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

    def count_grouped(self) -> None:
        """Count one more row in a group."""
        self.grouped += 1
        if self.grouped > self._most_grouped:
            raise TooManyGrouped

    def find_firsts(self, block: RowRecords) -> list[int] | None:
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


class SampleIndex(FirstSeenIndex):
    """Finds rows that score a sample which an earlier row scores."""

    def __init__(self, store: RowStore, most_grouped: float = math.inf) -> None:
        super().__init__(SAMPLE_AT, store, most_grouped)
        self.coverage = Coverage()
        self._groups: dict[bytes, SampleGroup] = {}

    def add(self, block: RowRecords, shift: int) -> list[DuplicateMatch]:
        """Add rows, whose lines start `shift` lines into the file, and return their matches."""
        start, firsts = self._rows, self.find_firsts(block)
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
        self.count_grouped()
        line = record.line + shift
        found = list(group.add(record, line))
        group.cover(record, word, self.coverage, is_repeated=is_repetition(found))
        for kind, earlier in found:
            yield DuplicateMatch(line, kind, record.offset, earlier)


class InputIndex(FirstSeenIndex):
    """Finds rows whose input an earlier row shows under another sample_id or evaluation_name."""

    def __init__(self, store: RowStore, most_grouped: float = math.inf) -> None:
        super().__init__(INPUT_AT, store, most_grouped)
        self._same = SameSampleRows()
        self._groups: dict[bytes, InputGroup] = {}

    def add(self, block: RowRecords, shift: int) -> list[DuplicateMatch]:
        """Add rows, whose lines start `shift` lines into the file, and return their matches."""
        start, firsts = self._rows, self.find_firsts(block)
        if firsts is None:
            return []
        matches: list[DuplicateMatch] = []
        for number, first in enumerate(firsts, start):
            if first == number or (shown := block.digest(number - start, INPUT_AT)) == ABSENT:
                continue
            group = self._groups.get(shown)
            if group is None:
                if self._store.row(first)[0].sample == block.digest(number - start, SAMPLE_AT):
                    self._same.add(first, number)
                    continue
                group = self._groups[shown] = self._group(first)
            self.count_grouped()
            record = block.record(number - start)
            line = record.line + shift
            for kind, earlier in group.add(record, line):
                matches.append(DuplicateMatch(line, kind, record.offset, earlier))
        return matches

    def _group(self, first: int) -> InputGroup:
        """Create a group from a first row and the rows of the same sample and input."""
        group = InputGroup()
        for row in self._same.rows_as(first):
            list(group.add(*self._store.row(row)))
            self.count_grouped()
        return group


class DuplicateIndex:
    """Compares the rows of a file with all earlier rows of the same file.

    `add` returns the matches of each block at once while the tables that find them fit in
    `memory_limit` bytes; the records themselves go to a temporary file before. Above the limit
    records are searched in parts: `is_spilled` becomes true, and `late_matches` returns the matches
    of all later rows, ordered by line. `coverage` is complete once `late_matches` is exhausted.
    """

    def __init__(self, memory_limit: int) -> None:
        self._limit = memory_limit
        self._store = RowStore()
        self._samples, self._inputs = SampleIndex(self._store), InputIndex(self._store)
        self._rows = self._reported = 0
        self._may_move_records = True
        self._spill: Spill | None = None

    @property
    def is_spilled(self) -> bool:
        """Whether later matches are returned by `late_matches`."""
        return self._spill is not None

    @property
    def coverage(self) -> Coverage:
        """The samples that the rows cover."""
        return self._samples.coverage if self._spill is None else self._spill.coverage

    def expect(self, rows: int) -> None:
        """Make room for about so many rows if half of the limit is enough, before any is added."""
        if rows * BYTES_PER_EXPECTED_ROW <= self._limit // 2:
            self._samples.expect(rows)
            self._inputs.expect(rows)

    def add(self, block: RowRecords, shift: int) -> Iterable[DuplicateMatch]:
        """Add the rows of the next block, which starts `shift` lines into the file."""
        if self._spill is None and self._may_move_records:
            self._move_records(len(block))
        if self._spill is None and not self._fits(len(block)):
            self._spill = self._move_to_disk()
        if self._spill is not None:
            self._spill.add(block, shift)
            return ()
        self._rows += len(block)
        self._store.add(block, shift)
        self._reported = shift + (block.record(len(block) - 1).line if len(block) else 0)
        matches = self._samples.add(block, shift) + self._inputs.add(block, shift)
        return sorted(matches) if matches else ()

    def late_matches(self) -> Iterator[DuplicateMatch]:
        """Iterate over the matches that `add` did not return, ordered by line."""
        if self._spill is not None:
            for match in self._spill.matches():
                if match.line > self._reported:
                    yield match

    def close(self) -> None:
        """Delete the temporary files."""
        self._store.close()
        if self._spill is not None:
            self._spill.close()

    def _fits(self, more: int) -> bool:
        used = 0 if self._store.is_in_file else (self._rows + more) * RECORD_BYTES
        used += self._samples.size(more) + self._inputs.size(more)
        used += self._samples.grouped * BYTES_PER_LATER_ROW
        used += self._inputs.grouped * BYTES_PER_GROUPED_ROW
        return used <= self._limit

    def _move_records(self, more: int) -> None:
        """Move the records to a file, from which the tables read them, before they are too many.

        Where no file can be written they stay in memory, up to the limit.
        """
        most = self._limit // RECORDS_SHARE
        if not self._rows or (self._rows + more) * RECORD_BYTES <= most:
            return
        self._may_move_records = False
        file = self._store.to_file()
        if file is not None:
            self._samples.read_from(file)
            self._inputs.read_from(file)

    def _move_to_disk(self) -> Spill:
        """Move every record to parts; the matches of these rows are already reported."""
        from evalstream.stats.spill import Spill

        store, self._store = self._store, RowStore()
        self._samples, self._inputs = SampleIndex(self._store), InputIndex(self._store)
        capacity = max(1, self._limit // _MOST_BYTES_PER_ROW)
        spill = Spill(capacity, _search_samples, _search_inputs)
        for shift, block in store.release():
            spill.add(block, shift)
        return spill


def _search_samples(
    block: RowRecords, most_grouped: float, coverage: Coverage
) -> list[DuplicateMatch] | None:
    """Find the matches of the samples of some rows alone, and add these to `coverage`."""
    index = SampleIndex(_store_block(block), most_grouped)
    with suppress(TooManyGrouped):
        matches = index.add(block, 0)
        coverage.merge(index.coverage)
        return matches
    return None


def _search_inputs(block: RowRecords, most_grouped: float) -> list[DuplicateMatch] | None:
    """Find the matches of the inputs of some rows alone."""
    with suppress(TooManyGrouped):
        return InputIndex(_store_block(block), most_grouped).add(block, 0)
    return None


def _store_block(block: RowRecords) -> RowStore:
    store = RowStore()
    store.add(block, 0)
    return store

"""Indexes of samples, scores and inputs that repeat over a whole file, in memory or on disk."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from evalstream.model.row_record import (
    ABSENT,
    INPUT_AT,
    RECORD_BYTES,
    SAMPLE_AT,
    RowRecord,
    RowRecords,
)
from evalstream.stats.duplicates import (
    Coverage,
    DuplicateKind,
    DuplicateMatch,
    FirstSeenIndex,
    RowStore,
    SampleIndex,
)

if TYPE_CHECKING:
    from evalstream.stats.spill import Spill


class InputIndex:
    """Finds rows whose input an earlier row shows under another sample_id or evaluation_name.

    `store` holds all rows added so far, including the block that is being added. `grouped` counts
    the rows whose input has several names.
    """

    def __init__(self, store: RowStore) -> None:
        self.grouped = 0
        self._firsts, self._store = FirstSeenIndex(INPUT_AT), store
        self._same = _SameSampleRows()
        self._groups: dict[bytes, InputGroup] = {}
        self._rows = 0
        self.size, self.read_from = self._firsts.size, self._firsts.read_from
        self.expect = self._firsts.expect

    def add(self, block: RowRecords, shift: int) -> list[DuplicateMatch]:
        """Add rows, whose lines start `shift` lines into the file, and return their matches."""
        firsts, start = self._firsts.add(block), self._rows
        self._rows += len(block)
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
            self.grouped += 1
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
            self.grouped += 1
        return group


class _SameSampleRows:
    """Links each row to the earlier rows with the same sample and the same input.

    For each such row `before` holds the number of the previous one, and for each first row `last`
    that of the last one: 16 bytes a row, where an object for each input would take 300.
    """

    def __init__(self) -> None:
        self._before, self._last = array("Q"), array("Q")

    def add(self, first: int, number: int) -> None:
        """Add a row with the same sample and input as row `first`."""
        for numbers in (self._before, self._last):
            numbers.frombytes(bytes(8 * (number + 1 - len(numbers))))
        # No row comes before row 0, so 0 means: none.
        self._before[number] = self._last[first] or first
        self._last[first] = number

    def rows_as(self, first: int) -> list[int]:
        """Return row `first` and all rows with the same sample and input, in their order."""
        rows = []
        row = self._last[first] if first < len(self._last) else 0
        while row not in (0, first):
            rows.append(row)
            row = self._before[row]
        return [first, *reversed(rows)]


class FirstUses:
    """The first row of each evaluation_name and of each result among rows that show one input."""

    __slots__ = ("_names", "_results")

    def __init__(self) -> None:
        self._names: dict[int, int] = {}
        self._results: dict[int, tuple[bytes, int]] = {}

    def add(self, record: RowRecord, line: int) -> tuple[int, bytes, int]:
        """Add a row; return the line of its name's first row, and key and line of its result's."""
        named = self._names.setdefault(record.name, line)
        return named, *self._results.setdefault(record.result_identity, (record.key, line))


class InputGroup:
    """Rows that show one input under several sample_ids or evaluation_names.

    `samples` are the samples seen so far; `firsts` holds the first rows of names and results,
    `scored` the first row of each sample in a result, and `repeats` the first row of each repeat
    there.
    """

    __slots__ = ("firsts", "repeats", "samples", "scored")

    def __init__(self, firsts: FirstUses | None = None) -> None:
        self.samples: set[bytes] = set()
        self.firsts = FirstUses() if firsts is None else firsts
        self.scored: dict[tuple[int, bytes], tuple[bytes, int]] = {}
        self.repeats: dict[tuple[int, bytes, int], tuple[bytes, float, int]] = {}

    def add(self, record: RowRecord, line: int) -> Iterator[tuple[DuplicateKind, int]]:
        """Add one more row, and return the kinds of its matches with the earlier lines."""
        is_new = record.sample not in self.samples
        self.samples.add(record.sample)
        named, key, before = self.firsts.add(record, line)
        if is_new and named != line:
            yield DuplicateKind.SAME_INPUT, named
        elif is_new and record.result_identity and key != record.key:
            yield DuplicateKind.SAME_INPUT, before
        if record.result_identity:
            yield from self._find_renamed(record, line)

    def _find_renamed(self, record: RowRecord, line: int) -> Iterator[tuple[DuplicateKind, int]]:
        """Find an earlier row that scores the sample under another name in the same result."""
        sample, first = self.scored.setdefault(
            (record.result_identity, record.key), (record.sample, line)
        )
        other, score, repeated = self.repeats.setdefault(
            (record.result_identity, record.key, record.mark), (record.sample, record.score, line)
        )
        if other != record.sample:
            is_copy = record.mark == 0 and score != record.score
            yield DuplicateKind.RENAMED_COPY if is_copy else DuplicateKind.RENAMED_REPEAT, repeated
        elif sample != record.sample:
            yield DuplicateKind.RENAMED_COPY, first


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
        spill = Spill(max(1, self._limit // _MOST_BYTES_PER_ROW))
        for shift, block in store.release():
            spill.add(block, shift)
        return spill

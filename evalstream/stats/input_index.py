"""Rows with the same input under several sample_ids or evaluation_names: an index in memory."""

from __future__ import annotations

from array import array
from collections.abc import Iterator

from evalstream.model.row_record import ABSENT, INPUT_AT, SAMPLE_AT, RowRecord, RowRecords
from evalstream.stats.duplicates import DuplicateKind, DuplicateMatch, FirstSeenIndex, RowStore


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

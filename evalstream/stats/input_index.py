"""Which rows show the same input under several sample_ids or evaluation_names: exact, in memory."""

from __future__ import annotations

from array import array
from collections.abc import Iterator

from evalstream.model.row_record import ABSENT, INPUT_AT, SAMPLE_AT, RowRecord, RowRecords
from evalstream.stats.duplicates import DuplicateKind, DuplicateMatch, RowStore
from evalstream.stats.first_seen import FirstSeenIndex


class InputIndex:
    """Finds rows whose input an earlier row showed under another sample_id or evaluation_name.

    `store` holds all rows that were taken, those just taken too. `grouped` counts the rows that
    show an input under several.
    """

    def __init__(self, store: RowStore) -> None:
        self.grouped = 0
        self._firsts, self._store = FirstSeenIndex(INPUT_AT), store
        self._alike = _Alike()
        self._groups: dict[bytes, Shown] = {}
        self._rows = 0

    def add(self, block: RowRecords, shift: int) -> list[DuplicateMatch]:
        """Take some rows, whose lines start `shift` lines into the file; return what is odd."""
        firsts, start = self._firsts.add(block), self._rows
        self._rows += len(block)
        if firsts is None:
            return []
        remarks: list[DuplicateMatch] = []
        inputs, samples = block.digests(INPUT_AT), block.digests(SAMPLE_AT)
        for number, (first, shown) in enumerate(zip(firsts, inputs, strict=True), start):
            if first == number or shown == ABSENT:
                continue
            group = self._groups.get(shown)
            if group is None:
                if self._store.row(first)[0].sample == samples[number - start]:
                    self._alike.add(first, number)
                    continue
                group = self._groups[shown] = self._group(first)
            self.grouped += 1
            record = block.record(number - start)
            line = record.line + shift
            for kind, earlier in group.look(record, line):
                remarks.append(DuplicateMatch(line, kind, record.offset, earlier))
        return remarks

    def _group(self, first: int) -> Shown:
        """Begin a group with a first row and those that are like it."""
        group = Shown()
        for row in self._alike.rows_like(first):
            list(group.look(*self._store.row(row)))
            self.grouped += 1
        return group


class _Alike:
    """Which rows name the same sample and show the same input as the first that showed it.

    For each such row `before` holds the number of the one before it, and for each first row
    `last` that of the last one: 16 bytes a row, where an object for each input would take 300.
    """

    def __init__(self) -> None:
        self._before, self._last = array("Q"), array("Q")

    def add(self, first: int, number: int) -> None:
        """Take a row that is like a first one."""
        for numbers in (self._before, self._last):
            numbers.frombytes(bytes(8 * (number + 1 - len(numbers))))
        # No row comes before row 0, so 0 stands for none.
        self._before[number] = self._last[first] or first
        self._last[first] = number

    def rows_like(self, first: int) -> list[int]:
        """Return a first row and all that are like it, in their order."""
        rows = []
        row = self._last[first] if first < len(self._last) else 0
        while row not in (0, first):
            rows.append(row)
            row = self._before[row]
        return [first, *reversed(rows)]


class FirstsShown:
    """The first row of each evaluation_name and of each result among rows that show one input."""

    __slots__ = ("_names", "_results")

    def __init__(self) -> None:
        self._names: dict[int, int] = {}
        self._results: dict[int, tuple[bytes, int]] = {}

    def add(self, record: RowRecord, line: int) -> tuple[int, bytes, int]:
        """Take a row; return the line of its name's first row, and key and line of its result's."""
        named = self._names.setdefault(record.name, line)
        return named, *self._results.setdefault(record.scored, (record.key, line))


class Shown:
    """Rows that show one input under several sample_ids or evaluation_names.

    `samples` are those that were seen; `firsts` holds the first rows of names and results, `scored`
    that of each sample in a result, and `repeats` that of each of its repeats there.
    """

    __slots__ = ("firsts", "repeats", "samples", "scored")

    def __init__(self, firsts: FirstsShown | None = None) -> None:
        self.samples: set[bytes] = set()
        self.firsts = FirstsShown() if firsts is None else firsts
        self.scored: dict[tuple[int, bytes], tuple[bytes, int]] = {}
        self.repeats: dict[tuple[int, bytes, int], tuple[bytes, float, int]] = {}

    def look(self, record: RowRecord, line: int) -> Iterator[tuple[DuplicateKind, int]]:
        """Take one more row, and say what is odd about it and with which earlier line."""
        is_new = record.sample not in self.samples
        self.samples.add(record.sample)
        named, key, before = self.firsts.add(record, line)
        if is_new and named != line:
            yield DuplicateKind.SAME_INPUT, named
        elif is_new and record.scored and key != record.key:
            yield DuplicateKind.SAME_INPUT, before
        if record.scored:
            yield from self._renamed(record, line)

    def _renamed(self, record: RowRecord, line: int) -> Iterator[tuple[DuplicateKind, int]]:
        """Say whether the sample is scored under another name already, in the same result."""
        sample, first = self.scored.setdefault((record.scored, record.key), (record.sample, line))
        other, score, repeated = self.repeats.setdefault(
            (record.scored, record.key, record.mark), (record.sample, record.score, line)
        )
        if other != record.sample:
            is_copy = record.mark == 0 and score != record.score
            yield DuplicateKind.RENAMED_COPY if is_copy else DuplicateKind.RENAMED_REPEAT, repeated
        elif sample != record.sample:
            yield DuplicateKind.RENAMED_COPY, first

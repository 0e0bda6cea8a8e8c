"""Rows that score the same sample, or show the same input: which of them are duplicates."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from enum import IntEnum
from typing import Final

from evalstream.model.data_class import NamedTuple
from evalstream.model.row_record import ABSENT, RowRecord
from evalstream.stats.coverage import Coverage
from evalstream.stats.tally import fixed_point


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
        result, (repeats, total) = coverage.of(place), self.places[place]
        if not is_repeated:
            result.add_repeat(repeats)
            repeats += 1
        before = fixed_point(total) if isinstance(total, float) else total
        score = fixed_point(record.score)
        if before is None or score is None:
            result.add_product(None)
            self.places[place] = repeats, None
        else:
            result.add_product(before * score)
            self.places[place] = repeats, before + score


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


class SameSampleRows:
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

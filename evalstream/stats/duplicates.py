"""Which rows score the same sample, and which samples share an input: exact, in memory."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from operator import itemgetter
from typing import Final, NamedTuple

from evalstream.model.row_record import ABSENT, SAMPLE_AT, RowRecord, RowRecords
from evalstream.stats.first_seen import FirstSeenIndex
from evalstream.stats.score_sums import fixed

_MODULUS: Final = 1 << 64


class DuplicateKind(IntEnum):
    """What is remarkable about a row; the order is that of the codes on one line."""

    OTHER_INPUT = 1
    SAME_INPUT = 2
    SAME_BYTES = 3
    SAME_REPEAT = 4
    UNMARKED_REPEAT = 5
    RENAMED_REPEAT = 6
    RENAMED_COPY = 7
    OTHER_OUTPUT = 8


class DuplicateMatch(NamedTuple):
    """A row that has to do with an earlier one, on line `earlier`."""

    line: int
    kind: DuplicateKind
    offset: int
    earlier: int


@dataclass(slots=True)
class Cover:
    """The samples that the rows of one result cover.

    `samples` counts distinct ones, `firsts` those that no row of another result had scored
    before, and `digest` is the same for the same set of samples (a sum of their digests).
    `repeats` counts the rows that are the first with their repeat mark, and `squares` sums up the
    squares of how many of them each sample has. `products` sums up the products of the scores of
    all pairs of rows that score the same sample, in units of 2**-2148, each pair once; None where
    a score is no double.
    """

    samples: int = 0
    firsts: int = 0
    digest: int = 0
    repeats: int = 0
    squares: int = 0
    products: int | None = 0

    @property
    def is_even(self) -> bool:
        """Whether all samples have the same number of repeats."""
        # Numbers are all the same where the square of their mean is the mean of their squares.
        return self.samples * self.squares == self.repeats * self.repeats

    def merge(self, more: Cover) -> None:
        """Add the samples of other rows; no sample may be in both."""
        self.samples += more.samples
        self.firsts += more.firsts
        self.digest = (self.digest + more.digest) % _MODULUS
        self.repeats += more.repeats
        self.squares += more.squares
        known = self.products is not None and more.products is not None
        self.products = (self.products or 0) + (more.products or 0) if known else None


@dataclass(slots=True)
class Coverage:
    """The samples covered, by the place of the result; -1 for rows that join none."""

    covers: dict[int, Cover] = field(default_factory=dict)

    def of(self, place: int) -> Cover:
        """Return the cover of a result."""
        return self.covers.setdefault(place, Cover())

    def distinct(self) -> int:
        """Return the number of samples, whatever result they are scored under."""
        return sum(cover.firsts for cover in self.covers.values())

    def merge(self, other: Coverage) -> None:
        """Add the samples of other rows; no sample may be in both."""
        for place, more in other.covers.items():
            self.of(place).merge(more)

    def add(self, place: int, word: int, *, first: bool) -> None:
        """Take a sample that is new to a result."""
        cover = self.of(place)
        cover.samples += 1
        cover.firsts += first
        cover.digest = (cover.digest + word) % _MODULUS
        cover.repeats += 1
        cover.squares += 1

    def repeat(self, place: int, before: int) -> None:
        """Take one more repeat of a sample that has some `before`."""
        cover = self.of(place)
        cover.repeats += 1
        cover.squares += 2 * before + 1

    def pair(self, place: int, product: int | None) -> None:
        """Take the product of a row's score and the sum of the scores of its sample before it."""
        cover = self.of(place)
        known = cover.products is not None and product is not None
        cover.products = (cover.products or 0) + (product or 0) if known else None

    def add_firsts(self, places: Sequence[int], words: Sequence[int]) -> None:
        """Take samples that no row had scored before."""
        counts = Counter(places)
        if len(counts) > 1:
            for place, word in zip(places, words, strict=True):
                self.add(place, word, first=True)
            return
        for place, count in counts.items():
            self.of(place).merge(Cover(count, count, sum(words), count, count))


class RowStore:
    """The records of rows, block by block."""

    def __init__(self) -> None:
        self._blocks: list[tuple[int, int, RowRecords]] = []
        self._rows = 0

    def add(self, block: RowRecords, shift: int) -> None:
        """Take some rows, whose lines start `shift` lines into the file."""
        self._blocks.append((self._rows, shift, block))
        self._rows += len(block)

    def row(self, number: int) -> tuple[RowRecord, int]:
        """Return a row by its number from 0, and its line in the file."""
        place = bisect_right(self._blocks, number, key=itemgetter(0)) - 1
        start, shift, block = self._blocks[place]
        record = block.record(number - start)
        return record, record.line + shift

    def release(self) -> Iterator[tuple[int, RowRecords]]:
        """Give all blocks away, with how far into the file they start."""
        self._blocks.reverse()
        while self._blocks:
            _, shift, block = self._blocks.pop()
            yield shift, block


class SampleIndex:
    """Finds rows that score a sample which an earlier row scores already.

    `store` holds all rows that were taken, those just taken too.
    """

    def __init__(self, store: RowStore) -> None:
        self.coverage = Coverage()
        self.grouped = 0
        self._firsts, self._store = FirstSeenIndex(SAMPLE_AT), store
        self._groups: dict[bytes, SampleGroup] = {}
        self._rows = 0

    def add(self, block: RowRecords, shift: int) -> list[DuplicateMatch]:
        """Take some rows, whose lines start `shift` lines into the file; return what is odd."""
        places, words = block.places(), block.sample_words()
        firsts, start = self._firsts.add(block), self._rows
        self._rows += len(block)
        if firsts is None:
            self.coverage.add_firsts(places, words)
            return []
        fresh = [index for index, first in enumerate(firsts, start) if first == index]
        self.coverage.add_firsts(
            [places[i - start] for i in fresh], [words[i - start] for i in fresh]
        )
        remarks: list[DuplicateMatch] = []
        for index, first in enumerate(firsts):
            if first != start + index:
                remarks += self._later(block.record(index), shift, first, words[index])
        return remarks

    def _later(
        self, record: RowRecord, shift: int, first: int, word: int
    ) -> Iterator[DuplicateMatch]:
        """Take a row whose sample was first scored by row number `first`."""
        group = self._groups.get(record.sample)
        if group is None:
            group = self._groups[record.sample] = SampleGroup(*self._store.row(first))
        self.grouped += 1
        line = record.line + shift
        found = list(group.look(record, line))
        group.cover(record, word, self.coverage, is_again=says_again(found))
        for kind, earlier in found:
            yield DuplicateMatch(line, kind, record.offset, earlier)


_AGAIN: Final = frozenset(
    {DuplicateKind.SAME_BYTES, DuplicateKind.SAME_REPEAT, DuplicateKind.UNMARKED_REPEAT}
)
"""What is said of a row that is no repeat of its own."""


def says_again(found: Iterable[tuple[DuplicateKind, int]]) -> bool:
    """Tell whether a row is no repeat of its own, by what is odd about it."""
    return any(kind in _AGAIN for kind, _ in found)


class SampleGroup:
    """The rows of one sample, once there are several.

    `places` holds for each result how many repeats of the sample it has, and the sum of its scores
    there: a float as long as there is one row, then in units of 2**-1074.
    """

    __slots__ = ("contents", "input", "line", "outputs", "places", "repeats")

    def __init__(self, first: RowRecord, line: int) -> None:
        self.line, self.input = line, first.input
        self.contents = {first.content: line}
        result = first.scored
        self.repeats = {(result, first.mark): line}
        self.outputs = {first.mark: (first.output, result, line)}
        self.places: dict[int, tuple[int, float | int | None]] = {first.place: (1, first.score)}

    def look(self, record: RowRecord, line: int) -> Iterator[tuple[DuplicateKind, int]]:
        """Take one more row, and say what is odd about it and with which earlier line."""
        earlier = self.contents.setdefault(record.content, line)
        if earlier != line:
            yield DuplicateKind.SAME_BYTES, earlier
        else:
            yield from self.look_at_new(record, line)

    def look_at_new(self, record: RowRecord, line: int) -> Iterator[tuple[DuplicateKind, int]]:
        """Do as `look` does, for a row of which no copy came before."""
        if record.input != self.input and ABSENT not in (record.input, self.input):
            yield DuplicateKind.OTHER_INPUT, self.line
        scored = record.scored
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

    def cover(self, record: RowRecord, word: int, coverage: Coverage, *, is_again: bool) -> None:
        """Count one more row, which is none of the sample's repeats if it `is_again` the same."""
        place = record.place
        if place not in self.places:
            self.places[place] = 1, record.score
            coverage.add(place, word, first=False)
            return
        repeats, total = self.places[place]
        if not is_again:
            coverage.repeat(place, repeats)
            repeats += 1
        before = fixed(total) if isinstance(total, float) else total
        score = fixed(record.score)
        if before is None or score is None:
            coverage.pair(place, None)
            self.places[place] = repeats, None
            return
        coverage.pair(place, before * score)
        self.places[place] = repeats, before + score

"""Which rows score the same sample, and which samples share an input: exact, in memory."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from operator import itemgetter
from typing import Final, NamedTuple

from evalstream.firsts import Firsts
from evalstream.identities import ABSENT, INPUT_AT, SAMPLE_AT, Identities, Record

_MODULUS: Final = 1 << 64


class Kind(IntEnum):
    """What is remarkable about a row; the order is that of the codes on one line."""

    OTHER_INPUT = 1
    SAME_INPUT = 2
    SAME_BYTES = 3
    SAME_REPEAT = 4
    UNMARKED_REPEAT = 5
    OTHER_OUTPUT = 6


class Remark(NamedTuple):
    """A row that has to do with an earlier one, on line `earlier`."""

    line: int
    kind: Kind
    offset: int
    earlier: int


@dataclass(slots=True)
class Cover:
    """The samples that the rows of one result cover.

    `samples` counts distinct ones, `firsts` those that no row of another result had scored
    before, and `digest` is the same for the same set of samples (a sum of their digests).
    """

    samples: int = 0
    firsts: int = 0
    digest: int = 0


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
            cover = self.of(place)
            cover.samples += more.samples
            cover.firsts += more.firsts
            cover.digest = (cover.digest + more.digest) % _MODULUS

    def add(self, place: int, word: int, *, first: bool) -> None:
        """Take a sample that is new to a result."""
        cover = self.of(place)
        cover.samples += 1
        cover.firsts += first
        cover.digest = (cover.digest + word) % _MODULUS

    def add_firsts(self, places: Sequence[int], words: Sequence[int]) -> None:
        """Take samples that no row had scored before."""
        counts = Counter(places)
        if len(counts) > 1:
            for place, word in zip(places, words, strict=True):
                self.add(place, word, first=True)
            return
        for place, count in counts.items():
            cover = self.of(place)
            cover.samples += count
            cover.firsts += count
            cover.digest = (cover.digest + sum(words)) % _MODULUS


class RowStore:
    """The records of rows, block by block."""

    def __init__(self) -> None:
        self._blocks: list[tuple[int, int, Identities]] = []
        self._rows = 0

    def add(self, block: Identities, shift: int) -> None:
        """Take some rows, whose lines start `shift` lines into the file."""
        self._blocks.append((self._rows, shift, block))
        self._rows += len(block)

    def row(self, number: int) -> tuple[Record, int]:
        """Return a row by its number from 0, and its line in the file."""
        place = bisect_right(self._blocks, number, key=itemgetter(0)) - 1
        start, shift, block = self._blocks[place]
        record = block.record(number - start)
        return record, record.line + shift

    def release(self) -> Iterator[tuple[int, Identities]]:
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
        self._firsts, self._store = Firsts(SAMPLE_AT), store
        self._groups: dict[bytes, _Group] = {}
        self._rows = 0

    def add(self, block: Identities, shift: int) -> list[Remark]:
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
        remarks: list[Remark] = []
        for index, first in enumerate(firsts):
            if first != start + index:
                remarks += self._later(block.record(index), shift, first, words[index])
        return remarks

    def _later(self, record: Record, shift: int, first: int, word: int) -> Iterator[Remark]:
        """Take a row whose sample was first scored by row number `first`."""
        group = self._groups.get(record.sample)
        if group is None:
            group = self._groups[record.sample] = _Group(*self._store.row(first))
        self.grouped += 1
        line = record.line + shift
        if group.joins(record.place):
            self.coverage.add(record.place, word, first=False)
        for kind, earlier in group.look(record, line):
            yield Remark(line, kind, record.offset, earlier)


class _Group:
    """The rows of one sample, once there are several."""

    __slots__ = ("contents", "input", "line", "outputs", "places", "repeats")

    def __init__(self, first: Record, line: int) -> None:
        self.line, self.input = line, first.input
        self.contents = {first.content: line}
        self.repeats = {(first.result, first.mark): line}
        self.outputs = {first.mark: (first.output, first.result, line)}
        self.places = {first.place}

    def joins(self, place: int) -> bool:
        """Tell whether this is the sample's first row under a result."""
        new = place not in self.places
        self.places.add(place)
        return new

    def look(self, record: Record, line: int) -> Iterator[tuple[Kind, int]]:
        """Take one more row, and say what is odd about it and with which earlier line."""
        earlier = self.contents.setdefault(record.content, line)
        if earlier != line:
            yield Kind.SAME_BYTES, earlier
            return
        if record.input != self.input and ABSENT not in (record.input, self.input):
            yield Kind.OTHER_INPUT, self.line
        repeated = self.repeats.setdefault((record.result, record.mark), line)
        if repeated != line:
            yield Kind.SAME_REPEAT if record.mark else Kind.UNMARKED_REPEAT, repeated
            return
        output, result, before = self.outputs.setdefault(
            record.mark, (record.output, record.result, line)
        )
        if output != record.output and result != record.result and output and record.output:
            yield Kind.OTHER_OUTPUT, before


class InputIndex:
    """Finds rows whose input an earlier row showed under another sample_id.

    `store` holds all rows that were taken, those just taken too.
    """

    def __init__(self, store: RowStore) -> None:
        self._firsts, self._store = Firsts(INPUT_AT), store
        self._pairs: set[bytes] = set()
        self._rows = 0

    def add(self, block: Identities, shift: int) -> list[Remark]:
        """Take some rows, whose lines start `shift` lines into the file; return what is odd.

        Of each sample that shows an earlier one's input only the first row is told.
        """
        firsts, start = self._firsts.add(block), self._rows
        self._rows += len(block)
        if firsts is None:
            return []
        remarks = []
        inputs, samples = block.digests(INPUT_AT), block.digests(SAMPLE_AT)
        for index, first in enumerate(firsts):
            if first == start + index or inputs[index] == ABSENT:
                continue
            earlier, line = self._store.row(first)
            pair = inputs[index] + samples[index]
            if earlier.sample != samples[index] and pair not in self._pairs:
                self._pairs.add(pair)
                record = block.record(index)
                remarks.append(Remark(record.line + shift, Kind.SAME_INPUT, record.offset, line))
        return remarks

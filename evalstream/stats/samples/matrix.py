"""How many runs meet: the samples that each two of them share, and their drift, in one pass."""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, groupby
from typing import Final, NamedTuple

from evalstream.model.block import MEBIBYTE
from evalstream.model.sample_record import SAMPLE_WORDS, SampleFlag
from evalstream.stats.samples.record_order import pack_records, unpack_records
from evalstream.stats.samples.record_sorter import RecordSorter

MEMORY_BYTES: Final = 32 * MEBIBYTE
"""How much memory the samples that not all runs share take up."""

_AMBIGUOUS: Final = int(SampleFlag.AMBIGUOUS)
_WORD_BITS: Final = 64
_ENTRY_WORDS: Final = 4

Square = list[list[int]]
"""A count for each two runs: `square[row][column]`, the same on both sides of the diagonal."""


class Overlaps(NamedTuple):
    """What each two runs share.

    `samples` counts the distinct identities with their sample ids of each run, and `matched` those
    that two runs share, by the rule of `join`. `relabelled` and `drifted` count sample ids under
    which two runs have samples that do not meet: with the same question and other references, or
    with other questions. Samples without an id or an input are in neither.
    """

    samples: Sequence[int]
    matched: Square
    drifted: Square
    relabelled: Square

    def overlap(self, row: int, column: int) -> float:
        """Return the share of the samples of either run that both have; 0 without samples."""
        matched = self.matched[row][column]
        union = self.samples[row] + self.samples[column] - matched
        return matched / union if union else 0.0


class _Sample(NamedTuple):
    """A sample of one run."""

    high: int
    low: int
    sample: int
    run: int
    is_ambiguous: bool
    question: int
    input: int


class _Entry(NamedTuple):
    """A sample of one run under its sample id, and the set of the runs that it meets, as bits."""

    sample: int
    run: int
    question: int
    input: int
    met: int


def pairwise(streams: Sequence[Iterable[bytes]], memory_limit: int = MEMORY_BYTES) -> Overlaps:
    """Return what each two runs share; each is a stream of packed SampleScores in their order.

    Results and metrics play no part: a sample is one under all its groups. Each stream is read
    once. Raises OSError where a temporary file cannot be written or read.
    """
    runs, overlaps = len(streams), _Overlapping(len(streams))
    sorter = RecordSorter(_ENTRY_WORDS + -(-runs // _WORD_BITS), memory_limit)
    try:
        merged = heapq.merge(*(_samples(stream, run) for run, stream in enumerate(streams)))
        for _, same in groupby(merged, lambda sample: sample[:2]):
            for entry in overlaps.meet(same):
                sorter.add(_packed(entry, runs))
        sorter.finish()
        for _, same_id in groupby(_entries(sorter), lambda entry: entry.sample):
            overlaps.drift(list(same_id))
    finally:
        sorter.close()
    return overlaps.result()


def _samples(stream: Iterable[bytes], run: int) -> Iterator[_Sample]:
    """Iterate over the samples of a run."""
    last: tuple[int, ...] = ()
    for chunk in stream:
        for record in unpack_records(chunk, SAMPLE_WORDS):
            if record[:3] != last:
                last = record[:3]
                is_ambiguous = bool(record[7] & _AMBIGUOUS)
                yield _Sample._make((*last, run, is_ambiguous, record[8], record[9]))


def _packed(entry: _Entry, runs: int) -> bytes:
    """Return an entry as a record of words."""
    least = (1 << _WORD_BITS) - 1
    met = [entry.met >> at & least for at in range(0, runs, _WORD_BITS)]
    return pack_records([(*entry[:4], *met)], _ENTRY_WORDS + len(met))


def _entries(sorter: RecordSorter) -> Iterator[_Entry]:
    for chunk in sorter.chunks():
        for record in unpack_records(chunk, sorter.words):
            met = sum(word << _WORD_BITS * at for at, word in enumerate(record[_ENTRY_WORDS:]))
            yield _Entry(record[0], record[1], record[2], record[3], met)


class _Overlapping:
    """Counts sets of runs, and each two runs of a set only at the end: few sets differ."""

    def __init__(self, runs: int) -> None:
        self._runs, self._all = runs, (1 << runs) - 1
        self._samples = [0] * runs
        self._matched, self._drifted, self._relabelled = (_Sets() for _ in range(3))

    def meet(self, same: Iterable[_Sample]) -> Iterator[_Entry]:
        """Count the samples of one identity; return those that may have drifted."""
        certain = 0
        held: list[tuple[_Sample, int]] = []
        for _, group in groupby(same, lambda sample: sample.sample):
            of_id = list(group)
            having = sum(1 << sample.run for sample in of_id)
            plain = sum(1 << sample.run for sample in of_id if not sample.is_ambiguous)
            certain |= plain
            if having != plain:
                self._matched.add(having)
                self._matched.add(plain, -1)
            for sample in of_id:
                self._samples[sample.run] += 1
                if sample.is_ambiguous:
                    yield from self._entry(sample, having)
                else:
                    held.append((sample, having))
        self._matched.add(certain)
        for sample, having in held:
            yield from self._entry(sample, having | certain)

    def drift(self, entries: Sequence[_Entry]) -> None:
        """Count the drift among the samples with one sample id."""
        having = repeated = 0
        by_question: dict[tuple[int, int], int] = defaultdict(int)
        by_input: dict[tuple[int, int], int] = defaultdict(int)
        for entry in entries:
            run = 1 << entry.run
            repeated |= having & run
            having |= run
            # Unknown questions are not the same.
            by_question[entry.question, 0 if entry.question else entry.input] |= run
            by_input[entry.question, entry.input] |= run
        if repeated or any(
            entry.met & having & ~by_input[entry.question, entry.input] for entry in entries
        ):
            self._drift_of_pairs(entries)
            return
        self._drifted.add(having)
        for runs in by_question.values():
            self._drifted.add(runs, -1)
            self._relabelled.add(runs)
        for runs in by_input.values():
            self._relabelled.add(runs, -1)

    def result(self) -> Overlaps:
        """Return the counts of each two runs."""
        squares = (
            sets.square(self._runs) for sets in (self._matched, self._drifted, self._relabelled)
        )
        return Overlaps(self._samples, *squares)

    def _entry(self, sample: _Sample, met: int) -> Iterator[_Entry]:
        if met != self._all and sample.sample and sample.input:
            yield _Entry(sample.sample, sample.run, sample.question, sample.input, met)

    def _drift_of_pairs(self, entries: Sequence[_Entry]) -> None:
        """Count drift where a run has several samples, or meets another under other ids."""
        by_run: dict[int, list[_Entry]] = {}
        for entry in entries:
            by_run.setdefault(entry.run, []).append(entry)
        for row, column in combinations(by_run, 2):
            a = [entry for entry in by_run[row] if not entry.met >> column & 1]
            b = [entry for entry in by_run[column] if not entry.met >> row & 1]
            if not a or not b:
                continue
            both = 1 << row | 1 << column
            questions = {entry.question for entry in a} & {entry.question for entry in b} - {0}
            inputs = {entry.input for entry in a} & {entry.input for entry in b}
            if questions and not inputs:
                self._relabelled.add(both)
            elif not inputs:
                self._drifted.add(both)


class _Sets:
    """Sets of runs as bits, and how often each was counted."""

    def __init__(self) -> None:
        self._times: Counter[int] = Counter()

    def add(self, runs: int, times: int = 1) -> None:
        """Count each two runs of a set."""
        if runs & runs - 1:
            self._times[runs] += times

    def square(self, runs: int) -> Square:
        """Return how often each two runs were counted, and 0 for one alone."""
        # A row is one number whose digits are its counts: a set is added to it in one step.
        rows = [0] * runs
        for having, times in self._times.items():
            members = [run for run in range(runs) if having >> run & 1]
            added = times * sum(1 << _WORD_BITS * run for run in members)
            for run in members:
                rows[run] += added
        least = (1 << _WORD_BITS) - 1
        return [
            [
                number >> _WORD_BITS * column & least if column != row else 0
                for column in range(runs)
            ]
            for row, number in enumerate(rows)
        ]

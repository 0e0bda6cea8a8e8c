"""How many runs meet: the samples that each two of them share, and their drift, in one pass."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Final

import numpy as np

from evalstream.model.data_class import NamedTuple
from evalstream.stats.samples.record_store import (
    Array,
    RecordStore,
    mark_starts,
    number_groups,
    read_together,
)
from evalstream.stats.samples.sample_store import AMBIGUOUS, SampleStore, read_samples

MEMORY_BYTES: Final = 1 << 22
"""How much memory the samples that not all runs share take up."""


class Overlaps(NamedTuple):
    """The samples that each two runs share.

    `samples` counts the distinct identities with their sample ids of each run, and `matched` those
    that two runs share, by the rule of `join`. `relabelled` and `drifted` count sample ids under
    which two runs have samples that do not meet: with the same question and other references, or
    with other questions. Samples without an id or an input are in neither.
    """

    samples: Sequence[int]
    matched: Sequence[Sequence[int]]
    drifted: Sequence[Sequence[int]]
    relabelled: Sequence[Sequence[int]]

    def overlap(self, row: int, column: int) -> float:
        """Return the share of the samples of either run that both have; 0 without samples."""
        matched = self.matched[row][column]
        union = self.samples[row] + self.samples[column] - matched
        return matched / union if union else 0.0


def pairwise(stores: Sequence[SampleStore], memory_limit: int = MEMORY_BYTES) -> Overlaps:
    """Return what each two runs share.

    Results and metrics play no part: a sample is one under all its groups. Raises OSError where a
    temporary file cannot be written or read.
    """
    counts = _Overlapping(len(stores), memory_limit)
    try:
        for runs in read_samples(stores):
            counts.meet(runs)
        counts.drift()
    finally:
        counts.left.close()
    return counts.result()


class _Overlapping:
    """Counts what runs share. `left` keeps the samples that some run does not meet."""

    def __init__(self, runs: int, memory_limit: int) -> None:
        self._runs = runs
        self._samples = np.zeros(runs, np.int64)
        self._matched, self._drifted, self._relabelled = (
            np.zeros((runs, runs), np.int64) for _ in range(3)
        )
        names = ("sample", "run", "question", "input")
        entry = np.dtype([*((name, "u8") for name in names), ("met", "u1", (-(-runs // 8),))])
        self.left = RecordStore(entry, "sample", memory_limit)

    def meet(self, runs: Sequence[Array]) -> None:
        """Count the samples of some identities, in the order of runs."""
        runs = [run[mark_starts(run["high"], run["low"], run["sample"])] for run in runs]
        self._samples += [len(run) for run in runs]
        run = np.repeat(np.arange(len(runs)), [len(some) for some in runs])
        every = np.concatenate(runs)
        is_plain = (every["flags"] & AMBIGUOUS) == 0
        identity = number_groups(every["high"], every["low"])
        same_id = number_groups(identity, every["sample"])
        plain = self._having(identity, run, is_plain)
        having = self._having(same_id, run)
        self._matched += _square(plain) + _square(having)
        self._matched -= _square(self._having(same_id, run, is_plain))
        met = having[same_id] | (plain[identity] & is_plain[:, None])
        is_left = ~met.all(axis=1) & (every["sample"] != 0) & (every["input"] != 0)
        entries = np.empty(int(is_left.sum()), self.left.dtype)
        for name in ("sample", "question", "input"):
            entries[name] = every[name][is_left]
        entries["run"], entries["met"] = run[is_left], np.packbits(met[is_left], axis=1)
        self.left.add(entries)

    def drift(self) -> None:
        """Count the drift among the samples that were left."""
        self.left.finish()
        for (entries,) in read_together([self.left], MEMORY_BYTES):
            self._drift(entries)

    def result(self) -> Overlaps:
        """Return the counts."""
        squares = []
        for counts in (self._matched, self._drifted, self._relabelled):
            np.fill_diagonal(counts, 0)
            squares.append(counts.tolist())
        return Overlaps(self._samples.tolist(), *squares)

    def _drift(self, entries: Array) -> None:
        """Count the drift of some sample ids: of most by sets of runs, of others by pairs."""
        sample, run = number_groups(entries["sample"]), entries["run"].astype(np.int64)
        met = np.unpackbits(entries["met"], axis=1, count=self._runs).astype(bool)
        having = self._having(sample, run)
        inputs = number_groups(sample, entries["question"], entries["input"])
        same_input = self._having(inputs, run)
        is_simple = ~(met & having[sample] & ~same_input[inputs]).any(axis=1)
        _, times = np.unique(sample * self._runs + run, return_counts=True)
        if len(times) < len(sample):
            each = sample * self._runs + run
            is_simple &= np.bincount(each)[each] == 1
        is_odd = np.zeros(len(having), bool)
        is_odd[sample[~is_simple]] = True
        chosen = ~is_odd[sample]
        # Unknown questions are not the same.
        unknown = np.where(entries["question"] == 0, entries["input"], np.uint64(0))
        question = number_groups(sample, entries["question"], unknown)
        by_id, by_question, by_input = (
            _square(self._having(numbers, run, chosen)) for numbers in (sample, question, inputs)
        )
        self._drifted += by_id - by_question
        self._relabelled += by_question - by_input
        places = np.flatnonzero(~chosen)
        places = places[np.argsort(sample[places], kind="stable")]
        for same in np.split(places, np.flatnonzero(mark_starts(sample[places]))[1:]):
            self._drift_of_pairs(entries[same], met[same])

    def _drift_of_pairs(self, entries: Array, met: Array) -> None:
        """Count drift where a run has several samples, or meets another under other ids."""
        run = entries["run"].astype(np.int64)
        for row, column in combinations(np.unique(run).tolist(), 2):
            a = entries[(run == row) & ~met[:, column]]
            b = entries[(run == column) & ~met[:, row]]
            if len(a) and len(b) and not {*a["input"].tolist()} & {*b["input"].tolist()}:
                shared = {*a["question"].tolist()} & {*b["question"].tolist()} - {0}
                counts = self._relabelled if shared else self._drifted
                counts[row, column] += 1
                counts[column, row] += 1

    def _having(self, numbers: Array, run: Array, chosen: Array | None = None) -> Array:
        """Return for each number which runs have it, counting the chosen entries alone."""
        having = np.zeros((int(numbers.max(initial=-1)) + 1, self._runs), bool)
        some = slice(None) if chosen is None else chosen
        having[numbers[some], run[some]] = True
        return having


def _square(having: Array) -> Array:
    """Return how often each two runs are in one set; few sets differ."""
    sets, times = np.unique(np.packbits(having, axis=1), axis=0, return_counts=True)
    members = np.unpackbits(sets, axis=1, count=having.shape[1]).astype(np.float64)
    found: Array = ((members.T * times) @ members).astype(np.int64)
    return found

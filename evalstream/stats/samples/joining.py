"""Join of the samples of two runs: which of them meet, and drift among those that do not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import IntEnum
from heapq import nsmallest
from typing import Final

import numpy as np

from evalstream.model.data_class import NamedTuple
from evalstream.model.sample_record import B_SHIFT, UNKNOWN, PairFlag
from evalstream.stats.samples.record_store import (
    Array,
    RecordStore,
    mark_starts,
    number_groups,
    rank_in_groups,
    read_together,
    select,
)
from evalstream.stats.samples.sample_store import AMBIGUOUS, PAIR, SampleStore, read_samples


class Joined(NamedTuple):
    """SamplePairs, and the SampleScores of samples that only one run has, as arrays."""

    pairs: Array
    only_a: Array
    only_b: Array


def join_runs(
    a: SampleStore, b: SampleStore, groups_a: Sequence[int], groups_b: Sequence[int]
) -> Iterator[Joined]:
    """Join the samples of two runs, some identities at a time; see `join`."""
    for of_a, of_b in read_samples([a, b]):
        yield join(of_a, of_b, groups_a, groups_b)


def join(a: Array, b: Array, groups_a: Sequence[int], groups_b: Sequence[int]) -> Joined:
    """Join the samples of two runs, sorted arrays with all samples of their identities.

    `groups_a[group]` is the number of the group's metric in the comparison, negative for a group
    that takes part in nothing. Samples with the same identity meet whatever their ids; where it is
    ambiguous in either run, they meet if the ids are the same. Those that meet are paired under
    each metric that both have. What is not paired is only in its run, as are all records of a
    sample under a metric that several groups of either run give it. `ordinal` counts the samples of
    `a`, `cluster` is the one that both have, else UNKNOWN, and pairs with OTHER_REFERENCE have
    OTHER_INPUT as well. Raises ValueError for a group without a number.
    """
    metrics_a, metrics_b = _metric_numbers(a, groups_a), _metric_numbers(b, groups_b)
    samples = number_samples(a, b)
    cells = _number_cells(samples, np.concatenate((metrics_a, metrics_b)))
    cells_a, cells_b = cells[: len(a)], cells[len(a) :]
    most = int(cells.max(initial=-1)) + 1
    known_a, known_b = metrics_a >= 0, metrics_b >= 0
    times = [np.bincount(one[known], minlength=most) for one, known in (
        (cells_a, known_a), (cells_b, known_b)
    )]  # fmt: skip
    meets = (times[0] == 1) & (times[1] == 1)
    met_a, met_b = known_a & meets[cells_a], known_b & meets[cells_b]
    places = np.zeros(most, np.int64)
    places[cells_b[met_b]] = np.flatnonzero(met_b)
    pairs = _pairs(select(a, met_a), b.take(places[cells_a[met_a]]), metrics_a[met_a])
    ordinals = np.cumsum(mark_starts(a["high"], a["low"], a["sample"])) - 1
    pairs["ordinal"] = ordinals[met_a]
    return Joined(pairs, a.compress(known_a & ~met_a), b.compress(known_b & ~met_b))


def number_samples(*runs: Array) -> Array:
    """Return a number for each sample of some runs, one behind the other: equal ones meet."""
    high, low, sample, flags = (
        np.concatenate([run[name] for run in runs]) for name in ("high", "low", "sample", "flags")
    )
    identities = number_groups(high, low)
    is_ambiguous = np.zeros(len(identities), bool)
    is_ambiguous[identities[(flags & AMBIGUOUS) != 0]] = True
    if not is_ambiguous.any():
        return identities
    return number_groups(identities, np.where(is_ambiguous[identities], sample, np.uint64(0)))


def _metric_numbers(samples: Array, groups: Sequence[int]) -> Array:
    if len(samples) and samples["group"].max() >= len(groups):
        raise ValueError("a group has no number")
    numbers: Array = np.array(groups, np.int64)[samples["group"].astype(np.int64)]
    return numbers


def _number_cells(samples: Array, metrics: Array) -> Array:
    if len(metrics) and metrics.min() == metrics.max():
        return samples
    return number_groups(samples * (int(metrics.max(initial=0)) + 2) + metrics + 1)


def _pairs(a: Array, b: Array, metrics: Array) -> Array:
    pairs = np.empty(len(a), PAIR)
    pairs["metric"] = metrics
    for name in ("score", "rows", "spread", "line", "offset", "sample"):
        own = "scored" if name == "rows" else name
        pairs[f"{name}_a"], pairs[f"{name}_b"] = a[own], b[own]
    other_cluster = a["cluster"] != b["cluster"]
    pairs["cluster"] = a["cluster"]
    pairs["cluster"][other_cluster] = UNKNOWN
    other_prompt, other_input = (_differ(a[name], b[name]) for name in ("prompt", "input"))
    pairs["flags"] = a["flags"] | b["flags"] << np.uint64(B_SHIFT)
    for flag, holds in (
        (PairFlag.OTHER_PROMPT, other_prompt),
        (PairFlag.ONE_PROMPT, (a["prompt"] == 0) != (b["prompt"] == 0)),
        (PairFlag.OTHER_INPUT, other_input),
        (PairFlag.OTHER_CLUSTER, other_cluster),
    ):
        if holds.any():
            pairs["flags"] |= np.where(holds, np.uint64(flag), np.uint64(0))
    if other_input.any():
        is_same = other_input & (a["question"] == b["question"]) & (a["question"] != 0)
        pairs["flags"] |= np.where(is_same, np.uint64(PairFlag.OTHER_REFERENCE), np.uint64(0))
    return pairs


def _differ(a: Array, b: Array) -> Array:
    """Tell which digests are known and differ."""
    found: Array = (a != 0) & (b != 0) & (a != b)
    return found


MEMORY_BYTES: Final = 1 << 22
"""How much each of four stores of samples without a partner keeps in memory."""

_WORD_BITS: Final = 64


class DriftKind(IntEnum):
    """How two samples differ."""

    DRIFT = 0
    """They have the same sample id, and another input."""

    RELABELLED = 1
    """They have the same question, and other references."""


class DriftedPair(NamedTuple):
    """Two samples that differ, with the first rows of both."""

    line_a: int
    offset_a: int
    line_b: int
    offset_b: int
    sample_a: int
    sample_b: int
    kind: DriftKind


class DriftFinder:
    """Finds drift among the samples of two runs that do not meet.

    Samples with the same question and other inputs are relabelled; of the rest, those with the same
    sample id and other inputs have drifted. A sample is in one pair at most: several samples with
    the same question are matched by their sample ids first, then in the order of their lines, as
    are several ones with the same sample id. What is unknown does not match.

    Groups are numbered as for `join`. After `finish`, `drifted` and `relabelled` count pairs,
    `by_metric` those of each metric that both samples lack a partner for, and `first` holds the
    first `most` pairs by line. `close` deletes the temporary files. Raises OSError where they
    cannot be written or read.
    """

    def __init__(
        self,
        groups_a: Sequence[int],
        groups_b: Sequence[int],
        most: int,
        memory_limit: int = MEMORY_BYTES,
    ) -> None:
        self.drifted = self.relabelled = 0
        self.first: list[DriftedPair] = []
        metrics = max((*groups_a, *groups_b, 0)) + 1
        self.by_metric = [[0, 0] for _ in range(metrics)]
        self._groups = groups_a, groups_b
        self._most = most
        words = -(-metrics // _WORD_BITS)
        names = ("question", "sample", "line", "offset", "input")
        self._type = np.dtype([*((name, "u8") for name in names), ("metrics", "u8", (words,))])
        self._by_question, self._by_sample = (
            [RecordStore(self._type, key, memory_limit) for _ in "ab"]
            for key in ("question", "sample")
        )

    def add(self, joined: Joined) -> None:
        """Add the samples that only one run has, whose records follow each other."""
        for side, samples in enumerate((joined.only_a, joined.only_b)):
            if len(samples):
                records = self._records(samples, self._groups[side])
                is_known = records["question"] != 0
                self._by_question[side].add(records[is_known])
                self._leave(side, records[~is_known])

    def finish(self) -> None:
        """Match what was added."""
        for a, b in _read(self._by_question):
            left = self._match(a, b, ("question", "sample"), DriftKind.RELABELLED)
            left = self._match(*left, ("question",), DriftKind.RELABELLED, keeps_same=True)
            for side, records in enumerate(left):
                self._leave(side, records)
        for a, b in _read(self._by_sample):
            self._match(a, b, ("sample",), DriftKind.DRIFT)

    def close(self) -> None:
        """Delete the temporary files."""
        for store in (*self._by_question, *self._by_sample):
            store.close()

    def _records(self, samples: Array, groups: Sequence[int]) -> Array:
        """Return a record of each sample: its first one by line, and the set of its metrics."""
        order = np.lexsort([samples[name] for name in ("offset", "line", "sample", "low", "high")])
        samples = samples[order]
        starts = np.flatnonzero(mark_starts(*(samples[key] for key in ("high", "low", "sample"))))
        records = np.empty(len(starts), self._type)
        for name in ("question", "sample", "line", "offset", "input"):
            records[name] = samples[name][starts]
        metrics = np.array(groups, np.int64)[samples["group"].astype(np.int64)]
        bits = np.where(metrics >= 0, 1 << (metrics % _WORD_BITS).astype(np.uint64), np.uint64(0))
        for word in range(records["metrics"].shape[1]):
            own = np.where(metrics // _WORD_BITS == word, bits, np.uint64(0))
            records["metrics"][:, word] = np.bitwise_or.reduceat(own, starts)
        return records

    def _leave(self, side: int, records: Array) -> None:
        """Leave samples to the search by sample ids."""
        self._by_sample[side].add(records[records["sample"] != 0])

    def _match(
        self, a: Array, b: Array, keys: Sequence[str], kind: DriftKind, *, keeps_same: bool = False
    ) -> tuple[Array, Array]:
        """Match samples with equal keys one by one by line, and return the unmatched ones.

        Those that meet with the same or an unknown input do not match; with `keeps_same` they are
        left.
        """
        both = np.concatenate((a, b))
        numbers = number_groups(*(both[key] for key in keys))
        places = [
            own * (len(both) + 1) + rank_in_groups(own, one["line"], one["offset"])
            for own, one in zip((numbers[: len(a)], numbers[len(a) :]), (a, b), strict=True)
        ]
        _, in_a, in_b = np.intersect1d(
            places[0], places[1], assume_unique=True, return_indices=True
        )
        inputs = a["input"][in_a], b["input"][in_b]
        is_match = (inputs[0] != 0) & (inputs[1] != 0) & (inputs[0] != inputs[1])
        self._count(a[in_a[is_match]], b[in_b[is_match]], kind)
        gone = is_match if keeps_same else np.ones(len(in_a), bool)
        return np.delete(a, in_a[gone]), np.delete(b, in_b[gone])

    def _count(self, a: Array, b: Array, kind: DriftKind) -> None:
        """Count matches, and keep the first ones."""
        if kind is DriftKind.DRIFT:
            self.drifted += len(a)
        else:
            self.relabelled += len(a)
        shared = a["metrics"] & b["metrics"]
        for metric, counts in enumerate(self.by_metric):
            word, bit = divmod(metric, _WORD_BITS)
            counts[kind] += int((shared[:, word] >> np.uint64(bit) & np.uint64(1)).sum())
        order = np.lexsort((a["offset"], a["line"]))[: self._most]
        places = [one[name][order].tolist() for one in (a, b) for name in ("line", "offset")]
        ids = [one["sample"][order].tolist() for one in (a, b)]
        found = [DriftedPair._make((*one, kind)) for one in zip(*places, *ids, strict=True)]
        self.first = nsmallest(self._most, [*self.first, *found])


def _read(stores: Sequence[RecordStore]) -> Iterator[list[Array]]:
    for store in stores:
        store.finish()
    return read_together(stores)

"""Join of the samples of two runs: which of them meet, and which are only in one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np

from evalstream.model.sample_record import B_SHIFT, UNKNOWN, PairFlag, SampleFlag
from evalstream.stats.arrays import Array
from evalstream.stats.samples.record_store import mark_starts, number_groups, select
from evalstream.stats.samples.sample_store import PAIR, SampleStore, read_samples

_AMBIGUOUS: Final = np.uint64(SampleFlag.AMBIGUOUS)


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
    is_ambiguous[identities[(flags & _AMBIGUOUS) != 0]] = True
    if not is_ambiguous.any():
        return identities
    return number_groups(identities, np.where(is_ambiguous[identities], sample, np.uint64(0)))


def _metric_numbers(samples: Array, groups: Sequence[int]) -> Array:
    """Return the number of the metric of each sample."""
    if len(samples) and samples["group"].max() >= len(groups):
        raise ValueError("a group has no number")
    numbers: Array = np.array(groups, np.int64)[samples["group"].astype(np.int64)]
    return numbers


def _number_cells(samples: Array, metrics: Array) -> Array:
    """Return the number of each sample under its metric."""
    if len(metrics) and metrics.min() == metrics.max():
        return samples
    return number_groups(samples * (int(metrics.max(initial=0)) + 2) + metrics + 1)


def _pairs(a: Array, b: Array, metrics: Array) -> Array:
    """Return the pairs of samples that meet."""
    pairs = np.empty(len(a), PAIR)
    pairs["metric"] = metrics
    for name in ("score", "rows", "spread", "line", "offset", "sample"):
        own = "scored" if name == "rows" else name
        pairs[f"{name}_a"], pairs[f"{name}_b"] = a[own], b[own]
    pairs["cluster"] = np.where(a["cluster"] == b["cluster"], a["cluster"], np.uint64(UNKNOWN))
    other_prompt, other_input = (_differ(a[name], b[name]) for name in ("prompt", "input"))
    pairs["flags"] = a["flags"] | b["flags"] << np.uint64(B_SHIFT)
    for flag, holds in (
        (PairFlag.OTHER_PROMPT, other_prompt),
        (PairFlag.ONE_PROMPT, (a["prompt"] == 0) != (b["prompt"] == 0)),
        (PairFlag.OTHER_INPUT, other_input),
        (PairFlag.OTHER_CLUSTER, a["cluster"] != b["cluster"]),
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

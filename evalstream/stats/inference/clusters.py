"""Clusters of samples, such as copies of one question, and the standard errors that they give."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from evalstream.model.data_class import NamedTuple
from evalstream.model.estimate import FEW_CLUSTERS, Clustered
from evalstream.model.sample_record import UNKNOWN
from evalstream.stats.inference.difference_tests import t_interval, t_test
from evalstream.stats.inference.paired import LARGEST, PairedScores
from evalstream.stats.samples import record_store
from evalstream.stats.samples.record_store import Array

MEMORY_BYTES: Final = 1 << 22
"""How much of the pairs stays in memory."""

_TYPE: Final = np.dtype(
    [("cluster", "u8"), ("metric", "u8"), ("line", "u8"), ("a", "f8"), ("b", "f8")]
)


class CopyGroups(NamedTuple):
    """Groups of pairs of one metric that ask the same question, and where the first copy is.

    `copies` counts the pairs of a group beyond its first by line, `line` is that of the first copy
    and `original` that of the first of its group. `sizes` are those of the groups, of which `sums`
    and `squares` have a row each: of a, of b and of a - b. Those are of scored pairs alone.
    """

    metric: int
    copies: int
    line: int
    original: int
    sizes: Array
    sums: Array
    squares: Array


class CopyFinder:
    """Finds copies of questions among the pairs of two runs, by the digest that copies share.

    `close` deletes the temporary file. Raises OSError where it cannot be written or read.
    """

    def __init__(self, memory_limit: int = MEMORY_BYTES) -> None:
        self._store = record_store.RecordStore(_TYPE, "cluster", memory_limit)

    def add(self, pairs: Array) -> None:
        """Add pairs; those without one digest in both runs are not copies."""
        known = record_store.select(pairs, pairs["cluster"] != UNKNOWN)
        records = np.empty(len(known), _TYPE)
        for name in ("cluster", "metric"):
            records[name] = known[name]
        records["line"] = known["line_a"]
        for name in "ab":
            records[name] = known[f"score_{name}"]
        self._store.add(records)

    def groups(self) -> Iterator[CopyGroups]:
        """Iterate over the groups, some at a time."""
        self._store.finish()
        for (records,) in record_store.read_together([self._store]):
            columns = (records[name] for name in ("cluster", "metric", "line"))
            ordered = records.take(record_store.sort_rows(*columns))
            starts = np.flatnonzero(record_store.mark_starts(ordered["cluster"], ordered["metric"]))
            sizes = np.diff(np.append(starts, len(ordered)))
            several = np.repeat(sizes, sizes) > 1
            if several.any():
                yield from _by_metric(ordered[several], sizes[sizes > 1])

    def close(self) -> None:
        """Delete the pairs."""
        self._store.close()


def _by_metric(records: Array, sizes: Array) -> Iterator[CopyGroups]:
    """Iterate over the groups of each metric; `sizes` are those of all groups, in their order."""
    starts = np.cumsum(sizes) - sizes
    for metric in record_store.list_distinct(records["metric"]):
        own = records["metric"][starts] == metric
        firsts, some = starts[own], records[np.repeat(own, sizes)]
        first = firsts[np.argmin(records["line"][firsts + 1])]
        rows = np.stack((some["a"], some["b"], some["a"] - some["b"]), axis=1)
        is_scored = ~np.isnan(rows[:, 2])
        rows[~is_scored] = 0.0
        places = np.cumsum(sizes[own]) - sizes[own]
        yield CopyGroups(
            metric,
            int((sizes[own] - 1).sum()),
            int(records["line"][first + 1]),
            int(records["line"][first]),
            *(np.add.reduceat(one, places) for one in (is_scored.astype(np.int64), rows, rows**2)),
        )


class ClusterSums:
    """Adds up rows of numbers by cluster, in about 8 bytes for each number of each cluster."""

    def __init__(self, width: int) -> None:
        self._ids, self._sums = np.empty(0, np.uint64), np.empty((0, width))
        self._waiting: list[tuple[Array, Array]] = []

    def add(self, clusters: Array, rows: Array) -> None:
        """Add rows, each with the number of its cluster."""
        self._waiting.append(_add_up(clusters, rows))
        if sum(len(ids) for ids, _ in self._waiting) > len(self._ids):
            self.sums()

    def sums(self) -> tuple[Array, Array]:
        """Return the numbers of the clusters in their order, and a row of sums for each."""
        parts = [(self._ids, self._sums), *self._waiting]
        self._ids, self._sums = _add_up(*map(np.concatenate, zip(*parts, strict=True)))
        self._waiting = []
        return self._ids, self._sums


def _add_up(numbers: Array, rows: Array) -> tuple[Array, Array]:
    """Return the distinct numbers in order, and the sums of the rows of each."""
    ids, places = np.unique(numbers, return_inverse=True)
    columns = [np.bincount(places, column, len(ids)) for column in rows.T]
    return ids, np.stack(columns, axis=1)


class CopyTotals:
    """Adds up groups of copies of questions, each of which is a cluster; all other pairs are one.

    Once `copies` is not 0, `line` is that of the first copy, and `original` that of its question.
    """

    def __init__(self) -> None:
        self.copies = self.line = self.original = 0
        self._members = self._groups = 0
        self._squares = np.zeros(3)

    def add(self, found: CopyGroups, means: ArrayLike) -> None:
        """Add groups; `means` are those of a, of b and of a - b over all pairs."""
        if not self.copies or found.line < self.line:
            self.line, self.original = found.line, found.original
        self.copies += found.copies
        self._members += int(found.sizes.sum())
        self._groups += int((found.sizes > 0).sum())
        sizes, center = found.sizes[:, np.newaxis].astype(np.float64), np.asarray(means)
        within = found.squares - 2 * center * found.sums + sizes * center**2
        self._squares += ((found.sums - sizes * center) ** 2 - within).sum(axis=0)

    def cluster_statistics(self, paired: PairedScores, level: float) -> Clustered | None:
        """Return the statistics of all pairs, None if there are none or they are extreme."""
        if not paired.n or paired.is_extreme:
            return None
        count = paired.n - self._members + self._groups
        spread = np.asarray(paired.moments.variances) * (paired.n - 1) if paired.n > 1 else 0.0
        errors: list[float | None] = [None, None, None]
        if count > 1:
            squares = np.maximum(spread + self._squares, 0.0) * count / (count - 1)
            errors = (np.sqrt(squares) / paired.n).tolist()
        return _describe_pairs(paired, count, errors, level)


class ClusterTotals:
    """Adds up the pairs by clusters."""

    def __init__(self) -> None:
        # The number of pairs, and the sums of a, of b and of a - b.
        self._sums = ClusterSums(4)

    def add(self, clusters: ArrayLike, a: ArrayLike, b: ArrayLike) -> None:
        """Add pairs, each with the number of its cluster. Raises ValueError for other lengths."""
        first, second = np.asarray(a, np.float64), np.asarray(b, np.float64)
        numbers = np.asarray(clusters, np.uint64)
        if not len(numbers) == len(first) == len(second):
            raise ValueError("each pair has two scores and a cluster")
        # Scores that are too large have no statistics, and their sums overflow.
        if max(np.abs(first).max(initial=0.0), np.abs(second).max(initial=0.0)) <= LARGEST:
            rows = np.stack((np.ones(len(first)), first, second, first - second), axis=1)
            self._sums.add(numbers, rows)

    def cluster_statistics(self, paired: PairedScores, level: float) -> Clustered | None:
        """Return the statistics of the same pairs, None if there are none or they are extreme."""
        if not paired.n or paired.is_extreme:
            return None
        *means, difference = paired.moments.means
        means.append(0.0 if paired.is_equal else difference)
        sizes, *totals = self._sums.sums()[1].T
        errors = [clustered_error(sizes, *one) for one in zip(totals, means, strict=True)]
        return _describe_pairs(paired, len(sizes), errors, level)


def _describe_pairs(
    paired: PairedScores, count: int, errors: Sequence[float | None], level: float
) -> Clustered:
    """Return the statistics of pairs by the errors of a, of b and of their difference."""
    difference = 0.0 if paired.is_equal else paired.moments.means[2]
    found = _describe_clusters(count, errors[2], difference, level, paired.rounding)
    return found._replace(error_a=errors[0], error_b=errors[1])


def clustered_error(sizes: ArrayLike, totals: ArrayLike, mean: float) -> float | None:
    """Return the standard error of a mean over samples in clusters, None for one cluster.

    `sizes` are those of the clusters, and `totals` the sums of their values. The variance is the
    sum over clusters of their squared summed deviations, over n squared, times G / (G - 1) for G
    clusters (CR1). Sources: Cameron and Miller, A practitioner's guide to cluster-robust inference
    (2015); Miller, Adding error bars to evals (2024).
    """
    n, sums = np.asarray(sizes, np.float64), np.asarray(totals, np.float64)
    if len(n) < 2:
        return None
    deviations = sums - n * mean
    squares = float((deviations * deviations).sum())
    return math.sqrt(squares * len(n) / (len(n) - 1)) / float(n.sum())


def clustered_difference(
    sizes: ArrayLike, totals: ArrayLike, difference: float, level: float, rounding: float = 0.0
) -> Clustered:
    """Return the statistics of a mean difference over samples in clusters.

    The error is that of `clustered_error`; the interval and the test are those of t with G - 1
    degrees of freedom for G clusters. `rounding` is the size of differences that come from
    rounding.
    """
    error, count = clustered_error(sizes, totals, difference), len(np.asarray(sizes))
    return _describe_clusters(count, error, difference, level, rounding)


def _describe_clusters(
    count: int, error: float | None, difference: float, level: float, rounding: float
) -> Clustered:
    is_few = count < FEW_CLUSTERS
    if error is None:
        return Clustered(count, None, None, None, is_few)
    if error <= rounding:
        error = 0.0
    interval = t_interval(difference, error, count - 1, level, "clustered t")
    return Clustered(
        count, error, interval, t_test(difference, error, count - 1, "clustered t"), is_few
    )

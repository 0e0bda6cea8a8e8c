"""The standard errors of means and of their difference with clusters of samples."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from operator import sub

from evalstream.model.comparison import FEW_CLUSTERS, Clustered
from evalstream.stats.inference.paired import PairedScores
from evalstream.stats.inference.student import t_interval, t_test
from evalstream.stats.inference.sums import LARGEST


class ClusterTotals:
    """Adds up the pairs by clusters, in about 300 bytes for each cluster."""

    def __init__(self) -> None:
        # The number of pairs, and the sums of a, of b and of a - b.
        self._totals: defaultdict[int, list[float]] = defaultdict(lambda: [0, 0.0, 0.0, 0.0])

    def add(self, clusters: Sequence[int], a: Sequence[float], b: Sequence[float]) -> None:
        """Add pairs, each with the number of its cluster. Raises ValueError for other lengths."""
        if not len(clusters) == len(a) == len(b):
            raise ValueError("each pair has two scores and a cluster")
        d = list(map(sub, a, b))
        if max(map(abs, d), default=0.0) > 2 * LARGEST:
            # Such pairs have no statistics, and their sums overflow.
            return
        for cluster, first, second, gap in zip(clusters, a, b, d, strict=True):
            totals = self._totals[cluster]
            totals[0] += 1
            totals[1] += first
            totals[2] += second
            totals[3] += gap

    def clustered(self, paired: PairedScores, level: float) -> Clustered | None:
        """Return the statistics of the same pairs, None if there are none or they are extreme."""
        if not paired.n or paired.is_extreme:
            return None
        mean_a, mean_b, difference = paired.moments.means
        if paired.is_equal:
            difference = 0.0
        found = clustered_difference(self._groups(3), paired.n, difference, level, paired.rounding)
        return found._replace(
            error_a=clustered_error(self._groups(1), paired.n, mean_a)[1],
            error_b=clustered_error(self._groups(2), paired.n, mean_b)[1],
        )

    def _groups(self, which: int) -> Iterable[tuple[int, float]]:
        """Return the size of each cluster with one of its sums."""
        return ((int(totals[0]), totals[which]) for totals in self._totals.values())


def clustered_error(
    groups: Iterable[tuple[int, float]], n: int, mean: float
) -> tuple[int, float | None]:
    """Return the number of clusters, and the standard error of a mean over `n` samples in them.

    `groups` gives the size of each cluster and the sum of its values. The variance is the sum over
    clusters of their squared summed deviations, over n squared, times G / (G - 1) for G clusters
    (CR1); with one cluster there is none. Sources: Cameron and Miller, A practitioner's guide to
    cluster-robust inference (2015); Miller, Adding error bars to evals (2024).
    """
    count, squares = 0, 0.0
    for size, total in groups:
        count += 1
        deviation = total - size * mean
        squares += deviation * deviation
    return count, math.sqrt(squares * count / (count - 1)) / n if count > 1 else None


def clustered_difference(
    groups: Iterable[tuple[int, float]],
    n: int,
    difference: float,
    level: float,
    rounding: float = 0.0,
) -> Clustered:
    """Return the statistics of a mean difference over `n` samples in clusters.

    `groups` gives, for each cluster, the number of its samples and the sum of their differences.
    The error is that of `clustered_error`; the interval and the test are those of t with G - 1
    degrees of freedom for G clusters. `rounding` is the size of differences that come from
    rounding.
    """
    count, error = clustered_error(groups, n, difference)
    is_few = count < FEW_CLUSTERS
    if error is None:
        return Clustered(count, None, None, None, is_few)
    if error <= rounding:
        error = 0.0
    interval = t_interval(difference, error, count - 1, level, "clustered t")
    return Clustered(
        count, error, interval, t_test(difference, error, count - 1, "clustered t"), is_few
    )

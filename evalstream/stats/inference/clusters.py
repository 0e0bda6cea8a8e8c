"""The standard error of a mean difference with clusters of samples."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from operator import sub

from evalstream.model.comparison import FEW_CLUSTERS, Clustered
from evalstream.stats.inference.paired import PairedScores
from evalstream.stats.inference.student import t_interval, t_test
from evalstream.stats.inference.sums import LARGEST


class ClusterTotals:
    """Adds up the differences of pairs by clusters, in about 200 bytes for each cluster."""

    def __init__(self) -> None:
        self._sizes: Counter[int] = Counter()
        self._sums: defaultdict[int, float] = defaultdict(float)

    def add(self, clusters: Sequence[int], a: Sequence[float], b: Sequence[float]) -> None:
        """Add pairs, each with the number of its cluster. Raises ValueError for other lengths."""
        if not len(clusters) == len(a) == len(b):
            raise ValueError("each pair has two scores and a cluster")
        d = list(map(sub, a, b))
        if max(map(abs, d), default=0.0) > 2 * LARGEST:
            # Such pairs have no statistics, and their sums overflow.
            return
        self._sizes.update(clusters)
        sums = self._sums
        for cluster, gap in zip(clusters, d, strict=True):
            sums[cluster] += gap

    def clustered(self, paired: PairedScores, level: float) -> Clustered | None:
        """Return the statistics of the same pairs, None if there are none or they are extreme."""
        if not paired.n or paired.is_extreme:
            return None
        difference = 0.0 if paired.is_equal else paired.moments.means[2]
        groups = ((size, self._sums[cluster]) for cluster, size in self._sizes.items())
        return clustered_difference(groups, paired.n, difference, level, paired.rounding)


def clustered_difference(
    groups: Iterable[tuple[int, float]],
    n: int,
    difference: float,
    level: float,
    rounding: float = 0.0,
) -> Clustered:
    """Return the statistics of a mean difference over `n` samples in clusters.

    `groups` gives, for each cluster, the number of its samples and the sum of their differences.
    The variance is the sum over clusters of their squared summed deviations, over n squared, times
    G / (G - 1) for G clusters (CR1); the interval and the test are those of t with G - 1 degrees of
    freedom. With one cluster there are none. `rounding` is the size of differences that come from
    rounding. Sources: Cameron and Miller, A practitioner's guide to cluster-robust inference
    (2015); Miller, Adding error bars to evals (2024).
    """
    count, squares = 0, 0.0
    for size, total in groups:
        count += 1
        deviation = total - size * difference
        squares += deviation * deviation
    is_few = count < FEW_CLUSTERS
    if count < 2:
        return Clustered(count, None, None, None, is_few)
    error = math.sqrt(squares * count / (count - 1)) / n
    if error <= rounding:
        error = 0.0
    interval = t_interval(difference, error, count - 1, level, "clustered t")
    return Clustered(
        count, error, interval, t_test(difference, error, count - 1, "clustered t"), is_few
    )

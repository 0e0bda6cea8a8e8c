"""The standard error of a mean difference with clusters of samples."""

from __future__ import annotations

import math
from collections.abc import Iterable

from evalstream.model.comparison import FEW_CLUSTERS, Clustered
from evalstream.stats.inference.student import t_interval, t_test


def clustered_difference(
    groups: Iterable[tuple[int, float]], n: int, difference: float, level: float, rounding: float
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

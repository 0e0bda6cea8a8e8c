"""The arithmetic of claims over plain numbers, and of their spreads and intervals."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final

from evalstream.stats.probability import beta_quantile, normal_quantile, t_quantile

USUAL_LEVEL: Final = 0.95
ROUNDED_QUANTILES: Final = (1.96, 2.0)
"""The values that many writers use for the normal quantile of 95 %, which is 1.95996…"""


def middle_values(counts: Mapping[float, int]) -> tuple[float, float]:
    """Return the two middle values of counted numbers; they are equal for an odd number."""
    total = sum(counts.values())
    lower, upper = (total - 1) // 2, total // 2
    seen, low = 0, math.nan
    for value, times in sorted(counts.items()):
        seen += times
        if math.isnan(low) and seen > lower:
            low = value
        if seen > upper:
            return low, value
    return low, low


@lru_cache(maxsize=256)
def share_intervals(right: int, number: int, level: float) -> tuple[tuple[float, float], ...]:
    """Return the intervals of a share that follow from no normal distribution of its mean.

    They are that of Clopper and Pearson, the equal tails of the posterior by Jeffreys and by a
    uniform prior, that of Agresti and Coull, and Wilson's with the correction for continuity.
    Sources: L. Brown, T. Cai and A. DasGupta 2001, doi:10.1214/ss/1009213286; R. Newcombe 1998.
    """
    tail, wrong = (1 - level) / 2, number - right
    exact = (
        beta_quantile(tail, right, wrong + 1) if right else 0.0,
        beta_quantile(1 - tail, right + 1, wrong) if wrong else 1.0,
    )
    found = [exact]
    for prior in (0.5, 1.0):
        low, high = (beta_quantile(one, right + prior, wrong + prior) for one in (tail, 1 - tail))
        found += [(low, high), (low if right else 0.0, high if wrong else 1.0)]
    quantile = normal_quantile(1 - tail)
    square, share = quantile * quantile, right / number
    middle = (right + square / 2) / (number + square)
    half = quantile * math.sqrt(middle * (1 - middle) / (number + square))
    found.append((middle - half, middle + half))
    squares = (square + sign * (2 - 4 * share) - 1 / number + 4 * share * wrong for sign in (-1, 1))
    low, high = (quantile * math.sqrt(max(one, 0.0)) for one in squares)
    centre, width = 2 * right + square, 2 * (number + square)
    corrected = (
        (centre - 1 - low) / width if right else 0.0,
        (centre + 1 + high) / width if wrong else 1.0,
    )
    return (*found, corrected)


def wilson(share: float, number: float, quantile: float) -> tuple[float, float]:
    """Return the score interval of a share.

    Source: E. B. Wilson 1927, doi:10.1080/01621459.1927.10502953.
    """
    square = quantile * quantile / number
    middle = (share + square / 2) / (1 + square)
    half = quantile * math.sqrt(share * (1 - share) / number + square / (4 * number)) / (1 + square)
    return middle - half, middle + half


def quantiles(level: float) -> Iterator[float]:
    """Yield the normal quantiles that writers use for a two-sided confidence level."""
    yield from as_in_tables(normal_quantile((1 + level) / 2))
    if level == USUAL_LEVEL:
        yield from ROUNDED_QUANTILES


def as_in_tables(quantile: float) -> Iterator[float]:
    """Yield a quantile, and the same with three to eight decimals, as tables and texts have it."""
    yield quantile
    yield from (round(quantile, decimals) for decimals in range(3, 9))


Numbers = Sequence[float]
Clusters = Sequence[Hashable]
"""The cluster of each number."""


def mean(values: Numbers) -> float:
    """Return the mean; NaN of nothing."""
    return math.fsum(values) / len(values) if values else math.nan


def variance(values: Numbers) -> float:
    """Return the sample variance, 0 of fewer than two values."""
    if len(values) < 2:
        return 0.0
    middle = mean(values)
    return math.fsum((value - middle) ** 2 for value in values) / (len(values) - 1)


def deviation(values: Numbers) -> float:
    """Return the sample standard deviation, 0 of fewer than two values."""
    return math.sqrt(variance(values))


def mean_error(values: Numbers, clusters: Clusters | None = None) -> float:
    """Return the standard error of the mean, 0 of fewer than two values or clusters.

    Clustered: E. Miller 2024, arXiv:2411.00640, appendix A, with the correction C/(C-1).
    """
    if clusters is None:
        return deviation(values) / math.sqrt(len(values)) if len(values) > 1 else 0.0
    middle = mean(values)
    sums: dict[Hashable, float] = {}
    for value, cluster in zip(values, clusters, strict=True):
        sums[cluster] = sums.get(cluster, 0.0) + value - middle
    count = len(sums)
    if count < 2:
        return 0.0
    total = math.fsum(one * one for one in sums.values())
    return math.sqrt(total * count / (count - 1)) / len(values)


def mean_interval(
    values: Numbers, level: float, clusters: Clusters | None = None
) -> tuple[float, float]:
    """Return Student's interval of the mean; that of fewer than two values is the mean."""
    middle = mean(values)
    if len(values) < 2:
        return middle, middle
    number = len(values) if clusters is None else len(set(clusters))
    half = t_quantile(1 - (1 - level) / 2, max(number - 1, 1)) * mean_error(values, clusters)
    return middle - half, middle + half


def wilson_interval(
    values: Numbers, level: float, clusters: Clusters | None = None
) -> tuple[float, float]:
    """Return the score interval of a share.

    With clusters the number of values is the effective one, and the quantile is Student's (E. Korn
    and B. Graubard 1998).
    """
    share, number = mean(values), float(len(values))
    quantile = -normal_quantile((1 - level) / 2)
    if clusters is not None:
        spread, square = share * (1 - share), mean_error(values, clusters) ** 2
        if spread > 0 and square > 0:
            number = min(spread / square, number)
        degrees = len(set(clusters)) - 1
        quantile = t_quantile(1 - (1 - level) / 2, degrees) if degrees > 0 else math.nan
    low, high = wilson(share, number, quantile)
    return max(low, 0.0), min(high, 1.0)

"""The arithmetic of claims over plain numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Final

USUAL_LEVEL: Final = 0.95
USUAL_QUANTILE: Final = 1.96
"""The value that many writers use for the normal quantile of 95 %, which is 1.95996…"""


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


@lru_cache(maxsize=16)
def normal_quantile(share: float) -> float:
    """Return the quantile of the standard normal distribution."""
    from statistics import NormalDist

    return NormalDist().inv_cdf(share)


@lru_cache(maxsize=64)
def t_quantile(share: float, degrees: int) -> float:
    """Return the quantile of Student's t distribution."""
    from evalstream.stats.inference.distributions import t_quantile as quantile

    return quantile(share, degrees)


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
    yield normal_quantile((1 + level) / 2)
    if level == USUAL_LEVEL:
        yield USUAL_QUANTILE

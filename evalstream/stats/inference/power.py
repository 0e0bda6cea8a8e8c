"""What a comparison can detect."""

from __future__ import annotations

import math
from typing import Final

from evalstream.stats.inference.distributions import normal_quantile

POWER: Final = 0.8
"""The probability of finding a difference of the detectable size."""


def detectable_difference(error: float, level: float) -> float:
    """Return the smallest true difference that is found with a probability of 80 %.

    `error` is the standard error of the difference. Source: Miller (2024), section on power.
    """
    return (normal_quantile((1 + level) / 2) + normal_quantile(POWER)) * error


def samples_needed(n: int, detectable: float, wanted: float) -> int:
    """Return how many samples detect a `wanted` difference, if `n` detect one of `detectable`.

    The standard error falls with the root of the number of samples; at least two are needed.
    """
    return max(2, math.ceil(n * (detectable / wanted) ** 2))

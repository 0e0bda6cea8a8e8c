"""What a comparison can detect.

Source: Miller (2024), section on power.
"""

from __future__ import annotations

import math
from typing import Final

from evalstream.model.comparison import EffectPower
from evalstream.stats.inference.distributions import normal_cdf, normal_quantile

POWER: Final = 0.8
"""The probability of finding a difference of the detectable size."""


def detectable_difference(error: float, level: float) -> float:
    """Return the smallest true difference that is found with a probability of 80 %.

    `error` is the standard error of the difference.
    """
    return (normal_quantile((1 + level) / 2) + normal_quantile(POWER)) * error


def samples_needed(n: int, detectable: float, wanted: float) -> int:
    """Return how many samples detect a `wanted` difference, if `n` detect one of `detectable`.

    The standard error falls with the root of the number of samples; at least two are needed.
    """
    return max(2, math.ceil(n * (detectable / wanted) ** 2))


def effect_power(
    size: float, n: int, error: float, noise: float | None, level: float
) -> EffectPower:
    """Return the power for a true difference of `size`, from `n` samples with this standard error.

    `noise` is the part of the error that repeats explain; the rest is that between samples. The
    probability of a significant difference of the wrong sign is left out.
    """
    needed = samples_needed(n, detectable_difference(error, level), size)
    without_noise = None
    if noise is not None:
        between = math.sqrt(max(0.0, error**2 - noise**2))
        without_noise = samples_needed(n, detectable_difference(between, level), size)
    power = normal_cdf(size / error - normal_quantile((1 + level) / 2))
    return EffectPower(size, power, needed, without_noise)

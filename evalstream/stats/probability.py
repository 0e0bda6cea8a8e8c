"""The normal, Student's t, the beta and the binomial distribution, without a library.

A check has none, and the import of `scipy.special` takes as long as the check of 60,000 rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Final

MOST_STEPS: Final = 10_000
CONVERGED: Final = 1e-15
ASYMPTOTIC: Final = 20.0
"""From here on four terms of Stirling's series give every digit."""


def normal_cdf(z: float) -> float:
    """Return the probability that a standard normal variable is at most `z`."""
    return math.erfc(-z / math.sqrt(2)) / 2


@lru_cache(maxsize=64)
def normal_quantile(p: float) -> float:
    """Return the point below which a normal variable is with probability p (0 < p <= 1)."""
    return _quantile(p, lambda z: math.erfc(z / math.sqrt(2)))


@lru_cache(maxsize=64)
def t_quantile(p: float, df: float) -> float:
    """Return the point below which a t variable is with probability p (0 < p <= 1)."""
    return _quantile(p, lambda t: two_sided_t(t, df))


def _quantile(p: float, two_sided: Callable[[float], float]) -> float:
    """Return the quantile of a symmetric distribution by its two-sided p value."""
    tail, high = 2 * min(p, 1 - p), 1.0
    if not tail:
        return math.copysign(math.inf, p - 0.5)
    while two_sided(high) > tail:
        high *= 2
    return math.copysign(falling_root(lambda x: two_sided(x) - tail, 0.0, high), p - 0.5)


def two_sided_t(t: float, df: float) -> float:
    """Return the two-sided p value of a t statistic with `df` > 0 degrees of freedom.

    Source: Abramowitz and Stegun, 26.5.27.
    """
    square = t * t
    if square == math.inf:
        return 0.0
    return _incomplete_beta(df / (df + square), square / (df + square), df / 2, 0.5)


def binomial_tail(k: int, n: int) -> float:
    """Return the probability of at most `k` heads in `n` tosses of a fair coin."""
    if k < 0:
        return 0.0
    return 1.0 if k >= n else _incomplete_beta(0.5, 0.5, n - k, k + 1)


def beta_quantile(p: float, a: float, b: float) -> float:
    """Return the point below which a beta variable is with probability p (0 < p < 1)."""
    return falling_root(lambda x: p - _incomplete_beta(x, 1 - x, a, b), 0.0, 1.0)


def falling_root(function: Callable[[float], float], low: float, high: float) -> float:
    """Return where a function that falls from `low` to `high` is 0, by bisection.

    Without a root it is the bound next to one. The function may be infinite at a bound.
    """
    while low < (middle := (low + high) / 2) < high:
        if function(middle) > 0:
            low = middle
        else:
            high = middle
    return middle


def _incomplete_beta(x: float, rest: float, a: float, b: float) -> float:
    """Return the regularised incomplete beta function; `rest` is 1 - x, with all its digits.

    Source: the continued fraction of Didonato and Morris, Algorithm 708 (1992), by Lentz's method.
    """
    if not (x and rest):
        return float(not rest)
    if x > (a + 1) / (a + b + 2):
        return 1 - _incomplete_beta(rest, x, b, a)
    # Its terms do not cancel where a is large and x near 1, as those of others do.
    start = a * rest - b * x + 1
    value = c = a * start / (a + 1)
    d = 0.0
    for m in range(1, MOST_STEPS):
        width = a + 2 * m
        share = m * (b - m) * x / (width - 1)
        numerator = (a + m - 1) * (a + b + m - 1) * x / (width - 1) * share
        denominator = m + share + (a + m) * (start + m * (1 + rest)) / (width + 1)
        d, c = 1 / (denominator + numerator * d), denominator + numerator / c
        value *= c * d
        if abs(c * d - 1) < CONVERGED:
            break
    return _beta_density(x, rest, a, b) / value


def _beta_density(x: float, rest: float, a: float, b: float) -> float:
    """Return x**a * rest**b divided by the beta function of a and b.

    Powers and gamma functions of large parameters cancel: their product is as exact as the
    distance of x from the mean. Source: C. Loader, Fast and accurate computation of binomial
    probabilities (2000).
    """
    gap = x * b - rest * a
    exponent = _stirling_rest(a + b) - _stirling_rest(a) - _stirling_rest(b)
    for part, parameter, off in ((x, a, gap / a), (rest, b, -gap / b)):
        mean = parameter / (a + b)
        exponent += parameter * (math.log1p(off) if abs(off) < 0.5 else math.log(part / mean))
    return math.sqrt(a / (a + b) * b / (2 * math.pi)) * math.exp(exponent)


def _stirling_rest(z: float) -> float:
    """Return what Stirling's formula lacks of the logarithm of the gamma function."""
    if z < ASYMPTOTIC:
        return math.lgamma(z) - ((z - 0.5) * math.log(z) - z + math.log(2 * math.pi) / 2)
    square = z * z
    return (1 / 12 - (1 / 360 - (1 / 1260 - 1 / 1680 / square) / square) / square) / z

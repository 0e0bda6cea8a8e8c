"""The normal, Student's t and the binomial distribution.

Probabilities have a relative error of about 1e-12 for ordinary arguments, and of less than 1e-8 in
tails down to 1e-300.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from statistics import NormalDist
from typing import Final

from evalstream.stats.inference.roots import falling_root

_NORMAL: Final = NormalDist()

_MOST_TERMS: Final = 100_000
_PRECISION: Final = 1e-16
_TINY: Final = 1e-300
_HALF_LOG_2PI: Final = 0.5 * math.log(2 * math.pi)
_NEARLY_NORMAL: Final = 20_000
"""Degrees of freedom above which an expansion around the normal distribution is exact."""

_SMALL: Final = 16
"""Below it the logarithm of a factorial is exact enough as it is."""


def normal_quantile(p: float) -> float:
    """Return the point below which a standard normal variable is with probability p (0 < p < 1)."""
    return _NORMAL.inv_cdf(p)


def normal_cdf(z: float) -> float:
    """Return the probability that a standard normal variable is at most `z`."""
    return math.erfc(-z / math.sqrt(2)) / 2


def two_sided_t(t: float, df: float) -> float:
    """Return the two-sided p value of a t statistic with `df` > 0 degrees of freedom.

    This is the regularised incomplete beta function I_x(df/2, 1/2) at x = df / (df + t*t), as a
    continued fraction (Abramowitz and Stegun, 26.5.8 and 26.7.1), which cancels where df is large.
    """
    if abs(t) < _PRECISION:
        return 1.0
    square = t * t
    if math.isinf(square):
        return 0.0
    if df > _NEARLY_NORMAL:
        return math.erfc(_normal_for_t(square, df) / math.sqrt(2))
    a, b = df / 2, 0.5
    log_front = -a * math.log1p(square / df) + 0.5 * math.log(square / (df + square)) - _log_beta(a)
    front = math.exp(log_front)
    inside = square / (df + square)
    if 1 - inside < (a + 1) / (a + b + 2):
        return min(1.0, front * _continued_fraction(a, b, 1 - inside) / a)
    return max(0.0, 1 - front * _continued_fraction(b, a, inside) / b)


def _normal_for_t(square: float, df: float) -> float:
    """Return the normal quantile for the square of t (Hill, Algorithm 395, 1970)."""
    a = df - 0.5
    b = 48 * a * a
    y = a * math.log1p(square / df)
    series = (((-0.4 * y - 3.3) * y - 24) * y - 85.5) / (0.8 * y * y + 100 + b)
    return math.sqrt(y) * ((series + y + 3) / b + 1)


def t_cdf(t: float, df: float) -> float:
    """Return the probability that a t variable is at most `t`."""
    tail = two_sided_t(t, df) / 2
    return 1 - tail if t > 0 else tail


def t_quantile(p: float, df: float) -> float:
    """Return the point below which a t variable is with probability p (0 < p < 1)."""
    if p == 0.5:
        return 0.0
    tail = 2 * min(p, 1 - p)
    high = 1.0
    while two_sided_t(high, df) > tail:
        high *= 2
    found = falling_root(lambda t: two_sided_t(t, df) - tail, 0.0, high)
    return found if p > 0.5 else -found


def binomial_point(k: int, n: int, p: float) -> float:
    """Return the probability of `k` successes in `n` trials, each of probability p.

    Loader's method (Fast and accurate computation of binomial probabilities, 2000): no large terms
    cancel, so that it is exact for millions of trials.
    """
    if not 0 <= k <= n:
        return 0.0
    if p <= 0 or p >= 1:
        return float(k == (n if p >= 1 else 0))
    if k == 0:
        return math.exp(n * math.log1p(-p))
    if k == n:
        return math.exp(n * math.log(p))
    rest = n - k
    log_density = (
        _stirling_error(n)
        - _stirling_error(k)
        - _stirling_error(rest)
        - _deviance(k, n * p)
        - _deviance(rest, n * (1 - p))
    )
    return math.exp(log_density) * math.sqrt(n / (2 * math.pi * k * rest))


def binomial_tail(k: int, n: int) -> float:
    """Return the probability of at most `k` heads in `n` tosses of a fair coin; `k` <= n / 2."""
    return math.fsum(_falling(k, n))


def _falling(k: int, n: int) -> Iterator[float]:
    """Iterate over the probabilities of k, k - 1, … heads while they count."""
    term = first = binomial_point(k, n, 0.5)
    while k >= 0 and term > first * 1e-20:
        yield term
        term *= k / (n - k + 1)
        k -= 1


def _log_beta(a: float) -> float:
    """Return the logarithm of B(a, 1/2)."""
    if a < 100:
        return math.lgamma(a) + math.lgamma(0.5) - math.lgamma(a + 0.5)
    # The ratio of two large gamma functions (Abramowitz and Stegun, 6.1.47).
    inverse = 1 / a
    series = inverse * (-1 / 8 + inverse * inverse * (1 / 192 - inverse * inverse / 640))
    return 0.5 * math.log(math.pi / a) - series


def _continued_fraction(a: float, b: float, x: float) -> float:
    """Return the continued fraction of the incomplete beta function, by Lentz's method."""
    c, d = 1.0, 1 / _away(1 - (a + b) * x / (a + 1))
    value = d
    for i in range(1, _MOST_TERMS):
        even = i * (b - i) * x / ((a + 2 * i - 1) * (a + 2 * i))
        odd = -(a + i) * (a + b + i) * x / ((a + 2 * i) * (a + 2 * i + 1))
        factor = 1.0
        for term in (even, odd):
            d = 1 / _away(1 + term * d)
            c = _away(1 + term / c)
            factor *= c * d
        value *= factor
        if abs(factor - 1) < 4 * _PRECISION:
            break
    return value


def _away(value: float) -> float:
    """Keep a denominator away from 0."""
    return value if abs(value) > _TINY else _TINY


def _stirling_error(n: int) -> float:
    """Return log(n!) less Stirling's formula."""
    if n < _SMALL:
        return math.lgamma(n + 1) - (n + 0.5) * math.log(n) + n - _HALF_LOG_2PI
    square = 1 / (n * n)
    series = 1 / 1260 - square * (1 / 1680 - square * (1 / 1188 - square * 691 / 360360))
    return (1 / 12 - square * (1 / 360 - square * series)) / n


def _deviance(x: float, mean: float) -> float:
    """Return x log(x / mean) + mean - x, without cancellation where both are close."""
    gap = x - mean
    if abs(gap) >= 0.1 * (x + mean):
        return x * math.log(x / mean) - gap
    ratio = gap / (x + mean)
    value, term, i = gap * ratio, 2 * x * ratio, 1
    while True:
        term *= ratio * ratio
        more = value + term / (2 * i + 1)
        if more == value:
            return value
        value, i = more, i + 1

"""Tests and intervals of a difference: Student's, McNemar's and Tango's."""

from __future__ import annotations

import math
from typing import Final

from evalstream.model.estimate import Interval, PValue
from evalstream.stats.probability import (
    binomial_tail,
    falling_root,
    normal_quantile,
    t_quantile,
    two_sided_t,
)


def t_interval(
    difference: float, error: float, df: int, level: float, method: str
) -> Interval | None:
    """Return the interval of a difference by its standard error with `df` >= 1.

    Without any spread there is none.
    """
    if not error:
        return None
    half = error * t_quantile((1 + level) / 2, df)
    return Interval(difference - half, difference + half, method)


def t_test(difference: float, error: float, df: int, method: str) -> PValue:
    """Return the two-sided test that a difference is 0, by its standard error with `df` >= 1.

    Without any spread t has no value. The p value is then that of the signs of the df + 1 equal
    differences: 2**-df.
    """
    if not difference:
        return PValue(1.0, method)
    if not error:
        return PValue(2.0**-df, "sign test")
    return PValue(two_sided_t(difference / error, df), method)


EXACT_MCNEMAR: Final = "exact McNemar"
MID_P_MCNEMAR: Final = "mid-p McNemar"
TANGO: Final = "Tango score"


def exact_mcnemar(only_a: int, only_b: int) -> PValue:
    """Return McNemar's exact conditional test: twice the smaller binomial tail, at most 1.

    Source: Fagerland, Lydersen and Laake, The McNemar test for binary matched-pairs data (2013).
    """
    if only_a == only_b:
        return PValue(1.0, EXACT_MCNEMAR)
    tail = binomial_tail(min(only_a, only_b), only_a + only_b)
    return PValue(min(1.0, 2 * tail), EXACT_MCNEMAR)


def mid_p_mcnemar(only_a: int, only_b: int) -> PValue:
    """Return McNemar's mid-p test: the exact one less half the probability of what was observed.

    Without discordant samples p is 1. Source: Fagerland, Lydersen and Laake (2013).
    """
    discordant, fewer = only_a + only_b, min(only_a, only_b)
    if not discordant:
        return PValue(1.0, MID_P_MCNEMAR)
    tail, below = (binomial_tail(k, discordant) for k in (fewer, fewer - 1))
    p = 1 - (tail - below) / 2 if only_a == only_b else tail + below
    return PValue(p, MID_P_MCNEMAR)


def tango_interval(only_a: int, only_b: int, n: int, level: float) -> Interval:
    """Return Tango's score interval for the difference (only_a - only_b) / n; n is at least 1.

    Source: Tango, Equivalence test and confidence interval for the difference in proportions for
    the paired-sample design (Statistics in Medicine 17, 1998), recommended by Fagerland, Lydersen
    and Laake (2014). The bounds are where the score statistic is the normal quantile.
    """
    quantile = normal_quantile((1 + level) / 2)
    estimate = (only_a - only_b) / n

    def beyond(delta: float) -> float:
        return _score(only_a, only_b, n, delta)

    low = falling_root(lambda delta: beyond(delta) - quantile, -1.0, estimate)
    high = falling_root(lambda delta: beyond(delta) + quantile, estimate, 1.0)
    return Interval(_snap_bound(low, -1.0), _snap_bound(high, 1.0), TANGO)


def _score(only_a: int, only_b: int, n: int, delta: float) -> float:
    """Return Tango's statistic for a true difference of `delta`; it falls with `delta`."""
    linear = -only_a - only_b + (2 * n - only_a + only_b) * delta
    constant = -only_b * delta * (1 - delta)
    root = math.sqrt(max(0.0, linear * linear - 8 * n * constant))
    # The larger root of 2n q² + linear q + constant, in the form that does not cancel.
    share = -2 * constant / (linear + root) if linear > 0 else (root - linear) / (4 * n)
    variance = n * (2 * share + delta * (1 - delta))
    gap = only_a - only_b - n * delta
    if variance <= 0:
        return math.copysign(math.inf, gap) if gap else 0.0
    return gap / math.sqrt(variance)


def _snap_bound(bound: float, limit: float) -> float:
    """Return a bound; one that bisection brings next to a limit is the limit."""
    return limit if abs(bound - limit) < 1e-12 else bound

"""Intervals and tests by Student's t."""

from __future__ import annotations

from evalstream.model.comparison import Interval, PValue
from evalstream.stats.inference.distributions import t_quantile, two_sided_t


def t_interval(
    difference: float, error: float, df: int, level: float, method: str
) -> Interval | None:
    """Return the interval of a difference by its standard error with `df` >= 1.

    Without any spread there is none, unless all differences are 0.
    """
    if not error and difference:
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

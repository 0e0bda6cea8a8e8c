"""The normal, Student's t and the binomial distribution, by scipy.

`scipy.special` is imported where a figure needs it: it takes longer than all the rest.
"""

from __future__ import annotations

from evalstream.model.comparison import Interval, PValue


def normal_quantile(p: float) -> float:
    """Return the point below which a standard normal variable is with probability p (0 < p < 1)."""
    from scipy.special import ndtri

    return float(ndtri(p))


def normal_cdf(z: float) -> float:
    """Return the probability that a standard normal variable is at most `z`."""
    from scipy.special import ndtr

    return float(ndtr(z))


def two_sided_t(t: float, df: float) -> float:
    """Return the two-sided p value of a t statistic with `df` > 0 degrees of freedom.

    It is the incomplete beta function (Abramowitz and Stegun, 26.5.27) of the smaller of two
    shares: scipy's `stdtr` is off by 5e-9 near 0.
    """
    from scipy.special import betainc, betaincc

    square = t * t
    if square < df:
        return float(betaincc(0.5, df / 2, square / (df + square)))
    return float(betainc(df / 2, 0.5, df / (df + square)))


def t_quantile(p: float, df: float) -> float:
    """Return the point below which a t variable is with probability p (0 < p < 1)."""
    from scipy.special import stdtrit

    return float(stdtrit(df, p))


def binomial_tail(k: int, n: int) -> float:
    """Return the probability of at most `k` heads in `n` tosses of a fair coin."""
    from scipy.special import betainc

    if k < 0:
        return 0.0
    return 1.0 if k >= n else float(betainc(n - k, k + 1, 0.5))


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

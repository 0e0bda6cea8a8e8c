"""The normal, Student's t and the binomial distribution, by scipy.

`scipy.special` is imported where a figure needs it: it takes longer than all the rest.
"""

from __future__ import annotations


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

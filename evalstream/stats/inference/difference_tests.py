"""Tests and intervals of a difference: Student's, McNemar's, Tango's, and those of resamples."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from evalstream.model.data_class import NamedTuple
from evalstream.model.estimate import Interval, PValue
from evalstream.stats.inference.paired import Cells
from evalstream.stats.probability import (
    binomial_tail,
    falling_root,
    normal_cdf,
    normal_quantile,
    t_quantile,
    two_sided_t,
)
from evalstream.stats.samples.record_store import Array


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


_BITS: Final = 62
_WORTH_COUNTING: Final = 64
"""How many draws there must be for each distinct row, to draw their counts instead."""

_DRAWN_AT_ONCE: Final = 1 << 18


def generator(seed: int) -> np.random.Generator:
    """Return the random numbers of a seed."""
    return np.random.Generator(np.random.PCG64([seed, 0]))


def round_to_units(values: Array, terms: int) -> tuple[Array, int]:
    """Return finite values in units of 2**-k, rounded to whole ones, and k.

    The sum of any `terms` values stays below 2**62, so that sums are exact, and equal ones tie.
    """
    largest = float(np.abs(values).max(initial=0.0))
    k = _BITS - max(terms, 1).bit_length() - math.frexp(largest)[1]
    return np.rint(np.ldexp(values, k)).astype(np.int64), k


def resample_sums(rows: Array, times: Array, n: int, resamples: int, seed: int) -> Iterator[Array]:
    """Iterate over the sums of resamples, an array of several resamples at a time.

    `rows` are the distinct ones among n that are not all 0, as whole numbers, and `times` says how
    often each occurs. How many of a resample are among them is binomial; few distinct rows are
    drawn by their counts, which are multinomial, and others one by one.
    """
    random, others = generator(seed), int(times.sum())
    by_counts = len(rows) * _WORTH_COUNTING <= others
    pool = rows if by_counts else np.repeat(rows, times, axis=0)
    step = max(1, _DRAWN_AT_ONCE // (len(rows) if by_counts else others))
    for start in range(0, resamples, step):
        draws = random.binomial(n, others / n, min(step, resamples - start))
        if by_counts:
            yield random.multinomial(draws, times / others) @ rows
            continue
        picked, stops = random.integers(0, others, int(draws.sum())), np.cumsum(draws)
        # Rows with many columns are added up for fewer resamples at a time.
        for first in range(0, len(draws), size := max(1, step // pool[0].size)):
            begin = stops[first] - draws[first]
            some = stops[first : first + size] - begin
            sums = np.cumsum(pool[picked[begin : begin + some[-1]]], axis=0)
            ends = np.concatenate((np.zeros((1, *pool.shape[1:]), pool.dtype), sums))[some]
            yield np.diff(ends, axis=0, prepend=0)


MOST_DRAWN: Final = 20_000
"""How many values that are not 0 are resampled; more are left to an expansion."""

PERCENTILE: Final = "bootstrap percentile"
BCA: Final = "bootstrap BCa"
EXPANSION: Final = " (Cornish-Fisher)"


class _Shape(NamedTuple):
    """The number of values, their mean and standard deviation (over n), and Efron's acceleration.

    The acceleration is a sixth of the skewness of the mean.
    """

    n: int
    mean: float
    deviation: float
    acceleration: float


def bootstrap_intervals(
    cells: Cells, resamples: int, level: float, seed: int
) -> tuple[Interval, ...]:
    """Return the percentile and the BCa interval of the mean of values, none if all are equal.

    Source: Efron and Tibshirani, An introduction to the bootstrap (1993), chapters 13 and 14. With
    more than 20,000 values that are not 0 the distribution of the mean follows from its skewness
    (Cornish-Fisher; Hall, The bootstrap and Edgeworth expansion, 1992), and the names say so.
    """
    if len(cells.values) < 2:
        return ()
    shape = _shape(cells)
    tails = (1 - level) / 2, (1 + level) / 2
    if int(cells.times[cells.values != 0].sum()) > MOST_DRAWN:
        return _expand_intervals(shape, tails)
    means, below = _resample_means(cells, shape.n, resamples, seed)
    low, high = np.quantile(means, tails).tolist()
    found = [Interval(low, high, PERCENTILE)]
    if 0 < below < resamples:
        bias = normal_quantile(below / resamples)
        moved = [_shift_tail(tail, bias, shape.acceleration) for tail in tails]
        if moved[0] < moved[1]:
            low, high = np.quantile(means, moved).tolist()
            found.append(Interval(low, high, BCA))
    return tuple(found)


def _shape(cells: Cells) -> _Shape:
    """Return the shape of values that are not all equal."""
    values, times = cells
    n = int(times.sum())
    mean = float((values * times).sum()) / n
    # Powers of deviations neither overflow nor vanish as shares of the largest one.
    unit = float(np.abs(values - mean).max())
    shares = (values - mean) / unit
    squares, cubes = float((shares**2 * times).sum()), float((shares**3 * times).sum())
    return _Shape(n, mean, unit * math.sqrt(squares / n), cubes / (6 * squares**1.5))


def _resample_means(cells: Cells, n: int, resamples: int, seed: int) -> tuple[Array, float]:
    """Return the means of resamples, and how many are below the mean of all values.

    Those that equal it count half.
    """
    is_some = cells.values != 0
    times = cells.times[is_some]
    units, k = round_to_units(cells.values[is_some], n)
    drawn = resample_sums(units[:, None], times, n, resamples, seed)
    sums = np.concatenate([some[:, 0] for some in drawn])
    observed = int((units * times).sum())
    below = float((sums < observed).sum() + (sums == observed).sum() / 2)
    return np.ldexp(sums / n, -k), below


def _shift_tail(tail: float, bias: float, acceleration: float) -> float:
    """Return the share of resamples below a bound of the BCa interval."""
    z = bias + normal_quantile(tail)
    rest = 1 - acceleration * z
    if rest <= 0:
        return tail if not acceleration else float(z > 0)
    return normal_cdf(bias + z / rest)


def _expand_intervals(shape: _Shape, tails: Sequence[float]) -> tuple[Interval, ...]:
    """Return both intervals to the second order, by Cornish and Fisher's expansion."""
    error = shape.deviation / math.sqrt(shape.n)
    quantiles = [normal_quantile(tail) for tail in tails]
    a = shape.acceleration
    plain = [shape.mean + error * (z + a * (z * z - 1)) for z in quantiles]
    corrected = [shape.mean + error * (z + a * (2 * z * z + 1)) for z in quantiles]
    return (
        Interval(plain[0], plain[1], PERCENTILE + EXPANSION),
        Interval(corrected[0], corrected[1], BCA + EXPANSION),
    )


EXACT_FLIPS: Final = "sign-flip permutation (exact)"
RANDOM_FLIPS: Final = "sign-flip permutation"


def sign_flip_test(cells: Cells, resamples: int, seed: int, rounding: float = 0.0) -> PValue:
    """Return the test that the signs of differences are random.

    It counts the assignments of signs whose mean is at least as far from 0 as the observed one: all
    of them where there are at most `resamples`, else as many random ones, of which one is added for
    the observed assignment (Phipson and Smyth, 2010). Means are equal if they differ by at most
    `rounding`. Time grows with the number of samples: it is meant for up to 1,000.
    """
    is_some = cells.values != 0
    values, times = cells.values[is_some], cells.times[is_some]
    n = int(times.sum())
    units, k = round_to_units(np.abs(values), n)
    observed = abs(int((times * np.where(values > 0, units, -units)).sum()))
    # Each value is rounded by half a unit at most, on both sides.
    limit = observed - n * (1 + math.ceil(math.ldexp(rounding, k)))
    if n < resamples.bit_length():
        sums = np.zeros(1, np.int64)
        for size in np.repeat(units, times):
            sums = np.concatenate((sums + size, sums - size))
        return PValue(int((np.abs(sums) >= limit).sum()) / len(sums), EXACT_FLIPS)
    random, hits = generator(seed), 0
    step = max(1, _DRAWN_AT_ONCE // len(units))
    for start in range(0, resamples, step):
        # So many of the differences of one size are positive.
        drawn = random.binomial(times, 0.5, (min(step, resamples - start), len(times)))
        hits += int((np.abs((2 * drawn - times) @ units) >= limit).sum())
    return PValue((1 + hits) / (1 + resamples), RANDOM_FLIPS)

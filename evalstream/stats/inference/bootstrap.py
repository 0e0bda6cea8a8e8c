"""Bootstrap intervals of a mean, from the histogram of its values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from evalstream.model.comparison import Interval
from evalstream.stats.arrays import Array
from evalstream.stats.inference.distributions import normal_cdf, normal_quantile
from evalstream.stats.inference.draws import fixed_point, resample_sums
from evalstream.stats.inference.histogram import Cells

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
    units, k = fixed_point(cells.values[is_some], n)
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

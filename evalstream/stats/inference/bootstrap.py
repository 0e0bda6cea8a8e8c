"""Bootstrap intervals of a mean, from the histogram of its values."""

from __future__ import annotations

import math
import random
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from operator import mul
from typing import Final, NamedTuple

from evalstream.model.comparison import Interval
from evalstream.stats.inference.binomial_draws import BinomialTable
from evalstream.stats.inference.distributions import normal_cdf, normal_quantile
from evalstream.stats.inference.draws import DrawnSums
from evalstream.stats.inference.fixed_point import fixed_point
from evalstream.stats.inference.histogram import Cell

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
    cells: Sequence[Cell], resamples: int, level: float, seed: int
) -> tuple[Interval, ...]:
    """Return the percentile and the BCa interval of the mean of values, none if all are equal.

    Source: Efron and Tibshirani, An introduction to the bootstrap (1993), chapters 13 and 14. With
    more than 20,000 values that are not 0 the distribution of the mean follows from its skewness
    (Cornish-Fisher; Hall, The bootstrap and Edgeworth expansion, 1992), and the names say so.
    """
    shape = _shape(cells)
    if shape is None:
        return ()
    tails = (1 - level) / 2, (1 + level) / 2
    if shape.n - sum(cell.times for cell in cells if not cell.value) > MOST_DRAWN:
        return _expanded(shape, tails)
    means, below = _resampled(cells, shape.n, resamples, seed)
    low, high = (_quantile(means, tail) for tail in tails)
    found = [Interval(low, high, PERCENTILE)]
    if 0 < below < resamples:
        bias = normal_quantile(below / resamples)
        moved = [_moved(tail, bias, shape.acceleration) for tail in tails]
        if moved[0] < moved[1]:
            low, high = (_quantile(means, tail) for tail in moved)
            found.append(Interval(low, high, BCA))
    return tuple(found)


def _shape(cells: Sequence[Cell]) -> _Shape | None:
    """Return the shape of values, None if all are equal."""
    if len(cells) < 2:
        return None
    n = sum(cell.times for cell in cells)
    mean = math.fsum(cell.value * cell.times for cell in cells) / n
    # Powers of deviations neither overflow nor vanish as shares of the largest one.
    unit = max(abs(cell.value - mean) for cell in cells)
    shares = [((cell.value - mean) / unit, cell.times) for cell in cells]
    squares = math.fsum(share**2 * count for share, count in shares)
    cubes = math.fsum(share**3 * count for share, count in shares)
    return _Shape(n, mean, unit * math.sqrt(squares / n), cubes / (6 * squares**1.5))


def _resampled(
    cells: Sequence[Cell], n: int, resamples: int, seed: int
) -> tuple[Sequence[float], float]:
    """Return the means of resamples in order, and how many are below the mean of all values.

    Those that equal it count half. Zeros are not drawn one by one: the number of other values in a
    resample is binomial.
    """
    some = [cell for cell in cells if cell.value]
    others = sum(cell.times for cell in some)
    table = BinomialTable(n, others, n)
    bits = random.Random(f"{seed} counts").getrandbits
    draws = [table.draw(bits) for _ in range(resamples)]
    units, k = fixed_point([cell.value for cell in some], max(*draws, others))
    counts = [cell.times for cell in some]
    drawn = DrawnSums([(unit,) for unit in units], counts, seed)
    sums = sorted(one for (one,) in drawn.sums(draws))
    observed = sum(map(mul, units, counts))
    first, last = bisect_left(sums, observed), bisect_right(sums, observed)
    return [math.ldexp(one / n, -k) for one in sums], (first + last) / 2


def _quantile(means: Sequence[float], p: float) -> float:
    """Return a quantile of sorted means, between two of them in proportion."""
    place = p * (len(means) - 1)
    below = min(math.floor(place), len(means) - 2)
    share = place - below
    return means[below] * (1 - share) + means[below + 1] * share


def _moved(tail: float, bias: float, acceleration: float) -> float:
    """Return the share of resamples below a bound of the BCa interval."""
    z = bias + normal_quantile(tail)
    rest = 1 - acceleration * z
    if rest <= 0:
        return tail if not acceleration else float(z > 0)
    return normal_cdf(bias + z / rest)


def _expanded(shape: _Shape, tails: Sequence[float]) -> tuple[Interval, ...]:
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

"""The sign-flip permutation test of a mean difference."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from evalstream.model.comparison import PValue
from evalstream.stats.inference.draws import fixed_point, generator
from evalstream.stats.inference.histogram import Cells

EXACT_FLIPS: Final = "sign-flip permutation (exact)"
RANDOM_FLIPS: Final = "sign-flip permutation"

_DRAWN_AT_ONCE: Final = 1 << 18


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
    units, k = fixed_point(np.abs(values), n)
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

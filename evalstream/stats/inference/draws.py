"""Random draws of a comparison, by numpy's PCG64: the same for the same seed and purpose."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

import numpy as np

from evalstream.stats.arrays import Array

_BITS: Final = 62
_WORTH_COUNTING: Final = 64
"""How many draws there must be for each distinct row, to draw their counts instead."""

_DRAWN_AT_ONCE: Final = 1 << 18


def generator(seed: int, purpose: int = 0) -> np.random.Generator:
    """Return the random numbers of a seed for one purpose of several."""
    return np.random.Generator(np.random.PCG64([seed, purpose]))


def fixed_point(values: Array, terms: int) -> tuple[Array, int]:
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
        picked = pool[random.integers(0, others, int(draws.sum()))]
        sums = np.cumsum(picked, axis=0)
        ends = np.concatenate((np.zeros_like(sums[:1]), sums))[np.cumsum(draws)]
        yield np.diff(ends, axis=0, prepend=0)

"""The sign-flip permutation test of a mean difference."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from itertools import chain, repeat
from operator import getitem
from typing import Final

from evalstream.model.comparison import PValue
from evalstream.stats.inference.fixed_point import fixed_point
from evalstream.stats.inference.histogram import Cell

EXACT_FLIPS: Final = "sign-flip permutation (exact)"
RANDOM_FLIPS: Final = "sign-flip permutation"

_BYTE: Final = 8


def sign_flip_test(
    cells: Sequence[Cell], resamples: int, seed: int, rounding: float = 0.0
) -> PValue:
    """Return the test that the signs of differences are random.

    It counts the assignments of signs whose mean is at least as far from 0 as the observed one: all
    of them where there are at most `resamples`, else as many random ones, of which one is added for
    the observed assignment (Phipson and Smyth, 2010). Means are equal if they differ by at most
    `rounding`. Time grows with the number of samples: it is meant for up to 1,000.
    """
    some = [cell for cell in cells if cell.value]
    units, k = fixed_point([abs(cell.value) for cell in some], sum(cell.times for cell in some))
    signed = zip(some, units, strict=True)
    observed = abs(sum(cell.times * (unit if cell.value > 0 else -unit) for cell, unit in signed))
    sizes = list(chain.from_iterable(map(repeat, units, (cell.times for cell in some))))
    # Each value is rounded by half a unit at most, on both sides.
    limit = observed - len(sizes) * (1 + math.ceil(math.ldexp(rounding, k)))
    if len(sizes) < resamples.bit_length():
        sums = _all_sums(sizes)
        return PValue(sum(abs(one) >= limit for one in sums) / len(sums), EXACT_FLIPS)
    tables = [_all_sums(sizes[at : at + _BYTE]) for at in range(0, len(sizes), _BYTE)]
    # The last table is repeated to a whole byte.
    tables[-1] *= 256 // len(tables[-1])
    draw = random.Random(seed).randbytes
    width = len(tables)
    hits = sum(abs(sum(map(getitem, tables, draw(width)))) >= limit for _ in range(resamples))
    return PValue((1 + hits) / (1 + resamples), RANDOM_FLIPS)


def _all_sums(sizes: Sequence[int]) -> list[int]:
    """Return the sums of all assignments of signs."""
    sums = [0]
    for size in sizes:
        sums = [one + size for one in sums] + [one - size for one in sums]
    return sums

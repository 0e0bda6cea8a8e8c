"""Exact random draws of counts, the same with any version of Python."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Final

from evalstream.stats.inference.distributions import binomial_point

Bits = Callable[[int], int]
"""A source of random bits, such as `random.Random.getrandbits`."""

_TABLE_BITS: Final = 60
_DEVIATIONS: Final = 12
"""Draws that are further from the mean have a probability below 1e-30."""


def draw_binomial(trials: int, successes: int, of: int, bits: Bits) -> int:
    """Draw how many of `trials` succeed, each with probability successes / of.

    Each trial compares a random fraction with the probability, bit by bit; those whose bits are
    equal so far are compared further, all at once.
    """
    won = 0
    while trials and successes:
        successes *= 2
        ones = bits(trials).bit_count()
        if successes >= of:
            successes -= of
            won += trials - ones
            trials = ones
        else:
            trials -= ones
    return won


class BinomialTable:
    """Draws from one binomial distribution by the inverse of its cumulated probabilities."""

    def __init__(self, trials: int, successes: int, of: int) -> None:
        p = successes / of
        reach = _DEVIATIONS * math.sqrt(trials * p * (1 - p)) + _DEVIATIONS
        self._first = max(0, math.floor(trials * p - reach))
        last = min(trials, math.ceil(trials * p + reach))
        points = (binomial_point(k, trials, p) for k in range(self._first, last + 1))
        whole = 1 << _TABLE_BITS
        self._sums = [round(total * whole) for total in accumulate(points)]
        # What is left by rounding belongs to the last count.
        del self._sums[-1]
        self.most = last

    def draw(self, bits: Bits) -> int:
        """Draw a number of successes."""
        return self._first + bisect_right(self._sums, bits(_TABLE_BITS))


class Splitter:
    """Splits trials among cells in proportion to their counts, by halves."""

    def __init__(self, counts: Sequence[int]) -> None:
        self._steps: list[tuple[int, int, int, int]] = []
        self._cells = len(counts)
        sums = [0, *accumulate(counts)]
        waiting = [(0, len(counts))]
        while waiting:
            start, stop = waiting.pop()
            if stop - start > 1:
                middle = (start + stop) // 2
                left, both = sums[middle] - sums[start], sums[stop] - sums[start]
                self._steps.append((start, middle, left, both))
                waiting += (start, middle), (middle, stop)

    def split(self, trials: int, bits: Bits) -> list[int]:
        """Draw how many of the trials go to each cell."""
        # A range of cells is kept at its first one until it is split.
        drawn = [0] * self._cells
        drawn[0] = trials
        for start, middle, left, both in self._steps:
            here = drawn[start]
            if here:
                kept = draw_binomial(here, left, both, bits)
                drawn[start], drawn[middle] = kept, here - kept
        return drawn

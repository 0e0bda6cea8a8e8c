"""Counts of numbers in bins that grow with the range: the same for any order of the numbers."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping
from typing import Final

from evalstream.model.data_class import DataClass, field
from evalstream.model.sketch import LINEAR, LOG, Histogram

MOST_BINS: Final = 36
"""Bins of a histogram at most: with two to the power of -5 they cover the scores from 0 to 1."""

LARGEST: Final = 1e100
"""Numbers beyond this size are left out as infinite ones are: their sums would not be numbers."""

SMALLEST: Final = 1 / LARGEST
"""Positive numbers below this size are left out of a logarithmic scale: few digits remain there."""

_FINEST: Final = {LINEAR: -10, LOG: -2}
"""The finest width as a power of two: of the width itself, or of the octaves in it."""

_MOST_INDEX: Final = 1 << 48
"""Bins of a higher index are joined; so their edges are exact as numbers of 64 bits."""

_QUARTERS: Final = tuple(2.0 ** (part / 4) for part in range(4))
"""The lower edges of the finest bins of a logarithmic scale from 1 to 2."""


def sketchable(value: object) -> float | None:
    """Return a value that a sketch takes: a number of a usual size; None for anything else.

    True counts as 1 and false as 0.
    """
    if not isinstance(value, (int, float)):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if -LARGEST <= number <= LARGEST else None


class Bins(DataClass):
    """Counts by bin; `doublings` says how often the bins of the finest width were joined by two.

    The bins are aligned at 0 (on a logarithmic scale at 1), and joined as long as they are more
    than MOST_BINS from the lowest to the highest number. So the width depends on these two alone.
    `zeros` counts the zeros of a logarithmic scale, which has no place for negative numbers.
    """

    scale: str
    doublings: int = 0
    counts: dict[int, int] = field(default_factory=dict)
    zeros: int = 0

    def add(self, numbers: Mapping[float, int]) -> None:
        """Add numbers, each with how often it occurs; those of no usual size are left out."""
        index, least = (_linear_index, -LARGEST) if self.scale == LINEAR else (_log_index, SMALLEST)
        for number, times in numbers.items():
            if number == 0 and self.scale == LOG:
                self.zeros += times
            if not least <= number <= LARGEST:
                continue
            place = index(number) >> self.doublings
            self.counts[place] = self.counts.get(place, 0) + times
            if len(self.counts) > MOST_BINS or abs(place) > _MOST_INDEX:
                self._join()
        self._join()

    def merge(self, other: Bins) -> None:
        """Add the counts of other numbers on the same scale."""
        if self.doublings < other.doublings:
            self._double(other.doublings - self.doublings)
        shift = self.doublings - other.doublings
        for place, times in other.counts.items():
            self.counts[place >> shift] = self.counts.get(place >> shift, 0) + times
        self.zeros += other.zeros
        self._join()

    def histogram(self) -> Histogram | None:
        """Return the histogram, or None if there is no number in it."""
        if not (self.counts or self.zeros):
            return None
        width = 2.0 ** (self.doublings + _FINEST[self.scale])
        if self.scale == LOG:
            width = 2.0**width
        if not self.counts:
            return Histogram(self.scale, width, 0, (), self.zeros)
        low, high = min(self.counts), max(self.counts)
        counts = tuple(self.counts.get(place, 0) for place in range(low, high + 1))
        return Histogram(self.scale, width, low, counts, self.zeros)

    def _join(self) -> None:
        """Join bins until they are few enough."""
        if not self.counts:
            return
        low, high, times = min(self.counts), max(self.counts), 0
        while high - low >= MOST_BINS or max(high, -low) > _MOST_INDEX:
            low, high, times = low >> 1, high >> 1, times + 1
        if times:
            self._double(times)

    def _double(self, times: int) -> None:
        joined: dict[int, int] = {}
        for place, count in self.counts.items():
            joined[place >> times] = joined.get(place >> times, 0) + count
        self.counts, self.doublings = joined, self.doublings + times


def _linear_index(number: float) -> int:
    """Return the number of the finest bin that holds a number."""
    return math.floor(math.ldexp(number, -_FINEST[LINEAR]))


def _log_index(number: float) -> int:
    """Return the number of the finest bin that holds a positive number."""
    mantissa, exponent = math.frexp(number)
    return 4 * (exponent - 1) + bisect_right(_QUARTERS, 2 * mantissa) - 1

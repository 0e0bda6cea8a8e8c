"""The accumulators of a comparison: all that its statistics need of pairs, in bounded memory."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from evalstream.model.data_class import NamedTuple
from evalstream.model.estimate import Square
from evalstream.stats.samples.record_store import Array

MOST_CELLS: Final = 65_536
"""How many distinct values are kept exactly, and how many cells replace them beyond that."""

MOST_BINS: Final = 201
"""How many bins a report shows at most."""

_FINEST: Final = 600
_COARSEST: Final = -400
"""The grid's step is 2**-k; k is between these. Values are below 2**400."""


class Cells(NamedTuple):
    """Distinct values in increasing order, and how many of each there are."""

    values: Array
    times: Array


class Differences:
    """Counts differences: exactly, or in the cells of a grid.

    While there are at most MOST_CELLS distinct values, each is a cell of its own. Beyond that
    values share a cell if they have the same floor(value * 2**k), and the cell has the value in its
    middle; k is the largest that leaves MOST_CELLS cells. So cells depend on the values alone, not
    on their order. Zero is always a cell of its own.
    """

    def __init__(self) -> None:
        self._zeros = 0
        self._k: int | None = None
        self._cells = Cells(np.empty(0), np.empty(0, np.int64))

    @property
    def is_exact(self) -> bool:
        """Whether each distinct value is a cell."""
        return self._k is None

    def add(self, values: Array) -> None:
        """Add values; each is 0, or its size is between 1e-200 and 2**400."""
        some = values[values != 0]
        self._zeros += len(values) - len(some)
        if self._k is not None:
            some = _floor(some, self._k)
        self._cells = _merge(*self._cells, some, np.ones(len(some), np.int64))
        if self._k is None and len(self._cells.values) > MOST_CELLS:
            self._k = _finest(self._cells.values, MOST_CELLS)
            self._cells = _merge(_floor(self._cells.values, self._k), self._cells.times)
        while self._k is not None and len(self._cells.values) > MOST_CELLS:
            self._k -= 1
            self._cells = _merge(np.floor(self._cells.values / 2), self._cells.times)

    def cells(self) -> Cells:
        """Return all cells."""
        values, times = self._cells
        if self._k is not None:
            values = np.ldexp(2 * values + 1, -self._k - 1)
        return self._with_zeros(values, times)

    def bins(self) -> Cells:
        """Return at most MOST_BINS cells, each with the mean of its values."""
        cells = self.cells()
        if len(cells.values) <= MOST_BINS:
            return cells
        is_some = cells.values != 0
        values, times = cells.values[is_some], cells.times[is_some]
        places = _floor(values, _finest(values, MOST_BINS - 1))
        starts = np.flatnonzero(np.append(True, places[1:] != places[:-1]))
        held = np.add.reduceat(times, starts)
        return self._with_zeros(np.add.reduceat(values * times, starts) / held, held)

    def _with_zeros(self, values: Array, times: Array) -> Cells:
        """Return cells in order, with that of zeros."""
        if not self._zeros:
            return Cells(values, times)
        place = int(np.searchsorted(values, 0.0))
        return Cells(np.insert(values, place, 0.0), np.insert(times, place, self._zeros))


def _merge(*parts: Array) -> Cells:
    """Return the distinct values among arrays of values, each followed by their counts."""
    values, inverse = np.unique(np.concatenate(parts[::2]), return_inverse=True)
    times = np.zeros(len(values), np.int64)
    np.add.at(times, inverse, np.concatenate(parts[1::2]))
    return Cells(values, times)


def _floor(values: Array, k: int) -> Array:
    """Return the numbers of the cells of values, as doubles."""
    return np.floor(np.ldexp(values, k))


def _finest(values: Array, most: int) -> int:
    """Return the largest k whose grid has at most so many cells with values.

    Cells of a grid are halves of those of the next coarser one, so their number never falls with k.
    """
    low, high = _COARSEST, _FINEST
    while low < high:
        middle = math.ceil((low + high) / 2)
        if len(np.unique(_floor(values, middle))) <= most:
            low = middle
        else:
            high = middle - 1
    return low


LARGEST: Final = 1e100
"""The largest score that statistics are computed of: squares of larger ones overflow."""

_SMALLEST: Final = 1e-100
"""Differences that are all smaller give no statistics."""

ROUNDING: Final = 2.0**-50


def is_bit(scores: Array) -> Array:
    """Tell which scores are 0 or 1."""
    found: Array = (scores == 0) | (scores == 1)
    return found


class UnmatchedSums:
    """The scores of samples that only one run has, or that only one run scores.

    `scored` counts those with a score, `unscored` the others. `lowest` and `highest` bound the
    scores, and `is_binary` tells whether all of them are 0 or 1.
    """

    def __init__(self) -> None:
        self.scored = self.unscored = 0
        self.is_binary = True
        self.lowest, self.highest = math.inf, -math.inf
        self.total = 0.0

    def add(self, scores: ArrayLike) -> None:
        """Add scores; NaN stands for a sample without one."""
        some = np.asarray(scores, np.float64)
        known = some[~np.isnan(some)]
        self.unscored += len(some) - len(known)
        if len(known):
            self.scored += len(known)
            self.is_binary = self.is_binary and bool(is_bit(known).all())
            self.lowest = min(self.lowest, float(known.min()))
            self.highest = max(self.highest, float(known.max()))
            if self.is_finite:
                self.total += float(known.sum())

    @property
    def count(self) -> int:
        """The number of samples."""
        return self.scored + self.unscored

    @property
    def is_finite(self) -> bool:
        """Whether no score is too large for a sum."""
        return not self.scored or max(-self.lowest, self.highest) <= LARGEST


class Moments:
    """Means and second moments of a, of b and of a - b, merged block by block.

    Deviations are those from the mean of a block, so that large means cost no precision (Chan,
    Golub and LeVeque, 1979).
    """

    def __init__(self) -> None:
        self.n = 0
        self._sums, self._squares, self._product = np.zeros(3), np.zeros(3), 0.0

    def merge(self, a: Array, b: Array) -> None:
        """Add the pairs of a block."""
        block = np.stack((a, b, a - b))
        n, sums = len(a), block.sum(axis=1)
        centred = block - (sums / n)[:, None]
        gaps = self._sums / self.n - sums / n if self.n else np.zeros(3)
        weight = self.n * n / (self.n + n)
        self._squares += (centred * centred).sum(axis=1) + gaps * gaps * weight
        self._product += float((centred[0] * centred[1]).sum() + gaps[0] * gaps[1] * weight)
        self._sums += sums
        self.n += n

    @property
    def means(self) -> tuple[float, float, float]:
        """The means of a, of b and of a - b; there is at least one pair."""
        a, b, d = (self._sums / self.n).tolist()
        return a, b, d

    @property
    def variances(self) -> tuple[float, float, float]:
        """The sample variances of a, of b and of a - b; there are at least two pairs."""
        a, b, d = (self._squares / (self.n - 1)).tolist()
        return a, b, d

    @property
    def covariance(self) -> float:
        """The sample covariance of a and b; there are at least two pairs."""
        return self._product / (self.n - 1)


class PairedScores:
    """The scores of matched samples in two runs, `a` being the reference.

    `only_a` and `only_b` take the scores of samples that only a or only b has, and `failed_a` and
    `failed_b` those scores of all samples that come from rows with an error. `moments` and
    `differences` are not for extreme scores.
    """

    def __init__(self) -> None:
        self.only_a, self.only_b = UnmatchedSums(), UnmatchedSums()
        self.failed_a, self.failed_b = UnmatchedSums(), UnmatchedSums()
        self.failed = 0
        self.n = 0
        self.moments, self.differences = Moments(), Differences()
        self._square: Array | None = np.zeros(4, np.int64)
        self._lows, self._highs = [math.inf, math.inf], [-math.inf, -math.inf]
        self._largest_difference = 0.0
        self._noise, self._has_repeats = 0.0, False

    def add(self, a: ArrayLike, b: ArrayLike) -> None:
        """Add pairs of finite scores. Raises ValueError if the lengths differ."""
        first, second = np.asarray(a, np.float64), np.asarray(b, np.float64)
        if len(first) != len(second):
            raise ValueError("each pair has two scores")
        if not len(first):
            return
        self.n += len(first)
        for side, scores in enumerate((first, second)):
            self._lows[side] = min(self._lows[side], float(scores.min()))
            self._highs[side] = max(self._highs[side], float(scores.max()))
        if self._largest > LARGEST:
            return
        if self._square is not None and is_bit(first).all() and is_bit(second).all():
            self._square += np.bincount((3 - 2 * first - second).astype(np.int64), minlength=4)
        else:
            self._square = None
        d = first - second
        self._largest_difference = max(self._largest_difference, float(np.abs(d).max()))
        self.moments.merge(first, second)
        self.differences.add(d)

    def add_repeats(self, rows: ArrayLike, spreads: ArrayLike) -> None:
        """Add the repeats of samples of either run: their scored rows, and the spread of these.

        A spread is the sum of squared deviations from the mean of the sample, whose variance is
        spread / (rows * (rows - 1)). Samples with one row have none.
        """
        n, spread = np.asarray(rows, np.float64), np.asarray(spreads, np.float64)
        is_repeated = n > 1
        if is_repeated.any():
            n, spread = n[is_repeated], spread[is_repeated]
            self._noise += float((spread / (n * (n - 1))).sum())
            self._has_repeats = True

    @property
    def square(self) -> Square | None:
        """The 2 x 2 square, None if there are no pairs or if a score is neither 0 nor 1."""
        if not self.n or self._square is None:
            return None
        return Square(*self._square.tolist())

    @property
    def ranges(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """The lowest and the highest score of each run, with those of unmatched samples."""
        (low_a, low_b), (high_a, high_b) = self._lows, self._highs
        return (
            (min(low_a, self.only_a.lowest), max(high_a, self.only_a.highest)),
            (min(low_b, self.only_b.lowest), max(high_b, self.only_b.highest)),
        )

    @property
    def scores_range(self) -> tuple[float, float]:
        """The lowest and the highest score, with those of unmatched samples."""
        (low_a, high_a), (low_b, high_b) = self.ranges
        return min(low_a, low_b), max(high_a, high_b)

    @property
    def is_extreme(self) -> bool:
        """Whether the scores are too large, or all differences too small, for doubles."""
        if not (self.only_a.is_finite and self.only_b.is_finite):
            return True
        return self._largest > LARGEST or 0 < self._largest_difference < _SMALLEST

    @property
    def is_equal(self) -> bool:
        """Whether the scores of all pairs are equal, but for the rounding of a mean."""
        return self._largest_difference <= self.rounding

    @property
    def rounding(self) -> float:
        """The size of differences that may come from the rounding of scores."""
        return ROUNDING * self._largest

    @property
    def noise_floor(self) -> float | None:
        """The standard error of the difference that repeats explain, None without repeats."""
        if not self._has_repeats or not self.n:
            return None
        return math.sqrt(self._noise) / self.n

    @property
    def _largest(self) -> float:
        return max(-min(self._lows), *self._highs, 0.0)

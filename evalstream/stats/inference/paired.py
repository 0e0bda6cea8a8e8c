"""The accumulators of a comparison: all that its statistics need of pairs, in bounded memory."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from evalstream.model.comparison import Square
from evalstream.stats.arrays import Array
from evalstream.stats.inference.histogram import Differences

LARGEST: Final = 1e100
"""The largest score that statistics are computed of: squares of larger ones overflow."""

_SMALLEST: Final = 1e-100
"""Differences that are all smaller give no statistics."""

_ROUNDING: Final = 2.0**-50


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
    `failed_b` those scores of the pairs that come from rows with an error. `moments` and
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
        return _ROUNDING * self._largest

    @property
    def noise_floor(self) -> float | None:
        """The standard error of the difference that repeats explain, None without repeats."""
        if not self._has_repeats or not self.n:
            return None
        return math.sqrt(self._noise) / self.n

    @property
    def _largest(self) -> float:
        return max(-min(self._lows), *self._highs, 0.0)

"""The accumulator of a comparison: all that its statistics need of pairs, in constant memory."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from operator import sub
from typing import Final

from evalstream.model.comparison import Square
from evalstream.stats.inference.histogram import Differences
from evalstream.stats.inference.moments import Moments, block_moments
from evalstream.stats.inference.sums import BLOCK, LARGEST, LongSum, Unmatched

_SMALLEST: Final = 1e-100
"""Differences that are all smaller give no statistics."""

_ROUNDING: Final = 2.0**-50
_BINARY: Final = frozenset((0.0, 1.0))
_WORTH_COUNTING: Final = 4
"""How many pairs there must be for each possible pair of values."""


class PairedScores:
    """The scores of matched samples in two runs, `a` being the reference.

    Sums have twice the digits of a double, and moments are those around the mean of a block, so
    that large means cost no precision. The same pairs in the same order give the same figures,
    however they are cut into calls; they are read after the last call. `only_a` and `only_b` take
    the scores of samples that only a or only b has, and `failed_a` and `failed_b` those scores of
    the pairs that come from rows with an error.
    """

    def __init__(self) -> None:
        self.only_a, self.only_b = Unmatched(), Unmatched()
        self.failed_a, self.failed_b = Unmatched(), Unmatched()
        self.failed = 0
        self.n = 0
        self._moments, self._differences = Moments(), Differences()
        self._a: list[float] = []
        self._b: list[float] = []
        self._square: Counter[tuple[float, float]] | None = Counter()
        self._lows, self._highs = [math.inf, math.inf], [-math.inf, -math.inf]
        self._largest_difference = 0.0
        self._noise, self._has_repeats = LongSum(), False

    def add(self, a: Sequence[float], b: Sequence[float]) -> None:
        """Add pairs of finite scores. Raises ValueError if the lengths differ."""
        if len(a) != len(b):
            raise ValueError("each pair has two scores")
        self.n += len(a)
        self._a.extend(a)
        self._b.extend(b)
        whole = len(self._a) // BLOCK * BLOCK
        for start in range(0, whole, BLOCK):
            self._take(self._a[start : start + BLOCK], self._b[start : start + BLOCK])
        del self._a[:whole], self._b[:whole]

    def add_repeats(self, rows: Sequence[int], spreads: Sequence[float]) -> None:
        """Add the repeats of samples of either run: their scored rows, and the spread of these.

        A spread is the sum of squared deviations from the mean of the sample, whose variance is
        spread / (rows * (rows - 1)). Samples with one row have none.
        """
        if max(rows, default=0) > 1:
            repeated = ((n, spread) for n, spread in zip(rows, spreads, strict=True) if n > 1)
            self._noise.add(spread / (n * (n - 1)) for n, spread in repeated)
            self._has_repeats = True

    @property
    def moments(self) -> Moments:
        """The moments of the scores and of their differences; not for extreme scores."""
        self._finish()
        return self._moments

    @property
    def differences(self) -> Differences:
        """The histogram of the differences; not for extreme scores."""
        self._finish()
        return self._differences

    @property
    def square(self) -> Square | None:
        """The 2 x 2 square, None if there are no pairs or if a score is neither 0 nor 1."""
        self._finish()
        if not self.n or self._square is None:
            return None
        order = (1.0, 1.0), (1.0, 0.0), (0.0, 1.0), (0.0, 0.0)
        return Square(*(self._square[pair] for pair in order))

    @property
    def ranges(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """The lowest and the highest score of each run, with those of unmatched samples."""
        self._finish()
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
        self._finish()
        if not (self.only_a.is_finite and self.only_b.is_finite):
            return True
        return self._largest > LARGEST or 0 < self._largest_difference < _SMALLEST

    @property
    def is_equal(self) -> bool:
        """Whether the scores of all pairs are equal, but for the rounding of a mean."""
        self._finish()
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
        return math.sqrt(self._noise.total) / self.n

    @property
    def _largest(self) -> float:
        return max(-min(self._lows), *self._highs, 0.0)

    def _finish(self) -> None:
        if self._a:
            self._take(self._a, self._b)
            self._a, self._b = [], []

    def _take(self, a: Sequence[float], b: Sequence[float]) -> None:
        """Add the pairs of a block."""
        values_a, values_b = set(a), set(b)
        values = values_a | values_b
        self._lows = [*map(min, self._lows, map(min, (values_a, values_b)))]
        self._highs = [*map(max, self._highs, map(max, (values_a, values_b)))]
        if self._largest > LARGEST:
            return
        if not values <= _BINARY:
            self._square = None
        if len(values_a) * len(values_b) * _WORTH_COUNTING <= len(a):
            self._take_counted(Counter(zip(a, b, strict=True)))
            return
        if self._square is not None:
            self._square.update(zip(a, b, strict=True))
        d = list(map(sub, a, b))
        self._moments.merge(block_moments(a, b, d))
        self._count(Counter(d))

    def _take_counted(self, pairs: Counter[tuple[float, float]]) -> None:
        """Add pairs with their counts."""
        if self._square is not None:
            self._square.update(pairs)
        ordered = sorted(pairs)
        counts = [pairs[pair] for pair in ordered]
        a, b = [x for x, _ in ordered], [y for _, y in ordered]
        d = list(map(sub, a, b))
        self._moments.merge(block_moments(a, b, d, counts))
        differences: Counter[float] = Counter()
        for difference, count in zip(d, counts, strict=True):
            differences[difference] += count
        self._count(differences)

    def _count(self, differences: Counter[float]) -> None:
        lowest, highest = min(differences), max(differences)
        self._largest_difference = max(self._largest_difference, -lowest, highest)
        self._differences.add(differences)

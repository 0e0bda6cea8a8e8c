"""Sums that do not depend on how the values are cut into calls."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final

BLOCK: Final = 8192
"""How many samples are summed up in one go."""

LARGEST: Final = 1e100
"""The largest score that statistics are computed of: squares of larger ones overflow."""


class LongSum:
    """A sum with twice the digits of a double."""

    def __init__(self) -> None:
        self._high = self._low = 0.0

    def add(self, values: Iterable[float]) -> None:
        """Add finite values."""
        some = [self._high, self._low, *values]
        self._high = math.fsum(some)
        some.append(-self._high)
        self._low = math.fsum(some)

    @property
    def total(self) -> float:
        """The sum, rounded to a double."""
        return self._high + self._low


class Unmatched:
    """The scores of samples that only one run has, or that only one run scores.

    `scored` counts those with a score, `unscored` the others. `lowest` and `highest` bound the
    scores, and `is_binary` tells whether all of them are 0 or 1.
    """

    def __init__(self) -> None:
        self.scored = self.unscored = 0
        self.is_binary = True
        self.lowest, self.highest = math.inf, -math.inf
        self._sum = LongSum()

    def add(self, scores: Iterable[float]) -> None:
        """Add scores; NaN stands for a sample without one."""
        some = list(scores)
        known = [score for score in some if score == score]  # noqa: PLR0124 - NaN alone differs
        self.unscored += len(some) - len(known)
        if known:
            self.scored += len(known)
            self.is_binary = self.is_binary and {0.0, 1.0}.issuperset(known)
            lowest, highest = min(known), max(known)
            self.lowest, self.highest = min(self.lowest, lowest), max(self.highest, highest)
            if self.is_finite:
                self._sum.add(known)

    @property
    def count(self) -> int:
        """The number of samples."""
        return self.scored + self.unscored

    @property
    def is_finite(self) -> bool:
        """Whether no score is too large for a sum."""
        return not self.scored or max(-self.lowest, self.highest) <= LARGEST

    @property
    def total(self) -> float:
        """The sum of the scores."""
        return self._sum.total

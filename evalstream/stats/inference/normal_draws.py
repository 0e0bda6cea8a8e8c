"""Random draws from a normal distribution of several correlated variables."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from operator import mul
from typing import Final

from evalstream.stats.inference.distributions import normal_quantile

_DEPENDENT: Final = 1e-12
"""The share of a variance that is rounding."""


class NormalDraws:
    """Draws variables with mean 0.

    `covariance` is the lower half of their covariance matrix, with the diagonal.
    `largest_deviation` is the largest standard deviation of a variable.
    """

    def __init__(self, covariance: Sequence[Sequence[float]], seed: int) -> None:
        self._factor = _cholesky(covariance)
        self._random = random.Random(seed)
        self.largest_deviation = math.sqrt(max(0.0, *(row[-1] for row in covariance)))

    def take(self, number: int) -> Iterator[Sequence[float]]:
        """Iterate over so many draws, each a value for each variable."""
        width = len(self._factor)
        bits = self._random.getrandbits
        for _ in range(number):
            # Half a step away from 0 and 1, where there is no quantile.
            plain = [normal_quantile((bits(52) + 0.5) / 2**52) for _ in range(width)]
            yield [math.fsum(map(mul, row, plain)) for row in self._factor]


def _cholesky(matrix: Sequence[Sequence[float]]) -> list[list[float]]:
    """Return the lower triangle whose product with its transpose is a covariance matrix.

    Variables that depend on others have a 0 in the diagonal.
    """
    factor: list[list[float]] = []
    for row in matrix:
        made: list[float] = []
        for column, value in enumerate(row[:-1]):
            rest = value - math.fsum(map(mul, made, factor[column]))
            pivot = factor[column][column]
            made.append(rest / pivot if pivot else 0.0)
        rest = row[-1] - math.fsum(one * one for one in made)
        made.append(math.sqrt(rest) if rest > row[-1] * _DEPENDENT else 0.0)
        factor.append(made)
    return factor

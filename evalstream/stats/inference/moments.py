"""Means and second moments of pairs, block by block."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import repeat
from operator import mul, sub
from typing import NamedTuple

from evalstream.stats.inference.sums import LongSum


class BlockMoments(NamedTuple):
    """The moments of the pairs of a block: sums, and squared deviations from the block's means.

    The first member of each is of a, the second of b, the third of a - b; `product` sums the
    products of the deviations of a and b.
    """

    n: int
    sums: tuple[float, float, float]
    squares: tuple[float, float, float]
    product: float


def block_moments(
    a: Sequence[float], b: Sequence[float], d: Sequence[float], counts: Sequence[int] | None = None
) -> BlockMoments:
    """Return the moments of pairs, each with its count, or once without counts."""
    n = len(a) if counts is None else sum(counts)
    sums, squares, deviations = [], [], []
    for column in (a, b, d):
        total = math.fsum(column if counts is None else map(mul, column, counts))
        centred = list(map(sub, column, repeat(total / n)))
        weighted = centred if counts is None else list(map(mul, centred, counts))
        sums.append(total)
        squares.append(math.fsum(map(mul, centred, weighted)))
        deviations.append((centred, weighted))
    product = math.fsum(map(mul, deviations[0][0], deviations[1][1]))
    return BlockMoments(
        n, (sums[0], sums[1], sums[2]), (squares[0], squares[1], squares[2]), product
    )


class Moments:
    """The moments of all pairs, merged block by block (Chan, Golub and LeVeque, 1979)."""

    def __init__(self) -> None:
        self.n = 0
        self._sums = LongSum(), LongSum(), LongSum()
        self._squares = LongSum(), LongSum(), LongSum()
        self._product = LongSum()

    def merge(self, block: BlockMoments) -> None:
        """Add the pairs of a block."""
        gaps = [0.0, 0.0, 0.0]
        weight = 0.0
        if self.n:
            weight = self.n * block.n / (self.n + block.n)
            gaps = [
                mine.total / self.n - total / block.n
                for mine, total in zip(self._sums, block.sums, strict=True)
            ]
        for mine, square, gap in zip(self._squares, block.squares, gaps, strict=True):
            mine.add((square, gap * gap * weight))
        self._product.add((block.product, gaps[0] * gaps[1] * weight))
        for mine, total in zip(self._sums, block.sums, strict=True):
            mine.add((total,))
        self.n += block.n

    @property
    def means(self) -> tuple[float, float, float]:
        """The means of a, of b and of a - b; there is at least one pair."""
        a, b, d = self._sums
        return a.total / self.n, b.total / self.n, d.total / self.n

    @property
    def variances(self) -> tuple[float, float, float]:
        """The sample variances of a, of b and of a - b; there are at least two pairs."""
        a, b, d = self._squares
        rest = self.n - 1
        return a.total / rest, b.total / rest, d.total / rest

    @property
    def covariance(self) -> float:
        """The sample covariance of a and b; there are at least two pairs."""
        return self._product.total / (self.n - 1)

"""Ranks of several runs by their means over shared samples, and how firm they are."""

from __future__ import annotations

import math
import random
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain, repeat
from operator import mul, sub
from typing import Final

from evalstream.model.comparison import Rank, Ranking
from evalstream.stats.inference.binomial_draws import BinomialTable
from evalstream.stats.inference.draws import DrawnSums
from evalstream.stats.inference.fixed_point import fixed_point
from evalstream.stats.inference.normal_draws import NormalDraws
from evalstream.stats.inference.sums import BLOCK, LARGEST, LongSum

MOST_DRAWN: Final = 20_000
"""How many samples with differing scores are resampled; more are left to the normal limit."""

_DIGITS: Final = 1e-9


class RankedScores:
    """The scores that several runs have in the samples that they share, in constant memory.

    The first run is the origin: what is drawn at random are differences from its scores, so that
    samples in which all runs agree cost nothing. The same samples in the same order give the same
    ranks, however they are cut into calls.
    """

    def __init__(self, runs: int) -> None:
        self.n = 0
        self._sums = [LongSum() for _ in range(runs)]
        self._products = [[LongSum() for _ in range(row)] for row in range(1, runs)]
        self._gaps = [LongSum() for _ in range(runs - 1)]
        self._origin: list[float] = []
        self._differing = 0
        self._cells: Counter[tuple[float, ...]] = Counter()
        self._waiting: list[list[float]] = [[] for _ in range(runs)]
        self._is_extreme = False

    def add(self, columns: Sequence[Sequence[float]]) -> None:
        """Add the finite scores of some samples, a column for each run.

        Raises ValueError if the lengths or the number of runs differ.
        """
        if len(columns) != len(self._sums) or len(set(map(len, columns))) != 1:
            raise ValueError("each sample has one score in each run")
        if not columns[0] or self._is_extreme:
            return
        if any(max(column) > LARGEST or min(column) < -LARGEST for column in columns):
            self._is_extreme = True
            return
        self.n += len(columns[0])
        for waiting, column in zip(self._waiting, columns, strict=True):
            waiting.extend(column)
        whole = len(self._waiting[0]) // BLOCK * BLOCK
        for start in range(0, whole, BLOCK):
            self._take([waiting[start : start + BLOCK] for waiting in self._waiting])
        for waiting in self._waiting:
            del waiting[:whole]

    def ranking(
        self,
        metric: str,
        labels: Sequence[str],
        resamples: int,
        seed: int,
        *,
        lower_is_better: bool = False,
    ) -> Ranking | None:
        """Return the ranks, best first, None without samples or with scores above 1e100.

        Runs with equal means share the better rank. The samples are resampled once for all runs;
        with more than 20,000 samples in which scores differ, the means of resamples are drawn from
        the normal distribution that they approach.
        """
        if not self.n or self._is_extreme:
            return None
        self._finish()
        if self._differing <= MOST_DRAWN:
            observed, drawn = self._resampled(resamples, seed)
        else:
            observed, drawn = self._normal(resamples, seed)
        ranks = _ranks(observed, lower_is_better=lower_is_better)
        held = Counter[int]()
        for means in drawn:
            now = _ranks(means, lower_is_better=lower_is_better)
            held.update(run for run, rank in enumerate(now) if rank == ranks[run])
        found = [
            Rank(label, total.total / self.n, ranks[run], held[run] / resamples)
            for run, (label, total) in enumerate(zip(labels, self._sums, strict=True))
        ]
        return Ranking(metric, self.n, sorted(found, key=lambda one: one.rank))

    def _finish(self) -> None:
        if self._waiting[0]:
            self._take(self._waiting)
            self._waiting = [[] for _ in self._waiting]

    def _take(self, columns: Sequence[Sequence[float]]) -> None:
        """Add the samples of a block, equal ones together."""
        vectors = Counter(zip(*columns, strict=True))
        times = list(vectors.values())
        columns = list(zip(*vectors, strict=True))
        for total, column in zip(self._sums, columns, strict=True):
            total.add((math.fsum(map(mul, column, times)),))
        gaps = [list(map(sub, column, columns[0])) for column in columns[1:]]
        self._add_products(gaps, times)
        if self._differing <= MOST_DRAWN:
            for cell, count in zip(zip(*gaps, strict=True), times, strict=False):
                if any(cell):
                    self._cells[cell] += count
                    self._differing += count

    def _add_products(self, gaps: Sequence[Sequence[float]], times: Sequence[int]) -> None:
        """Add the sums and the products of differences, around those of the first sample."""
        if not self._origin:
            self._origin = [gap[0] for gap in gaps]
        shifted = [
            list(map(sub, gap, repeat(first)))
            for gap, first in zip(gaps, self._origin, strict=True)
        ]
        for run, gap in enumerate(shifted):
            counted = list(map(mul, gap, times))
            self._gaps[run].add((math.fsum(counted),))
            for other, total in zip(shifted, self._products[run], strict=False):
                total.add((math.fsum(map(mul, counted, other)),))

    def _resampled(
        self, resamples: int, seed: int
    ) -> tuple[Sequence[float], Iterator[Sequence[float]]]:
        """Return the sums of differences, and those of each resample."""
        cells = sorted(self._cells)
        times = [self._cells[cell] for cell in cells]
        width = len(self._sums) - 1
        if not cells:
            same = (0.0,) * (width + 1)
            return same, repeat(same, resamples)
        table = BinomialTable(self.n, self._differing, self.n)
        bits = random.Random(f"{seed} counts").getrandbits
        draws = [table.draw(bits) for _ in range(resamples)]
        units, _ = fixed_point(list(chain.from_iterable(cells)), max(*draws, self._differing))
        rows = [units[at : at + width] for at in range(0, len(units), width)]
        observed = [sum(map(mul, column, times)) for column in zip(*rows, strict=True)]
        drawn = DrawnSums(rows, times, seed).sums(draws)
        return (0, *observed), ((0, *one) for one in drawn)

    def _normal(
        self, resamples: int, seed: int
    ) -> tuple[Sequence[float], Iterator[Sequence[float]]]:
        """Return the mean differences, and those of each resample, in a small common unit."""
        shifted = [gap.total / self.n for gap in self._gaps]
        means = [gap + first for gap, first in zip(shifted, self._origin, strict=True)]
        covariance = [
            [total.total / self.n - gap * shifted[other] for other, total in enumerate(row)]
            for gap, row in zip(shifted, self._products, strict=True)
        ]
        draws = NormalDraws([[one / self.n for one in row] for row in covariance], seed)
        # Means that are equal but for rounding are a tie.
        unit = _DIGITS * max(draws.largest_deviation, *map(abs, means)) or 1.0
        observed = [0, *(round(mean / unit) for mean in means)]
        drawn = (
            [0, *(round((mean + gap) / unit) for mean, gap in zip(means, one, strict=True))]
            for one in draws.take(resamples)
        )
        return observed, drawn


def _ranks(values: Sequence[float], *, lower_is_better: bool) -> list[int]:
    """Return the rank of each value from 1; equal ones share the better rank."""
    ordered = sorted(values)
    if lower_is_better:
        return [1 + bisect_left(ordered, value) for value in values]
    return [1 + len(values) - bisect_right(ordered, value) for value in values]

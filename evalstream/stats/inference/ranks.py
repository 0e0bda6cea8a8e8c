"""Ranks of several runs by their means over shared samples, and how firm they are."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from evalstream.model.comparison import Rank, Ranking
from evalstream.stats.inference.difference_tests import generator, resample_sums, round_to_units
from evalstream.stats.inference.paired import LARGEST, ROUNDING
from evalstream.stats.samples.record_store import Array

MOST_DRAWN: Final = 20_000
"""How many clusters with differing scores are resampled; more are left to the normal limit."""

_DIGITS: Final = 1e-9
_DRAWN_AT_ONCE: Final = 4096


class RankedScores:
    """The scores that several runs have in the samples that they share, in bounded memory.

    `n` counts the samples. What is resampled are clusters of samples, such as single ones. The
    first run is the origin: what is drawn at random are differences from its scores, so that
    clusters in which all runs agree cost nothing.
    """

    def __init__(self, runs: int) -> None:
        self.n = self._clusters = 0
        self._sums = np.zeros(runs)
        self._scores, self._moments = np.zeros(runs), np.zeros((3, runs))
        self._gaps, self._products = np.zeros(runs - 1), np.zeros((runs - 1, runs - 1))
        self._origin = np.zeros(runs - 1)
        self._differing: list[Array] = []
        self._differ = 0
        self._largest = 0.0

    def add(self, sums: ArrayLike, sizes: ArrayLike | None = None) -> None:
        """Add the sums of the finite scores of clusters: a row for each, a column for each run.

        `sizes` are the numbers of their samples, 1 without them. Raises ValueError for another
        number of runs.
        """
        rows = np.asarray(sums, np.float64)
        if rows.ndim != 2 or rows.shape[1] != len(self._sums):
            raise ValueError("each sample has one score in each run")
        self._largest = float(np.abs(rows).max(initial=self._largest))
        if not len(rows) or self._largest > LARGEST:
            return
        held = np.ones(len(rows)) if sizes is None else np.asarray(sizes, np.float64)
        gaps = rows[:, 1:] - rows[:, :1]
        if not self._clusters:
            self._origin, self._scores = gaps[0].copy(), rows.sum(axis=0) / held.sum()
        self.n += int(held.sum())
        self._clusters += len(rows)
        self._sums += rows.sum(axis=0)
        sized = np.broadcast_to(held[:, None], rows.shape)
        own = rows - sized * self._scores
        self._moments += np.stack((own * own, own * sized, sized * sized)).sum(axis=1)
        shifted = gaps - self._origin
        self._gaps += shifted.sum(axis=0)
        self._products += shifted.T @ shifted
        differing = gaps[gaps.any(axis=1)]
        self._differ += len(differing)
        self._differing = [*self._differing, differing] if self._differ <= MOST_DRAWN else []

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

        Runs with equal means share the better rank. The clusters are resampled once for all runs;
        with more than 20,000 in which scores differ, the sums of resamples are drawn from the
        normal distribution that they approach. All runs have the same samples, so that their sums
        have the order of their means.
        """
        if not self.n or self._largest > LARGEST:
            return None
        is_drawn = self._differ <= MOST_DRAWN
        observed, drawn = (self._resample_sums if is_drawn else self._normal)(resamples, seed)
        ranks = _ranks(observed[None], lower_is_better=lower_is_better)[0]
        held = np.zeros(len(ranks), np.int64)
        for some in drawn:
            held += (_ranks(some, lower_is_better=lower_is_better) == ranks).sum(axis=0)
        found = [
            Rank(label, mean, rank, times / resamples, standard_error=error)
            for label, mean, rank, times, error in zip(
                labels, (self._sums / self.n).tolist(), ranks.tolist(), held.tolist(),
                self._errors(), strict=True,
            )
        ]  # fmt: skip
        return Ranking(metric, self.n, sorted(found, key=lambda one: one.rank))

    def _errors(self) -> list[float | None]:
        if self._clusters < 2:
            return [None] * len(self._sums)
        means = self._sums / self.n - self._scores
        squares, products, sizes = self._moments
        deviations = np.maximum(squares - 2 * means * products + means**2 * sizes, 0.0)
        errors: list[float | None] = (
            np.sqrt(deviations * self._clusters / (self._clusters - 1)) / self.n
        ).tolist()
        return errors

    def _resample_sums(self, resamples: int, seed: int) -> tuple[Array, Iterator[Array]]:
        """Return the sums of differences, and those of resamples.

        They are in a unit that is larger than what the rounding of scores adds up to, so that equal
        sums tie.
        """
        if not self._differ:
            same = np.zeros(len(self._sums), np.int64)
            return same, iter([np.tile(same, (resamples, 1))])
        cells, times = np.unique(np.concatenate(self._differing), axis=0, return_counts=True)
        units, k = round_to_units(cells, self._clusters)
        drawn = resample_sums(units, times, self._clusters, resamples, seed)
        unit = self._differ * (1 + math.ceil(math.ldexp(ROUNDING * self._largest, k)))
        return _with_origin(np.rint(times @ units / unit)), (
            _with_origin(np.rint(some / unit)) for some in drawn
        )

    def _normal(self, resamples: int, seed: int) -> tuple[Array, Iterator[Array]]:
        """Return the mean differences, and those of resamples, in a small common unit."""
        shifted = self._gaps / self._clusters
        means = shifted + self._origin
        covariance = self._products / self._clusters - np.outer(shifted, shifted)
        covariance /= self._clusters
        # Means that are equal but for rounding are a tie.
        deviation = float(np.sqrt(max(0.0, covariance.diagonal().max())))
        unit = _DIGITS * max(deviation, float(np.abs(means).max())) or 1.0
        random = generator(seed)
        drawn = (
            random.multivariate_normal(
                *(means, covariance, min(_DRAWN_AT_ONCE, resamples - start)),
                check_valid="ignore",
                method="eigh",
            )
            for start in range(0, resamples, _DRAWN_AT_ONCE)
        )
        return _with_origin(np.rint(means / unit)), (
            _with_origin(np.rint(some / unit)) for some in drawn
        )


def _with_origin(gaps: Array) -> Array:
    """Return differences from the first run with those of the first run, which are 0."""
    return np.concatenate((np.zeros_like(gaps[..., :1]), gaps), axis=-1)


def _ranks(rows: Array, *, lower_is_better: bool) -> Array:
    """Return the rank of each value in its row from 1; equal ones share the better rank."""
    ranks = np.ones(rows.shape, np.int64)
    for column in range(rows.shape[1]):
        other = rows[:, column, None]
        ranks += other < rows if lower_is_better else other > rows
    return ranks

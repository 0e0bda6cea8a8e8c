"""What the rows say of each claim: figures recomputed from their exact sums."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Final

from evalstream.aggregate import Aggregate, Result
from evalstream.claims import Claims, agrees
from evalstream.moments import Scores

PERCENT: Final = 100
USUAL_LEVEL: Final = 0.95
USUAL_QUANTILE: Final = 1.96
"""What many writers take for the normal quantile of 95 %, which is 1.95996…"""

_STATISTICS: Final = {
    statistic: re.compile(rf"(?:^|[^a-z])(?:{words})(?:[^a-z]|$)")
    for statistic, words in {
        "standard deviation": "std|stdev|std_?dev|standard[ _]deviation",
        "standard error": "stderr|std_?err|sem|standard[ _]error",
        "variance": "var|variance",
    }.items()
}
"""Metrics that are no mean by their names (Inspect's std, stderr and var, and their like)."""

Definition = tuple[str, Fraction | float]
"""A way to make a score out of rows, in words, and what it gives."""


@dataclass(frozen=True)
class Recomputed:
    """One result: what it claims, and what the rows that join it amount to.

    `scores` is None where no row joins it; `samples` counts the distinct samples of its rows.
    """

    result: Result
    claims: Claims
    scores: Scores | None
    samples: int

    @cached_property
    def statistic(self) -> str | None:
        """The statistic that the score is by the metric's name, None where it is a mean."""
        names = f"{self.result.metric}\n{self.result.id}\n{self.result.name}".lower()
        return next((word for word, form in _STATISTICS.items() if form.search(names)), None)

    @property
    def covered(self) -> int:
        """How many samples the claim covers: num_samples, else the size of the dataset."""
        return self.claims.num_samples or self.result.samples_number or 0

    @property
    def partial(self) -> bool:
        """Whether there are fewer rows than the claim covers."""
        return self.scores is not None and self.covered > max(self.scores.joined, self.samples)

    def score(self) -> Fraction | float | None:
        """Return the score by the definition that the metric's name tells."""
        return self._score

    @cached_property
    def _score(self) -> Fraction | float | None:
        if self.scores is None:
            return None
        if self.statistic == "standard deviation":
            return self.deviation()
        if self.statistic == "standard error":
            return self.error()
        if self.statistic == "variance":
            return self.scores.variance(sample=True)
        return self.scores.mean()

    def deviation(self, *, sample: bool = True) -> float | None:
        """Return the standard deviation of the scores, over n-1 of a sample or over n."""
        return self._deviations[not sample]

    @cached_property
    def _deviations(self) -> tuple[float | None, float | None]:
        """The standard deviations over n-1 and over n."""
        if self.scores is None:
            return None, None
        return _root(self.scores.variance(sample=True)), _root(self.scores.variance(sample=False))

    def error(self, *, sample: bool = True) -> float | None:
        """Return the standard error of the mean: the deviation over the root of n."""
        deviation = self.deviation(sample=sample)
        if deviation is None or self.scores is None:
            return None
        return deviation / math.sqrt(self.scores.rows)

    def other_definition(self) -> str | None:
        """Return in words another definition that gives the claimed score, if one does."""
        claimed = self.claims.score
        if claimed is None:
            return None
        return next((words for words, value in self._others() if agrees(claimed, value)), None)

    def scale(self) -> int | None:
        """Return what times the rows' score is the claim: 1, 100, or None if neither is."""
        claimed, score = self.claims.score, self.score()
        if claimed is None or score is None:
            return 1
        return next((by for by in (1, PERCENT) if agrees(claimed, score * by)), None)

    def intervals(self, level: float) -> Iterator[tuple[float, float]]:
        """Return the normal and the Wilson interval of the mean at a confidence level.

        The normal one is the mean plus and minus z standard errors, the Wilson score interval
        is that of a share (E. B. Wilson 1927, doi:10.1080/01621459.1927.10502953).
        """
        mean = None if self.scores is None else as_float(self.scores.mean())
        if mean is None or self.scores is None or not 0 < level < 1:
            return
        from statistics import NormalDist

        quantiles = [NormalDist().inv_cdf((1 + level) / 2)]
        quantiles += [USUAL_QUANTILE] if level == USUAL_LEVEL else []
        for quantile in quantiles:
            for error in (self.error(), self.error(sample=False)):
                if error is not None:
                    yield mean - quantile * error, mean + quantile * error
            if 0 <= mean <= 1:
                yield _wilson(mean, self.scores.rows, quantile)

    def _others(self) -> Iterator[Definition]:
        scores = self.scores
        if scores is None:
            return
        means = (
            ("the mean", scores.mean()),
            ("the mean without the rows that have an error", scores.mean_without_errors()),
            ("the share of rows with is_correct", scores.share_correct()),
            ("the mean over subtasks", scores.mean_over_subtasks()),
        )
        for words, value in means:
            if value is not None:
                yield words, value
                yield f"{words}, in percent", value * PERCENT
        others = (
            ("the standard deviation", self.deviation()),
            ("the standard error", self.error()),
        )
        for words, number in others:
            if number is not None:
                yield f"{words} of the rows' scores", number


def recomputed(
    aggregate: Aggregate, scores: dict[int, Scores], samples: dict[int, int]
) -> list[Recomputed]:
    """Hold every result of an aggregate against its rows, in the aggregate's order."""
    return [
        Recomputed(
            result,
            aggregate.claims.get(result.place, Claims()),
            scores.get(result.place),
            samples.get(result.place, 0),
        )
        for result in aggregate.joinable()
    ]


def fits(claimed: Decimal, value: Fraction | float | None, scale: int) -> bool:
    """Tell whether a claim is a recomputed value on the claim's scale."""
    return value is not None and agrees(claimed, value * scale)


def as_float(value: Fraction | Decimal | float | None) -> float | None:
    """Return a value as a float, None for one that is out of range."""
    try:
        return None if value is None else float(value)
    except OverflowError:
        return None


def _root(variance: Fraction | None) -> float | None:
    value = as_float(variance)
    return None if value is None else math.sqrt(value)


def _wilson(share: float, rows: int, quantile: float) -> tuple[float, float]:
    square = quantile * quantile / rows
    middle = (share + square / 2) / (1 + square)
    half = quantile * math.sqrt(share * (1 - share) / rows + square / (4 * rows)) / (1 + square)
    return middle - half, middle + half

"""Recompute the claimed figures from exact sums over the rows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Final, NamedTuple

from evalstream.formats.eee.aggregate import Aggregate, Result
from evalstream.formats.eee.claims import Claims
from evalstream.model.data_class import DataClass
from evalstream.parsing.lazy_regex import LazyPattern
from evalstream.stats.claims.rounding import Agreement, agreement, agrees, as_float
from evalstream.stats.duplicates import ResultCoverage
from evalstream.stats.score_sums import FRACTION_BITS, ScoreSums

PERCENT: Final = 100
USUAL_LEVEL: Final = 0.95
USUAL_QUANTILE: Final = 1.96
"""The value that many writers use for the normal quantile of 95 %, which is 1.95996…"""

_STATISTICS: Final = {
    statistic: LazyPattern(rf"(?:^|[^a-z])(?:{words})[0-9]*$")
    for statistic, words in {
        "standard deviation": "std|stdev|std_?dev|standard[ _]deviation",
        "standard error": "stderr|std_?err|sem|standard[ _]error",
        "variance": "var|variance",
    }.items()
}
"""Metrics whose own names show that they are not a mean: Inspect's `std`, `final_stderr`, `var`."""

Definition = tuple[str, Fraction | float]
"""A way to compute a score from rows, in words, and its value."""


class Spread(NamedTuple):
    """The standard deviation of some values, and their number."""

    deviation: float
    number: int

    @property
    def error(self) -> float:
        """The standard error of their mean."""
        return self.deviation / math.sqrt(self.number)


class Recomputed(DataClass, frozen=True):
    """One result: its claims, and the figures recomputed from the rows that join it.

    `scores` is None if no row joins it; `cover` holds the samples that its rows score.
    """

    result: Result
    claims: Claims
    scores: ScoreSums | None
    cover: ResultCoverage

    @property
    def samples(self) -> int:
        """The number of distinct samples that its rows score."""
        return self.cover.samples

    @cached_property
    def statistic(self) -> str | None:
        """The statistic that the metric's own name gives, or None for a mean."""
        name = (self.result.metric or "").strip().lower()
        return next((word for word, form in _STATISTICS.items() if form.search(name)), None)

    @property
    def is_partial(self) -> bool:
        """Whether num_samples shows that the claim covers more samples than there are rows."""
        covered = self.claims.num_samples or 0
        return self.scores is not None and covered > max(self.scores.joined, self.samples)

    @property
    def is_repeated(self) -> bool:
        """Whether samples are scored more than once."""
        return self.scores is not None and self.samples < self.scores.joined

    def score(self) -> Fraction | float | None:
        """Return the score by the definition in the metric's name, else the mean.

        A name is only a hint: if the claim agrees with the mean instead, the mean counts.
        """
        return self._score

    @cached_property
    def _score(self) -> Fraction | float | None:
        values = [*self._by_name(), self.scores.mean() if self.scores is not None else None]
        known = [value for value in values if value is not None]
        claimed = self.claims.score
        if claimed is None or len(known) < 2:
            return next(iter(known), None)
        return max(known, key=lambda value: agreement(claimed, value))

    @property
    def is_mean(self) -> bool:
        """Whether the score counts as the mean of the rows' scores."""
        return self.statistic is None or self.scores is None or self._score == self.scores.mean()

    def _by_name(self) -> Iterator[Fraction | float | None]:
        for spread in self.spreads if self.statistic else ():
            if self.statistic == "standard error":
                yield spread.error
            elif self.statistic == "standard deviation":
                yield spread.deviation
            else:
                yield spread.deviation**2

    @property
    def deviation(self) -> float | None:
        """The standard deviation of the scores over n-1."""
        return next((spread.deviation for spread in self.spreads), None)

    @property
    def error(self) -> float | None:
        """The standard error of the mean that belongs to the deviation."""
        return next((spread.error for spread in self.spreads), None)

    @cached_property
    def spreads(self) -> tuple[Spread, ...]:
        """The spreads that a writer may mean: of samples and of rows, over n-1 and over n.

        If all samples have the same number of repeats, the repeats are first reduced to their mean,
        as Inspect does with epochs.
        """
        if self.scores is None:
            return ()
        found = [
            (self._variance_of_samples(1), self.samples),
            (self._variance_of_samples(0), self.samples),
            (self.scores.variance(sample=True), self.scores.rows),
            (self.scores.variance(sample=False), self.scores.rows),
        ]
        roots = [(_root(variance), count) for variance, count in found]
        return tuple(Spread(root, count) for root, count in roots if root is not None)

    def _variance_of_samples(self, less: int) -> Fraction | None:
        """Return the variance of the means of samples, over their number or one less."""
        scores, cover = self.scores, self.cover
        if scores is None or not self.has_even_repeats or cover.products is None:
            return None
        samples, divisor = cover.samples, cover.samples - less
        if divisor < 1:
            return None
        # The mean of a sample is the sum of its scores divided by the number of repeats.
        squares = scores.squares + 2 * cover.products
        centred = squares * samples - scores.total * scores.total
        repeats = scores.rows // samples
        return Fraction(centred, (samples * divisor * repeats**2) << (2 * FRACTION_BITS))

    @property
    def has_even_repeats(self) -> bool:
        """Whether samples are scored more than once, all equally often."""
        is_counted = self.scores is not None and self.cover.repeats == self.scores.joined
        return self.is_repeated and is_counted and self.cover.is_even

    def other_definition(self) -> str | None:
        """Describe another definition that gives the claimed score, or return None."""
        claimed = self.claims.score
        if claimed is None:
            return None
        fitting = (
            words for words, value in self._others() if agreement(claimed, value) is Agreement.FULL
        )
        return next(fitting, None)

    def score_agreement(self) -> Agreement:
        """Return the agreement of the claimed score with the recomputed one; full without a claim.

        A level is a whole number, but the mean of levels seldom is: it may be rounded to one.
        """
        claimed, score = self.claims.score, self.score()
        if claimed is None or score is None:
            return Agreement.FULL
        found = agreement(claimed, score)
        if self.result.score_type != "levels" or found is not Agreement.NONE:
            return found
        return (
            Agreement.ROUGH if abs(Fraction(claimed) - Fraction(score)) <= Fraction(1, 2) else found
        )

    @cached_property
    def scale(self) -> int | None:
        """The factor from the rows' score to the claim: 1, 100, or None for neither."""
        claimed, score = self.claims.score, self.score()
        if claimed is None or score is None:
            return 1
        return next((by for by in (1, PERCENT) if agrees(claimed, score * by)), None)

    def intervals(self, level: float) -> Iterator[tuple[float, float]]:
        """Return the normal and the Wilson interval of the mean at a confidence level.

        The normal one is the mean plus and minus z standard errors, the Wilson score interval is
        that of a share (E. B. Wilson 1927, doi:10.1080/01621459.1927.10502953).
        """
        mean = None if self.scores is None else as_float(self.scores.mean())
        if mean is None or not 0 < level < 1:
            return
        quantiles = [_normal_quantile((1 + level) / 2)]
        quantiles += [USUAL_QUANTILE] if level == USUAL_LEVEL else []
        for quantile in quantiles:
            for spread in self.spreads:
                yield mean - quantile * spread.error, mean + quantile * spread.error
            for count in {spread.number for spread in self.spreads} if 0 <= mean <= 1 else ():
                yield _wilson(mean, count, quantile)

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
        for words, number in (
            ("the standard deviation", self.deviation),
            ("the standard error", self.error),
        ):
            if number is not None:
                yield f"{words} of the scores", number


def recomputed(
    aggregate: Aggregate, scores: Mapping[int, ScoreSums], covers: Mapping[int, ResultCoverage]
) -> list[Recomputed]:
    """Recompute every result of an aggregate from its rows, in the aggregate's order."""
    return [
        Recomputed(
            result,
            aggregate.claims.get(result.place, Claims()),
            scores.get(result.place),
            covers.get(result.place, ResultCoverage()),
        )
        for result in aggregate.joinable()
    ]


def fits(claimed: Decimal, value: Fraction | float | None, scale: int) -> bool:
    """Return whether a claim agrees with a recomputed value on the claim's scale."""
    return value is not None and agrees(claimed, value * scale)


@lru_cache(maxsize=16)
def _normal_quantile(share: float) -> float:
    from statistics import NormalDist

    return NormalDist().inv_cdf(share)


def _root(variance: Fraction | None) -> float | None:
    value = as_float(variance)
    return None if value is None else math.sqrt(value)


def _wilson(share: float, rows: int, quantile: float) -> tuple[float, float]:
    square = quantile * quantile / rows
    middle = (share + square / 2) / (1 + square)
    half = quantile * math.sqrt(share * (1 - share) / rows + square / (4 * rows)) / (1 + square)
    return middle - half, middle + half

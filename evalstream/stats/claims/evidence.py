"""The evidence in the rows of a result, as the formulas of claims need it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any

from evalstream.model.data_class import DataClass, NamedTuple, field, replace
from evalstream.stats.claims.rounding import NOTHING, as_float
from evalstream.stats.coverage import ResultCoverage
from evalstream.stats.tally import FRACTION_BITS, ScoreSums


class Spread(NamedTuple):
    """The standard deviation of some values, and their number."""

    deviation: float
    number: int

    @property
    def error(self) -> float:
        """The standard error of their mean."""
        return self.deviation / math.sqrt(self.number)


class Evidence(DataClass, frozen=True):
    """The evidence in the rows of one result; a part that the format does not collect is None.

    `sums` are exact sums over the scores, and `cover` says which samples they are of. `values`
    counts each different score; it is None where there are too many of them. `limits` are the
    bounds that the metric declares. `missing` is the number of samples that a claim covers beyond
    the rows, and `unknown` that of rows with an unknown level, which do not count. `ordered` are
    the scores in the order in which a harness had them. `pairs` counts (right answer, prediction),
    `weights` sums up the weights of the scores, and `clusters` has the number and the exact sum of
    the scores of each cluster. `factors` are what figures of the rows may be multiplied by: 1 and
    100 where the documents give the metric in percent, and the rows may have shares. `levels` is
    the number of levels.
    `counts_errors` says that the documents count the rows with an error among the samples, and
    `scores_errors` that their score is over these rows as well, of which an interval has to be one.
    With `is_count` the documents give the metric as a count, which may be the sum of the scores.
    `unit` is one unit in the last decimal of scores that were written rounded, 0 for exact ones.
    """

    sums: ScoreSums
    cover: ResultCoverage = field(default_factory=ResultCoverage)
    values: Mapping[float, int] | None = None
    limits: tuple[float | None, float | None] = (None, None)
    missing: int = 0
    unknown: int = 0
    factors: tuple[int, ...] = (1,)
    levels: int = 0
    counts_errors: bool = False
    scores_errors: bool = False
    is_count: bool = False
    ordered: Sequence[Any] | None = None
    pairs: Mapping[tuple[Hashable, Hashable], int] | None = None
    weights: ScoreSums | None = None
    clusters: Mapping[Hashable, tuple[int, Fraction]] | None = None
    unit: Fraction = Fraction(0)

    @classmethod
    def of_numbers(cls, numbers: Iterable[float], **more: Any) -> Evidence:
        """Return the evidence of finite numbers, one for each sample."""
        counts = Counter(numbers)
        sums = ScoreSums()
        for number, times in counts.items():
            sums.add(None, number, None, failed=False, times=times)
        cover = ResultCoverage(samples=sums.rows, repeats=sums.rows, squares=sums.rows)
        return cls(sums, cover, counts, **more)

    @property
    def rows(self) -> int:
        """The number of rows with a finite score."""
        return self.sums.rows

    @cached_property
    def mean(self) -> Fraction | None:
        """The mean of the scores."""
        return self.sums.mean()

    @property
    def is_binary(self) -> bool:
        """Whether all scores are 0 or 1."""
        return bool(self.values) and {0, 1}.issuperset(self.values or ())

    def in_unit_of(self, figure: float) -> Evidence:
        """Return the evidence in the unit of a figure that it gives: shares, or percent."""
        mean = self.mean or 0
        return replace(self, factors=(min(self.factors, key=lambda one: abs(figure / one - mean)),))

    @cached_property
    def extremes(self) -> tuple[float, float] | None:
        """The least and the greatest score; None without scores, or where one is not a double."""
        least, most = self.sums.least, self.sums.most
        if least is None or most is None or not math.isfinite(most - least):
            return None
        return least, most

    @cached_property
    def nothing(self) -> Decimal:
        """The difference that is negligible beside the scores, which may all be tiny."""
        largest = max(map(abs, self.extremes or (1.0,)))
        return NOTHING * Decimal(min(largest or 1.0, 1.0))

    @cached_property
    def middles(self) -> tuple[float, float] | None:
        """The two middle scores, equal for an odd number; None where they are not counted."""
        if not self.values:
            return None
        total = sum(self.values.values())
        lower, upper = (total - 1) // 2, total // 2
        seen, low = 0, math.nan
        for value, times in sorted(self.values.items()):
            seen += times
            if math.isnan(low) and seen > lower:
                low = value
            if seen > upper:
                return low, value
        return low, low

    @property
    def is_repeated(self) -> bool:
        """Whether samples are scored more than once."""
        return 0 < self.cover.samples < self.sums.joined_rows

    @property
    def has_even_repeats(self) -> bool:
        """Whether samples are scored more than once, all equally often."""
        return (
            self.is_repeated and self.cover.repeats == self.sums.joined_rows and self.cover.is_even
        )

    @property
    def leaves_out_errors(self) -> bool:
        """Whether documents may leave out rows with an error."""
        has_errors = self.sums.sound_rows != self.sums.rows
        return has_errors and not (self.counts_errors or self.scores_errors)

    @property
    def fewest_values(self) -> int:
        """The least number of values that figures may be over: samples, or rows without errors."""
        errors = self.sums.rows - self.sums.sound_rows if self.leaves_out_errors else 0
        return (self.cover.samples if self.is_repeated else self.rows) - errors

    @property
    def has_uneven_repeats(self) -> bool:
        """Whether samples are scored more than once, and perhaps not all equally often."""
        return self.is_repeated and (self.leaves_out_errors or not self.has_even_repeats)

    def bound_mean_of_samples(self) -> tuple[Fraction, Fraction] | None:
        """Return bounds of the mean over samples, each with the mean of its uneven repeats.

        Its weights differ from those of the mean over rows by 1/S - k/R for a sample with k of R
        rows, which sum up to 0, and absolutely to √(S·Σk²/R² - 1) at most (Cauchy and Schwarz). E
        errors that are left out of R rows add 2E/(R - E). A sum of absolute differences moves a
        mean by half of the range at most.
        """
        sums, cover, mean = self.sums, self.cover, self.mean
        if mean is None or self.extremes is None or cover.repeats != sums.joined_rows:
            return None
        moved = math.sqrt(max(cover.samples * cover.squares / cover.repeats**2 - 1, 0))
        if self.leaves_out_errors:
            mean = sums.mean_without_errors()
            if mean is None:
                return None
            moved += 2 * (sums.rows / sums.sound_rows - 1)
        least, most = map(Fraction, self.extremes)
        room = (most - least) / 2 * Fraction(moved)
        return mean - room, mean + room

    @cached_property
    def has_equal_repeats(self) -> bool:
        """Whether all repeats of each sample have the same score.

        The sum over pairs x·y of a sample's k scores is at most (k - 1)/2 times the sum of their
        squares, and reaches it only where they are equal (inequality of Cauchy and Schwarz).
        """
        if not self.has_even_repeats or self.cover.products is None or self.sums.unscored:
            return False
        repeats = self.sums.rows // self.cover.samples
        return 2 * self.cover.products == (repeats - 1) * self.sums.squares

    @cached_property
    def sample_spreads(self) -> tuple[Spread, ...]:
        """The spreads of the means of samples, over n-1 and over n, where repeats are even."""
        if not self.has_even_repeats or self.cover.products is None:
            return ()
        samples, sums = self.cover.samples, self.sums
        # The mean of a sample is the sum of its scores divided by the number of repeats.
        squares = sums.squares + 2 * self.cover.products
        centred = squares * samples - sums.total * sums.total
        repeats = sums.rows // samples
        variances = (
            Fraction(centred, (samples * divisor * repeats**2) << (2 * FRACTION_BITS))
            for divisor in (samples - 1, samples)
            if divisor > 0
        )
        return tuple(_spreads(variances, samples))

    @cached_property
    def row_spreads(self) -> tuple[Spread, ...]:
        """The spreads of the scores of rows, over n-1 and over n, also without rows in error."""
        sums = self.sums
        variances = (sums.variance(sample=True), sums.variance(sample=False))
        return (*_spreads(variances, sums.rows), *self.sound_spreads)

    @cached_property
    def sound_spreads(self) -> tuple[Spread, ...]:
        """The spreads of the scores without rows in error, where documents may leave these out."""
        sums = self.sums
        if sums.sound_rows == sums.rows or self.counts_errors:
            return ()
        variances = (
            sums.variance_without_errors(sample=True),
            sums.variance_without_errors(sample=False),
        )
        return tuple(_spreads(variances, sums.sound_rows))

    @property
    def means_and_spreads(self) -> Iterator[tuple[Fraction, int, tuple[Spread, ...]]]:
        """The means that a writer may mean, each with its number of scores and its spreads."""
        if self.mean is not None:
            yield self.mean, self.rows, self.error_spreads
        sound = self.sums.mean_without_errors()
        if self.sound_spreads and sound is not None and not self.scores_errors:
            yield sound, self.sums.sound_rows, self.sound_spreads

    @property
    def spreads(self) -> tuple[Spread, ...]:
        """The spreads of samples, then of rows: those that a writer may mean."""
        return self.sample_spreads + self.row_spreads

    @property
    def error_spreads(self) -> tuple[Spread, ...]:
        """The spreads that give a standard error.

        Where the repeats of each sample are equal, rows add no information, and an error over rows
        would be too small.
        """
        return self.cluster_spreads + (
            self.sample_spreads if self.has_equal_repeats else self.spreads
        )

    @cached_property
    def cluster_spreads(self) -> tuple[Spread, ...]:
        """The spread that gives the clustered error of the mean, with the correction C/(C-1)."""
        clusters, mean = self.clusters, self.mean
        if clusters is None or mean is None or len(clusters) < 2:
            return ()
        count = len(clusters)
        squares = Fraction(sum((total - number * mean) ** 2 for number, total in clusters.values()))
        return tuple(_spreads([squares * count * count / ((count - 1) * self.rows**2)], count))


def sum_clusters(
    numbers: Iterable[float], clusters: Iterable[Hashable]
) -> dict[Hashable, tuple[int, Fraction]]:
    """Return how many numbers each cluster has, and their sum."""
    found: dict[Hashable, tuple[int, Fraction]] = {}
    for number, cluster in zip(numbers, clusters, strict=True):
        count, total = found.get(cluster, (0, Fraction(0)))
        found[cluster] = count + 1, total + Fraction(number)
    return found


def _spreads(variances: Iterable[Fraction | None], number: int) -> Iterable[Spread]:
    for variance in variances:
        square = as_float(variance)
        if square is not None and math.isfinite(square):
            yield Spread(math.sqrt(max(square, 0.0)), number)

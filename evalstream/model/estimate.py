"""The statistics of one comparison of two runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from evalstream.model.data_class import DataClass, NamedTuple


class Interval(NamedTuple):
    """An interval at the level of the comparison, and the name of its method."""

    low: float
    high: float
    method: str


class PValue(NamedTuple):
    """The p value of a two-sided test, and the name of its method."""

    p: float
    method: str


class Square(NamedTuple):
    """The 2 x 2 square of 0/1 scores; the first word is of the reference."""

    both: int
    only_a: int
    only_b: int
    neither: int


class Clustered(NamedTuple):
    """The statistics with clusters of samples; `is_few` warns of too few clusters.

    `error_a` and `error_b` are the standard errors of the means of both runs.
    """

    clusters: int
    standard_error: float | None
    interval: Interval | None
    test: PValue | None
    is_few: bool
    error_a: float | None = None
    error_b: float | None = None


class EffectPower(NamedTuple):
    """The samples needed to find a true difference of `size`, on the scale of the scores.

    `power` is the probability that as many samples as these find it, `needed` the number of
    samples that find it with a power of 80 %, and `needed_without_noise` that number if each
    sample were repeated without end; None where samples have no repeats.
    """

    size: float
    power: float
    needed: int
    needed_without_noise: int | None


class OwnError(NamedTuple):
    """The standard error of the mean of one run, and its interval by t."""

    standard_error: float
    interval: Interval | None


class Estimate(DataClass, frozen=True):
    """The statistics of one comparison over `n` matched and scored samples.

    `difference` is `mean_a` - `mean_b`; `own_a` and `own_b` are the standard errors and intervals
    of the means. `standard_error` is that of the paired difference, None below two samples;
    `unpaired_error` is what it would be without pairing, and `correlation` is that of the scores
    (None where one side does not vary). `interval` and `test` are those of the verdict,
    `adjusted_p` is Holm's. `others` are further intervals and `tests` further tests. With clusters
    all errors, intervals and tests are those of `clustered`.
    `detectable` is the smallest difference found with a power of 80 %, `needed_for_point` the
    number of samples that would detect a difference of 0.01. `noise_floor` is the standard error
    of the difference that repeats alone explain. `effect` is the power for the difference that was
    asked for. `failed` counts samples with an error in the rows
    of one or both runs. `bounds` are those of the difference with all unmatched and failed samples
    counted against the reference, then against the other run; `bounds_reason` says why there are
    none. `histogram` holds differences, with their counts, in increasing order, at
    most 201 bins; `is_binary` says that all scores are 0 or 1.
    """

    n: int
    mean_a: float
    mean_b: float
    difference: float
    own_a: OwnError | None = None
    own_b: OwnError | None = None
    standard_error: float | None = None
    unpaired_error: float | None = None
    correlation: float | None = None
    interval: Interval | None = None
    test: PValue | None = None
    adjusted_p: float | None = None
    others: Sequence[Interval] = ()
    tests: Sequence[PValue] = ()
    clustered: Clustered | None = None
    square: Square | None = None
    is_binary: bool = False
    detectable: float | None = None
    needed_for_point: int | None = None
    noise_floor: float | None = None
    effect: EffectPower | None = None
    failed: int = 0
    bounds: tuple[float, float] | None = None
    bounds_reason: str | None = None
    histogram: Sequence[tuple[float, int]] = ()

    @property
    def p(self) -> float | None:
        """The p value of the verdict: adjusted, if there are several tests; None without a test."""
        if self.adjusted_p is not None:
            return self.adjusted_p
        return None if self.test is None else self.test.p


FEW_CLUSTERS: Final = 30
"""Below this number of clusters their standard error is unreliable."""

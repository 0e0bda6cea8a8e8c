"""All statistics of one comparison, the bounds of its difference, and what it can detect."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from evalstream.model.comparison import CompareSettings, MetricName
from evalstream.model.data_class import NamedTuple, replace
from evalstream.model.estimate import (
    Clustered,
    EffectPower,
    Estimate,
    Interval,
    OwnError,
    PValue,
    Square,
)
from evalstream.stats.inference.difference_tests import (
    RANDOM_FLIPS,
    bootstrap_intervals,
    exact_mcnemar,
    mid_p_mcnemar,
    sign_flip_test,
    t_interval,
    t_test,
    tango_interval,
)
from evalstream.stats.inference.paired import PairedScores
from evalstream.stats.probability import normal_cdf, normal_quantile


class Bounds(NamedTuple):
    """The difference with missing samples against the reference, then against the other run.

    `reason` says why there are none.
    """

    values: tuple[float, float] | None
    reason: str | None = None


def difference_bounds(paired: PairedScores, metric: MetricName, difference: float) -> Bounds:
    """Return the difference of all samples of either run, for the scores that are missing.

    A sample that only one run has counts against the reference if the reference has the worst score
    of the metric where it has none, and the other run the best one. So does a sample in whose rows
    is an error. Without such samples both bounds are the difference.
    """
    if not (paired.only_a.count or paired.only_b.count or paired.failed):
        return Bounds((difference, difference))
    limits = score_limits(metric)
    if limits is None and is_binary(paired):
        limits = 0.0, 1.0
    if limits is None:
        return Bounds(None, "the lowest and the highest possible score are unknown")
    lowest, highest = paired.scores_range
    if lowest < limits[0] or highest > limits[1]:
        return Bounds(None, "scores lie outside the range of the metric")
    worst, best = reversed(limits) if metric.lower_is_better else limits
    against_a = _with_unmatched(paired, difference, worst, best)
    return Bounds((against_a, _with_unmatched(paired, difference, best, worst)))


def score_limits(metric: MetricName) -> tuple[float, float] | None:
    """Return the lowest and the highest possible score, None where a run does not say them."""
    low, high = metric.minimum, metric.maximum
    if low is None or high is None or not (math.isfinite(low) and math.isfinite(high)):
        return None
    return (low, high) if low < high else None


def is_binary(paired: PairedScores) -> bool:
    """Tell whether all scores, those of unmatched samples included, are 0 or 1."""
    return paired.square is not None and paired.only_a.is_binary and paired.only_b.is_binary


def _with_unmatched(paired: PairedScores, difference: float, of_a: float, of_b: float) -> float:
    """Return the mean difference of all samples if missing scores have these values."""
    only_a, only_b = paired.only_a, paired.only_b
    failed_a, failed_b = paired.failed_a, paired.failed_b
    total = math.fsum(
        (
            difference * paired.n,
            only_a.total,
            -only_a.scored * of_b,
            only_b.scored * of_a,
            -only_b.total,
            (only_a.unscored + only_b.unscored) * (of_a - of_b),
            failed_a.scored * of_a - failed_a.total,
            failed_b.total - failed_b.scored * of_b,
        )
    )
    return total / (paired.n + only_a.count + only_b.count)


POWER: Final = 0.8
"""The probability of finding a difference of the detectable size."""


def detectable_difference(error: float, level: float) -> float:
    """Return the smallest true difference that is found with a probability of 80 %.

    `error` is the standard error of the difference.
    """
    return (normal_quantile((1 + level) / 2) + normal_quantile(POWER)) * error


def samples_needed(n: int, detectable: float, wanted: float) -> int:
    """Return how many samples detect a `wanted` difference, if `n` detect one of `detectable`.

    The standard error falls with the root of the number of samples; at least two are needed.
    """
    return max(2, math.ceil(n * (detectable / wanted) ** 2))


def effect_power(
    size: float, n: int, error: float, noise: float | None, level: float
) -> EffectPower:
    """Return the power for a true difference of `size`, from `n` samples with this standard error.

    `noise` is the part of the error that repeats explain; the rest is that between samples. The
    probability of a significant difference of the wrong sign is left out.
    """
    needed = samples_needed(n, detectable_difference(error, level), size)
    without_noise = None
    if noise is not None:
        between = math.sqrt(max(0.0, error**2 - noise**2))
        without_noise = samples_needed(n, detectable_difference(between, level), size)
    power = normal_cdf(size / error - normal_quantile((1 + level) / 2))
    return EffectPower(size, power, needed, without_noise)


MANY: Final = 1000
"""The number of differing samples from which the p value of graded scores is that of t.

Samples with equal scores do not count: with four equal differences among thousands of zeros t is
significant, although four random signs agree once in eight times.
"""

POINT: Final = 0.01
"""The difference whose number of samples is part of an estimate."""

PAIRED_T: Final = "paired t"


_Answers = tuple[Sequence[Interval | None], Sequence[PValue | None]]
"""Intervals and tests, those of the verdict first, None where there are none."""


def estimate(
    paired: PairedScores,
    metric: MetricName,
    settings: CompareSettings,
    seed: int,
    clustered: Clustered | None = None,
) -> Estimate | None:
    """Return the statistics of a comparison, None without pairs or with extreme scores.

    With clusters all errors, intervals and tests are those of `clustered`.
    Random numbers follow from the seed alone. See `PairedScores.is_extreme`.
    """
    if not paired.n or paired.is_extreme:
        return None
    mean_a, mean_b, difference = paired.moments.means
    if paired.is_equal:
        difference = 0.0
    if clustered is None:
        error = standard_error(paired)
        if paired.square is None:
            intervals, tests = _graded_answers(paired, difference, error, settings, seed)
        else:
            intervals, tests = _binary(paired, paired.square, difference, error, settings.level)
        errors, df = _own_errors(paired), paired.n - 1
    else:
        error = clustered.standard_error
        intervals, tests = (clustered.interval,), (clustered.test,)
        errors, df = (clustered.error_a, clustered.error_b), clustered.clusters - 1
    own_errors = (own if own is None or own > paired.rounding else 0.0 for own in errors)
    own_a, own_b = (
        None if own is None else OwnError(own, t_interval(mean, own, df, settings.level, "t"))
        for mean, own in zip((mean_a, mean_b), own_errors, strict=True)
    )
    detectable = detectable_difference(error, settings.level) if error else None
    effect = None
    if settings.effect is not None and error:
        noise = paired.noise_floor
        effect = effect_power(settings.effect, paired.n, error, noise, settings.level)
    bounds, bounds_reason = difference_bounds(paired, metric, difference)
    return Estimate(
        n=paired.n,
        mean_a=mean_a,
        mean_b=mean_b,
        difference=difference,
        own_a=own_a,
        own_b=own_b,
        standard_error=error,
        unpaired_error=math.hypot(own_a[0], own_b[0]) if own_a and own_b else None,
        correlation=_correlation(paired),
        interval=intervals[0],
        test=tests[0],
        others=tuple(one for one in intervals[1:] if one),
        tests=tuple(one for one in tests[1:] if one),
        clustered=clustered,
        square=paired.square,
        is_binary=paired.square is not None,
        detectable=detectable,
        needed_for_point=samples_needed(paired.n, detectable, POINT) if detectable else None,
        noise_floor=paired.noise_floor,
        effect=effect,
        failed=paired.failed,
        bounds=bounds,
        bounds_reason=bounds_reason,
        histogram=tuple(zip(*(some.tolist() for some in paired.differences.bins()), strict=True)),
    )


def choose_cautious(
    first: Estimate | None, other: Estimate | None, level: float
) -> Estimate | None:
    """Return the estimate with the larger p value, or the one that cannot have any.

    Random signs give no p value below 1 / resamples: where both are significant, it is the one with
    the larger standard error.
    """
    if first is None or other is None or first.test is None or other.test is None:
        return first if other is None or (first is not None and first.test is None) else other
    p, other_p = first.test.p, other.test.p
    if first.test.method == RANDOM_FLIPS and max(p, other_p) <= 1 - level:
        p, other_p = first.standard_error or 0.0, other.standard_error or 0.0
    return other if other_p > p else first


def with_adjusted(estimates: Sequence[Estimate | None]) -> list[Estimate | None]:
    """Return the estimates of one report with p values adjusted by Holm's method.

    Estimates without a test stay as they are, as does a single one.
    """
    tested = [one.test.p for one in estimates if one and one.test]
    if len(tested) < 2:
        return list(estimates)
    adjusted = iter(holm(tested))
    return [
        replace(one, adjusted_p=next(adjusted)) if one and one.test else one for one in estimates
    ]


def standard_error(paired: PairedScores) -> float | None:
    """Return the standard error of the paired difference, None below two pairs.

    It is 0 where the differences vary no more than by rounding.
    """
    if paired.n < 2:
        return None
    deviation = math.sqrt(paired.moments.variances[2])
    return 0.0 if deviation <= paired.rounding else deviation / math.sqrt(paired.n)


def _binary(
    paired: PairedScores, square: Square, difference: float, error: float | None, level: float
) -> _Answers:
    only_a, only_b = square.only_a, square.only_b
    tango = tango_interval(only_a, only_b, paired.n, level)
    student = t_interval(difference, error, paired.n - 1, level, PAIRED_T) if error else None
    tests = mid_p_mcnemar(only_a, only_b), exact_mcnemar(only_a, only_b)
    return (tango, student), tests


def _graded_answers(
    paired: PairedScores,
    difference: float,
    error: float | None,
    settings: CompareSettings,
    seed: int,
) -> _Answers:
    intervals: list[Interval | None] = [None]
    tests: list[PValue | None] = []
    cells = paired.differences.cells()
    if int(cells.times[cells.values != 0].sum()) < MANY:
        tests.append(sign_flip_test(cells, settings.resamples, seed, paired.rounding))
    if error is not None:
        df = paired.n - 1
        intervals = [t_interval(difference, error, df, settings.level, PAIRED_T)]
        tests.append(t_test(difference, error, df, PAIRED_T))
    if error:
        intervals += bootstrap_intervals(cells, settings.resamples, settings.level, seed)
    return intervals, tests


def _own_errors(paired: PairedScores) -> tuple[float | None, float | None]:
    if paired.n < 2:
        return None, None
    variance_a, variance_b, _ = paired.moments.variances
    return math.sqrt(variance_a / paired.n), math.sqrt(variance_b / paired.n)


def _correlation(paired: PairedScores) -> float | None:
    """Return Pearson's correlation of the scores, None where one side does not vary."""
    if paired.n < 2:
        return None
    moments = paired.moments
    deviations = [math.sqrt(variance) for variance in moments.variances[:2]]
    if min(deviations) <= paired.rounding:
        return None
    return max(-1.0, min(1.0, moments.covariance / deviations[0] / deviations[1]))


def holm(values: Sequence[float]) -> list[float]:
    """Return p values adjusted by Holm's step-down method, in the order given.

    Source: Holm, A simple sequentially rejective multiple test procedure (1979).
    """
    adjusted = [0.0] * len(values)
    reached = 0.0
    for rank, place in enumerate(sorted(range(len(values)), key=values.__getitem__)):
        reached = max(reached, min(1.0, (len(values) - rank) * values[place]))
        adjusted[place] = reached
    return adjusted

"""Bounds of a difference for all that the unmatched and failed samples may be."""

from __future__ import annotations

import math
from typing import NamedTuple

from evalstream.model.comparison import MetricName
from evalstream.stats.inference.paired import PairedScores


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

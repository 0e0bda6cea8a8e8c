"""The average of several results of two runs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from evalstream.model import comparison, estimate
from evalstream.stats.probability import normal_quantile


def average_results(
    comparisons: Sequence[comparison.Comparison], samples: Mapping[str, int], level: float
) -> list[comparison.Average]:
    """Return the average of each pair of runs with equal weights of results.

    A pair has none unless it has two results or more, each with one metric, all of one range,
    direction and unit, and all comparable. The errors are those of results with samples of their
    own; there are none if the results have more samples together than the run, whose number of
    distinct `samples` is given by its label.
    """
    found = []
    for (a, b), group in groupby(comparisons, lambda one: (one.a, one.b)):
        some = [*group]
        estimates = [*_comparable(some)]
        if len(estimates) > 1:
            shares = samples[a] < sum(one.alignment.samples_a for one in some)
            shares = shares or samples[b] < sum(one.alignment.samples_b for one in some)
            found.append(_average(a, b, estimates, None if shares else level))
    return found


def _comparable(comparisons: Sequence[comparison.Comparison]) -> Iterator[estimate.Estimate]:
    """Iterate over the estimates of comparisons that have an average, over none otherwise."""
    results = {one.metric.result for one in comparisons}
    scales = {_scale(one.metric) for one in comparisons}
    if len(results) < len(comparisons) or len(scales) > 1:
        return
    if any(one.verdict is comparison.CompareVerdict.NOT_COMPARABLE for one in comparisons):
        return
    yield from (one.estimate for one in comparisons if one.estimate is not None)


def _scale(metric: comparison.MetricName) -> tuple[object, ...]:
    """Return what scores must share to be averaged; an unknown bound is like no other."""
    bounds = metric.minimum, metric.maximum
    return metric.lower_is_better, metric.unit, bounds if None not in bounds else metric


def _average(
    a: str, b: str, estimates: Sequence[estimate.Estimate], level: float | None
) -> comparison.Average:
    """Return an average, with errors and an interval of this level unless it is None."""
    k = len(estimates)
    difference = math.fsum(one.difference for one in estimates) / k
    own = [(one.own_a, one.own_b) for one in estimates]
    error_a, error_b = (
        _error([one and one.standard_error for one in side]) for side in zip(*own, strict=True)
    )
    error = _error([one.standard_error for one in estimates])
    interval = None
    if level is None:
        error_a = error_b = error = None
    elif error:
        reach = normal_quantile((1 + level) / 2) * error
        interval = estimate.Interval(difference - reach, difference + reach, "normal")
    return comparison.Average(
        a,
        b,
        k,
        math.fsum(one.mean_a for one in estimates) / k,
        error_a,
        math.fsum(one.mean_b for one in estimates) / k,
        error_b,
        difference,
        error,
        interval,
    )


def _error(errors: Sequence[float | None]) -> float | None:
    """Return the standard error of a mean of independent figures, None if one has none."""
    known = [one for one in errors if one is not None]
    return None if len(known) < len(errors) else math.hypot(*known) / len(errors)

"""Bounds of a difference for what is missing."""

import math

import pytest
from each import each

from evalstream.model.comparison import MetricName
from evalstream.stats.inference.estimate import difference_bounds
from evalstream.stats.inference.paired import PairedScores

PLAIN = MetricName("r")


def paired(only_a: list[float], only_b: list[float]) -> PairedScores:
    some = PairedScores()
    some.add([1.0, 1.0, 0.0], [1.0, 0.0, 0.0])
    some.only_a.add(only_a)
    some.only_b.add(only_b)
    return some


def test_all_that_is_missing_counts_against_one_run() -> None:
    found = difference_bounds(paired([1.0, 0.0], [1.0]), PLAIN, 1 / 3)
    # Against A: B is right in both samples of A, and A is wrong in that of B.
    assert found.values == pytest.approx(((1 + 0 - 1 - 1) / 6, (1 + 1 + 0 + 0) / 6))
    assert found.reason is None


def test_where_lower_is_better_the_highest_score_is_the_worst() -> None:
    metric = MetricName("r", lower_is_better=True)
    found = difference_bounds(paired([1.0, 0.0], [1.0]), metric, 1 / 3)
    assert found.values == pytest.approx(((1 + 1 + 0 + 0) / 6, (1 + 0 - 1 - 1) / 6))


def test_missing_samples_without_a_score_cost_the_whole_range() -> None:
    found = difference_bounds(paired([math.nan], []), PLAIN, 1 / 3)
    assert found.values == pytest.approx((0, 2 / 4))


def test_nothing_is_missing() -> None:
    assert difference_bounds(paired([], []), PLAIN, 1 / 3) == ((1 / 3, 1 / 3), None)


def test_the_range_of_the_metric_is_used() -> None:
    metric = MetricName("r", minimum=-1, maximum=3)
    found = difference_bounds(paired([0.5], []), metric, 1 / 3)
    assert found.values == pytest.approx(((1 + 0.5 - 3) / 4, (1 + 0.5 + 1) / 4))


@each("metric", [PLAIN, MetricName("r", minimum=0), MetricName("r", maximum=1)])
def test_without_a_range_there_are_none(metric: MetricName) -> None:
    found = difference_bounds(paired([0.5], []), metric, 1 / 3)
    assert found == (None, "the lowest and the highest possible score are unknown")


@each(("low", "high"), [(1.0, 1.0), (2.0, 1.0), (0.0, math.inf)])
def test_a_range_that_is_none_is_not_used(low: float, high: float) -> None:
    metric = MetricName("r", minimum=low, maximum=high)
    assert difference_bounds(paired([0.5], []), metric, 1 / 3).values is None


def test_scores_outside_the_range_are_noticed() -> None:
    metric = MetricName("r", minimum=0, maximum=1)
    found = difference_bounds(paired([1.5], []), metric, 1 / 3)
    assert found == (None, "scores lie outside the range of the metric")


def test_scores_of_rows_with_an_error_count_as_missing() -> None:
    some = paired([], [])
    some.failed_b.add([0.0])
    some.failed = 1
    # B may be right where it failed, and then the runs are equal.
    assert difference_bounds(some, PLAIN, 1 / 3).values == pytest.approx((0, 1 / 3))
    some.failed_a.add([1.0])
    assert difference_bounds(some, PLAIN, 1 / 3).values == pytest.approx((-1 / 3, 1 / 3))

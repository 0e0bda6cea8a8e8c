"""Tests of deviations, errors and intervals against the standard library and scipy."""

import math
import statistics
from fractions import Fraction

import scipy
from each import each
from hypothesis import given
from hypothesis import strategies as st
from rows import bounded

from evalstream.stats.claims import intervals
from evalstream.stats.claims.evidence import Evidence, sum_clusters

NUMBERS = st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=30)
CLOSE = {"rel_tol": 1e-6, "abs_tol": 1e-6}


@bounded()
@given(NUMBERS)
def test_spreads_are_those_of_the_standard_library(values: list[float]) -> None:
    assert math.isclose(intervals.mean(values), statistics.fmean(values), **CLOSE)
    assert math.isclose(intervals.variance(values), statistics.variance(values), **CLOSE)
    assert math.isclose(intervals.deviation(values), statistics.stdev(values), **CLOSE)
    error = statistics.stdev(values) / math.sqrt(len(values))
    assert math.isclose(intervals.mean_error(values), error, **CLOSE)
    # With a cluster for each value the errors are the same.
    assert math.isclose(intervals.mean_error(values, range(len(values))), error, **CLOSE)


@bounded()
@given(NUMBERS, st.sampled_from([0.8, 0.95, 0.99]))
def test_the_t_interval_is_that_of_scipy(values: list[float], level: float) -> None:
    error = intervals.mean_error(values)
    low, high = intervals.mean_interval(values, level)
    middle, half = (
        intervals.mean(values),
        scipy.stats.t.ppf((1 + level) / 2, len(values) - 1) * error,
    )
    assert math.isclose(low, middle - half, **CLOSE)
    assert math.isclose(high, middle + half, **CLOSE)
    assert intervals.mean_interval([2.5], level) == (2.5, 2.5)


@each("right", [0, 1, 5, 10])
def test_the_wilson_interval_is_that_of_scipy(right: int) -> None:
    values = [1.0] * right + [0.0] * (10 - right)
    expected = scipy.stats.binomtest(right, 10).proportion_ci(0.9, method="wilson")
    low, high = intervals.wilson_interval(values, 0.9)
    assert math.isclose(low, expected.low, abs_tol=1e-12)
    assert math.isclose(high, expected.high, abs_tol=1e-12)


def test_clusters_widen_the_wilson_interval() -> None:
    values, clusters = [1.0, 1.0, 0.0, 0.0, 1.0, 1.0], [1, 1, 2, 2, 3, 3]
    low, high = intervals.wilson_interval(values, 0.95)
    wide_low, wide_high = intervals.wilson_interval(values, 0.95, clusters)
    assert wide_low < low < high < wide_high


@bounded()
@given(NUMBERS)
def test_exact_sums_of_clusters_give_the_same_error(values: list[float]) -> None:
    clusters = [index // 2 for index in range(len(values))]
    parts = sum_clusters(values, clusters)
    assert sum((total for _, total in parts.values()), Fraction(0)) == sum(map(Fraction, values))
    evidence = Evidence.of_numbers(values, clusters=parts)
    expected = intervals.mean_error(values, clusters)
    if len(parts) > 1:
        assert math.isclose(evidence.cluster_spreads[0].error, expected, **CLOSE)
    else:
        assert evidence.cluster_spreads == ()

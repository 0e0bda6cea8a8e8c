"""Intervals and tests by Student's t, with and without spread."""

import pytest

from evalstream.stats.inference.difference_tests import t_interval, t_test


def test_an_interval_is_the_quantile_times_the_error() -> None:
    low, high, method = t_interval(1.0, 0.5, 10, 0.95, "paired t") or (0, 0, "")
    assert (low, high) == pytest.approx((1 - 0.5 * 2.228138852, 1 + 0.5 * 2.228138852))
    assert method == "paired t"
    assert t_test(1.1140694260, 0.5, 10, "paired t").p == pytest.approx(0.05)


def test_without_spread_only_signs_are_tested() -> None:
    assert t_interval(0.2, 0.0, 4, 0.95, "paired t") is None
    assert t_test(-0.2, 0.0, 4, "paired t") == (2.0**-4, "sign test")


def test_equal_scores_differ_by_nothing() -> None:
    assert t_interval(0.0, 0.0, 4, 0.95, "paired t") is None
    assert t_test(0.0, 0.0, 4, "paired t") == (1, "paired t")

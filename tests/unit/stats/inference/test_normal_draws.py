"""Draws from a normal distribution of several variables."""

import math
import statistics

import pytest

from evalstream.stats.inference.normal_draws import NormalDraws


def test_draws_have_the_covariance_asked_for() -> None:
    wanted = [[4.0], [1.0, 1.0], [-2.0, 0.5, 9.0]]
    draws = NormalDraws(wanted, 1)
    assert draws.largest_deviation == 3
    columns = list(zip(*draws.take(20_000), strict=True))
    for i, row in enumerate(wanted):
        assert statistics.fmean(columns[i]) == pytest.approx(0, abs=5 * math.sqrt(row[-1] / 20_000))
        for j, one in enumerate(row):
            found = statistics.covariance(columns[i], columns[j])
            assert found == pytest.approx(one, abs=0.25)


def test_dependent_variables_stay_dependent() -> None:
    for one, two, none in NormalDraws([[1.0], [1.0, 1.0], [0.0, 0.0, 0.0]], 1).take(50):
        assert one == pytest.approx(two, rel=1e-9)
        assert none == 0


def test_nothing_varies() -> None:
    draws = NormalDraws([[0.0]], 1)
    assert draws.largest_deviation == 0
    assert list(draws.take(2)) == [[0.0], [0.0]]

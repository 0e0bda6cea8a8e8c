"""McNemar's tests and Tango's interval: published values and edges."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalstream.stats.inference.difference_tests import exact_mcnemar, mid_p_mcnemar, tango_interval
from evalstream.stats.probability import normal_quantile

counts = st.integers(0, 200)


def test_the_example_of_fagerland_lydersen_and_laake() -> None:
    # Airway hyper-responsiveness before and after a transplantation: 1 and 7 discordant pairs.
    assert exact_mcnemar(1, 7).p == pytest.approx(0.0703, abs=5e-5)
    assert mid_p_mcnemar(1, 7).p == pytest.approx(0.0391, abs=5e-5)


def test_the_interval_of_the_same_example() -> None:
    # Fagerland, Lydersen and Laake (2014) give -0.517 to -0.026 for 21 pairs.
    low, high, method = tango_interval(1, 7, 21, 0.95)
    assert (low, high) == (pytest.approx(-0.517, abs=5e-4), pytest.approx(-0.026, abs=5e-4))
    assert method == "Tango score"


@given(b=counts, c=counts)
def test_the_tests_are_those_of_whole_numbers(b: int, c: int) -> None:
    n, k = b + c, min(b, c)
    exact = min(Fraction(1), Fraction(2 * sum(math.comb(n, i) for i in range(k + 1)), 2**n))
    point = Fraction(math.comb(n, k), 2**n)
    assert exact_mcnemar(b, c).p == pytest.approx(float(exact), rel=1e-11)
    mid = exact - point / (2 if b == c else 1) if n else Fraction(1)
    assert mid_p_mcnemar(b, c).p == pytest.approx(float(mid), rel=1e-10)


@given(b=counts, c=counts)
def test_both_runs_are_treated_alike(b: int, c: int) -> None:
    assert exact_mcnemar(b, c) == exact_mcnemar(c, b)
    assert mid_p_mcnemar(b, c) == mid_p_mcnemar(c, b)
    low, high, _ = tango_interval(b, c, b + c + 5, 0.9)
    assert tango_interval(c, b, b + c + 5, 0.9)[:2] == (
        pytest.approx(-high, abs=1e-11),
        pytest.approx(-low, abs=1e-11),
    )


@given(n=st.integers(1, 10**7), level=st.floats(0.5, 0.999))
def test_without_discordant_samples_the_interval_has_a_closed_form(n: int, level: float) -> None:
    square = normal_quantile((1 + level) / 2) ** 2
    low, high, _ = tango_interval(0, 0, n, level)
    assert high == pytest.approx(square / (n + square), rel=1e-9)
    assert low == pytest.approx(-high, rel=1e-9)


@given(b=counts, c=counts, rest=counts, level=st.floats(0.5, 0.999))
def test_the_interval_holds_the_estimate_and_grows_with_the_level(
    b: int, c: int, rest: int, level: float
) -> None:
    n = max(1, b + c + rest)
    low, high, _ = tango_interval(b, c, n, level)
    assert -1 <= low <= (b - c) / n <= high <= 1
    wider = tango_interval(b, c, n, (1 + level) / 2)
    assert wider.low <= low + 1e-12
    assert wider.high >= high - 1e-12


def test_one_sample() -> None:
    assert tango_interval(1, 0, 1, 0.95).high == 1
    assert -1 < tango_interval(1, 0, 1, 0.95).low < 0
    assert tango_interval(0, 1, 1, 0.95).low == -1
    assert exact_mcnemar(1, 0).p == 1
    assert mid_p_mcnemar(1, 0).p == 0.5


def test_all_samples_discordant_one_way() -> None:
    low, high, _ = tango_interval(50, 0, 50, 0.95)
    assert high == 1
    assert 0.8 < low < 0.95
    assert exact_mcnemar(50, 0).p == pytest.approx(2.0**-49)


def test_millions_of_samples() -> None:
    low, high, _ = tango_interval(400_000, 398_000, 7_500_000, 0.95)
    error = math.sqrt(798_000 - 2000**2 / 7_500_000) / 7_500_000
    assert high - low == pytest.approx(2 * normal_quantile(0.975) * error, rel=1e-4)
    assert mid_p_mcnemar(400_000, 398_000).p == pytest.approx(
        math.erfc(2000 / math.sqrt(2 * 798_000)), rel=1e-3
    )

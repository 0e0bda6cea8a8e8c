"""Tests of differences: of McNemar, by signs, of Student; their intervals, and the bootstrap."""

import itertools
import math
import random
from fractions import Fraction

import numpy as np
import pytest
from each import each
from hypothesis import given
from hypothesis import strategies as st
from score_cells import cells_of

from evalstream.stats.inference import difference_tests
from evalstream.stats.inference.difference_tests import (
    EXACT_FLIPS,
    RANDOM_FLIPS,
    bootstrap_intervals,
    exact_mcnemar,
    mid_p_mcnemar,
    resample_sums,
    sign_flip_test,
    t_interval,
    t_test,
    tango_interval,
)
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


def normal(n: int, seed: int = 1) -> list[float]:
    rng = random.Random(seed)
    return [rng.gauss(0.2, 1) for _ in range(n)]


def skewed(n: int, seed: int = 1) -> list[float]:
    rng = random.Random(seed)
    return [rng.expovariate(1) for _ in range(n)]


def test_many_normal_values_have_the_interval_of_t() -> None:
    some = normal(2000)
    mean = math.fsum(some) / 2000
    error = math.sqrt(math.fsum((x - mean) ** 2 for x in some)) / 2000
    for low, high, _ in bootstrap_intervals(cells_of(some), 20_000, 0.95, 3):
        assert low == pytest.approx(mean - 1.96 * error, abs=0.07 * error)
        assert high == pytest.approx(mean + 1.96 * error, abs=0.07 * error)


def test_bca_moves_towards_the_long_tail() -> None:
    percentile, bca = bootstrap_intervals(cells_of(skewed(40)), 10_000, 0.95, 3)
    assert percentile.method == "bootstrap percentile"
    assert bca.method == "bootstrap BCa"
    assert bca.low > percentile.low
    assert bca.high > percentile.high


def test_the_expansion_agrees_with_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    some = cells_of(skewed(1000))
    drawn = bootstrap_intervals(some, 20_000, 0.9, 3)
    monkeypatch.setattr(difference_tests, "MOST_DRAWN", 999)
    expanded = bootstrap_intervals(some, 20_000, 0.9, 3)
    assert [one.method for one in expanded] == [
        f"bootstrap {name} (Cornish-Fisher)" for name in ("percentile", "BCa")
    ]
    error = math.sqrt(1 / 1000)
    for one, other in zip(drawn, expanded, strict=True):
        assert one.low == pytest.approx(other.low, abs=0.05 * error)
        assert one.high == pytest.approx(other.high, abs=0.05 * error)


def test_zeros_count_though_they_are_not_drawn() -> None:
    some = cells_of([*[-1.0] * 100, *[0.0] * 1700, *[1.0] * 200])
    error = math.sqrt((300 / 2000 - 0.05**2) / 2000)
    for low, high, _ in bootstrap_intervals(some, 10_000, 0.95, 3):
        assert low == pytest.approx(0.05 - 1.96 * error, abs=0.1 * error)
        assert high == pytest.approx(0.05 + 1.96 * error, abs=0.1 * error)


@each("values", [[], [0.0], [0.0] * 5, [0.3] * 5])
def test_equal_values_have_no_interval(values: list[float]) -> None:
    assert bootstrap_intervals(cells_of(values), 1000, 0.95, 3) == ()


def test_two_values_are_the_widest_interval() -> None:
    for low, high, _ in bootstrap_intervals(cells_of([1.0, 2.0]), 1000, 0.95, 3):
        assert (low, high) == (1, 2)


@each("scale", [1e-90, 1.0, 1e90])
def test_intervals_scale_with_the_values(scale: float) -> None:
    unit = bootstrap_intervals(cells_of(skewed(30)), 1000, 0.95, 3)
    scaled = bootstrap_intervals(cells_of([scale * x for x in skewed(30)]), 1000, 0.95, 3)
    for one, other in zip(unit, scaled, strict=True):
        assert other[:2] == pytest.approx([scale * one.low, scale * one.high], rel=1e-9)


@pytest.mark.parametrize("some", [normal(300), [round(x, 1) for x in normal(1000)]])
def test_draws_by_counts_and_one_by_one_agree(
    monkeypatch: pytest.MonkeyPatch, some: list[float]
) -> None:
    found = []
    for worth in (0, 10**9):
        monkeypatch.setattr(difference_tests, "_WORTH_COUNTING", worth)
        found.append(bootstrap_intervals(cells_of(some), 20_000, 0.9, 3))
    for one, other in zip(*found, strict=True):
        assert one[:2] == pytest.approx(other[:2], abs=0.05 / math.sqrt(len(some)))


def test_an_outlier_does_not_break_bca() -> None:
    some = [*([0.0] * 3), *normal(5), 1e9]
    found = bootstrap_intervals(cells_of(some), 1000, 0.99, 3)
    for low, high, _ in found:
        assert min(some) <= low < high <= 1e9


def test_seeds_decide() -> None:
    some = cells_of(normal(50))
    assert bootstrap_intervals(some, 500, 0.95, 3) == bootstrap_intervals(some, 500, 0.95, 3)
    assert bootstrap_intervals(some, 500, 0.95, 3) != bootstrap_intervals(some, 500, 0.95, 4)


wholes = st.lists(st.integers(-20, 20), min_size=1, max_size=9)


@given(wholes, st.sampled_from([1.0, 0.1, 1e-90, 1e90]))
def test_all_signs_are_counted(values: list[int], scale: float) -> None:
    nonzero = [value for value in values if value]
    flips = list(itertools.product((1, -1), repeat=len(nonzero)))
    sums = [abs(sum(s * v for s, v in zip(signs, nonzero, strict=True))) for signs in flips]
    expected = sum(one >= abs(sum(values)) for one in sums) / len(flips)
    scaled = [value * scale for value in values]
    # A third of a tenth is not a double, yet equal means are equal.
    found = sign_flip_test(cells_of(scaled), 10_000, 1, 1e-15 * scale * 20)
    assert found == (pytest.approx(expected), EXACT_FLIPS)


def test_random_signs_approach_all_signs() -> None:
    rng = random.Random(3)
    values = [rng.gauss(0.3, 1) for _ in range(16)]
    exact = sign_flip_test(cells_of(values), 1 << 16, 1)
    drawn = sign_flip_test(cells_of(values), 20_000, 1)
    assert (exact.method, drawn.method) == (EXACT_FLIPS, RANDOM_FLIPS)
    assert drawn.p == pytest.approx(exact.p, abs=5 * (exact.p / 20_000) ** 0.5)


@each("n", [14, 15, 16, 17, 100, 999])
def test_a_clear_difference_has_the_least_p(n: int) -> None:
    found = sign_flip_test(cells_of([1.0] * n), 1000, 7)
    assert found == ((1 + 0) / 1001, RANDOM_FLIPS)


def test_no_difference_has_p_1() -> None:
    assert sign_flip_test(cells_of([0.0] * 500), 1000, 7).p == 1
    assert sign_flip_test(cells_of([-0.5, 0.5] * 100), 1000, 7).p == 1


def test_the_same_seed_gives_the_same_p() -> None:
    some = cells_of([*[-1.5] * 40, *[0.0] * 3, *[0.25] * 90, *[2.0] * 25])
    assert sign_flip_test(some, 2000, 5) == sign_flip_test(some, 2000, 5)
    assert sign_flip_test(some, 2000, 5) != sign_flip_test(some, 2000, 6)


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


def test_resamples_of_many_runs_are_added_up_a_few_at_a_time() -> None:
    one = np.arange(16)
    many = np.repeat(one[:, None], 100, axis=1)
    times = np.ones(16, np.int64)
    (alone,) = resample_sums(one, times, 16, 1000, 7)
    parts = [*resample_sums(many, times, 16, 1000, 7)]
    assert max(map(len, parts)) <= 164
    assert (np.concatenate(parts) == alone[:, None]).all()

"""Bootstrap intervals of a mean."""

import math
import random

import pytest
from score_cells import cells_of

from evalstream.stats.inference import difference_tests
from evalstream.stats.inference.difference_tests import bootstrap_intervals


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


@pytest.mark.parametrize("values", [[], [0.0], [0.0] * 5, [0.3] * 5])
def test_equal_values_have_no_interval(values: list[float]) -> None:
    assert bootstrap_intervals(cells_of(values), 1000, 0.95, 3) == ()


def test_two_values_are_the_widest_interval() -> None:
    for low, high, _ in bootstrap_intervals(cells_of([1.0, 2.0]), 1000, 0.95, 3):
        assert (low, high) == (1, 2)


@pytest.mark.parametrize("scale", [1e-90, 1.0, 1e90])
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

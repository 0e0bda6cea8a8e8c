"""The histogram of differences: exact, then in cells, never dependent on the order."""

import random
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from score_cells import counts_of

from evalstream.stats.inference import paired
from evalstream.stats.inference.paired import MOST_BINS, Differences

values = st.floats(-1e100, 1e100).filter(lambda value: not value or abs(value) > 1e-200)


def collected(some: list[float], size: int = 1000) -> Differences:
    differences = Differences()
    for start in range(0, len(some), size):
        differences.add(np.array(some[start : start + size]))
    return differences


@given(st.lists(values, max_size=300), st.integers(1, 50))
def test_few_values_are_exact(some: list[float], size: int) -> None:
    differences = collected(some, size)
    assert differences.is_exact
    assert counts_of(differences.cells()) == Counter(some)


@given(
    some=st.lists(
        values | st.integers(-50, 50).map(lambda value: value / 7), min_size=1, max_size=300
    ),
    size=st.integers(1, 50),
    most=st.integers(3, 20),
)
def test_cells_do_not_depend_on_the_order(some: list[float], size: int, most: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(paired, "MOST_CELLS", most)
        cells = counts_of(collected(some, size).cells())
        shuffled = collected(random.Random(1).sample(some, len(some)), 7)
        assert counts_of(shuffled.cells()) == cells
    assert len(cells) <= most + 1
    assert sum(cells.values()) == len(some)
    assert cells.get(0.0, 0) == some.count(0)
    assert list(cells) == sorted(cells)


def test_many_values_are_kept_to_a_small_share_of_their_range() -> None:
    rng = random.Random(2)
    some = [rng.gauss(0, 1) for _ in range(100_000)]
    differences = collected(some, 8192)
    assert not differences.is_exact
    values, times = differences.cells()
    assert 32_768 < len(values) <= 65_537
    mean = float((values * times).sum()) / len(some)
    assert mean == pytest.approx(sum(some) / len(some), abs=1e-5)


@given(st.lists(values | st.integers(-5, 5).map(float), max_size=1000))
def test_bins_are_few_ordered_and_complete(some: list[float]) -> None:
    bins = counts_of(collected(some).bins())
    assert len(bins) <= MOST_BINS
    assert sum(bins.values()) == len(some)
    assert bins.get(0.0, 0) >= some.count(0)
    assert list(bins) == sorted(bins)


def test_bins_keep_zero_apart_and_hold_means() -> None:
    some = [i / 1000 for i in range(-500, 500)]
    bins = counts_of(collected(some).bins())
    assert bins[0.0] == 1
    assert len(bins) > 60
    total = sum(value * times for value, times in bins.items())
    assert total == pytest.approx(sum(some), abs=1e-9)


def test_nothing_has_no_cells() -> None:
    assert counts_of(Differences().cells()) == {}
    assert counts_of(Differences().bins()) == {}

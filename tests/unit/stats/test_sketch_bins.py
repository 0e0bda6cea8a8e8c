"""Bins that grow with the range: the same for any order, and every number is inside its bin."""

from __future__ import annotations

import math
import random
from collections import Counter
from fractions import Fraction
from itertools import pairwise

import pytest
from each import each
from hypothesis import given
from hypothesis import strategies as st

from evalstream.model.sketch import Histogram
from evalstream.stats.sketch import LARGEST, MOST_BINS, SMALLEST, Bins, sketchable

SCALES = ("linear", "log")
NUMBERS = st.one_of(
    st.floats(0, 1),
    st.integers(-100, 100_000).map(float),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([0.0, -0.0, 1.0, 0.5, 5e-324, LARGEST, -LARGEST, 1e308, math.pi, 2.0**48]),
)

every_scale = pytest.mark.parametrize("scale", SCALES)


def bins_of(scale: str, numbers: list[float]) -> Bins:
    """Return the bins of some numbers."""
    bins = Bins(scale)
    bins.add(Counter(numbers))
    return bins


def held(scale: str, numbers: list[float]) -> list[float]:
    """Return the numbers that a scale has a place for, without zeros on a logarithmic one."""
    usual = [number for number in numbers if abs(number) <= LARGEST]
    return usual if scale == "linear" else [number for number in usual if number >= SMALLEST]


def expected(bins: Histogram, numbers: list[float]) -> list[int]:
    """Count the numbers between the edges of each bin."""
    edges = [bins.edge(number) for number in range(len(bins.counts) + 1)]
    return [sum(low <= number < high for number in numbers) for low, high in pairwise(edges)]


@every_scale
@given(numbers=st.lists(NUMBERS, max_size=80))
def test_every_number_is_between_the_edges_of_its_bin(scale: str, numbers: list[float]) -> None:
    bins, inside = bins_of(scale, numbers).histogram(), held(scale, numbers)
    zeros = numbers.count(0.0) if scale == "log" else 0
    if not inside and not zeros:
        assert bins is None
        return
    assert bins is not None
    assert bins.zeros == zeros
    assert len(bins.counts) <= MOST_BINS
    if inside:
        assert list(bins.counts) == expected(bins, inside)
        assert bins.counts[0]
        assert bins.counts[-1]


@every_scale
@given(
    numbers=st.lists(NUMBERS, max_size=80),
    cuts=st.lists(st.integers(0, 80), max_size=6),
    seed=st.integers(),
)
def test_any_partition_merged_in_any_order_gives_the_same_bins(
    scale: str, numbers: list[float], cuts: list[int], seed: int
) -> None:
    places = [0, *sorted(cuts), len(numbers)]
    parts = [
        bins_of(scale, numbers[start:stop]) for start, stop in pairwise(places) if start < stop
    ]
    random.Random(seed).shuffle(parts)
    merged = Bins(scale)
    while parts:
        # Groups of parts are merged first, as blocks may be.
        one = parts.pop()
        if parts and len(parts) % 2:
            one.merge(parts.pop())
        merged.merge(one)
    assert merged == bins_of(scale, numbers)


@given(numbers=st.lists(NUMBERS, min_size=1, max_size=40))
def test_linear_bins_are_as_narrow_as_their_number_allows(numbers: list[float]) -> None:
    inside = [Fraction(number) for number in held("linear", numbers)]
    bins = bins_of("linear", numbers).histogram()
    if bins is None or bins.width == 2.0**-10:
        return
    low, high = (math.floor(2 * end / Fraction(bins.width)) for end in (min(inside), max(inside)))
    assert high - low >= MOST_BINS or max(high, -low) > 2**48


def test_scores_from_0_to_1_keep_an_own_bin_for_1() -> None:
    bins = bins_of("linear", [0.0, 1.0, 1.0, 0.999]).histogram()
    assert bins is not None
    assert (bins.width, bins.first, len(bins.counts)) == (2.0**-5, 0, 33)
    assert bins.counts[-2:] == (1, 2)


def test_powers_of_two_begin_a_bin() -> None:
    for power in range(-300, 300):
        bins = bins_of("log", [2.0**power]).histogram()
        assert bins is not None
        assert bins.edge(0) == 2.0**power
        below = bins_of("log", [math.nextafter(2.0**power, 0)]).histogram()
        assert below is not None
        assert below.edge(1) == 2.0**power


@pytest.mark.parametrize(
    ("value", "number"),
    [(1, 1.0), (True, 1.0), (0.5, 0.5), (-3, -3.0), (10**99, 1e99), (-0.0, 0.0)],
)
def test_numbers_are_sketched(value: object, number: float) -> None:
    assert sketchable(value) == number


@each("value", [None, "1", [1], {}, math.nan, math.inf, -math.inf, 1e101, 10**400, -(10**400)])
def test_other_values_are_left_out(value: object) -> None:
    assert sketchable(value) is None

"""Sums with twice the digits, and the scores of unmatched samples."""

import math
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from evalstream.stats.inference.sums import LongSum, Unmatched

numbers = st.lists(st.floats(-1e15, 1e15), max_size=50)


@given(numbers, st.integers(1, 50))
def test_a_sum_is_exact_and_does_not_depend_on_its_parts(some: list[float], size: int) -> None:
    whole = LongSum()
    for start in range(0, len(some), size):
        whole.add(some[start : start + size])
    exact = sum(map(Fraction, some), Fraction())
    scale = sum(map(abs, some))
    assert (
        abs(Fraction(whole.total) - exact)
        <= Fraction(scale) * Fraction(2) ** -100 + abs(exact) * Fraction(2) ** -53
    )


def test_unmatched_scores_are_counted_and_bounded() -> None:
    some = Unmatched()
    some.add([1.0, math.nan, 0.0])
    some.add([])
    assert (some.count, some.scored, some.unscored, some.total) == (3, 2, 1, 1.0)
    assert (some.lowest, some.highest) == (0, 1)
    assert some.is_binary
    some.add([-0.5])
    assert (some.lowest, some.is_binary) == (-0.5, False)


def test_huge_unmatched_scores_are_not_summed_up() -> None:
    some = Unmatched()
    some.add([-1e308, -1e308])
    some.add([1e308])
    assert not some.is_finite
    assert some.count == 3

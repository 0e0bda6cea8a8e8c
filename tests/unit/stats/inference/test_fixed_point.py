"""Whole numbers in place of doubles."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from evalstream.stats.inference.fixed_point import fixed_point

values = st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20)


@given(values, st.integers(1, 10**6))
def test_sums_have_room_and_values_are_rounded_once(some: list[float], terms: int) -> None:
    units, k = fixed_point(some, terms)
    assert max(map(abs, units)) * terms < 2**62
    for value, unit in zip(some, units, strict=True):
        exact = Fraction(value) * Fraction(2) ** k
        assert abs(exact - unit) <= Fraction(1, 2)


def test_zeros_and_nothing_are_zeros() -> None:
    assert fixed_point([0.0], 5)[0] == [0]
    assert fixed_point([], 0)[0] == []

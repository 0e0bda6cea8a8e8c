"""Roots of falling functions."""

import math

import pytest

from evalstream.stats.inference.roots import falling_root


def test_a_root_is_found_to_the_last_digits() -> None:
    assert falling_root(lambda x: 2 - x * x, 0, 4) == pytest.approx(math.sqrt(2), rel=1e-15)


def test_without_a_root_it_is_a_bound() -> None:
    assert falling_root(lambda x: 1.0, 0, 3) == pytest.approx(3)
    assert falling_root(lambda x: -1.0, 1, 3) == pytest.approx(1)

"""The sign-flip test: exact for few samples, random for many."""

import itertools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from score_cells import cells_of

from evalstream.stats.inference.difference_tests import EXACT_FLIPS, RANDOM_FLIPS, sign_flip_test

wholes = st.lists(st.integers(-20, 20), min_size=1, max_size=9)


@given(wholes, st.sampled_from([1.0, 0.1, 1e-90, 1e90]))
def test_all_signs_are_counted(values: list[int], scale: float) -> None:
    nonzero = [value for value in values if value]
    flips = list(itertools.product((1, -1), repeat=len(nonzero)))
    sums = [abs(sum(s * v for s, v in zip(signs, nonzero, strict=True))) for signs in flips]
    expected = sum(one >= abs(sum(values)) for one in sums) / len(flips)
    scaled = [value * scale for value in values]
    # A third of a tenth is no double, yet equal means are equal.
    found = sign_flip_test(cells_of(scaled), 10_000, 1, 1e-15 * scale * 20)
    assert found == (pytest.approx(expected), EXACT_FLIPS)


def test_random_signs_approach_all_signs() -> None:
    rng = random.Random(3)
    values = [rng.gauss(0.3, 1) for _ in range(16)]
    exact = sign_flip_test(cells_of(values), 1 << 16, 1)
    drawn = sign_flip_test(cells_of(values), 20_000, 1)
    assert (exact.method, drawn.method) == (EXACT_FLIPS, RANDOM_FLIPS)
    assert drawn.p == pytest.approx(exact.p, abs=5 * (exact.p / 20_000) ** 0.5)


@pytest.mark.parametrize("n", [14, 15, 16, 17, 100, 999])
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

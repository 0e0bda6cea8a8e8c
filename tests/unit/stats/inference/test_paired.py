"""The accumulator of paired scores."""

import math
import random
import statistics

import pytest
from each import each
from hypothesis import given
from hypothesis import strategies as st
from score_cells import counts_of

from evalstream.model.estimate import Square
from evalstream.stats.inference.paired import PairedScores, UnmatchedSums

scores = st.integers(-(10**12), 10**12).map(lambda x: x / 1e6) | st.sampled_from([0.0, 1.0, 0.5])
pairs = st.lists(st.tuples(scores, scores), min_size=2, max_size=200)


def paired(a: list[float], b: list[float], size: int = 10**6) -> PairedScores:
    some = PairedScores()
    for start in range(0, len(a), size):
        some.add(a[start : start + size], b[start : start + size])
    return some


def test_samples_without_a_score_count_among_the_unmatched() -> None:
    some = UnmatchedSums()
    some.add([0.0, math.nan, 1.0])
    some.add([math.nan])
    assert (some.scored, some.unscored, some.count, some.total) == (2, 2, 4, 1.0)


@given(pairs, st.integers(1, 60))
def test_moments_are_those_of_the_standard_library(
    some: list[tuple[float, float]], size: int
) -> None:
    a, b = [x for x, _ in some], [y for _, y in some]
    d = [x - y for x, y in some]
    moments = paired(a, b, size).moments
    for values, mean, variance in zip((a, b, d), moments.means, moments.variances, strict=True):
        largest = max(map(abs, values))
        assert mean == pytest.approx(statistics.fmean(values), rel=1e-13, abs=1e-15 * largest)
        expected = statistics.variance(values)
        assert variance == pytest.approx(expected, rel=1e-12, abs=1e-28 * largest * largest)
    limit = 1e-13 * max(map(abs, a)) * max(map(abs, b))
    assert moments.covariance == pytest.approx(statistics.covariance(a, b), rel=1e-9, abs=limit)


@given(pairs, st.integers(1, 60))
def test_calls_may_be_cut_anywhere(some: list[tuple[float, float]], size: int) -> None:
    a, b = [x for x, _ in some], [y for _, y in some]
    one, other = paired(a, b), paired(a, b, size)
    assert one.moments.n == other.moments.n
    assert counts_of(one.differences.cells()) == counts_of(other.differences.cells())
    assert one.square == other.square
    assert one.ranges == other.ranges


def test_large_means_cost_no_precision() -> None:
    random.seed(4)
    a = [random.random() for _ in range(20_000)]
    b = [random.random() for _ in range(20_000)]
    shifted = paired([1e9 + x for x in a], [1e9 + y for y in b]).moments
    near = paired(a, b).moments
    assert shifted.means[2] == pytest.approx(near.means[2], abs=5e-9)
    assert shifted.variances == pytest.approx(near.variances, rel=1e-8)
    assert shifted.covariance == pytest.approx(near.covariance, abs=1e-8)


def test_the_square_counts_right_and_wrong() -> None:
    square = paired([1, 1, 1, 0, 0, 1], [1, 0, 0, 1, 0, 1]).square
    assert square == Square(both=2, only_a=2, only_b=1, neither=1)


def test_one_other_score_leaves_no_square() -> None:
    a = [1.0] * 10_000
    assert paired(a, a).square == Square(10_000, 0, 0, 0)
    assert paired([*a, 0.5], [*a, 1.0]).square is None
    assert paired([0.5, *a], [1.0, *a]).square is None
    assert PairedScores().square is None


def test_equal_means_of_repeats_are_equal_in_spite_of_rounding() -> None:
    assert paired([0.1 + 0.2, 0.7], [0.3, 0.7]).is_equal
    assert not paired([0.3001, 0.7], [0.3, 0.7]).is_equal
    assert paired([0.0], [0.0]).is_equal


@each("pair", [(1e308, -1e308), (1e200, 0.0), (1e-200, 0.0)])
def test_extreme_scores_are_noticed(pair: tuple[float, float]) -> None:
    some = paired([1.0, pair[0]], [1.0, pair[1]])
    assert some.is_extreme
    assert some.n == 2


def test_extreme_unmatched_scores_are_noticed() -> None:
    some = paired([1.0], [1.0])
    assert not some.is_extreme
    some.only_b.add([1e300])
    assert some.is_extreme


def test_the_noise_floor_comes_from_repeats() -> None:
    some = paired([0.5, 0.5, 1.0], [1.0, 0.0, 1.0])
    assert some.noise_floor is None
    some.add_repeats([1, 1], [0.0, 0.0])
    assert some.noise_floor is None
    some.add_repeats([2, 4, 1], [0.5, 3.0, 0.0])
    assert some.noise_floor == pytest.approx(math.sqrt(0.5 / 2 + 3 / 12) / 3)


def test_the_range_covers_unmatched_scores() -> None:
    some = paired([0.25], [0.5])
    some.only_a.add([0.0])
    some.only_b.add([2.0])
    assert some.scores_range == (0, 2)


def test_columns_of_different_length_are_refused() -> None:
    with pytest.raises(ValueError, match="two scores"):
        PairedScores().add([1.0], [])

"""What a comparison says: which statistics are chosen, and what is left out."""

import math
import random

import pytest
from each import each

from evalstream.model.comparison import CompareSettings, MetricName
from evalstream.model.estimate import Estimate, Interval, PValue
from evalstream.stats.inference.clusters import clustered_difference
from evalstream.stats.inference.difference_tests import EXACT_FLIPS, RANDOM_FLIPS
from evalstream.stats.inference.estimate import choose_cautious, estimate, with_adjusted
from evalstream.stats.inference.paired import PairedScores

SETTINGS = CompareSettings(resamples=500)


def paired(a: list[float], b: list[float]) -> PairedScores:
    some = PairedScores()
    some.add(a, b)
    return some


def estimated(a: list[float], b: list[float], seed: int = 1) -> Estimate:
    found = estimate(paired(a, b), MetricName("r"), SETTINGS, seed)
    assert found is not None
    return found


def graded(n: int) -> tuple[list[float], list[float]]:
    rng = random.Random(n)
    a = [rng.random() for _ in range(n)]
    return a, [x + rng.gauss(0.05, 0.2) for x in a]


def binary(n: int) -> tuple[list[float], list[float]]:
    rng = random.Random(n)
    return [float(rng.random() < 0.7) for _ in range(n)], [
        float(rng.random() < 0.6) for _ in range(n)
    ]


def methods(found: Estimate) -> list[str]:
    intervals = [found.interval, *found.others]
    tests = [found.test, *found.tests]
    return [one.method for one in (*intervals, *tests) if one]


def test_right_and_wrong_are_judged_by_mcnemar_and_tango() -> None:
    found = estimated(*binary(200))
    assert found.is_binary
    assert methods(found) == ["Tango score", "paired t", "mid-p McNemar", "exact McNemar"]
    assert found.square is not None
    assert found.difference == pytest.approx((found.square.only_a - found.square.only_b) / 200)
    assert found.histogram == (
        (-1.0, found.square.only_b),
        (0.0, found.square.both + found.square.neither),
        (1.0, found.square.only_a),
    )


@pytest.mark.parametrize(("n", "first"), [(999, "sign-flip permutation"), (1000, "paired t")])
def test_graded_scores_are_judged_by_flips_when_few(n: int, first: str) -> None:
    found = estimated(*graded(n))
    assert not found.is_binary
    assert found.square is None
    assert found.interval is not None
    assert found.test is not None
    assert (found.interval.method, found.test.method) == ("paired t", first)
    assert methods(found)[1:3] == ["bootstrap percentile", "bootstrap BCa"]


def test_few_differences_among_many_samples_are_judged_by_flips() -> None:
    found = estimated([0.5] * 14_000, [0.25] * 4 + [0.5] * 13_996)
    assert found.test == (2 / 16, "sign-flip permutation (exact)")
    assert found.tests[0].method == "paired t"
    assert found.tests[0].p < 0.05


def test_the_difference_is_that_of_the_means() -> None:
    a, b = graded(500)
    found = estimated(a, b)
    assert found.difference == pytest.approx(found.mean_a - found.mean_b)
    d = [x - y for x, y in zip(a, b, strict=True)]
    variance = math.fsum((x - found.difference) ** 2 for x in d) / 499
    assert found.standard_error == pytest.approx(math.sqrt(variance / 500))
    assert found.unpaired_error is not None
    assert found.unpaired_error > found.standard_error
    assert found.correlation == pytest.approx(0.82, abs=0.05)
    assert found.detectable == pytest.approx(2.8015852 * found.standard_error)
    assert found.needed_for_point == math.ceil(500 * (found.detectable / 0.01) ** 2)
    assert len(found.histogram) <= 201
    assert sum(times for _, times in found.histogram) == 500


def test_with_clusters_nothing_else_is_told() -> None:
    a, b = graded(400)
    d = [x - y for x, y in zip(a, b, strict=True)]
    sums = [math.fsum(d[i : i + 10]) for i in range(0, 400, 10)]
    plain = estimated(a, b)
    clustered = clustered_difference([10] * 40, sums, plain.difference, 0.95)
    found = estimate(paired(a, b), MetricName("r"), SETTINGS, 1, clustered)
    assert found is not None
    assert found.clustered == clustered
    assert (found.interval, found.test) == (clustered.interval, clustered.test)
    assert (found.others, found.tests) == ((), ())
    assert found.standard_error == clustered.standard_error != plain.standard_error
    assert found.detectable == pytest.approx(2.8015852 * (clustered.standard_error or 0))


def test_one_cluster_leaves_no_test() -> None:
    a, b = binary(50)
    clustered = clustered_difference([50], [sum(a) - sum(b)], 0.1, 0.95)
    found = estimate(paired(a, b), MetricName("r"), SETTINGS, 1, clustered)
    assert found is not None
    assert (found.interval, found.test, found.detectable) == (None, None, None)
    assert (found.standard_error, found.own_a, found.unpaired_error) == (None, None, None)
    assert (found.others, found.tests) == ((), ())


@pytest.mark.parametrize("scores", [[1.0, 0.0, 1.0], [0.25, 0.5, 0.75]])
def test_a_run_against_itself_differs_by_nothing(scores: list[float]) -> None:
    found = estimated(scores, scores)
    assert (found.difference, found.standard_error) == (0, 0)
    assert found.test is not None
    assert found.test.p == 1
    assert (found.interval is None) == (found.square is None)
    assert found.detectable is None
    assert found.needed_for_point is None
    assert found.histogram == ((0.0, 3),)


def test_rounding_is_not_a_difference() -> None:
    found = estimated([0.1 + 0.2] * 2000, [0.3] * 2000)
    assert found.difference == 0
    assert found.standard_error == 0
    assert found.test is not None
    assert found.test.p == 1
    assert found.interval is None
    assert [one and one.interval for one in (found.own_a, found.own_b)] == [None, None]


@each("score", [0.0, 1.0, 0.3])
def test_a_mean_of_equal_scores_has_no_interval(score: float) -> None:
    found = estimated([score] * 9, [0.0, 1.0, *[score] * 7])
    assert found.own_a is not None
    assert (found.own_a.standard_error, found.own_a.interval) == (0, None)
    assert found.own_b is not None
    assert found.own_b.interval is not None


def test_one_sample() -> None:
    found = estimated([0.5], [0.25])
    assert (found.n, found.difference) == (1, 0.25)
    assert (found.standard_error, found.unpaired_error, found.correlation) == (None, None, None)
    assert (found.interval, found.others) == (None, ())
    assert found.test is not None
    assert found.test.p == 1
    right = estimated([1.0], [0.0])
    assert right.interval is not None
    assert right.interval.low < 0 < right.interval.high == 1


def test_two_equal_differences_prove_nothing() -> None:
    found = estimated([0.5, 0.7], [0.25, 0.45])
    assert found.interval is None
    assert found.test is not None
    assert found.test.p == 0.5


def test_two_pairs_have_a_correlation() -> None:
    assert estimated([0.1, 0.6], [0.9, 0.2]).correlation == pytest.approx(-1)


def test_a_constant_side_has_no_correlation() -> None:
    found = estimated([0.3] * 40, [x / 40 for x in range(40)])
    assert found.correlation is None
    assert found.standard_error == pytest.approx(found.unpaired_error)


def test_a_constant_lead_is_certain() -> None:
    found = estimated([x / 4096 + 0.125 for x in range(1500)], [x / 4096 for x in range(1500)])
    assert found.difference == 0.125
    assert found.correlation == pytest.approx(1)
    assert found.interval is None
    assert found.test == (0.0, "sign test")


def test_nothing_and_extremes_have_no_statistics() -> None:
    assert estimate(PairedScores(), MetricName("r"), SETTINGS, 1) is None
    assert estimate(paired([1e200], [1.0]), MetricName("r"), SETTINGS, 1) is None


def test_the_seed_decides_what_is_random() -> None:
    some = graded(300)
    found = estimated(*some)
    assert estimated(*some) == found
    assert estimated(*some, seed=2) != found


def test_repeats_and_unmatched_samples_are_part_of_it() -> None:
    some = paired([0.5, 1.0], [1.0, 1.0])
    some.add_repeats([2, 1], [0.5, 0.0])
    some.only_a.add([1.0])
    found = estimate(some, MetricName("r", minimum=0.0, maximum=1.0), SETTINGS, 1)
    assert found is not None
    assert found.noise_floor == pytest.approx(0.25)
    assert found.bounds == pytest.approx((-0.5 / 3, 0.5 / 3))
    assert found.bounds_reason is None


def test_several_tests_are_corrected() -> None:
    one, other = estimated(*binary(100)), estimated(*graded(100))
    adjusted = with_adjusted([one, None, other])
    assert adjusted[1] is None
    assert one.test is not None
    assert other.test is not None
    values = [found.adjusted_p for found in adjusted if found]
    least = min(one.test.p, other.test.p)
    assert values[0 if one.test.p == least else 1] == pytest.approx(min(1, 2 * least))
    assert all(value is not None for value in values)


def test_a_single_test_needs_no_correction() -> None:
    clustered = clustered_difference([50], [1.0], 0.1, 0.95)
    untested = estimate(paired(*binary(50)), MetricName("r"), SETTINGS, 1, clustered)
    tested = estimated(*binary(100))
    assert with_adjusted([tested, untested, None]) == [tested, untested, None]


@each("some", [graded(1200), graded(8), binary(300)])
def test_swapped_runs_give_the_opposite(some: tuple[list[float], list[float]]) -> None:
    one, other = estimated(*some), estimated(*reversed(some))
    assert other.difference == -one.difference
    assert other.standard_error == one.standard_error
    assert other.test == one.test
    assert one.interval is not None
    assert other.interval is not None
    assert other.interval.low == pytest.approx(-one.interval.high)
    assert other.correlation == pytest.approx(one.correlation)


def judged_by(p: float, error: float, method: str = RANDOM_FLIPS) -> Estimate:
    test, interval = PValue(p, method), Interval(0.1, 0.3, method)
    return Estimate(100, 0.5, 0.3, 0.2, standard_error=error, interval=interval, test=test)


@each(
    ("plain", "clustered", "is_clustered"),
    [
        # 10,000 random signs give no smaller p value: the error says what is cautious.
        (judged_by(1e-4, 0.01), judged_by(1e-7, 0.04, "clustered t"), True),
        (judged_by(1e-4, 0.04), judged_by(1e-7, 0.01, "clustered t"), False),
        (judged_by(1e-4, 0.05), judged_by(0.2, 0.04, "clustered t"), True),
        (judged_by(0.2, 0.01), judged_by(0.04, 0.04, "clustered t"), False),
        (judged_by(0.03, 0.01, EXACT_FLIPS), judged_by(0.02, 0.04, "clustered t"), False),
    ],
)
def test_the_cautious_estimate(plain: Estimate, clustered: Estimate, *, is_clustered: bool) -> None:
    expected = clustered if is_clustered else plain
    assert choose_cautious(plain, clustered, 0.95) is expected


def test_the_larger_p_is_chosen_and_an_estimate_without_one_above_all() -> None:
    small, large, unsure = (
        Estimate(9, 0.5, 0.4, 0.1, test=p and PValue(p, "t")) for p in (0.01, 0.2, None)
    )
    assert choose_cautious(small, large, 0.95) is large
    assert choose_cautious(large, small, 0.95) is large
    equal = Estimate(9, 0.5, 0.4, 0.1, test=PValue(0.2, "clustered t"))
    assert choose_cautious(large, equal, 0.95) is large
    assert choose_cautious(small, unsure, 0.95) is unsure
    assert choose_cautious(unsure, small, 0.95) is unsure
    assert choose_cautious(small, None, 0.95) is small
    assert choose_cautious(None, small, 0.95) is small
    assert choose_cautious(None, None, 0.95) is None

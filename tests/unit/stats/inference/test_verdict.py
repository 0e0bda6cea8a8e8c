"""The verdict of a comparison and its sentence, which must be true to the word."""

import random
import re

import pytest
from each import each

from evalstream.model.comparison import Alignment, CompareSettings, CompareVerdict, MetricName
from evalstream.model.data_class import replace
from evalstream.model.estimate import Clustered, Estimate
from evalstream.stats.inference.clusters import clustered_difference
from evalstream.stats.inference.estimate import estimate
from evalstream.stats.inference.paired import PairedScores
from evalstream.stats.inference.verdict import (
    EstimateJudgement,
    judge_estimate,
    relevant_difference,
)

SETTINGS = CompareSettings(resamples=500)
PLAIN = MetricName("r", "accuracy")


def estimated(
    a: list[float], b: list[float], metric: MetricName = PLAIN, clustered: Clustered | None = None
) -> Estimate | None:
    some = PairedScores()
    some.add(a, b)
    return estimate(some, metric, SETTINGS, 1, clustered)


def judge(
    found: Estimate | None,
    metric: MetricName = PLAIN,
    settings: CompareSettings = SETTINGS,
    alignment: Alignment | None = None,
) -> EstimateJudgement:
    n = found.n if found else 0
    return judge_estimate(found, alignment or Alignment(n, n, n), settings, metric, ("A", "B"))


def square(both: int, only_a: int, only_b: int, neither: int) -> tuple[list[float], list[float]]:
    a = [1.0] * (both + only_a) + [0.0] * (only_b + neither)
    b = [1.0] * both + [0.0] * only_a + [1.0] * only_b + [0.0] * neither
    return a, b


def test_a_significant_difference_names_the_better_run() -> None:
    found = judge(estimated(*square(500, 80, 30, 390)))
    assert found.verdict is CompareVerdict.SIGNIFICANT
    assert found.better == "A"
    assert found.sentence == (
        "A is better than B by 0.05: A - B = 0.05, 95 % interval 0.03002 to 0.07114 (Tango score),"
        " p < 0.0001 (mid-p McNemar)"
    )
    swapped = judge(estimated(*square(500, 30, 80, 390)))
    assert swapped.better == "B"
    assert swapped.sentence.startswith("B is better than A by 0.05: A - B = -0.05, ")


def test_a_difference_that_missing_samples_could_turn_is_not_significant() -> None:
    found = estimated(*square(500, 80, 30, 390))
    assert found is not None
    for low, high in ((-0.01, 0.1), (0.0, 0.05)):
        judgement = judge(replace(found, bounds=(low, high)))
        assert (judgement.verdict, judgement.better) == (CompareVerdict.DEPENDS, None)
        assert judgement.sentence.startswith("of the samples that both score, A is better than B")
        end = f"; with any scores of the missing samples it is {low:.4g} to {high:.4g}"
        assert judgement.sentence.endswith(end)
    for bounds in ((0.01, 0.1), (-0.1, -0.01), None):
        assert judge(replace(found, bounds=bounds)).verdict is CompareVerdict.SIGNIFICANT


def test_lower_scores_may_be_better() -> None:
    metric = MetricName("r", "errors", lower_is_better=True)
    found = judge(estimated(*square(500, 80, 30, 390)), metric)
    assert found.better == "B"
    assert found.sentence.startswith(
        "B is better than A by 0.05 (lower scores are better): A - B = 0.05, "
    )


def test_equal_runs_are_within_noise() -> None:
    found = judge(estimated(*square(700, 0, 0, 300)))
    assert (found.verdict, found.better) == (CompareVerdict.WITHIN_NOISE, None)
    assert found.sentence == (
        "A and B have equal scores in all 1,000 matched samples; differences above 0.003827 are"
        " ruled out at 95 %"
    )
    graded = judge(estimated([0.5, 0.25] * 15, [0.5, 0.25] * 15))
    assert graded.verdict is CompareVerdict.WITHIN_NOISE
    assert graded.sentence == "A and B have equal scores in all 30 matched samples"


@pytest.mark.parametrize(("n", "words"), [(1, "the one matched sample"), (29, "all 29 matched")])
def test_few_equal_samples_are_uninformative(n: int, words: str) -> None:
    for score in (0.5, 1.0):
        found = judge(estimated([score] * n, [score] * n))
        assert (found.verdict, found.better) == (CompareVerdict.UNINFORMATIVE, None)
        assert found.sentence.startswith(f"A and B have equal scores in {words}")
        assert ", too few to show a difference" in found.sentence


@pytest.mark.parametrize(
    ("scores", "shown"),
    [
        (square(90, 0, 0, 0), "equal scores in all 90 matched samples that both score; "),
        (square(14_000, 20, 14, 6_000), "no significant difference between A and B: "),
    ],
)
def test_samples_without_a_score_may_differ(
    scores: tuple[list[float], list[float]], shown: str
) -> None:
    found = estimated(*scores)
    assert found is not None
    most = found.n // 19
    few, many = (
        judge(found, alignment=Alignment(all_, all_, all_, unscored=all_ - found.n))
        for all_ in (found.n + most, found.n + most + 1)
    )
    assert few.verdict is CompareVerdict.WITHIN_NOISE
    assert "more matched" not in few.sentence
    assert many.verdict is CompareVerdict.UNINFORMATIVE
    assert shown in few.sentence
    assert many.sentence == (
        f"{few.sentence}; {most + 1:,} more matched samples without a score on both sides"
    )


def test_what_is_ruled_out_is_outside_of_the_interval() -> None:
    estimate_of_many = estimated(*square(14_000, 20, 14, 6_000))
    found = judge(estimate_of_many)
    assert found.verdict is CompareVerdict.WITHIN_NOISE
    assert found.better is None
    match = re.search(r"differences above ([\d.]+) are ruled out at 95 %$", found.sentence)
    assert match is not None
    assert estimate_of_many is not None
    assert estimate_of_many.interval is not None
    assert float(match[1]) == pytest.approx(max(map(abs, estimate_of_many.interval[:2])), rel=1e-3)


def test_too_few_samples_are_uninformative() -> None:
    some = estimated(*square(60, 12, 8, 20))
    found = judge(some)
    assert found.verdict is CompareVerdict.UNINFORMATIVE
    assert some is not None
    assert some.detectable is not None
    assert found.sentence.endswith(
        "; the smallest difference that 100 samples would show with a power of 80 % is"
        f" {some.detectable:.4g}; about 62,918 samples would show 0.005"
    )
    without = judge(some, settings=SETTINGS._replace(min_delta=0.0))
    assert without.verdict is CompareVerdict.UNINFORMATIVE
    assert without.sentence.endswith(f"is {some.detectable:.4g}")


@each(
    ("a", "b", "end"),
    [
        ([0.5], [0.25], "; 1 sample cannot show how much differences vary"),
        ([0.5, 0.75], [0.25, 0.5], "; 2 samples cannot show how much differences vary"),
        ([1.0, 1.0, 1.0], [0.0] * 3, "; 3 samples cannot show how much differences vary"),
    ],
)
def test_without_spread_nothing_is_known(a: list[float], b: list[float], end: str) -> None:
    found = judge(estimated(a, b))
    assert found.verdict is CompareVerdict.UNINFORMATIVE
    assert found.sentence.endswith(end)


def test_one_cluster_is_uninformative() -> None:
    one = Clustered(1, None, None, None, is_few=True)
    found = judge(estimated(*square(500, 80, 30, 390), clustered=one))
    assert found.verdict is CompareVerdict.UNINFORMATIVE
    assert found.sentence == (
        "no significant difference between A and B: A - B = 0.05; with one cluster the standard"
        " error is unknown"
    )


def test_the_number_of_clusters_is_part_of_the_sentence() -> None:
    a, b = square(500, 80, 30, 390)
    sums = [sum(a[i::100]) - sum(b[i::100]) for i in range(100)]
    clustered = clustered_difference([10] * 100, sums, 0.05, 0.95)
    found = judge(estimated(a, b, clustered=clustered))
    assert found.verdict is CompareVerdict.SIGNIFICANT
    assert found.sentence.endswith(" (clustered t, 100 clusters)")


def test_the_corrected_p_decides() -> None:
    some = estimated(*square(500, 80, 50, 370))
    assert some is not None
    assert judge(some).verdict is CompareVerdict.SIGNIFICANT
    corrected = judge(replace(some, adjusted_p=0.06))
    assert corrected.verdict is CompareVerdict.UNINFORMATIVE
    assert "p = 0.0600 (mid-p McNemar, with Holm's correction)" in corrected.sentence


def test_the_level_decides() -> None:
    some = estimated(*square(500, 80, 50, 370))
    assert judge(some).verdict is CompareVerdict.SIGNIFICANT
    strict = judge(some, settings=SETTINGS._replace(level=0.999))
    assert strict.verdict is CompareVerdict.UNINFORMATIVE
    assert "99.9 % interval" in strict.sentence


@each(
    ("alignment", "sentence"),
    [
        (Alignment(5, 6, 0, 5, 6), "no sample of A matches one of B"),
        (
            Alignment(1000, 901, 900, 100, 1),
            (
                "A and B share 900 samples; 100 only in A, 1 only in B: the overlap is"
                " 0.899101, below 0.95"
            ),
        ),
        (
            Alignment(9, 3, 1, 8, 2),
            (
                "A and B share 1 sample; 8 only in A, 2 only in B: the overlap is"
                " 0.0909091, below 0.95"
            ),
        ),
    ],
)
def test_below_the_overlap_there_is_no_verdict(alignment: Alignment, sentence: str) -> None:
    some = estimated(*square(500, 80, 30, 390))
    expected = (CompareVerdict.NOT_COMPARABLE, sentence, None)
    assert judge(some, alignment=alignment) == expected
    assert judge(None, alignment=alignment) == expected


def test_without_scores_there_is_no_verdict() -> None:
    found = judge(None, alignment=Alignment(5, 5, 5, unscored=5))
    assert found.sentence == "no matched sample has a score in both A and B"
    found = judge(estimated([1e200], [0.0]), alignment=Alignment(1, 1, 1))
    assert found.verdict is CompareVerdict.NOT_COMPARABLE
    assert found.sentence.endswith("too large, or too close to each other, for statistics")


def test_tiny_p_values_are_bounded() -> None:
    found = judge(
        estimated([x / 4096 + 0.125 for x in range(1500)], [x / 4096 for x in range(1500)])
    )
    assert found.verdict is CompareVerdict.SIGNIFICANT
    assert found.sentence == "A is better than B by 0.125: A - B = 0.125, p < 0.0001 (sign test)"


def test_the_smallest_relevant_difference_is_a_share_of_the_range() -> None:
    assert relevant_difference(SETTINGS, PLAIN) == 0.005
    assert relevant_difference(SETTINGS, PLAIN._replace(minimum=0, maximum=1)) == 0.005
    assert relevant_difference(SETTINGS, PLAIN._replace(minimum=0, maximum=100)) == 0.5
    assert relevant_difference(SETTINGS, PLAIN._replace(minimum=0)) == 0.005


def test_points_of_a_hundred_are_judged_as_shares() -> None:
    rng = random.Random(3)
    a = [rng.random() for _ in range(3000)]
    b = [x + rng.gauss(0, 0.05) for x in a]
    share = judge(estimated(a, b))
    metric = PLAIN._replace(minimum=0.0, maximum=100.0)
    points = judge(estimated([100 * x for x in a], [100 * x for x in b], metric), metric)
    assert share.verdict is points.verdict is CompareVerdict.WITHIN_NOISE

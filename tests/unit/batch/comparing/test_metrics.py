"""Runs of which some share no metric."""

from typing import Any

import pytest
from corpus_changes import files_of
from each import each
from paths import EXAMPLES

import evalstream
from evalstream.batch.comparing.metrics import (
    NOT_COMPARED,
    match_metrics,
    scale_conflict,
    with_one_name,
)
from evalstream.model.comparison import MetricName, RunDescription

UNNAMED = MetricName("one")
ACCURACY = MetricName("one", "accuracy")


def described(*metrics: MetricName) -> RunDescription:
    return RunDescription(None, None, metrics, [{} for _ in metrics], {})


def test_a_name_in_one_run_alone() -> None:
    for a, b in ((UNNAMED, ACCURACY), (ACCURACY, UNNAMED)):
        match = match_metrics(described(a), described(b))
        assert match.metrics == [ACCURACY]
        assert (match.groups_a, match.groups_b) == ([0], [0])


def test_groups_of_one_name_are_one_metric() -> None:
    a, b = described(ACCURACY, ACCURACY), described(UNNAMED)
    for first, second in ((a, b), (b, a)):
        match = match_metrics(first, second)
        assert match.metrics == [ACCURACY]
        assert sorted([match.groups_a, match.groups_b], key=len) == [[0], [0, 0]]
        assert (match.only_a, match.only_b) == ([], [])


def test_groups_of_one_name_have_the_bounds_that_none_contradicts() -> None:
    low, other = ACCURACY._replace(minimum=0.0), ACCURACY._replace(minimum=1.0, maximum=2.0)
    for groups, found in (
        ((low, ACCURACY), low),
        ((ACCURACY, low), low),
        ((low, other), ACCURACY._replace(maximum=2.0)),
        ((other, low), ACCURACY._replace(maximum=2.0)),
    ):
        match = match_metrics(described(*groups), described(*groups))
        assert match.metrics == [found]
        assert match.conflicts == {}


def test_two_names_have_no_unnamed_partner() -> None:
    match = match_metrics(described(ACCURACY, MetricName("one", "f1")), described(UNNAMED))
    assert match.metrics == []
    assert match.groups_a == [NOT_COMPARED, NOT_COMPARED]
    assert (match.only_a, match.only_b) == (["one / accuracy", "one / f1"], ["one"])


def scored(**settings: str) -> RunDescription:
    return described(ACCURACY)._replace(scoring=[settings])


def test_scores_of_different_settings_are_in_conflict() -> None:
    a, b = scored(filter="strict", judge="one"), scored(filter="flexible", judge="two")
    match = match_metrics(a, b)
    assert "filter (strict in one run, flexible in the other) and 1 more" in match.conflicts[0]
    assert "judge (one in one run, two" in match_metrics(a, b, None, ["filter"]).conflicts[0]
    allowed = match_metrics(a, b, None, ["filter", "judge"])
    assert (allowed.conflicts, allowed.allowed) == ({}, ["filter", "judge"])


def test_a_name_allows_all_settings_below_it_and_no_others() -> None:
    a, b = scored(**{"scorer/options": "1"}), scored(**{"scorer/options": "2"})
    assert match_metrics(a, b, None, ["scorer"]).conflicts == {}
    assert match_metrics(a, b, None, ["score"]).conflicts != {}


def test_a_setting_that_one_run_states_is_no_conflict() -> None:
    assert match_metrics(scored(filter="strict"), scored()).conflicts == {}
    assert match_metrics(scored(filter="strict"), scored(filter="strict")).allowed == []


def test_other_units_without_bounds_are_in_conflict() -> None:
    share, percent = ACCURACY._replace(unit="proportion"), ACCURACY._replace(unit="percent")
    assert "unit" in match_metrics(described(share), described(percent)).conflicts[0]
    bounded = [one._replace(minimum=0.0, maximum=1.0) for one in (share, percent)]
    assert match_metrics(*map(described, bounded)).conflicts == {}


@each(
    ("one", "other", "reason"),
    [
        ({"lower_is_better": True}, {}, "lower scores are better"),
        (
            {"minimum": 0.0},
            {"minimum": 1.0},
            "the minimum score is 0 in one run and 1 in the other",
        ),
        (
            {"maximum": 1.0},
            {"maximum": 5.0},
            "the maximum score is 1 in one run and 5 in the other",
        ),
        ({"minimum": 0.0}, {"maximum": 1.0}, None),
    ],
)
def test_other_directions_and_bounds_are_in_conflict(
    one: dict[str, Any], other: dict[str, Any], reason: str | None
) -> None:
    runs = [described(ACCURACY._replace(**changes)) for changes in (one, other)]
    for a, b in (runs, runs[::-1]):
        conflicts = match_metrics(a, b).conflicts
        assert (reason is None) == (conflicts == {})
    assert (reason or "") in match_metrics(*runs).conflicts.get(0, "")


F1 = MetricName("one", "f1")
TWO = MetricName("two", "f1")


@each(
    ("first", "second", "name", "other", "expected"),
    [
        ([ACCURACY], [TWO], "one", "two", [[ACCURACY], [ACCURACY]]),
        ([ACCURACY], [TWO], "two", "one", [[TWO], [TWO]]),
        ([ACCURACY, F1], [TWO], "one / f1", "two", [[ACCURACY, F1], [F1]]),
        ([ACCURACY], [TWO], "one", "three", "no run has three"),
        ([ACCURACY, F1], [TWO], "one", "two", "no run has one"),
        ([ACCURACY, TWO], [TWO], "one", "two", "a run has both"),
    ],
)
def test_a_result_of_two_names_gets_one(
    first: list[MetricName],
    second: list[MetricName],
    name: str,
    other: str,
    expected: list[list[MetricName]] | str,
) -> None:
    runs = [described(*first), described(*second)]
    if isinstance(expected, str):
        with pytest.raises(ValueError, match=expected):
            with_one_name(runs, name, other)
    else:
        assert [list(run.metrics) for run in with_one_name(runs, name, other)] == expected


@each(
    ("ranges", "is_conflict"),
    [
        (((0.0, 1.0), (0.0, 100.0)), True),
        (((0.0, 87.5), (0.25, 0.875)), True),
        (((0.0, 1.0), (0.0, 1.0)), False),
        (((0.0, 100.0), (0.0, 87.5)), False),
        (((0.0, 0.0), (0.0, 100.0)), False),
        (((0.0, 1.0), (0.0, 10.0)), False),
        (((0.0, 1.0), (-3.0, 40.0)), False),
        (((0.0, 1.0), (0.0, 4000.0)), False),
    ],
)
def test_shares_do_not_meet_percent(
    ranges: tuple[tuple[float, float], tuple[float, float]], is_conflict: bool
) -> None:
    for both, labels in ((ranges, ("A", "B")), (ranges[::-1], ("B", "A"))):
        said = scale_conflict((both[0], both[1]), (labels[0], labels[1]))
        assert (said is not None) == is_conflict


def test_metrics_without_both_bounds_are_known() -> None:
    stated = MetricName("r", None, minimum=0.0, maximum=1.0)
    bare = MetricName("r", None)
    for a, b, unbounded in ((stated, stated, set()), (stated, bare, {0}), (bare, bare, {0})):
        match = match_metrics(*(RunDescription(None, None, [one], [{}], {}) for one in (a, b)))
        assert match.unbounded == unbounded


RUNS = EXAMPLES / "compare/data/tiny_sums/acme"


def test_runs_without_a_common_metric_do_not_stop_the_comparison_of_others() -> None:
    other, _ = files_of("sound-0.2.2")
    runs = [RUNS / "acorn-7b", RUNS / "acorn-3b", other.parent]
    report = evalstream.compare(runs, pairs="all")
    assert report.refused is None
    assert {(one.a, one.b) for one in report.comparisons} == {("A", "B")}


def test_runs_with_common_metrics_are_all_compared() -> None:
    report = evalstream.compare([RUNS / "acorn-7b", RUNS / "acorn-3b"])
    assert report.refused is None
    assert report.comparisons

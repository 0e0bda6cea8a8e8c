from evalstream.batch.comparing.metrics import NOT_COMPARED, match_metrics
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

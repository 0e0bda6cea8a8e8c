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

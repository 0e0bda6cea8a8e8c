"""Tests of what samples of lm-eval give to a comparison."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from compared_records import collected
from each import each
from lm_eval_logs import TASK, results, rows, write

from evalstream.batch.comparing.metrics import match_metrics
from evalstream.model.comparison import RunDescription

STRICT = {"filter_list": [{"name": "none", "filter": [{"function": "regex"}]}]}


def description(folder: Path, members: Mapping[str, Any]) -> RunDescription:
    """Describe a log whose task is configured so."""
    samples = rows()
    document = results(samples)
    document["configs"][TASK] |= members
    return collected(write(folder, samples, document)).checked.description


@each(
    ("members", "setting"),
    [
        (STRICT, "filter"),
        ({"output_type": "multiple_choice"}, "output_type"),
        ({"metric_list": [{"metric": "acc", "ignore_case": True}]}, "metric"),
        ({"process_results": "def process(doc): return 2"}, "process_results"),
    ],
)
def test_scores_that_the_task_makes_otherwise_are_in_conflict(
    members: dict[str, Any], setting: str, tmp_path: Path
) -> None:
    usual = {"output_type": "generate_until", "process_results": "def process(doc): return 1"}
    one = description(tmp_path / "a", usual)
    other = description(tmp_path / "b", usual | members)
    assert match_metrics(one, one).conflicts == {}
    assert f"different ways: {setting} (" in match_metrics(one, other).conflicts[0]
    assert match_metrics(one, other, None, [setting]).allowed == [setting]


def test_the_address_of_a_function_is_no_difference(tmp_path: Path) -> None:
    functions = [
        {"process_results": f"<function process at 0x7f{place}>"} for place in ("00", "11")
    ]
    one, other = (
        description(tmp_path / str(place), members) for place, members in enumerate(functions)
    )
    assert one.scoring == other.scoring
    assert match_metrics(one, other).conflicts == {}


def test_rows_without_a_filter_are_of_the_only_one_of_their_task(tmp_path: Path) -> None:
    """Releases before 0.4.7 named no filter, and their targets were not texts before 0.4.4."""
    samples = rows()
    document = results(samples)
    for one in samples:
        for name in ("filter", "metrics"):
            del one[name]
        one["target"] = int(one["target"])
    early = collected(write(tmp_path / "a", samples, document)).checked.description
    assert [one.metric for one in early.metrics] == ["acc,none"]
    assert early.scoring == description(tmp_path / "b", {}).scoring

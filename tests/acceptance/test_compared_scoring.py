"""Scores that were made in different ways have no verdict."""

import json
import shutil
from pathlib import Path
from typing import Any

from each import each

import evalstream
from evalstream.model.comparison import CompareVerdict

EXAMPLE = Path(__file__).parents[2] / "examples" / "compare" / "data" / "tiny_sums" / "acme"

JUDGE = {
    "name": "judge",
    "id": "acme/judge",
    "additional_details": {"deployment_type": "unknown", "model_availability": "unknown"},
}
JUDGED = {
    "llm_scoring": {"judges": [{"model_info": JUDGE}], "input_prompt": "Is the answer right?"}
}
STRICT = {"metric_parameters": {"filter": "strict"}}
FLEXIBLE = {"metric_parameters": {"filter": "flexible"}}


def with_metric(folder: Path, name: str, members: dict[str, Any]) -> Path:
    """Copy a run of the example, with more members in the metric of its first result."""
    copied = folder / name
    shutil.copytree(EXAMPLE / name, copied)
    (aggregate,) = copied.glob("*.json")
    document = json.loads(aggregate.read_text())
    document["evaluation_results"][0]["metric_config"] |= members
    aggregate.write_text(json.dumps(document))
    return copied


@each(
    ("members_a", "members_b"),
    [({}, JUDGED), (JUDGED, {}), (STRICT, FLEXIBLE), ({}, {"metric_kind": "model_graded"})],
)
def test_no_verdict_on_scores_of_different_scorers(
    tmp_path: Path, members_a: dict[str, Any], members_b: dict[str, Any]
) -> None:
    runs = [
        with_metric(tmp_path, "acorn-7b", members_a),
        with_metric(tmp_path, "acorn-3b", members_b),
    ]
    refused = evalstream.compare(runs)
    first, second = refused.comparisons
    assert first.verdict is CompareVerdict.NOT_COMPARABLE
    assert "metric_config/" in first.sentence
    assert first.estimate is None
    assert refused.exit_code == 3
    assert second.verdict is not CompareVerdict.NOT_COMPARABLE

    setting = f"metric_config/{next(iter(members_b or members_a))}"
    allowed = evalstream.compare(runs, allow_different=setting)
    assert allowed.comparisons[0].verdict is CompareVerdict.SIGNIFICANT
    assert "(--allow-different)" in allowed.first_line
    assert setting in allowed.first_line
    assert any(one.name.startswith(setting) for one in allowed.confounders)


def test_ranks_and_differences_need_scores_of_one_scorer(tmp_path: Path) -> None:
    # The first run does not say how it was scored, so only the others contradict each other.
    runs = [EXAMPLE / "acorn-7b"]
    for number, members in enumerate((FLEXIBLE, STRICT)):
        runs.append(with_metric(tmp_path / f"{number}", "acorn-3b", members))
    refused = evalstream.compare(runs, metric="exact")
    assert {one.verdict for one in refused.comparisons} == {CompareVerdict.SIGNIFICANT}
    assert not refused.rankings
    (matrix,) = refused.differences
    assert matrix.cells[1][2] is None
    allowed = evalstream.compare(
        runs, metric="exact", allow_different="metric_config/metric_parameters"
    )
    assert [one.rank for one in allowed.rankings[0].ranks] == [1, 2, 2]
    (matrix,) = allowed.differences
    assert matrix.cells[1][2] == 0


@each(
    ("members_a", "members_b"),
    [
        ({}, {}),
        (STRICT, STRICT),
        (JUDGED, JUDGED),
        ({}, STRICT),
        ({}, {"evaluation_description": "Share of right answers, in other words"}),
    ],
)
def test_a_verdict_on_scores_of_one_scorer(
    tmp_path: Path, members_a: dict[str, Any], members_b: dict[str, Any]
) -> None:
    runs = [
        with_metric(tmp_path, "acorn-7b", members_a),
        with_metric(tmp_path, "acorn-3b", members_b),
    ]
    report = evalstream.compare(runs)
    assert report.comparisons[0].verdict is CompareVerdict.SIGNIFICANT
    assert "--allow-different" not in report.first_line

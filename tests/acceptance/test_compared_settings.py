"""What a comparison does with its options, where figures could say two things."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import evalstream
from evalstream.model.comparison import CompareVerdict

EXAMPLE = Path(__file__).parents[2] / "examples" / "compare" / "data" / "tiny_sums" / "acme"


def edited(
    folder: Path,
    name: str,
    edit_row: Callable[[dict[str, Any]], None],
    edit_metric: Callable[[dict[str, Any]], None] = lambda _: None,
) -> Path:
    """Copy a run of the example with other rows and metrics; its seal and claims do not hold."""
    copied = folder / name
    shutil.copytree(EXAMPLE / name, copied)
    (rows,) = copied.glob("*.jsonl")
    parsed = [json.loads(line) for line in rows.read_text().splitlines()]
    for row in parsed:
        edit_row(row)
    rows.write_text("".join(json.dumps(row) + "\n" for row in parsed))
    (aggregate,) = copied.glob("*.json")
    document = json.loads(aggregate.read_text())
    for result in document["evaluation_results"]:
        edit_metric(result["metric_config"])
    aggregate.write_text(json.dumps(document))
    return copied


def in_percent(row: dict[str, Any]) -> None:
    row["evaluation"]["score"] *= 100


def without_bounds(metric: dict[str, Any]) -> None:
    for name in ("min_score", "max_score", "score_type"):
        metric.pop(name, None)


def unchanged(_: Any) -> None:
    """Leave as it is."""


def test_shares_and_percent_have_no_verdict(tmp_path: Path) -> None:
    runs = [
        edited(tmp_path, "acorn-7b", unchanged, without_bounds),
        edited(tmp_path, "acorn-3b", in_percent, without_bounds),
    ]
    report = evalstream.compare(runs, verify=False)
    assert {one.verdict for one in report.comparisons} == {CompareVerdict.NOT_COMPARABLE}
    said = "the scores of A lie in 0 to 1 and those of B reach 100, as shares and percent do"
    assert said in report.comparisons[0].sentence
    assert report.exit_code == 3

    allowed = evalstream.compare(runs, verify=False, allow_different="unit")
    assert allowed.comparisons[0].estimate is not None
    assert "different unit (--allow-different)" in allowed.first_line


@pytest.mark.parametrize("edit_row", [unchanged, in_percent])
def test_scores_on_one_scale_have_a_verdict(
    tmp_path: Path, edit_row: Callable[[dict[str, Any]], None]
) -> None:
    runs = [edited(tmp_path, name, edit_row, without_bounds) for name in ("acorn-7b", "acorn-3b")]
    report = evalstream.compare(runs, verify=False)
    assert CompareVerdict.NOT_COMPARABLE not in {one.verdict for one in report.comparisons}
    assert "--allow-different" not in report.first_line


def test_flips_are_those_of_the_scores(tmp_path: Path) -> None:
    def all_right(row: dict[str, Any]) -> None:
        row["evaluation"]["is_correct"] = True

    runs = [edited(tmp_path, name, all_right) for name in ("acorn-7b", "acorn-3b")]
    exact = evalstream.compare(runs, verify=False, metric="exact", flips=0)
    (one,) = exact.comparisons
    assert one.estimate is not None
    assert one.estimate.square is not None
    assert one.right_to_wrong == one.estimate.square.only_a == 15
    assert one.wrong_to_right == one.estimate.square.only_b == 4
    assert len(exact.flips) == 19


def with_prompt(row: dict[str, Any]) -> None:
    row["input"]["formatted"] = f"<user>{row['input']['raw']}"


def without_prompt(row: dict[str, Any]) -> None:
    row["input"].pop("formatted", None)


@pytest.mark.parametrize(
    ("edit_a", "edit_b", "count"),
    [
        (with_prompt, without_prompt, 97),
        (with_prompt, with_prompt, 0),
        (without_prompt, without_prompt, 0),
    ],
)
def test_prompts_that_one_run_alone_shows_are_counted(
    tmp_path: Path,
    edit_a: Callable[[dict[str, Any]], None],
    edit_b: Callable[[dict[str, Any]], None],
    count: int,
) -> None:
    runs = [edited(tmp_path, "acorn-7b", edit_a), edited(tmp_path, "acorn-3b", edit_b)]
    (one,) = evalstream.compare(runs, verify=False, metric="exact").comparisons
    assert (one.alignment.matched, one.alignment.one_prompt) == (97, count)


def test_details_of_harness_and_model_are_settings(tmp_path: Path) -> None:
    copied = edited(tmp_path, "acorn-3b", unchanged)
    (aggregate,) = copied.glob("*.json")
    document = json.loads(aggregate.read_text())
    document["eval_library"]["additional_details"] = {"image": "sha256:1"}
    document["model_info"]["additional_details"] = {"dtype": "float32"}
    aggregate.write_text(json.dumps(document))
    report = evalstream.compare([EXAMPLE / "acorn-7b", copied], verify=False, metric="exact")
    found = {one.name: one.values["B"] for one in report.confounders}
    assert found["eval_library/additional_details/image"] == "sha256:1"
    assert found["model_info/additional_details/dtype"] == "float32"


def test_settings_are_compared_result_by_result(tmp_path: Path) -> None:
    copied = edited(tmp_path, "acorn-7b", unchanged)
    (aggregate,) = copied.glob("*.json")
    document = json.loads(aggregate.read_text())
    results = document["evaluation_results"]
    results[1].pop("generation_config")
    aggregate.write_text(json.dumps(document))
    both = [EXAMPLE / "acorn-7b", copied]
    found = {one.name: one.values for one in evalstream.compare(both, verify=False).confounders}
    prefix = "generation_config/generation_args"
    assert found[f"{prefix}/temperature"] == {"A": "0.0", "B": "not given"}

    results[0]["generation_config"] = {"generation_args": {"temperature": 1.0}}
    results[1]["generation_config"] = {"generation_args": {"temperature": 0.5}}
    aggregate.write_text(json.dumps(document))
    exact = evalstream.compare(both, verify=False, metric="exact").confounders
    assert {one.name: one.values["B"] for one in exact}[f"{prefix}/temperature"] == "1.0"


def set_solver(log: dict[str, Any]) -> None:
    step = {"solver": "system_message", "params": {"template": "Think."}}
    log["plan"]["steps"].insert(0, step | {"params_passed": step["params"]})
    log["eval"]["config"]["message_limit"] = 8
    log["eval"]["model_args"]["dtype"] = "int8"


def set_task(results: dict[str, Any]) -> None:
    (config,) = results["configs"].values()
    config |= {"dataset_path": "acme/other_sums", "metadata": {"version": 7.0}}
    results["config"]["model"] = "vllm"


def set_dataset(settings: dict[str, Any]) -> None:
    settings["dataset"] = "acme/widgets-bench-2"


ROOT = Path(__file__).parents[2]
INSPECT = "2026-11-26T01-33-03-00-00_task_QfJNG5u7xZhMsyJn6VSYxQ.json"
LM_EVAL = "acme__acorn-1b/{}_2026-11-02T10-20-30.123456.{}"


@pytest.mark.parametrize(
    ("source", "edit", "changed", "run", "settings"),
    [
        ("tests/corpus/logs/inspect-limited", set_solver, INSPECT, INSPECT,
         {"solver", "message_limit", "model_args/dtype"}),
        ("examples/tutorial/log", set_task, LM_EVAL.format("results", "json"),
         LM_EVAL.format("samples_word_sums", "jsonl"), {"dataset_path", "task_version", "model"}),
        ("examples/swe_bench", set_dataset, "logs/run_evaluation/tiny/run.json",
         "acme__acorn-7b.tiny.json", {"dataset"}),
    ],
)  # fmt: skip
def test_settings_of_logs_that_may_explain_a_difference_are_named(
    tmp_path: Path,
    source: str,
    edit: Callable[[dict[str, Any]], None],
    changed: str,
    run: str,
    settings: set[str],
) -> None:
    copied = tmp_path / "copied"
    shutil.copytree(ROOT / source, copied)
    document = json.loads((copied / changed).read_text())
    edit(document)
    (copied / changed).write_text(json.dumps(document))
    report = evalstream.compare([ROOT / source / run, copied / run], verify=False)
    assert {one.name for one in report.confounders} == settings


def tenfold(row: dict[str, Any]) -> None:
    row.setdefault("metadata", {})["text"] = row["sample_id"][-1]


def test_with_clusters_no_report_has_other_errors(tmp_path: Path) -> None:
    runs = [edited(tmp_path, name, tenfold) for name in ("acorn-7b", "acorn-3b")]
    plain = evalstream.compare(runs, verify=False, metric="exact").comparisons[0].estimate
    found = evalstream.compare(
        runs, verify=False, metric="exact", cluster="/metadata/text"
    ).comparisons[0]
    assert plain is not None
    estimate = found.estimate
    assert estimate is not None
    assert estimate.clustered is not None
    assert estimate.clustered.clusters == 10
    assert estimate.standard_error == estimate.clustered.standard_error != plain.standard_error
    assert estimate.own_a is not None
    assert plain.own_a is not None
    assert estimate.own_a.standard_error == estimate.clustered.error_a != plain.own_a.standard_error
    assert (estimate.others, estimate.tests) == ((), ())
    assert estimate.interval is not None
    assert estimate.interval.method == "clustered t"


def test_ranks_with_clusters_have_the_same_means(tmp_path: Path) -> None:
    runs = [edited(tmp_path / str(n), name, tenfold)
            for n, name in enumerate(("acorn-7b", "acorn-3b", "acorn-7b"))]  # fmt: skip
    plain, clustered = (
        evalstream.compare(runs, verify=False, metric="exact", cluster=cluster).rankings[0]
        for cluster in (None, "/metadata/text")
    )
    assert clustered.n == plain.n
    for one, other in zip(plain.ranks, clustered.ranks, strict=True):
        assert (one.label, one.rank) == (other.label, other.rank)
        assert one.mean == pytest.approx(other.mean)


def test_all_pairs_are_compared_and_corrected_together() -> None:
    runs = [EXAMPLE / name for name in ("acorn-7b", "acorn-3b", "acorn-7b")]
    report = evalstream.compare(runs, metric="exact", pairs="all", reference="B")
    assert [(one.a, one.b) for one in report.comparisons] == [("B", "A"), ("B", "C"), ("A", "C")]
    first = report.comparisons[0].estimate
    assert first is not None
    assert first.test is not None
    assert first.adjusted_p == pytest.approx(3 * first.test.p)
    with pytest.raises(evalstream.UsageError, match="choice of pairs"):
        evalstream.compare(runs, pairs="some")
    with pytest.raises(evalstream.UsageError, match="pairs"):
        evalstream.compare(EXAMPLE, pairs="all", matrix=True)


def flipped(run: str, samples: set[str], answer: Any) -> Callable[[dict[str, Any]], None]:
    """Turn the scores of some samples of a run, and give them an answer."""

    def edit(row: dict[str, Any]) -> None:
        if row["sample_id"] in samples and row["evaluation_result_id"] == "exact":
            row["output"] = answer
            row["evaluation"] = {**row["evaluation"], "score": float(run == "acorn-7b"),
                                 "is_correct": run == "acorn-7b"}  # fmt: skip

    return edit


def compared_flips(
    folder: Path, answer: Any, metric: dict[str, Any], allow_different: tuple[str, ...] = ()
) -> evalstream.ComparisonReport:
    names = ("acorn-7b", "acorn-3b")
    runs = [
        edited(folder, name, flipped(name, {"010", "011"}, answer), lambda one: one.update(metric))
        for name in names
    ]
    return evalstream.compare(runs, verify=False, metric="exact", allow_different=allow_different)


SAID = {"raw": ["seven"]}
JUDGED = {
    "llm_scoring": {
        "judges": [{"model_info": {"name": "judge", "id": "acme/judge"}}],
        "input_prompt": "Is the answer right?",
    }
}


def test_one_answer_with_two_scores_leaves_no_verdict(tmp_path: Path) -> None:
    report = compared_flips(tmp_path, SAID, {})
    (one,) = report.comparisons
    assert one.verdict is CompareVerdict.NOT_COMPARABLE
    assert "have the same answer in both runs (the first in line " in one.sentence
    assert f" of {one.a})" in one.sentence
    assert f" of {one.b})" not in one.sentence
    assert "2 of " in one.sentence
    assert report.exit_code == 3


def test_one_answer_with_two_scores_can_be_allowed(tmp_path: Path) -> None:
    report = compared_flips(tmp_path, SAID, {}, ("score",))
    assert report.comparisons[0].verdict is not CompareVerdict.NOT_COMPARABLE
    assert "different score (--allow-different)" in report.first_line


@pytest.mark.parametrize(
    "metric", [JUDGED, {"additional_details": {"scorer": "inspect_ai/model_graded_qa"}}]
)
def test_judges_may_score_one_answer_in_two_ways(tmp_path: Path, metric: dict[str, Any]) -> None:
    report = compared_flips(tmp_path, SAID, metric)
    assert report.comparisons[0].verdict is not CompareVerdict.NOT_COMPARABLE
    assert any("2 of " in text and text.endswith("a judge scored them") for text in report.warnings)


@pytest.mark.parametrize("answer", [{"raw": [""]}, {"raw": []}, None])
def test_answers_that_say_nothing_are_not_compared(tmp_path: Path, answer: Any) -> None:
    report = compared_flips(tmp_path, answer, {})
    assert report.comparisons[0].verdict is not CompareVerdict.NOT_COMPARABLE


def test_the_flips_that_are_compared_are_not_all_shown() -> None:
    report = evalstream.compare([EXAMPLE / "acorn-7b", EXAMPLE / "acorn-3b"], flips=2)
    assert len(report.flips) == 2
    assert CompareVerdict.NOT_COMPARABLE not in {one.verdict for one in report.comparisons}


def renamed(row: dict[str, Any]) -> None:
    row["model_id"] = "acme/acorn-9b"


def with_other_answers(row: dict[str, Any]) -> None:
    renamed(row)
    row["output"] = {"raw": [f"{row['output']['raw'][0]} it is"]}


@pytest.mark.parametrize(
    ("edit_row", "model", "is_named"),
    [
        (renamed, "acme/acorn-9b", True),
        (with_other_answers, "acme/acorn-9b", False),
        (unchanged, "acme/acorn-7b", False),
    ],
)
def test_one_run_under_two_names_is_named(
    tmp_path: Path, edit_row: Callable[[dict[str, Any]], None], model: str, is_named: bool
) -> None:
    copied = edited(tmp_path, "acorn-7b", edit_row)
    (aggregate,) = copied.glob("*.json")
    document = json.loads(aggregate.read_text())
    document["model_info"]["id"] = model
    aggregate.write_text(json.dumps(document))
    report = evalstream.compare([EXAMPLE / "acorn-7b", copied], verify=False)
    said = [text for text in report.warnings if text.endswith("one run under two names")]
    assert len(said) == is_named

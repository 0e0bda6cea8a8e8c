"""What earlier releases of the harness write in another way, and changes of it."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
from each import each
from inspect_archive import members_of, packed, sound_log

import evalstream

Log = dict[str, Any]
ACCURACY = {"name": "inspect_ai/accuracy", "options": {}}
STDERR = {"name": "inspect_ai/stderr", "options": {}}


def checked(folder: Path, log: Log) -> dict[str, int]:
    """Return the verdict of a log, and the numbers of findings by code."""
    path = folder / "run.json"
    path.write_text(json.dumps(log), encoding="utf-8")
    run = evalstream.check(path).runs[0]
    return {run.verdict: 0, **run.counts}


def log_of(release: str) -> tuple[Log, Log, Log]:
    """Return a log of a release, the declaration of its scorer, and the metrics of its result."""
    log = sound_log()
    log["eval"]["packages"]["inspect_ai"] = release
    return log, log["eval"]["scorers"][0], log["results"]["scores"][0]["metrics"]


def several(release: str = "0.3.240") -> tuple[Log, Log]:
    """Return a log with a metric of its own that gave two figures, and its metrics."""
    log, scorer, metrics = log_of(release)
    scorer["metrics"].append({"name": "own/several", "options": {}})
    metrics |= {name: {"name": name, "value": 7.5, "params": {}} for name in ("mean", "high")}
    return log, metrics


def test_several_figures_of_an_own_metric_confirm_nothing(tmp_path: Path) -> None:
    log, _ = several()
    found = {"unconfirmed": 0, "INS304": 2, "INS305": 1, "INS307": 2}
    assert checked(tmp_path, log) == found


@each("release", ["0.3.241", "0.3.285"])
def test_newer_releases_name_the_metric_of_each_figure(tmp_path: Path, release: str) -> None:
    log, metrics = several(release)
    found = checked(tmp_path, log)
    assert ("failed" in found, found["INS305"], found["INS307"]) == (True, 1, 2)
    for name in ("mean", "high"):
        metrics[name]["group"] = "several"
    assert "passed" in checked(tmp_path, log)


@each(
    "change",
    [
        lambda metrics: metrics.pop("stderr"),
        lambda metrics: metrics["high"].update(group="several"),
        lambda metrics: metrics["accuracy"].update(value=0.9),
        lambda metrics: metrics.update(better=metrics.pop("accuracy") | {"name": "better"}),
    ],
)
def test_changes_beside_several_figures_are_refuted(tmp_path: Path, change: Any) -> None:
    log, metrics = several()
    change(metrics)
    assert "failed" in checked(tmp_path, log)


def test_another_result_of_a_scorer_may_have_the_figure_of_an_own_metric(tmp_path: Path) -> None:
    log, scorer, _ = log_of("0.3.69")
    scorer["metrics"].append({"name": "own", "options": {}})
    (result,) = log["results"]["scores"]
    figures = {"own": {"name": "own", "value": 7.5, "params": {}}}
    log["results"]["scores"].append({**result, "metrics": figures})
    assert "passed" in checked(tmp_path, log)


HIGH = {"high": {"name": "high", "value": 7.5, "params": {}}}


@each(
    ("release", "figures", "verdict"),
    [("0.3.180", {}, "unconfirmed"), ("0.3.180", HIGH, "unconfirmed"),
     ("0.3.241", {}, "unconfirmed"), ("0.3.241", HIGH, "failed"),
     ("0.3.285", {}, "unconfirmed")],
)  # fmt: skip
def test_an_own_metric_may_give_no_figure(
    release: str, figures: Log, verdict: str, tmp_path: Path
) -> None:
    log, scorer, metrics = log_of(release)
    scorer["metrics"] += [{"name": f"own/{one}", "options": {}} for one in ("none", "several")]
    metrics |= figures
    found = checked(tmp_path, log)
    assert (verdict in found, found["INS305"]) == (True, 2)


def test_a_metric_of_the_harness_gives_its_figure(tmp_path: Path) -> None:
    log, scorer, _ = log_of("0.3.285")
    scorer["metrics"].append({"name": "inspect_ai/mean", "options": {}})
    assert "failed" in checked(tmp_path, log)


@each(("release", "verdict"), [("0.3.180", "unconfirmed"), ("0.3.241", "failed")])
def test_one_figure_of_an_own_metric_cannot_be_told_from_a_renamed_one(
    tmp_path: Path, release: str, verdict: str
) -> None:
    log, scorer, metrics = log_of(release)
    scorer["metrics"].append({"name": "total", "options": {}})
    metrics["better"] = {"name": "better", "value": 9.0, "params": {}}
    found = checked(tmp_path, log)
    assert (verdict in found, found["INS305"], found["INS307"]) == (True, 1, 1)


def test_a_figure_of_an_own_metric_may_have_the_name_of_a_declared_one(tmp_path: Path) -> None:
    log, scorer, metrics = log_of("0.3.180")
    scorer["metrics"].append({"name": "total", "options": {}})
    metrics["accuracy1"] = metrics["accuracy"]
    metrics["accuracy"] = metrics["accuracy"] | {"value": 0.125}
    assert "unconfirmed" in checked(tmp_path, log)
    scorer["metrics"].pop()
    assert "failed" in checked(tmp_path, log)


def test_scorers_of_one_name_have_their_own_metrics(tmp_path: Path) -> None:
    log, scorer, metrics = log_of("0.3.180")
    (result,) = log["results"]["scores"]
    name = f"{result['scorer']}1"
    mean = {"mean": metrics["accuracy"] | {"name": "mean"}}
    log["eval"]["scorers"].append(
        scorer | {"metrics": [{"name": "inspect_ai/mean", "options": {}}]}
    )
    log["results"]["scores"].append(result | {"name": name, "scorer": name, "metrics": mean})
    log["reductions"] += [one | {"scorer": name} for one in log["reductions"]]
    for sample in log["samples"]:
        sample["scores"][name] = sample["scores"][result["scorer"]]
    assert "INS305" not in checked(tmp_path, log)
    mean["mean"]["name"] = "accuracy"
    assert checked(tmp_path, log)["INS305"] == 1


@each(("release", "refuted"), [("0.3.112", 0), ("0.3.113", 2)])
def test_scores_that_are_nan_made_figures_nan(tmp_path: Path, release: str, refuted: int) -> None:
    log, _, metrics = log_of(release)
    for sample in log["samples"]:
        if sample["id"] == log["samples"][0]["id"]:
            sample["scores"]["match"]["value"] = math.nan
    for one in metrics.values():
        one["value"] = math.nan
    assert checked(tmp_path, log).get("INS302", 0) == refuted


def test_outputs_without_a_completion_are_scored_again(tmp_path: Path) -> None:
    """The first releases write the message of the model alone."""
    log, _, _ = log_of("0.3.70")
    for sample in log["samples"]:
        del sample["output"]["completion"]
    assert "INS218" not in checked(tmp_path, log)
    log["samples"][0]["target"] = "none of it"
    assert checked(tmp_path, log)["INS218"] == 1


def test_events_that_name_no_scorer_have_the_explanation_of_a_score(tmp_path: Path) -> None:
    log, _, _ = log_of("0.3.180")
    for sample in log["samples"]:
        for event in sample["events"]:
            event.pop("scorer", None)
    assert "INS216" not in checked(tmp_path, log)
    score = log["samples"][0]["scores"]["match"]
    score["explanation"] = "another"
    assert checked(tmp_path, log)["INS216"] == 1
    (finding,) = (one for one in evalstream.check(tmp_path / "run.json") if one.code == "INS216")
    assert finding.pointer == "/samples/0/scores/match/explanation"
    assert finding.found == "another"


@each(
    ("release", "of_task", "of_result", "verdict"),
    [
        ("0.3.131", [ACCURACY, STDERR], ["accuracy", "stderr"], "passed"),
        ("0.3.132", [ACCURACY, STDERR], ["accuracy", "stderr"], "failed"),
        ("0.3.70", [ACCURACY], ["accuracy"], "passed"),
        ("0.3.70", [ACCURACY], ["accuracy", "stderr"], "failed"),
        ("0.3.70", [ACCURACY, STDERR], ["accuracy"], "failed"),
        ("0.3.70", None, ["accuracy", "stderr"], "failed"),
    ],
)
def test_metrics_of_the_task_took_the_place_of_those_of_scorers(
    tmp_path: Path, release: str, of_task: Any, of_result: list[str], verdict: str
) -> None:
    log, scorer, metrics = log_of(release)
    scorer["metrics"] = [{"name": "inspect_ai/mean", "options": {}}]
    log["eval"]["metrics"] = of_task
    for name in {"accuracy", "stderr"} - set(of_result):
        del metrics[name]
    assert verdict in checked(tmp_path, log)


@each(
    ("release", "severity"), [("0.3.136", "warning"), ("0.3.240", "warning"), ("0.3.241", "error")]
)
def test_scoring_again_left_the_declared_metrics(
    tmp_path: Path, release: str, severity: str
) -> None:
    log, scorer, _ = log_of(release)
    scorer["metrics"] = []
    path = tmp_path / "run.json"
    path.write_text(json.dumps(log))
    found = {one.severity.label for one in evalstream.check(path) if one.code == "INS307"}
    assert found == {severity}


def test_a_scorer_without_metrics_has_no_result(tmp_path: Path) -> None:
    log, scorer, _ = log_of("0.3.244")
    log["results"]["scores"] = []
    assert checked(tmp_path, log)["INS305"] == 1
    scorer["metrics"] = []
    found = checked(tmp_path, log)
    assert ("INS305" in found, "unconfirmed" in found) == (False, True)


@each(
    ("status", "severity"), [("error", "warning"), ("cancelled", "warning"), ("success", "error")]
)
def test_a_retry_that_fails_has_a_sample_twice(tmp_path: Path, status: str, severity: str) -> None:
    log = sound_log() | {"status": status}
    first, *others = members_of(log).items()
    name = next(name for name, _ in others if name.startswith("samples/"))
    path = tmp_path / "run.eval"
    with pytest.warns(UserWarning, match="Duplicate name"):
        path.write_bytes(packed([first, (name, {**log["samples"][0], "metadata": {}}), *others]))
    report = evalstream.check(path)
    assert [one.severity.label for one in report if one.code == "INS103"] == [severity]
    assert report.runs[0].verdict == "failed"


def test_a_run_with_an_error_did_not_finish_successfully(tmp_path: Path) -> None:
    """With `continue_on_fail` all samples of it ran."""
    path = tmp_path / "run.json"
    path.write_text(json.dumps(sound_log() | {"status": "error"}), encoding="utf-8")
    (found,) = (one for one in evalstream.check(path) if one.code == "INS105")
    assert found.message == "the run did not finish successfully: its status is error"


@each(("release", "is_early"), [("0.3.260", True), ("0.3.261", False)])
def test_scores_of_failed_samples_were_counted_by_scoring_again_alone(
    release: str, is_early: bool, tmp_path: Path
) -> None:
    log, _, metrics = log_of(release)
    log["eval"]["config"]["fail_on_error"] = False
    log["results"]["completed_samples"] = 3
    log["samples"][3]["error"] = {"message": "m", "traceback": "", "traceback_ansi": ""}
    sound = {"passed": 0, "INS211": 1}
    refuted = {"failed": 0, "INS211": 1, "INS301": 1, "INS302": 2}
    assert checked(tmp_path, log) == sound
    metrics["accuracy"]["value"], metrics["stderr"]["value"] = 1.0, 0.0
    assert checked(tmp_path, log).keys() == {"failed", "INS211", "INS302"}
    log["reductions"][0]["samples"][1]["value"] = 1.0
    assert checked(tmp_path, log) == (sound if is_early else refuted)
    log["reductions"][0]["samples"][0]["value"] = 0.0
    assert "failed" in checked(tmp_path, log)


def test_scoring_again_counted_failed_samples(tmp_path: Path) -> None:
    log, _, _ = log_of("0.3.251")
    log["eval"]["config"]["fail_on_error"] = False
    for sample in log["samples"][1::2]:
        sample["error"] = {"message": "m", "traceback": "", "traceback_ansi": ""}
    # Where it replaced scores, it counted them as completed, too.
    for completed in (2, 4):
        log["results"]["completed_samples"] = completed
        assert checked(tmp_path, log) == {"passed": 0, "INS211": 1}
    log["eval"]["packages"]["inspect_ai"] = "0.3.252"
    assert checked(tmp_path, log)["INS204"] == 1


def test_settings_of_a_step_are_not_those_of_the_log(tmp_path: Path) -> None:
    log, _, _ = log_of("0.3.145")
    log["plan"]["config"] = {"temperature": 0.5}
    for sample in log["samples"]:
        call = next(one for one in sample["events"] if one["event"] == "model")
        call["config"] = {"temperature": 0.25}
    assert checked(tmp_path, log)["INS208"] == 4
    log["plan"]["steps"][0]["params"] = {"kwargs": {"temperature": 0.25}}
    assert "INS208" not in checked(tmp_path, log)


@each(("release", "right"), [("0.3.100", 0.0), ("0.3.101", 1.0)])
def test_scores_above_one_were_not_right_for_pass_at(
    release: str, right: float, tmp_path: Path
) -> None:
    log, _, metrics = log_of(release)
    log["eval"]["config"]["epochs_reducer"] = ["pass_at_1"]
    for holder in (log["results"]["scores"][0], log["reductions"][0]):
        holder["reducer"] = "pass_at_1"
    for sample in log["samples"]:
        value = 3.0 if sample["id"] == 1 else sample["scores"]["match"]["value"]
        for score in [sample["scores"]["match"], *(e.get("score") for e in sample["events"])]:
            if score:
                score["value"] = value
    log["eval"]["scorers"][0]["name"] = log["results"]["scores"][0]["scorer"] = "own"
    log["results"]["scores"][0]["name"] = log["reductions"][0]["scorer"] = "own"
    for sample in log["samples"]:
        sample["scores"] = {"own": sample["scores"]["match"]}
        for event in sample["events"]:
            if "scorer" in event:
                event["scorer"] = "own"
    log["reductions"][0]["samples"][0]["value"] = right
    metrics["accuracy"]["value"] = (right + 0.5) / 2
    metrics["stderr"]["value"] = 0.25
    assert "passed" in checked(tmp_path, log)


def test_scoring_again_left_no_trace_in_events_and_results(tmp_path: Path) -> None:
    log, _scorer, _ = log_of("0.3.100")
    for sample in log["samples"]:
        sample["scores"]["exact"] = sample["scores"]["match"]
        for event in sample["events"]:
            event.pop("scorer", None)
    result, reduction = log["results"]["scores"][0], log["reductions"][0]
    result["name"] = result["scorer"] = reduction["scorer"] = "exact"
    assert checked(tmp_path, log) == {"passed": 0, "INS305": 1}
    # Results may have the name of the first scorer, too.
    result["name"] = result["scorer"] = reduction["scorer"] = "match"
    for sample in log["samples"]:
        sample["scores"]["match-1"] = sample["scores"].pop("exact")
        sample["scores"]["match"] = {"value": "I", "answer": "4"}
    result["params"] = {"location": "begin"}
    found = checked(tmp_path, log)
    assert {"INS301", "INS302", "INS307"}.isdisjoint(found)
    assert found["INS305"] == 1
    # Other releases keep what they have scored before.
    log["eval"]["packages"]["inspect_ai"] = "0.3.124"
    assert {"INS301", "INS302", "INS305", "INS307"} <= checked(tmp_path, log).keys()


def test_scores_of_a_later_scoring_have_no_event(tmp_path: Path) -> None:
    log, scorer, _ = log_of("0.3.100")
    scorer["name"] = "includes"
    for sample in log["samples"]:
        for event in sample["events"]:
            if "scorer" in event:
                del event["scorer"]
                event["score"] = {**event["score"], "explanation": "by includes"}
    assert checked(tmp_path, log) == {"passed": 0, "INS216": 4}
    log["eval"]["packages"]["inspect_ai"] = "0.3.124"
    assert "failed" in checked(tmp_path, log)


def _without_names(log: Log, explanation: str) -> None:
    """Make the events of scores those of an early release, of another scoring."""
    for sample in log["samples"]:
        for event in sample["events"]:
            if event.pop("scorer", None):
                event["score"] = {**event["score"], "explanation": explanation}


def test_scores_of_a_later_scoring_are_open_where_no_scorer_is_declared(tmp_path: Path) -> None:
    log, _, metrics = log_of("0.3.62")
    del log["eval"]["scorers"]
    for sample in log["samples"]:
        del sample["uuid"]
    _without_names(log, "by includes")
    found = checked(tmp_path, log)
    assert found == {"unconfirmed": 0, "INS216": 4, "INS304": 2, "ES805": 1}
    metrics["accuracy"]["value"] = 0.1
    assert checked(tmp_path, log).keys() == {"failed", "INS216", "INS302", "INS304"}
    # Members of a later release show that it would have recorded them.
    for sample in log["samples"]:
        sample["turn_count"] = 1
    assert "failed" in checked(tmp_path, log)


def test_samples_of_an_earlier_log_have_the_events_of_their_release(tmp_path: Path) -> None:
    log, _, _ = log_of("0.3.285")
    for event in log["samples"][0]["events"]:
        event.pop("scorer", None)
    assert checked(tmp_path, log)["INS216"] == 1
    log["eval"]["created"] = "2026-03-02T13:00:00+00:00"
    assert "INS216" not in checked(tmp_path, log)
    # Its members show that a release ran it that names the scorer in each event.
    log["samples"][0]["turn_count"] = 1
    assert checked(tmp_path, log)["INS216"] == 1


def test_a_later_release_keeps_no_parameters_of_scorers_that_are_not_declared(
    tmp_path: Path,
) -> None:
    log, _, _ = log_of("0.3.62")
    del log["eval"]["scorers"]
    result = log["results"]["scores"][0]
    for sample in log["samples"]:
        del sample["uuid"]
        score = sample["scores"]["match"]
        score["value"] = "I" if score["value"] == "C" else "C"
        next(one for one in sample["events"] if one["event"] == "score")["score"] = score
    kept = {name: result.pop(name) for name in ("scored_samples", "unscored_samples")}
    assert "INS218" in checked(tmp_path, log)
    result |= kept
    assert "INS218" not in checked(tmp_path, log)


def test_a_later_release_names_only_the_scorers_that_it_adds(tmp_path: Path) -> None:
    log, scorer, _ = log_of("0.3.200")
    _without_names(log, "")
    for sample in log["samples"]:
        score = sample["scores"]["match"]
        next(one for one in sample["events"] if one["event"] == "score")["score"] = score
        added = {**sample["events"][-1], "event": "score", "score": score, "scorer": "exact"}
        sample["events"].append(added)
        sample["scores"]["exact"] = score
    log["eval"]["scorers"].append({**scorer, "name": "exact"})
    result, reduction = log["results"]["scores"][0], log["reductions"][0]
    log["results"]["scores"].append({**result, "name": "exact", "scorer": "exact"})
    log["reductions"].append({**reduction, "scorer": "exact"})
    assert "INS216" not in checked(tmp_path, log)
    log["samples"][0]["scores"]["match"] = {"value": "I", "answer": "5"}
    assert "INS216" in checked(tmp_path, log)
    log["samples"][0]["scores"]["match"] = log["samples"][0]["scores"]["exact"]
    log["eval"]["packages"]["inspect_ai"] = "0.3.285"
    assert checked(tmp_path, log)["INS216"] == 4


def test_early_releases_explained_no_wrong_answer_that_is_the_completion(tmp_path: Path) -> None:
    log, scorer, _ = log_of("0.3.62")
    scorer["name"] = "includes"
    for sample in log["samples"]:
        events = [one["score"] for one in sample["events"] if one["event"] == "score"]
        for score in (sample["scores"]["match"], *events):
            score["answer"] = sample["output"]["completion"]
            if score["value"] == "C":
                score["explanation"] = sample["output"]["completion"]
        sample["scores"] = {"includes": sample["scores"]["match"]}
        for event in sample["events"]:
            event.pop("scorer", None)
    result, reduction = log["results"]["scores"][0], log["reductions"][0]
    result["name"] = result["scorer"] = reduction["scorer"] = "includes"
    assert "INS218" not in checked(tmp_path, log)


def test_early_releases_kept_no_grading_without_a_grade(tmp_path: Path) -> None:
    log, scorer, _ = log_of("0.3.62")
    scorer["name"] = "model_graded_qa"
    found = "Grade not found in model output: well"
    for sample in log["samples"]:
        score = sample["scores"].pop("match")
        grading = [{"role": "user", "content": "?"}, {"role": "assistant", "content": "GRADE: C"}]
        score |= {"explanation": "GRADE: C", "metadata": {"grading": grading}}
        if score["value"] == "I":
            score |= {"explanation": found}
            del score["metadata"]
        sample["scores"]["model_graded_qa"] = score
        sample["events"] = [one for one in sample["events"] if one["event"] != "score"]
    result, reduction = log["results"]["scores"][0], log["reductions"][0]
    result["name"] = result["scorer"] = reduction["scorer"] = "model_graded_qa"
    assert "INS218" not in checked(tmp_path, log)
    last = log["samples"][3]["scores"]["model_graded_qa"]
    last["explanation"] = f"{found} GRADE: C"
    assert checked(tmp_path, log)["INS218"] == 1


def test_calls_within_a_subtask_are_not_missed(tmp_path: Path) -> None:
    log, _, _ = log_of("0.3.62")
    sample = log["samples"][0]
    calls = [one for one in sample["events"] if one["event"] == "model"]
    sample["events"] = [one for one in sample["events"] if one["event"] != "model"]
    assert "INS217" in checked(tmp_path, log)
    sample["events"].append({"event": "subtask", "name": "fork", "events": calls})
    assert "INS217" not in checked(tmp_path, log)

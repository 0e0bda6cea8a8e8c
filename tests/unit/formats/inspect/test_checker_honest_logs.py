"""Logs as the harness writes them, with scorers of one's own and scored again, have no error."""

import json
from pathlib import Path
from typing import Any

from each import each
from inspect_archive import HEADER, members_of, packed, sound_log

import evalstream

Log = dict[str, Any]


def _check(log: Log, folder: Path) -> evalstream.Report:
    path = folder / "run.json"
    path.write_text(json.dumps(log))
    return evalstream.check(path, max_findings=0)


def _found(log: Log, folder: Path, severity: str = "error") -> set[str]:
    return {one.code for one in _check(log, folder) if one.severity.label == severity}


def _of_parts(part: float) -> Log:
    """Return the log with a scorer of one's own, whose part b is null, and reduced to a number."""
    log: Log = json.loads(json.dumps(sound_log()).replace('"match"', '"own"'))
    for sample in log["samples"]:
        for score in (sample["scores"]["own"], sample["events"][1]["score"]):
            score["value"] = {"b": None}
    log["reductions"][0]["samples"] = [{"value": {"b": part}, "sample_id": one} for one in (1, 2)]
    log["eval"]["scorers"][0]["metrics"] = [{"name": "inspect_ai/mean", "options": {}}]
    result = log["results"]["scores"][0]
    result["name"], result["metrics"] = "b", {"mean": {"name": "mean", "value": part}}
    return log


def test_a_null_in_a_score_counts_as_0(tmp_path: Path) -> None:
    assert _found(_of_parts(0.0), tmp_path) == set()
    assert "INS302" in _found(_of_parts(0.5), tmp_path)


def test_a_null_in_a_score_of_an_earlier_release_may_be_nan(tmp_path: Path) -> None:
    log = _of_parts(0.0)
    log["eval"]["packages"]["inspect_ai"] = "0.3.140"
    assert _found(log, tmp_path) == set()
    result = log["results"]["scores"][0]
    result["scored_samples"], result["unscored_samples"] = 0, 2
    assert _found(log, tmp_path) == set()


def test_a_null_in_reductions_of_an_earlier_release_may_be_nan(tmp_path: Path) -> None:
    log = _of_parts(0.0)
    log["reductions"][0]["samples"][0]["value"] = {"b": None}
    log["reductions"][0]["samples"][1]["value"] = {"b": 1.0}
    log["results"]["scores"][0]["metrics"]["mean"]["value"] = 1.0
    del log["samples"]
    assert "INS302" in _found(log, tmp_path)
    log["eval"]["packages"]["inspect_ai"] = "0.3.140"
    assert _found(log, tmp_path) == set()


def test_reductions_may_lack_samples_for_which_a_scorer_gave_no_score(tmp_path: Path) -> None:
    log = sound_log()
    del log["samples"]
    log["reductions"][0]["samples"].pop()
    log["results"]["completed_samples"] = 4
    assert "INS204" not in _found(log, tmp_path)
    log["results"]["completed_samples"] = 5
    assert "INS204" in _found(log, tmp_path)


def test_a_result_without_metrics_counts_what_those_of_its_parts_do(tmp_path: Path) -> None:
    log = _of_parts(0.0)
    result = log["results"]["scores"][0]
    metric = {"name": "None", "group": "frequency", "value": 1.0, "params": {}}
    parts = {"name": "b", "scorer": "own", "scored_samples": 4, "unscored_samples": 0}
    parts |= {"params": {}, "metrics": {"frequency_None": metric}}
    log["results"]["scores"] = [result, {**parts, "name": "own", "metrics": {}}, parts]
    assert "INS303" not in _found(log, tmp_path)
    log["results"]["scores"][1]["scored_samples"] = 2
    assert "INS303" in _found(log, tmp_path)


def test_the_header_of_a_log_may_have_its_reductions(tmp_path: Path) -> None:
    log = sound_log()
    del log["samples"]
    report = _check(log, tmp_path)
    assert {one.code: one.severity.label for one in report} == {"INS214": "warning"}
    assert [run.verdict for run in report.runs] == ["unconfirmed"]
    log["results"]["scores"][0]["metrics"]["accuracy"]["value"] = 0.9
    assert "INS302" in _found(log, tmp_path)


def _stopped(log: Log, status: str) -> None:
    """Make the log one that was stopped before its last sample, and scored again."""
    del log["samples"][3]
    log["status"] = status
    log["results"]["total_samples"] = log["results"]["completed_samples"] = 3


@each(("status", "refuted"), [("error", False), ("success", True)])
def test_scoring_again_counts_the_samples_of_a_log_that_was_stopped(
    status: str, refuted: bool, tmp_path: Path
) -> None:
    log = sound_log()
    _stopped(log, status)
    assert ("INS204" in _found(log, tmp_path)) is refuted


def test_scoring_a_log_without_samples_again_counts_none(tmp_path: Path) -> None:
    log = sound_log()
    log["eval"]["config"]["log_samples"], log["samples"] = False, []
    log["results"]["total_samples"] = 0
    assert _found(log, tmp_path) == set()
    log["results"]["total_samples"] = 3
    assert _found(log, tmp_path) == {"INS204"}


def test_a_share_of_errors_is_that_of_all_samples_that_were_to_be_run(tmp_path: Path) -> None:
    log = sound_log()
    log["samples"][3]["error"] = {"message": "m", "traceback": "", "traceback_ansi": ""}
    log["eval"]["config"]["fail_on_error"] = 0.4
    log["results"]["total_samples"] = 2
    assert "INS105" not in _found(log, tmp_path)
    log["eval"]["config"]["fail_on_error"] = 0.2
    assert "INS105" in _found(log, tmp_path)


def _grouped(log: Log, group: str) -> None:
    metric = {"type": "metric", "name": "mean", "params": {}}
    params = {"metric": metric, "group_key": "topic", "all": False}
    log["eval"]["scorers"][0]["metrics"] = [{"name": "inspect_ai/grouped", "options": params}]
    figure = {"name": group, "group": "grouped", "value": 0.75, "params": params}
    log["results"]["scores"][0]["metrics"] = {group: figure}


@each(("before", "refuted"), [("sums", True), ("others", False)])
def test_groups_may_be_those_that_samples_began_with(
    before: str, refuted: bool, tmp_path: Path
) -> None:
    log: Log = json.loads(json.dumps(sound_log()).replace('"match"', '"own"'))
    _grouped(log, "others")
    for sample in log["samples"]:
        sample["events"][0]["sample"]["metadata"] = {"topic": before}
        sample["metadata"] = {"topic": "sums"}
    assert ("INS302" in _found(log, tmp_path)) is refuted


def test_figures_of_groups_in_parts_of_scores_have_the_name_of_their_metric(tmp_path: Path) -> None:
    log = _of_parts(0.0)
    for sample in log["samples"]:
        for score in (sample["scores"]["own"], sample["events"][1]["score"]):
            score["value"] = {"b": 1}
        sample["metadata"] = sample["events"][0]["sample"]["metadata"] = {"topic": 1}
    log["eval"]["packages"]["inspect_ai"] = "0.3.140"
    log["reductions"][0]["samples"] = [{"value": {"b": 1.0}, "sample_id": one} for one in (1, 2)]
    _grouped(log, "grouped_1")
    figure = log["results"]["scores"][0]["metrics"]["grouped_1"]
    figure["value"] = 1.0
    del figure["group"]
    assert _found(log, tmp_path) == set()
    figure["value"] = 0.5
    assert "INS302" in _found(log, tmp_path)


def test_the_error_over_one_cluster_may_be_nan(tmp_path: Path) -> None:
    log = sound_log()
    for sample in log["samples"]:
        sample["metadata"] = sample["events"][0]["sample"]["metadata"] = {"topic": "sums"}
    log["eval"]["scorers"][0]["metrics"][1]["options"] = {"cluster": "topic"}
    figure = log["results"]["scores"][0]["metrics"]["stderr"]
    figure["params"], figure["value"] = {"cluster": "topic"}, float("nan")
    assert _found(log, tmp_path) == set()
    log["samples"][0]["metadata"] = {"topic": "others"}
    log["samples"][0]["events"][0]["sample"]["metadata"] = {"topic": "others"}
    assert "INS302" in _found(log, tmp_path)


def test_a_score_that_an_edit_added_may_be_edited_again(tmp_path: Path) -> None:
    log = sound_log()
    sample = log["samples"][0]
    edits = [{"value": 1}, {"value": 0}]
    sample["scores"]["added"] = {"value": 0, "history": edits}
    at = {"event": "score_edit", "timestamp": "2026-03-02T10:00:02+00:00", "working_start": 0.6}
    told = [{**at, "score_name": "added", "edit": one} for one in edits]
    sample["events"] += told
    assert "INS216" not in _found(log, tmp_path)
    sample["events"].pop()
    assert "INS216" in _found(log, tmp_path)


def test_events_of_scores_that_were_replaced_may_be_the_last(tmp_path: Path) -> None:
    log = sound_log()
    events = log["samples"][0]["events"]
    left = json.loads(json.dumps(events[1]))
    left["score"]["explanation"], left["span_id"] = "of before", "left"
    events.append(left)
    assert "INS208" in _found(log, tmp_path)
    span = {"event": "span_begin", "id": "left", "parent_id": "none", "type": "scorer"}
    events.append({**span, "name": "match", "timestamp": left["timestamp"], "working_start": 0.5})
    assert "INS208" not in _found(log, tmp_path)


def test_results_of_the_second_scorer_of_a_name_may_have_the_name_alone(tmp_path: Path) -> None:
    log = sound_log()
    log["eval"]["scorers"].append(log["eval"]["scorers"][0])
    for sample in log["samples"]:
        sample["scores"]["match1"] = sample["scores"]["match"]
        sample["events"].insert(2, {**sample["events"][1], "scorer": "match1"})
    log["reductions"].append({**log["reductions"][0], "scorer": "match1"})
    log["results"]["scores"] *= 2
    assert "INS305" not in _found(log, tmp_path)
    assert "INS305" in _found(log, tmp_path, "warning")


def test_the_start_of_a_log_may_have_the_scorers_that_were_replaced(tmp_path: Path) -> None:
    log = sound_log()
    log["eval"]["model"] = "another/model"
    members = members_of(log)
    members[HEADER]["eval"]["scorers"][0]["name"] = "exact"
    path = tmp_path / "run.eval"
    path.write_bytes(packed(members))
    found = {one.severity.label for one in evalstream.check(path) if one.code == "INS106"}
    assert found == {"warning"}

"""Tests of what a log gives to a comparison."""

import json
from pathlib import Path

import pytest
from compared_records import collected, compared
from each import each
from inspect_archive import members_of, packed, sound_log

from evalstream.model.sample_record import SampleFlag


@pytest.mark.parametrize("kind", ["json", "eval"])
def test_each_epoch_is_a_row_with_the_score_of_each_scorer(kind: str, tmp_path: Path) -> None:
    log = sound_log()
    text = json.dumps(log, indent=1).encode() if kind == "json" else packed(members_of(log))
    (tmp_path / f"run.{kind}").write_bytes(text)
    found = collected(tmp_path / f"run.{kind}")
    assert sorted(found.samples) != []
    rows = {(one.score, one.rows, one.flags) for one in found.samples.values()}
    assert rows == {(1.0, 2, int(SampleFlag.RIGHT)), (0.5, 2, 0)}
    assert {label for _, label in found.samples} == {"arithmetic / match"}
    assert len(set(found.identities().values())) == 2
    places = [(one.line, one.offset) for one in found.samples.values()]
    answers = [one.answer for one in found.answers(*sorted(places)) if one is not None]
    assert answers == ["4", "465"]
    description = found.checked.description
    assert description.model == "mockllm/model"
    assert description.settings["harness"] == "inspect 0.3.285"


def test_the_json_and_the_archive_of_a_log_are_equal(tmp_path: Path) -> None:
    pytest.importorskip("inspect_ai", reason="logs of Inspect are checked in full only with it")
    log = sound_log()
    (tmp_path / "a.json").write_text(json.dumps(log))
    (tmp_path / "b.eval").write_bytes(packed(members_of(log)))
    report, flips = compared(tmp_path / "a.json", tmp_path / "b.eval")
    (one,) = report.comparisons
    assert (one.alignment.matched, flips) == (2, [])


def test_dict_scores_are_compared_key_by_key(tmp_path: Path) -> None:
    log = sound_log()
    for sample in log["samples"]:
        sample["scores"]["match"]["value"] = {"a": 1, "b": "I"}
    (tmp_path / "run.json").write_text(json.dumps(log))
    found = collected(tmp_path / "run.json", by="sample_id")
    assert {label for _, label in found.samples} == {"arithmetic / match/a", "arithmetic / match/b"}


@each(
    ("options", "roles", "grader"),
    [
        ({}, None, "mockllm/model"),
        ({}, {"grader": {"model": "acme/judge"}}, "acme/judge"),
        ({"model_role": "critic"}, {"critic": {"model": "acme/critic"}}, "acme/critic"),
        ({"model": "acme/own"}, {"grader": {"model": "acme/judge"}}, "acme/own"),
    ],
)
def test_the_grader_of_a_model_graded_scorer_is_a_setting_of_its_scores(
    options: dict[str, str], roles: dict[str, dict[str, str]] | None, grader: str, tmp_path: Path
) -> None:
    log = sound_log()
    log["eval"]["scorers"] = [{"name": "inspect_ai/model_graded_qa", "options": options}]
    log["eval"]["model_roles"] = roles
    for sample in log["samples"]:
        sample["scores"] = {"model_graded_qa": sample["scores"]["match"]}
    (tmp_path / "run.json").write_text(json.dumps(log))
    (scoring,) = collected(tmp_path / "run.json").checked.description.scoring
    assert scoring["scorer/grader"] == grader
    assert json.loads(scoring["scorer/options"]) == options


def test_a_scorer_that_computes_has_no_grader(tmp_path: Path) -> None:
    log = sound_log()
    log["eval"]["scorers"] = [{"name": "match", "options": {"location": "end"}}]
    (tmp_path / "run.json").write_text(json.dumps(log))
    (scoring,) = collected(tmp_path / "run.json").checked.description.scoring
    assert scoring == {"scorer/options": '{"location":"end"}'}


@each(
    ("limit", "is_failed"),
    [("time", True), ("working", True), ("operator", True), ("token", False), (None, False)],
)
def test_a_sample_that_its_time_ended_has_no_score_of_the_model(
    limit: str | None, is_failed: bool, tmp_path: Path
) -> None:
    log = sound_log()
    for sample in log["samples"]:
        sample["limit"] = None if limit is None else {"type": limit, "limit": 10}
    (tmp_path / "run.json").write_text(json.dumps(log))
    flags = {one.flags for one in collected(tmp_path / "run.json").samples.values()}
    assert all(bool(flag & SampleFlag.FAILED) == is_failed for flag in flags)

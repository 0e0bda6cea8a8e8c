"""Tests of the check of logs: each kind of tampering is found, and nothing unread is passed."""

import copy
import gzip
import json
import math
import sys
import tempfile
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from depth import examples, in_turn
from each import each
from hypothesis import given
from hypothesis import strategies as st
from inspect_archive import HEADER, START, SUMMARIES, members_of, packed, sound_log, summary_of
from rows import bounded

import evalstream
from evalstream.formats.inspect.format import VITALS_COMMIT
from evalstream.formats.inspect.log_check import LogCheck
from evalstream.model.claim import State, confirms_score
from evalstream.model.errors import UsageError, install_command
from evalstream.model.finding import Violation
from evalstream.model.run_summary import RunSummary

Log = dict[str, Any]


def written(log: Log, folder: Path, kind: str) -> Path:
    """Write a log as JSON or as an archive."""
    path = folder / f"run.{kind}"
    text = json.dumps(log).encode() if kind == "json" else packed(members_of(log))
    path.write_bytes(text)
    return path


def found(path: Path, **options: Any) -> dict[str, str]:
    """Return the codes of findings with their severities."""
    report = evalstream.check(path, max_findings=0, **options)
    return {one.code: one.severity.label for one in report}


def only(path: Path) -> RunSummary:
    """Return the one run that a path stands for."""
    (run,) = evalstream.check(path).runs
    return run


def _set(*path: Any, value: Any) -> Callable[[Log], None]:
    def edit(log: Log) -> None:
        *way, last = path
        place: Any = log
        for name in way:
            place = place[name]
        place[last] = value

    return edit


def _drop_sample(log: Log) -> None:
    del log["samples"][3]


def _swap_scores(log: Log) -> None:
    """Change a score in the sample and everything that follows from it, but not in its events."""
    log["samples"][3]["scores"]["match"]["value"] = "C"
    log["reductions"][0]["samples"][1]["value"] = 1.0
    metrics = log["results"]["scores"][0]["metrics"]
    metrics["accuracy"]["value"], metrics["stderr"]["value"] = 1.0, 0.0


def _fail_sample(log: Log) -> None:
    log["samples"][3]["error"] = {"message": "m", "traceback": "", "traceback_ansi": ""}


def _add_event(kind: str) -> Callable[[Log], None]:
    event = {"event": kind, "type": "token", "message": "m", "error": {"message": "m"}}
    return lambda log: log["samples"][0]["events"].append(event)


SCORE = ("results", "scores", 0)
TAMPERINGS: dict[str, tuple[Callable[[Log], None], str]] = {
    "accuracy": (_set(*SCORE, "metrics", "accuracy", "value", value=0.9), "INS302"),
    "stderr": (_set(*SCORE, "metrics", "stderr", "value", value=0.01), "INS302"),
    "accuracy in the last digits": (
        _set(*SCORE, "metrics", "accuracy", "value", value=0.7500001),
        "INS302",
    ),
    "accuracy as null": (_set(*SCORE, "metrics", "accuracy", "value", value=None), "INS302"),
    "accuracy removed": (
        lambda log: log["results"]["scores"][0]["metrics"].pop("accuracy"),
        "INS305",
    ),
    "the name of a result": (_set(*SCORE, "name", value="exact_match"), "INS307"),
    "the name of a metric": (_set(*SCORE, "metrics", "accuracy", "name", value="mean"), "INS307"),
    "scored samples": (_set(*SCORE, "scored_samples", value=3), "INS303"),
    "unscored samples": (_set(*SCORE, "unscored_samples", value=1), "INS303"),
    "reduction": (_set("reductions", 0, "samples", 0, "value", value=0.0), "INS301"),
    "reduction removed": (lambda log: log["reductions"][0]["samples"].pop(), "INS301"),
    "reduction added": (
        lambda log: log["reductions"][0]["samples"].append({"sample_id": 7, "value": 1.0}),
        "INS301",
    ),
    "a reduced answer": (_set("reductions", 0, "samples", 0, "answer", value="x"), "INS301"),
    "results removed": (_set("results", value=None), "INS305"),
    "a score": (_set("samples", 0, "scores", "match", "value", value="I"), "INS302"),
    "a score with all that follows": (_swap_scores, "INS208"),
    "a score removed": (lambda log: log["samples"][0].update(scores={}), "INS208"),
    "a target": (_set("samples", 0, "target", value="5"), "INS208"),
    "the target of a scorer": (_set("samples", 0, "events", 1, "target", value="5"), "INS208"),
    "an input": (_set("samples", 0, "input", value="What is 1 + 1?"), "INS208"),
    "an id": (_set("samples", 0, "id", value=3), "INS203"),
    "an epoch": (_set("samples", 0, "epoch", value=7), "INS203"),
    "a sample removed": (_drop_sample, "INS202"),
    "a sample repeated": (lambda log: log["samples"].append(log["samples"][0]), "INS201"),
    "a sample that failed": (_fail_sample, "INS204"),
    "an error that only an event tells": (_add_event("error"), "INS208"),
    "an option of a scorer": (
        _set("eval", "scorers", 0, "options", value={"grade_pattern": "C"}),
        "INS307",
    ),
    "an option of a metric": (
        _set("eval", "scorers", 0, "metrics", 0, "options", value={"to_float": "own"}),
        "INS307",
    ),
    "total samples": (_set("results", "total_samples", value=5), "INS204"),
    "completed samples": (_set("results", "completed_samples", value=3), "INS204"),
    "negative total samples": (_set("results", "total_samples", value=-1), "INS204"),
    "negative completed samples": (_set("results", "completed_samples", value=-1), "INS204"),
    "negative scored samples": (_set(*SCORE, "scored_samples", value=-1), "INS303"),
    "countless unscored samples": (_set(*SCORE, "unscored_samples", value=10**400), "INS303"),
    "countless epochs": (_set("eval", "config", "epochs", value=2**63), "INS204"),
    "negative epochs": (_set("eval", "config", "epochs", value=-1), "INS204"),
    "accuracy that no double holds": (
        _set(*SCORE, "metrics", "accuracy", "value", value=10**400),
        "INS302",
    ),
    "a score that no double holds": (
        _set("samples", 0, "scores", "match", "value", value=-(10**400)),
        "INS302",
    ),
    "a reduction that no double holds": (
        _set("reductions", 0, "samples", 0, "value", value=10**400),
        "INS301",
    ),
    "the ids": (_set("eval", "dataset", "sample_ids", value=[1, 2, 3]), "INS202"),
    "the status": (_set("status", value="error"), "INS105"),
    "an unknown status": (_set("status", value="fine"), "INS107"),
    "the model": (_set("eval", "model", value="acme/acorn-7b"), "INS210"),
    "the usage of a model removed": (_set("stats", "model_usage", value={}), "INS210"),
    "the usage": (_set("stats", "model_usage", "mockllm/model", "total_tokens", value=1), "INS210"),
    "the usage of a role": (
        _set("stats", "role_usage", value={"grader": {"input_tokens": 5}}),
        "INS210",
    ),
    "a usage below 0": (
        _set("stats", "model_usage", "mockllm/model", "input_tokens", value=-1),
        "INS210",
    ),
}


def test_names_that_are_objects_are_shown_as_json(tmp_path: Path) -> None:
    log, name = sound_log(), {"kind": None}
    log["eval"]["scorers"][0]["metrics"][0]["name"] = name
    log["results"]["scores"][0]["scorer"] = log["reductions"][0]["scorer"] = name
    (tmp_path / "run.json").write_text(json.dumps(log))
    report = evalstream.check(tmp_path / "run.json")
    shown = [one.message for one in report] + [one.label for one in report.runs[0].claims]
    assert any('{"kind":null}' in text for text in shown)
    assert not any("'kind'" in text for text in shown)


def test_a_repeated_key_in_a_sample_is_found_at_its_place(tmp_path: Path) -> None:
    text = json.dumps(sound_log()).replace('"target": ', '"target": "x", "target": ', 1)
    (tmp_path / "run.json").write_text(text)
    (repeated,) = (one for one in evalstream.check(tmp_path / "run.json") if one.code == "ES107")
    assert (repeated.pointer, repeated.line) == ("/samples/0/target", 1)


# An archive has one member of a name, which is another test.
ALONE = "a sample repeated"


@each(
    ("name", "kind"),
    [(ALONE, "json"), *in_turn([one for one in TAMPERINGS if one != ALONE], ["json", "eval"])],
)
def test_tampering_is_found(name: str, kind: str, tmp_path: Path) -> None:
    edit, code = TAMPERINGS[name]
    log = sound_log()
    edit(log)
    report = evalstream.check(written(log, tmp_path, kind))
    assert code in report.counts
    assert not report.passed or code == "INS210"


def test_a_log_whose_tokens_another_model_used_is_not_confirmed(tmp_path: Path) -> None:
    log = sound_log()
    log["eval"]["model"] = "acme/acorn-7b"
    (run,) = evalstream.check(written(log, tmp_path, "json")).runs
    assert run.verdict == "unconfirmed"


@each("epochs", [-1, 2**63])
def test_no_other_number_of_epochs_is_named_than_is_declared(epochs: int, tmp_path: Path) -> None:
    log = sound_log()
    log["eval"]["config"]["epochs"] = epochs
    report = evalstream.check(written(log, tmp_path, "json"), select=("INS204",))
    assert "no run has the number of epochs that is declared" in {one.message for one in report}


def test_where_no_epochs_are_declared_there_is_one(tmp_path: Path) -> None:
    log = sound_log()
    del log["eval"]["config"]["epochs"]
    # Of four samples, those of the second epoch are not declared.
    assert evalstream.check(written(log, tmp_path, "json")).counts["INS203"] == 2


@pytest.mark.parametrize("kind", ["json", "eval"])
def test_a_sound_log_has_no_findings(kind: str, tmp_path: Path) -> None:
    assert found(written(sound_log(), tmp_path, kind)) == {}


@pytest.mark.parametrize("kind", ["json", "eval"])
def test_a_sound_log_passes_and_the_line_says_what_was_verified(kind: str, tmp_path: Path) -> None:
    pytest.importorskip("mmh3", reason="attachments are verified with mmh3")
    run = only(written(sound_log(), tmp_path, kind))
    assert run.verdict == "passed"
    said = [one.text for one in run.checked]
    assert said[-2:] == [
        "2 of 2 attachments with the right digest",
        "4 of 4 samples in the form that inspect_ai loads",
    ]
    assert len(run.claims) == 7
    assert {claim.state for claim in run.claims} == {State.CONFIRMED}
    (score,) = (claim for claim in run.claims if claim.is_score)
    assert (score.label, score.claimed, score.rows) == ("match/mean accuracy", 0.75, 2)


@pytest.fixture
def no_harness(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let neither the harness nor what it needs be imported."""
    from evalstream.formats.inspect import library

    monkeypatch.setitem(sys.modules, "inspect_ai.log", None)
    monkeypatch.setitem(sys.modules, "mmh3", None)
    library.inspect_library.cache_clear()
    library.attachment_digest.cache_clear()
    yield
    library.inspect_library.cache_clear()
    library.attachment_digest.cache_clear()


@pytest.mark.usefixtures("no_harness")
@each("kind", ["json", "eval"])
def test_a_log_in_the_known_form_needs_no_harness(kind: str, tmp_path: Path) -> None:
    log = sound_log()
    for sample in log["samples"]:
        sample["attachments"] = {}
    run = only(written(log, tmp_path, kind))
    assert (run.verdict, run.checked[-1].text) == (
        "passed",
        "4 of 4 samples in the form that inspect_ai loads",
    )
    log["samples"][0]["new_in_a_later_release"] = 1
    run = only(written(log, tmp_path, kind))
    assert run.verdict == "incomplete"
    assert install_command("inspect") in (run.incomplete_reason or "")
    assert run.checked[-1].text == "3 of 4 samples in the form that inspect_ai loads"


@pytest.mark.usefixtures("no_harness")
@pytest.mark.parametrize("kind", ["json", "eval"])
def test_without_the_harness_the_verdict_is_incomplete(kind: str, tmp_path: Path) -> None:
    report = evalstream.check(written(sound_log(), tmp_path, kind))
    (run,) = report.runs
    assert report.exit_code == 3
    assert run.verdict == "incomplete"
    assert install_command("inspect") in (run.incomplete_reason or "")
    assert "0 of 2 attachments with the right digest" in [one.text for one in run.checked]


@pytest.mark.parametrize("kind", ["json", "eval"])
def test_a_newer_version_is_refused_by_its_number(kind: str, tmp_path: Path) -> None:
    log = {**sound_log(), "version": 3}
    report = evalstream.check(written(log, tmp_path, kind))
    (finding,) = report
    assert (finding.code, report.exit_code) == ("ES005", 3)
    assert "version 3" in finding.message


def _damage(archive: bytes) -> bytes:
    """Turn a byte of the first sample, which is stored as it is."""
    place = archive.index(b"4 + 4") if b"4 + 4" in archive else archive.index(b"What is")
    return archive[:place] + b"\x00" + archive[place + 1 :]


IN_WORKERS: dict[str, Callable[[dict[str, Any]], object]] = {
    "sound": lambda _members: None,
    "turned": lambda members: members["samples/1_epoch_1.json"]["scores"]["match"].update(
        value="I"
    ),
    "misnamed": lambda members: members["samples/1_epoch_1.json"].update(id=9),
    "no object": lambda members: members.update({"samples/1_epoch_2.json": []}),
    "no JSON": lambda members: members.update({"samples/2_epoch_1.json": b'{"id": 2, "a": '}),
    "unknown": lambda members: members.update({"notes.txt": b"x"}),
    "in parts": lambda members: members.update({"samples/3_epoch_1/sample.json": {}}),
    "later member": lambda members: members["samples/2_epoch_2.json"].update(later=1),
}


@each(
    ("edit", "damages"),
    [(IN_WORKERS["sound"], True), *((one, False) for one in IN_WORKERS.values())],
)
def test_workers_find_what_one_process_finds(
    edit: Callable[[dict[str, Any]], object],
    damages: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("evalstream.formats.inspect.archive_check.BATCH_BYTES", 4000)
    members = members_of(sound_log())
    edit(members)
    archive = packed(members, method=0)
    (tmp_path / "run.eval").write_bytes(_damage(archive) if damages else archive)
    reports = [
        evalstream.check(tmp_path / "run.eval", executor=name, jobs=2, max_findings=0)
        for name in ("serial", "pool")
    ]
    one, other = ([(*found,) for found in report] for report in reports)
    assert one == other
    (run,), (again,) = (report.runs for report in reports)
    told = ("verdict", "incomplete_reason", "rows", "claims", "checked")
    assert [getattr(run, name) for name in told] == [getattr(again, name) for name in told]


def test_samples_in_parts_are_refused(tmp_path: Path) -> None:
    members = members_of(sound_log())
    members["samples/1_epoch_1/sample.json"] = members.pop("samples/1_epoch_1.json")
    (tmp_path / "run.eval").write_bytes(packed(members))
    report = evalstream.check(tmp_path / "run.eval")
    assert (set(report.counts), report.exit_code) == ({"ES005"}, 3)


def test_an_archive_without_header_is_unfinished(tmp_path: Path) -> None:
    members = members_of(sound_log())
    del members[HEADER], members[SUMMARIES]
    (tmp_path / "run.eval").write_bytes(packed(members))
    assert found(tmp_path / "run.eval").keys() - {"ES805"} == {"INS105"}


def test_summaries_are_compared(tmp_path: Path) -> None:
    log = sound_log()
    for change, told in (
        ({"target": "9"}, "target"),
        ({"uuid": "other"}, "uuid"),
        ({"error": "boom"}, "error"),
        ({"scores": {}}, "score"),
        ({"input": "What is 1 + 1?"}, "input"),
        ({"metadata": {"topic": "x"}}, "metadata/topic"),
        ({"id": 9}, "no sample"),
    ):
        members = members_of(log)
        members[SUMMARIES][2] |= change
        (tmp_path / "run.eval").write_bytes(packed(members))
        report = evalstream.check(tmp_path / "run.eval")
        messages = [one.message for one in report]
        assert set(report.counts) == {"INS206"}
        assert any(told in message for message in messages)


def test_of_long_texts_and_of_references_to_attachments_no_summary_is_compared(
    tmp_path: Path,
) -> None:
    members = members_of(sound_log())
    for text in (f"{'x ' * 512}...", "attachment://8a3b00aa7bd2e6e5d2a6d0bd0f5d9b3e"):
        members[SUMMARIES][2]["input"] = text
        (tmp_path / "run.eval").write_bytes(packed(members))
        assert found(tmp_path / "run.eval") == {}


@each(
    ("path", "told", "text", "other"),
    [
        (
            "error",
            {"error": {"message": "m  1", "traceback": "", "traceback_ansi": ""}},
            "m 1",
            "m",
        ),
        ("limit_reason", {"limit": {"type": "time", "limit": 1, "reason": "r"}}, "r", "s"),
    ],
)
def test_a_summary_repeats_why_its_sample_ended(
    path: str, told: Log, text: str, other: str, tmp_path: Path
) -> None:
    log = sound_log()
    log["samples"][2] |= told
    members = members_of(log)
    messages = []
    for members[SUMMARIES][2][path] in (text, other):
        (tmp_path / "run.eval").write_bytes(packed(members))
        messages.append({one.message for one in evalstream.check(tmp_path / "run.eval")})
    assert messages[1] - messages[0] == {f"the sample has another {path}"}


def test_a_summary_repeats_the_explanation_of_a_score(tmp_path: Path) -> None:
    log = sound_log()
    log["samples"][0]["scores"]["match"]["explanation"] = "so\nit is"
    members = members_of(log)
    own, counts = members[SUMMARIES][0]["scores"]["match"], []
    for own["explanation"] in ("so it is", "so it may be"):
        (tmp_path / "run.eval").write_bytes(packed(members))
        counts.append(evalstream.check(tmp_path / "run.eval").counts.get("INS206", 0))
    assert counts == [0, 1]


def test_a_sample_with_several_summaries_is_found(tmp_path: Path) -> None:
    members = members_of(sound_log())
    for name in (SUMMARIES, "_journal/summaries/1.json"):
        members[name].append(members[name][1])
        (tmp_path / "run.eval").write_bytes(packed(members))
        (one,) = evalstream.check(tmp_path / "run.eval")
        place = members[SUMMARIES][1]
        assert (one.code, one.severity.label) == ("INS206", "error")
        assert (
            one.message
            == f"several summaries have the sample {place['id']} (epoch {place['epoch']})"
        )


@each("name", ["version", "eval", "plan"])
def test_the_start_of_a_run_has_all_of_its_parts(name: str, tmp_path: Path) -> None:
    members = members_of(sound_log())
    del members[START][name]
    (tmp_path / "run.eval").write_bytes(packed(members))
    assert found(tmp_path / "run.eval") == {"INS106": "error"}


def test_a_sample_without_summary_is_found(tmp_path: Path) -> None:
    members = members_of(sound_log())
    del members[SUMMARIES][2]
    (tmp_path / "run.eval").write_bytes(packed(members))
    assert found(tmp_path / "run.eval") == {"INS206": "error"}


def test_a_sample_without_summary_is_found_beside_a_journal_that_breaks_off(tmp_path: Path) -> None:
    members = members_of(sound_log())
    journal = json.dumps(members["_journal/summaries/1.json"]).encode()
    members["_journal/summaries/1.json"] = journal[:-1]
    del members[SUMMARIES][2]
    (tmp_path / "run.eval").write_bytes(packed(members))
    assert found(tmp_path / "run.eval") == {"INS107": "error", "INS206": "error"}


def test_summaries_that_repeat_the_journal_are_compared_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared: list[str] = []
    compare = LogCheck.compare_summary

    def count(log: LogCheck, value: Any, place: str) -> Iterator[Violation]:
        compared.append(place)
        return compare(log, value, place)

    monkeypatch.setattr(LogCheck, "compare_summary", count)
    members = members_of(sound_log())
    for target, times in (("4", 1), ("9", 2)):
        for name in ("_journal/summaries/1.json", SUMMARIES):
            members[name][0]["target"] = target
        (tmp_path / "run.eval").write_bytes(packed(members))
        assert ("INS206" in found(tmp_path / "run.eval")) == (times == 2)
        assert len(compared) == times * len(members[SUMMARIES])
        compared.clear()


@pytest.mark.parametrize(
    ("model", "severity"), [("mockllm/model", "info"), ("acme/acorn-7b", "warning")]
)
def test_arguments_that_the_run_changed_are_no_error(
    model: str, severity: str, tmp_path: Path
) -> None:
    members = members_of(sound_log())
    for name in (START, HEADER):
        members[name]["eval"]["model"] = model
    members[START]["eval"]["model_args"] = {"outputs": [1]}
    (tmp_path / "run.eval").write_bytes(packed(members))
    assert found(tmp_path / "run.eval")["INS106"] == severity


def test_arguments_that_the_run_changed_hide_no_other_change(tmp_path: Path) -> None:
    members = members_of(sound_log())
    members[START]["eval"]["model_args"] = {"outputs": [1]}
    members[START]["eval"]["task"] = "another"
    (tmp_path / "run.eval").write_bytes(packed(members))
    report = evalstream.check(tmp_path / "run.eval", max_findings=0)
    severities = [one.severity.label for one in report if one.code == "INS106"]
    assert sorted(severities) == ["error", "info"]


def test_the_name_of_a_metric_decides_where_a_log_declares_none(tmp_path: Path) -> None:
    log = sound_log()
    del log["eval"]["scorers"]
    assert found(written(log, tmp_path, "json")) == {}
    log["results"]["scores"][0]["metrics"]["accuracy"]["value"] = 0.9
    assert found(written(log, tmp_path, "json")) == {"INS302": "error"}


def test_metrics_of_others_are_open_within_their_bounds(tmp_path: Path) -> None:
    log = sound_log()
    log["eval"]["scorers"][0]["metrics"][0]["name"] = "accuracy"
    metric = log["results"]["scores"][0]["metrics"]["accuracy"]
    for value, codes in (
        (0.75, {}),
        (0.9, {"INS304": "warning"}),
        (90.0, {"INS304": "warning"}),
        (-0.1, {"INS302": "error"}),
        (101.0, {"INS302": "error"}),
    ):
        metric["value"] = value
        path = written(log, tmp_path, "json")
        # The reader of the harness may be missing, and then nothing is said of the verdict.
        assert {code: one for code, one in found(path).items() if code != "ES805"} == codes
    states = {claim.label: claim.state for claim in only(path).claims}
    assert states["match/mean accuracy"] is State.REFUTED


def test_rounding_is_not_a_mismatch(tmp_path: Path) -> None:
    log = sound_log()
    metrics = log["results"]["scores"][0]["metrics"]
    metrics["stderr"] |= {"value": 6e-8, "params": {"cluster": "topic"}}
    log["eval"]["scorers"][0]["options"] = {"numeric": True, "location": "exact"}
    log["results"]["scores"][0]["params"] = {"numeric": True, "location": "exact"}
    log["eval"]["scorers"][0]["metrics"][1]["options"] = {"cluster": "topic"}
    for sample in log["samples"]:
        sample["metadata"]["topic"] = sample["events"][0]["sample"]["metadata"]["topic"] = "one"
        sample["scores"]["match"]["value"] = sample["events"][1]["score"]["value"] = 16.5
    metrics["accuracy"]["value"] = 16.5
    for reduced in log["reductions"][0]["samples"]:
        reduced["value"] = 16.5
    path = written(log, tmp_path, "json")
    assert found(path) == {}
    metrics["stderr"]["value"] = 1e-3
    assert found(written(log, tmp_path, "json")) == {"INS302": "error"}


@pytest.mark.parametrize("group", ["grouped", None])
def test_figures_of_groups_are_recomputed(group: str | None, tmp_path: Path) -> None:
    log = sound_log()
    params = {"metric": {"type": "metric", "name": "mean", "params": {}}, "group_key": "topic"}
    values = {"sums": 1.0, "lists": 0.5, "all": 0.75, "lists2": 0.5}
    result = log["results"]["scores"][0]
    result["metrics"] |= {
        name: {"name": name, "value": value, "params": params} | ({"group": group} if group else {})
        for name, value in values.items()
        if group is None or name != "lists2"
    }
    declared = {"name": "inspect_ai/grouped", "options": params}
    log["eval"]["scorers"][0]["metrics"].append(declared)
    assert found(written(log, tmp_path, "json")) == {}
    result["metrics"]["lists"]["value"] = 0.6
    assert found(written(log, tmp_path, "json")) == {"INS302": "error"}
    for name in ("lists", "lists2"):
        result["metrics"].pop(name, None)
    (one,) = evalstream.check(written(log, tmp_path, "json"))
    assert (one.code, one.pointer) == ("INS305", "/results/scores/0")
    assert one.message == "the result match/mean lacks lists of the metric grouped"
    # Without any figure of a group, only the declaration tells.
    del result["metrics"]["sums"], result["metrics"]["all"]
    assert found(written(log, tmp_path, "json")) == {"INS305": "error"}


def with_two_reducers() -> Log:
    """Return a log of which each epoch's best score counts, too."""
    log = sound_log()
    log["eval"]["config"]["epochs_reducer"].append("max")
    for part in (log["results"]["scores"], log["reductions"]):
        part.append({**copy.deepcopy(part[0]), "reducer": "max"})
    metrics = log["results"]["scores"][1]["metrics"]
    metrics["accuracy"]["value"], metrics["stderr"]["value"] = 1.0, 0.0
    for reduced in log["reductions"][1]["samples"]:
        reduced["value"] = "C"
    return log


@each(
    ("paths", "message"),
    [
        ([], None),
        ([("results", "scores", 0)], "match has no result by the reducer mean"),
        ([(*SCORE, "metrics", "accuracy")], "match has no accuracy by the reducer mean"),
        (
            [("results", "scores", 0), ("reductions", 0)],
            "the log declares the reducer mean, and has no result by it",
        ),
    ],
)
def test_a_scorer_has_its_results_by_all_reducers(
    paths: list[tuple[Any, ...]], message: str | None, tmp_path: Path
) -> None:
    log = with_two_reducers()
    for *way, last in paths:
        place: Any = log
        for name in way:
            place = place[name]
        del place[last]
    told = [one.message for one in evalstream.check(written(log, tmp_path, "json"))]
    assert told == ([] if message is None else [message])


def test_another_scorer_that_was_added_later_may_have_other_reducers(tmp_path: Path) -> None:
    log = json.loads(json.dumps(with_two_reducers()).replace('"match"', '"own"'))
    del log["results"]["scores"][1], log["reductions"][1]
    assert "INS305" in found(written(log, tmp_path, "json"))
    log["reductions"].append({"scorer": "other", "reducer": "max", "samples": []})
    assert "INS305" not in found(written(log, tmp_path, "json"))


@each(
    ("metrics", "parts", "is_missing"),
    [
        ({"*": [{"name": "inspect_ai/mean", "options": {}}]}, ("one", "two"), False),
        ({"*": [{"name": "inspect_ai/mean", "options": {}}]}, ("one",), True),
        ([{"t*": [{"name": "inspect_ai/mean", "options": {}}]}], ("two",), False),
        ([{"t*": [{"name": "inspect_ai/mean", "options": {}}]}], (), True),
    ],
)
def test_each_part_of_scores_has_its_result(
    metrics: Any, parts: tuple[str, ...], is_missing: bool, tmp_path: Path
) -> None:
    log = json.loads(json.dumps(sound_log()).replace('"match"', '"own"'))
    value = {"one": 1, "two": 2}
    for sample in log["samples"]:
        sample["scores"]["own"]["value"] = sample["events"][1]["score"]["value"] = value
    for reduced in log["reductions"][0]["samples"]:
        reduced["value"] = value
    log["eval"]["scorers"][0]["metrics"] = metrics
    (result,) = log["results"]["scores"]
    log["results"]["scores"] = [
        {**result, "name": part, "metrics": {"mean": {"name": "mean", "value": value[part]}}}
        for part in parts
    ] or [{**result, "metrics": {}}]
    told = found(written(log, tmp_path, "json"))
    assert ("INS305" in told) == is_missing
    log["results"]["scores"][0]["name"] = ["one"]
    assert found(written(log, tmp_path, "json"))["INS107"] == "error"


def test_nan_is_a_missing_score(tmp_path: Path) -> None:
    """No scorer of the harness that reads the completion alone leaves an answer without a score."""
    log = json.loads(json.dumps(sound_log()).replace('"match"', '"own"'))
    for sample in log["samples"]:
        if sample["id"] == 2:
            sample["scores"]["own"]["value"] = math.nan
            sample["events"][1]["score"]["value"] = math.nan
    result = log["results"]["scores"][0]
    result |= {"scored_samples": 1, "unscored_samples": 1}
    result["metrics"]["accuracy"]["value"], result["metrics"]["stderr"]["value"] = 1.0, 0.0
    log["reductions"][0]["samples"][1]["value"] = math.nan
    assert found(written(log, tmp_path, "json")) == {}
    assert found(written(log, tmp_path, "eval")) == {}


def test_the_layout_of_the_first_releases_is_read(tmp_path: Path) -> None:
    log = sound_log()
    log["version"] = 1
    log["eval"]["packages"]["inspect_ai"] = "0.3.20"
    result = log["results"].pop("scores")[0]
    log["results"] |= {
        "scorer": {"name": "match"},
        "metrics": {
            name: {"name": name, "value": metric["value"]}
            for name, metric in result["metrics"].items()
        },
    }
    del log["eval"]["scorers"], log["reductions"], log["eval"]["dataset"]["sample_ids"]
    for sample in log["samples"]:
        sample["score"] = sample.pop("scores")["match"]
        sample["events"] = []
        del sample["uuid"]
    run = only(written(log, tmp_path, "json"))
    assert run.counts == {}
    assert {claim.state for claim in run.claims} == {State.CONFIRMED}
    log["results"]["metrics"]["accuracy"]["value"] = 0.1
    assert found(written(log, tmp_path, "json")) == {"INS302": "error"}


def _unlogged() -> Log:
    """Return the log as the harness writes it with log_samples off."""
    log = {**sound_log(), "samples": None}
    log["eval"]["config"]["log_samples"] = False
    return log


@pytest.mark.parametrize("kind", ["json", "eval"])
def test_the_reductions_of_a_log_without_samples_confirm_its_figures(
    kind: str, tmp_path: Path
) -> None:
    path = written(_unlogged(), tmp_path, kind)
    assert found(path) == {"INS214": "info"}
    run = only(path)
    assert {claim.state for claim in run.claims} == {State.CONFIRMED}
    assert confirms_score(run.claims)


@each(
    ("edit", "code"),
    [
        (_set(*SCORE, "metrics", "accuracy", "value", value=0.9), "INS302"),
        (_set(*SCORE, "scored_samples", value=3), "INS303"),
        (_set("results", "total_samples", value=5), "INS204"),
        (_set("results", "completed_samples", value=5), "INS204"),
    ],
)
def test_the_reductions_of_a_log_without_samples_refute_other_figures(
    edit: Callable[[Log], None], code: str, tmp_path: Path
) -> None:
    log = _unlogged()
    edit(log)
    assert found(written(log, tmp_path, "json")) == {code: "error", "INS214": "info"}


def test_a_log_without_samples_and_reductions_is_unconfirmed(tmp_path: Path) -> None:
    log = {**_unlogged(), "reductions": None}
    path = written(log, tmp_path, "json")
    assert set(found(path)) - {"ES805"} == {"INS214"}
    assert not confirms_score(only(path).claims)
    if find_spec("inspect_ai") is not None:
        assert only(path).verdict == "unconfirmed"
        assert found(path)["ES805"] == "warning"


def test_a_log_of_vitals_is_not_checked_as_one_of_inspect(tmp_path: Path) -> None:
    log = sound_log()
    log["eval"]["revision"] = {"type": "git", "origin": "", "commit": VITALS_COMMIT}
    run = only(written(log, tmp_path, "json"))
    assert (run.counts, run.verdict) == ({"ES005": 1}, "incomplete")


def test_a_header_confirms_and_refutes_none_of_its_scores(tmp_path: Path) -> None:
    log = {name: value for name, value in sound_log().items() if name not in _AFTER_HEADER}
    run = only(written(log, tmp_path, "json"))
    assert run.counts.keys() - {"ES805"} == {"INS214"}
    assert run.verdict != "passed"
    assert not confirms_score(run.claims)
    assert State.REFUTED not in {claim.state for claim in run.claims}


_AFTER_HEADER = {"samples", "reductions"}


def test_a_log_that_lost_its_samples_is_not_taken_for_one_without(tmp_path: Path) -> None:
    codes = found(written({**sound_log(), "samples": []}, tmp_path, "json"))
    assert {"INS202", "INS204"} <= codes.keys()


def _as_includes() -> Log:
    """Return the log with the scorer includes, which gives the same scores."""
    text = json.dumps(sound_log()).replace('"match"', '"includes"')
    log: Log = json.loads(text)
    return log


def test_samples_of_the_scorer_includes_are_scored_again(tmp_path: Path) -> None:
    log = _as_includes()
    assert found(written(log, tmp_path, "json")) == {}
    # Upper and lower case differ, and only one target of several is there.
    last, other = (one for one in log["samples"] if one["id"] == 1)
    for sample in (last, other):
        asked, scored = sample["events"][0]["sample"], sample["events"][1]
        for told in (sample, asked, scored):
            told["target"] = ["FOUR", "Yes", "4"]
    for message in (last["messages"][1], last["output"]["choices"][0]["message"]):
        message["content"] = "is it four?"
    last["output"]["completion"] = "is it four?"
    # The score has the answer of another completion.
    unlike = {"INS218": "warning"}
    assert found(written(log, tmp_path, "json")) == unlike
    log["eval"]["scorers"][0]["options"] = {"ignore_case": False}
    log["results"]["scores"][0]["params"] = {"ignore_case": False}
    assert found(written(log, tmp_path, "json")) == {"INS213": "error"} | unlike


def test_an_edited_score_may_differ_from_what_includes_gives(tmp_path: Path) -> None:
    log = _as_includes()
    score = log["samples"][3]["scores"]["includes"]
    edit = {"value": "C", "provenance": {"timestamp": "2026-03-02T10:00:00Z", "author": "a"}}
    score |= {"value": "C", "history": [{"value": "I", "answer": "460"}, edit]}
    log["samples"][3]["events"].append(
        {"event": "score_edit", **AT, "score_name": "includes", "edit": edit}
    )
    log["reductions"][0]["samples"][1]["value"] = 1.0
    metrics = log["results"]["scores"][0]["metrics"]
    metrics["accuracy"]["value"], metrics["stderr"]["value"] = 1.0, 0.0
    assert found(written(log, tmp_path, "json")) == {"INS209": "info"}
    (part,) = (one for one in only(tmp_path / "run.json").checked if "edited" in one.text)
    assert part == ("1 of 4 scores edited after the run", None)
    del edit["provenance"]
    assert found(written(log, tmp_path, "json")) == {"INS209": "warning"}
    log["samples"][3]["events"].pop()
    assert found(written(log, tmp_path, "json")) == {"INS209": "warning", "INS216": "error"}


AT = {"timestamp": "2026-03-02T10:00:00+00:00", "working_start": 0.1}
"""The members that all events have."""


def _recorded(log: Log) -> Log:
    """Add the events that the harness records: outputs of models, and changes of the state."""
    at = AT
    asked = {"input": [], "tools": [], "tool_choice": "auto", "config": {}}
    for sample in log["samples"]:
        output = copy.deepcopy(sample["output"])
        choice = copy.deepcopy(output["choices"][0])
        changes = [
            {"op": "add", "path": "/messages/1", "value": copy.deepcopy(sample["messages"][1])},
            {"op": "add", "path": "/output/choices/0", "value": choice},
            {"op": "replace", "path": "/output/completion", "value": output["completion"]},
        ]
        sample["events"][1:1] = [
            {"event": "model", **at, **asked, "model": "mockllm/model", "output": output},
            {"event": "state", **at, "changes": changes},
        ]
    return log


def _state_of(change: dict[str, Any]) -> dict[str, Any]:
    """Return the event of a change of the state."""
    at = {"timestamp": "2026-03-02T10:00:00+00:00", "working_start": 0.1}
    return {"event": "state", **at, "changes": [change]}


def _every_output(log: Log) -> None:
    sample = log["samples"][0]
    for message in (sample["messages"][1], sample["output"]["choices"][0]["message"]):
        message["content"] = "5"
    sample["output"]["completion"] = "5"


OUTPUT = ("samples", 0, "output")
COPIES: dict[str, Callable[[Log], None]] = {
    "completion": _set(*OUTPUT, "completion", value="5"),
    "choice": _set(*OUTPUT, "choices", 0, "message", "content", value="5"),
    "message": _set("samples", 0, "messages", 1, "content", value="5"),
    "all of them": _every_output,
}


@pytest.mark.parametrize("plan", ["generate", "own_solver", "react"])
@each("edit", COPIES.values(), ids=COPIES)
def test_an_output_that_no_event_recorded_is_found(
    edit: Callable[[Log], None], plan: str, tmp_path: Path
) -> None:
    log = _recorded(sound_log())
    log["plan"]["steps"][0]["solver"] = plan
    assert found(written(log, tmp_path, "json")) == {}
    edit(log)
    codes = {"message": {"INS215"}, "all of them": {"INS212", "INS215"}}
    expected = next((codes[name] for name in codes if COPIES[name] is edit), {"INS212"})
    # The scorer was given another completion.
    unlike = {"INS218": "warning"} if edit in (COPIES["completion"], _every_output) else {}
    assert found(written(log, tmp_path, "json")) == dict.fromkeys(expected, "error") | unlike


@each(
    ("name", "codes"),
    [("completion", {"INS212"}), ("choice", {"INS212", "INS215"}), ("message", {"INS215"})],
)
def test_an_output_must_agree_with_itself_without_events(
    name: str, codes: set[str], tmp_path: Path
) -> None:
    log = sound_log()
    COPIES[name](log)
    unlike = {"INS218": "warning"} if name == "completion" else {}
    assert found(written(log, tmp_path, "json")) == dict.fromkeys(codes, "error") | unlike
    # A solver of one's own may set a completion; without events nothing shows that it did.
    log["plan"]["steps"][0]["solver"] = "own_solver"
    assert found(written(log, tmp_path, "json")) == unlike


def test_a_solver_may_change_the_output(tmp_path: Path) -> None:
    log = _recorded(sound_log())
    log["plan"]["steps"][0]["solver"] = "own_solver"
    sample = log["samples"][0]
    sample["output"]["completion"] = "is it: 4"
    change = {"op": "replace", "path": "/output/completion", "value": "is it: 4"}
    sample["events"].insert(3, _state_of(change))
    scored = next(one for one in sample["events"] if one["event"] == "score")
    for score in (sample["scores"]["match"], scored["score"], log["reductions"][0]["samples"][0]):
        score["answer"] = "is it: 4"
    assert found(written(log, tmp_path, "json")) == {}


def test_a_completion_that_a_solver_replaced_is_not_the_last(tmp_path: Path) -> None:
    log = _recorded(sound_log())
    log["plan"]["steps"][0]["solver"] = "own_solver"
    change = {"op": "replace", "path": "/output/completion", "value": "FOUR"}
    log["samples"][0]["events"].insert(3, _state_of(change))
    assert found(written(log, tmp_path, "json")) == {"INS212": "error"}


def test_an_output_is_missed_where_the_events_recorded_one(tmp_path: Path) -> None:
    log = _recorded(sound_log())
    change = {"op": "replace", "path": "/output/completion", "value": "4"}
    log["samples"][0]["events"].insert(3, _state_of(change))
    del log["samples"][0]["output"]
    assert found(written(log, tmp_path, "json")) == {"INS212": "error"}


def test_outputs_of_failed_samples_are_not_compared(tmp_path: Path) -> None:
    log = _recorded(sound_log())
    log["eval"]["config"]["fail_on_error"] = False
    _fail_sample(log)
    log["samples"][3]["output"]["completion"] = "on the way"
    log["results"]["completed_samples"] = 3
    assert "INS212" not in found(written(log, tmp_path, "json"))


def test_a_scorer_that_was_declared_twice_is_used(tmp_path: Path) -> None:
    # A run with --no-score declares its scorer, and `inspect score` declares it again.
    log = sound_log()
    log["eval"]["scorers"] *= 2
    assert found(written(log, tmp_path, "json")) == {}
    log["eval"]["scorers"].append({**log["eval"]["scorers"][0], "name": "exact"})
    assert found(written(log, tmp_path, "json")) == {"INS305": "warning"}


def _failed(allowed: Any) -> Log:
    log = sound_log()
    _fail_sample(log)
    log["results"]["completed_samples"] = 3
    log["eval"]["config"]["fail_on_error"] = allowed
    return log


@each("allowed", [None, True, 1, 0.2, 0.25])
def test_a_status_of_success_over_too_many_errors_is_found(allowed: Any, tmp_path: Path) -> None:
    assert found(written(_failed(allowed), tmp_path, "json"))["INS105"] == "error"


@each("allowed", [False, 2, 0.5])
def test_errors_that_the_configuration_allows_are_no_failure(allowed: Any, tmp_path: Path) -> None:
    assert found(written(_failed(allowed), tmp_path, "json")) == {"INS211": "warning"}


def test_a_status_of_success_beside_the_error_of_the_run_is_found(tmp_path: Path) -> None:
    log = sound_log()
    log["error"] = {"message": "m", "traceback": "", "traceback_ansi": ""}
    assert found(written(log, tmp_path, "json")) == {"INS105": "error"}


METRICS = (*SCORE, "metrics")
UNDECLARED: dict[str, tuple[Callable[[Log], None], set[str]]] = {
    "a reducer": (_set(*SCORE, "reducer", value="max"), {"INS305", "INS307", "INS302"}),
    "an unknown reducer": (_set(*SCORE, "reducer", value="mine"), {"INS305", "INS307"}),
    "a metric": (
        _set(*METRICS, "best", value={"name": "best", "value": 0.99, "params": {}}),
        {"INS307"},
    ),
    "one of the harness": (
        _set(*METRICS, "mean", value={"name": "mean", "value": 0.99, "params": {}}),
        {"INS307", "INS302"},
    ),
    "a figure of a group": (
        _set(*METRICS, "x", value={"name": "x", "group": "grouped", "value": 1, "params": {}}),
        {"INS307"},
    ),
    "parameters of a metric": (
        lambda log: log["results"]["scores"][0]["metrics"]["accuracy"].update(
            value=0.99, params={"to_float": "to_float"}
        ),
        {"INS307", "INS302"},
    ),
    "parameters of the scorer": (_set(*SCORE, "params", value={"numeric": True}), {"INS307"}),
}


@each(("edit", "codes"), UNDECLARED.values(), ids=UNDECLARED)
def test_a_result_that_is_not_declared_is_found(
    edit: Callable[[Log], None], codes: set[str], tmp_path: Path
) -> None:
    log = sound_log()
    edit(log)
    severities = found(written(log, tmp_path, "json"))
    errors = {code for code, severity in severities.items() if severity == "error"}
    assert errors == codes


@each(
    ("scorer", "options", "is_known"),
    [
        ("match", {"location": "any", "numeric": True}, True),
        ("match", {"location": "middle"}, False),
        ("match", {"location": ["any"]}, False),
        ("match", {"x": None}, False),
        ("exact", {"ignore_case": True}, False),
        ("mine", {"x": 1}, True),
    ],
)
def test_an_option_that_a_scorer_does_not_have_is_a_warning(
    scorer: str, options: dict[str, Any], is_known: bool, tmp_path: Path
) -> None:
    log = sound_log()
    log["eval"]["scorers"][0] |= {"name": scorer, "options": options}
    severity = found(written(log, tmp_path, "json")).get("INS107")
    assert severity == (None if is_known else "warning")


FIRST = {"scorer": "match", "score": "match", "metric": "accuracy", "reducer": None}


@each(
    ("headline", "declared", "severity"),
    [
        ({}, None, None),
        ({"metric": "stderr"}, None, "warning"),
        ({"metric": "best"}, None, "error"),
        ({"metric": ["accuracy"]}, None, "error"),
        ({"scorer": "includes"}, None, "error"),
        ({"reducer": "max"}, None, "error"),
        ({"metric": "stderr"}, {"metric": "stderr"}, None),
        ({}, {"metric": "stderr"}, "error"),
        ({}, {"scorer": "gone", "metric": "stderr"}, None),
    ],
)
def test_the_headline_is_the_declared_metric(
    headline: dict[str, Any], declared: Any, severity: str | None, tmp_path: Path
) -> None:
    log = sound_log()
    (result,) = log["results"]["scores"]
    log["results"]["headline"] = FIRST | {"reducer": result.get("reducer")} | headline
    log["eval"]["headline_metric"] = declared
    assert found(written(log, tmp_path, "json")).get("INS307") == severity


def test_the_metrics_that_are_declared_are_named(tmp_path: Path) -> None:
    log = sound_log()
    edit, _ = UNDECLARED["a metric"]
    edit(log)
    report = evalstream.check(written(log, tmp_path, "json"))
    (one,) = (one for one in report if one.code == "INS307")
    assert (one.expected, one.found) == ("inspect_ai/accuracy, inspect_ai/stderr", "best")


def test_a_value_that_is_no_number_is_refuted(tmp_path: Path) -> None:
    for value in ("0.75", True, [0.75]):
        log = sound_log()
        log["results"]["scores"][0]["metrics"]["accuracy"]["value"] = value
        assert found(written(log, tmp_path, "json"))["INS302"] == "error"


def test_a_mean_of_functions_of_its_own_is_open(tmp_path: Path) -> None:
    log = sound_log()
    log["eval"]["scorers"][0]["metrics"][0]["options"] = {"to_float": "to_float"}
    metric = log["results"]["scores"][0]["metrics"]["accuracy"]
    metric["params"] = {"to_float": "to_float"}
    assert found(written(log, tmp_path, "json")) == {}
    metric["value"] = 0.9
    assert found(written(log, tmp_path, "json"))["INS304"] == "warning"


def _with_metric(name: str, params: dict[str, Any], **figures: float) -> Log:
    """Return the log with one more metric; several figures are those of a group."""
    log = sound_log()
    log["eval"]["scorers"][0]["metrics"].append({"name": f"inspect_ai/{name}", "options": params})
    group = {} if list(figures) == [name] else {"group": name}
    log["results"]["scores"][0]["metrics"] |= {
        key: {"name": key, "value": value, "params": params, **group}
        for key, value in figures.items()
    }
    return log


@each(
    ("name", "code"), [("mean_reward", "INS304"), ("mean_score", "INS302"), ("win_rate", "INS302")]
)
def test_a_mean_of_something_else_than_scores_is_in_no_range_of_theirs(
    name: str, code: str, tmp_path: Path
) -> None:
    log = _with_metric(name, {}, **{name: 1360.0})
    log["eval"]["scorers"][0]["metrics"][-1]["name"] = name
    assert set(found(written(log, tmp_path, "json"))) == {code}


RESAMPLED = [
    ("bootstrap_stderr", {}, {"bootstrap_stderr": 0.177}, None),
    ("bootstrap_stderr", {}, {"bootstrap_stderr": 0.02}, "INS302"),
    ("bootstrap_stderr", {}, {"bootstrap_stderr": 0.0}, "INS302"),
    ("bootstrap_stderr", {"num_samples": 10}, {"bootstrap_stderr": 0.05}, "INS304"),
    ("ci", {"method": "bootstrap"}, {"lower": 0.5, "upper": 1.0}, None),
    ("ci", {"method": "bootstrap"}, {"lower": 0.7499, "upper": 0.7501}, "INS304"),
    ("ci", {"method": "bootstrap"}, {"lower": 0.0, "upper": 0.6}, "INS302"),
    ("ci", {}, {"lower": -2.4265511840436, "upper": 3.9265511840436}, None),
    ("ci", {}, {"lower": 0.7, "upper": 0.8}, "INS302"),
]


@each(("name", "params", "figures", "code"), RESAMPLED)
def test_errors_and_intervals_are_compared_with_closed_forms(
    name: str, params: dict[str, Any], figures: dict[str, float], code: str | None, tmp_path: Path
) -> None:
    codes = found(written(_with_metric(name, params, **figures), tmp_path, "json"))
    assert set(codes) == ({code} if code else set())


@each(("right", "code"), [(0.75, None), (0.5, "INS302")])
def test_frequencies_are_those_of_all_epochs(
    right: float, code: str | None, tmp_path: Path
) -> None:
    """Each category is a metric of its own, in the group that names their function."""
    log = sound_log()
    metric = {"name": "inspect_ai/frequency", "options": {}}
    log["eval"]["scorers"][0]["metrics"].append(metric)
    metrics = {
        name: {"name": name, "value": value, "group": "frequency", "params": {}}
        for name, value in (("C", right), ("I", 1 - right))
    }
    result = {**log["results"]["scores"][0], "metrics": metrics, "scored_samples": 4}
    del result["reducer"]
    log["results"]["scores"].append(result)
    assert set(found(written(log, tmp_path, "json"))) == ({code} if code else set())


def test_an_interval_without_scores_is_open(tmp_path: Path) -> None:
    log = _with_metric("ci", {"method": "bootstrap"}, lower=0.5, upper=1.0)
    log["eval"]["config"]["log_samples"] = False
    del log["samples"], log["reductions"]
    claims = only(written(log, tmp_path, "json")).claims
    (claim,) = (one for one in claims if one.kind == "confidence interval")
    assert (claim.state, claim.recomputed) == (State.OPEN, None)


def test_figures_over_a_reducer_of_ones_own_are_open_and_may_be_refuted(tmp_path: Path) -> None:
    log = sound_log()
    log["eval"]["config"]["epochs_reducer"] = ["mine"]
    log["results"]["scores"][0]["reducer"] = log["reductions"][0]["reducer"] = "mine"
    path = written(log, tmp_path, "json")
    assert found(path).keys() - {"ES805"} == {"INS304"}
    assert not confirms_score(only(path).claims)
    log["results"]["scores"][0]["metrics"]["accuracy"]["value"] = 0.99
    assert found(written(log, tmp_path, "json"))["INS302"] == "error"


def test_a_reduction_is_one_claim(tmp_path: Path) -> None:
    log = sound_log()
    log["reductions"][0]["samples"][0]["value"] = 0.25
    run = only(written(log, tmp_path, "json"))
    (claim,) = (one for one in run.claims if one.kind == "reduction")
    assert (claim.state, claim.pointer) == (State.REFUTED, "/reductions/0/samples")


def test_an_id_that_is_twice_in_a_reduction_is_found(tmp_path: Path) -> None:
    log = sound_log()
    log["reductions"][0]["samples"].append(dict(log["reductions"][0]["samples"][0]))
    assert found(written(log, tmp_path, "json")) == {"INS301": "error"}


def test_the_answer_of_a_score_is_compared_with_its_event_and_summary(tmp_path: Path) -> None:
    log = sound_log()
    log["samples"][0]["scores"]["match"]["answer"] = "5"
    unlike = {"INS218": "warning"}
    assert found(written(log, tmp_path, "json")) == {"INS208": "error", **unlike}
    members = members_of(sound_log())
    members[SUMMARIES][0]["scores"]["match"]["answer"] = "5"
    (tmp_path / "run.eval").write_bytes(packed(members))
    assert found(tmp_path / "run.eval") == {"INS206": "error"}


def test_summaries_have_single_spaces_in_answers(tmp_path: Path) -> None:
    log = sound_log()
    sample = log["samples"][0]
    sample["output"]["completion"] = "So:\n\n  4"
    for holder in (sample["messages"][1], sample["output"]["choices"][0]["message"]):
        holder["content"] = "So:\n\n  4"
    for score in (sample["scores"]["match"], sample["events"][1]["score"]):
        score |= {"answer": "So:\n\n  4", "explanation": "So:\n\n  4"}
    members = members_of(log)
    members[SUMMARIES][0]["scores"]["match"]["answer"] = "So: 4"
    (tmp_path / "run.eval").write_bytes(packed(members))
    assert found(tmp_path / "run.eval") == {}
    members[SUMMARIES][0]["scores"]["match"]["answer"] = "So: 5"
    (tmp_path / "run.eval").write_bytes(packed(members))
    assert found(tmp_path / "run.eval") == {"INS206": "error"}


@pytest.mark.parametrize(("ended", "codes"), [("09:00", set()), ("10:30", {"INS210"})])
def test_usage_of_samples_of_a_resumed_log_is_not_of_this_run(
    ended: str, codes: set[str], tmp_path: Path
) -> None:
    log = sound_log()
    log["stats"]["started_at"] = "2026-03-02T10:00:00+00:00"
    log["stats"]["completed_at"] = "2026-03-02T11:00:00+00:00"
    for event in log["samples"][0]["events"]:
        event["timestamp"] = "2026-03-02T08:30:00+00:00"
    log["samples"][0]["completed_at"] = f"2026-03-02T{ended}:00+00:00"
    usage = log["stats"]["model_usage"]["mockllm/model"]
    for name, number in log["samples"][0]["model_usage"]["mockllm/model"].items():
        usage[name] -= number
    assert found(written(log, tmp_path, "json")).keys() == codes
    usage["total_tokens"] += 1000
    assert found(written(log, tmp_path, "json")).keys() == codes
    usage["total_tokens"] = 1
    assert found(written(log, tmp_path, "json")).keys() == {"INS210"}
    usage["total_tokens"] = 9999
    log["eval"]["packages"]["inspect_ai"] = "0.3.158"
    assert "INS210" in found(written(log, tmp_path, "json"))


@each(("release", "codes"), [("0.3.41.dev123+g9ad2119a", set()), ("0.3.42", {"INS210"})])
def test_samples_of_early_releases_counted_no_usage(
    release: str, codes: set[str], tmp_path: Path
) -> None:
    log = sound_log()
    log["eval"]["packages"]["inspect_ai"] = release
    for sample in log["samples"]:
        del sample["model_usage"], sample["uuid"]
    assert found(written(log, tmp_path, "json")).keys() & {"INS210"} == codes


@each(
    ("release", "codes"),
    [
        ("0.3.41", {"INS109", "INS210"}),
        ("0.3.41.dev123+g9ad2119a", {"INS210"}),
        ("0.1.dev1+g9ad2119a", {"INS210"}),
        ("0.3.285", {"INS210"}),
    ],
)
@pytest.mark.parametrize("kind", ["json", "eval"])
def test_a_log_has_no_habits_of_a_release_before_its_members(
    kind: str, release: str, codes: set[str], tmp_path: Path
) -> None:
    log = sound_log()
    log["eval"]["packages"]["inspect_ai"] = release
    for sample in log["samples"]:
        del sample["model_usage"]
        sample["turn_count"] = 1
    assert found(written(log, tmp_path, kind)).keys() & {"INS109", "INS210"} == codes


@each(
    ("name", "found", "is_wrong"),
    [
        ("completed_at", "2026-03-02T11:00:02+01:00", False),
        ("completed_at", "2026-03-02T11:00:02+00:00", True),
        ("total_time", 1.5, False),
        ("total_time", 2.5, True),
        ("retries", 0, False),
        ("retries", 1, True),
        ("message_count", 1, True),
        ("model_usage", {}, True),
        ("turn_count", 2, False),
        ("turn_count", 1, True),
        ("limit", "token", False),
        ("limit", "time", True),
    ],
)
def test_a_summary_repeats_what_its_sample_took(
    name: str, found: Any, is_wrong: bool, tmp_path: Path
) -> None:
    log = sound_log()
    log["samples"][0] |= {"completed_at": "2026-03-02T10:00:02+00:00", "total_time": 1.5}
    log["samples"][0] |= {"turn_count": 2, "limit": {"type": "token", "limit": 9}}
    members = members_of(log)
    members[SUMMARIES][0][name] = found
    (tmp_path / "run.eval").write_bytes(packed(members))
    report = evalstream.check(tmp_path / "run.eval")
    places = [one.pointer for one in report if one.code == "INS206"]
    assert places == ([f"/{SUMMARIES}/0/{name}"] if is_wrong else [])


def test_a_log_that_declares_its_scorers_last_is_not_passed(tmp_path: Path) -> None:
    log = sound_log()
    log["eval"] = log.pop("eval")
    report = evalstream.check(written(log, tmp_path, "json"), input_format="inspect")
    assert (report.exit_code, report.counts) == (3, {})


def test_listings_beside_logs_are_known(tmp_path: Path) -> None:
    written(sound_log(), tmp_path, "json")
    (tmp_path / "eval-set.json").write_text('{"eval_set_id": "s", "tasks": []}')
    (tmp_path / "logs.json").write_text('{"run.json": {"status": "success"}}')
    report = evalstream.check(tmp_path)
    assert {one.code: one.severity.label for one in report} == {"ES007": "info"}
    for path in tmp_path.glob("run.*"):
        path.unlink()
    (tmp_path / "other.json").write_text("{}")
    assert not evalstream.check(tmp_path).passed


def test_a_log_without_samples_is_not_passed(tmp_path: Path) -> None:
    log = sound_log()
    for samples in ([], None):
        report = evalstream.check(written({**log, "samples": samples}, tmp_path, "json"))
        assert not report.passed
        assert report.exit_code != 0


def test_a_sample_that_cannot_be_read_leaves_the_figures_open(tmp_path: Path) -> None:
    text = json.dumps(sound_log()).replace('"epoch": 1,', '"epoch": 1, "epoch": 1,', 1)
    path = tmp_path / "run.json"
    path.write_text(text)
    run = only(path)
    assert run.verdict == "failed"
    assert "ES107" in run.counts


def test_a_sample_above_the_limit_is_not_read(tmp_path: Path) -> None:
    for kind in ("json", "eval"):
        report = evalstream.check(written(sound_log(), tmp_path, kind), max_line_bytes=1_000)
        assert not report.passed
        assert report.exit_code != 0


def test_a_torn_json_log_is_found(tmp_path: Path) -> None:
    text = json.dumps(sound_log()).encode()
    path = tmp_path / "run.json"
    for size in range(len(text) // 2, len(text), 997):
        path.write_bytes(text[:size])
        report = evalstream.check(path, input_format="inspect")
        assert not report.passed
        assert report.exit_code != 0


def test_compressed_logs_and_folders_are_read(tmp_path: Path) -> None:
    (tmp_path / "run.json.gz").write_bytes(gzip.compress(json.dumps(sound_log()).encode()))
    written(sound_log(), tmp_path, "eval")
    report = evalstream.check(tmp_path)
    assert [run.format for run in report.runs] == ["inspect", "inspect"]
    # They are two copies of one log.
    assert report.counts == {"ES904": 1}


def test_a_log_whose_compression_breaks_is_not_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "run.json.gz"
    path.write_bytes(gzip.compress(json.dumps(sound_log()).encode())[:-40])
    report = evalstream.check(path, input_format="inspect")
    (run,) = report.runs
    assert (report.counts["ES002"], report.exit_code, run.verdict) == (1, 1, "failed")
    assert run.incomplete_reason is not None


def test_a_log_has_no_aggregate(tmp_path: Path) -> None:
    path = written(sound_log(), tmp_path, "json")
    with pytest.raises(UsageError, match="aggregate"):
        evalstream.check(path, aggregate=path, input_format="inspect")


def test_a_summary_has_what_the_harness_writes() -> None:
    assert summary_of(sound_log()["samples"][0])["scores"]["match"]["value"] == "C"


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Iterate over the paths of all values in a value."""
    parts = value.items() if isinstance(value, dict) else enumerate(value)
    for name, part in parts if isinstance(value, (dict, list)) else ():
        yield (*path, name)
        yield from places(part, (*path, name)) if isinstance(part, (dict, list)) else ()


@bounded(max_examples=examples(150))
@given(
    st.sampled_from(list(places(sound_log()))),
    st.sampled_from([None, True, -1, 10**30, 1e308, math.nan, "", "x", [], {}, [[]], ["\ud800"]]),
)
def test_no_value_anywhere_crashes_the_check(path: tuple[Any, ...], value: Any) -> None:
    log = sound_log()
    _set(*path, value=value)(log)
    members = members_of(sound_log())
    name = path[0] if path[0] in ("samples", "reductions") else HEADER
    if name == HEADER:
        _set(HEADER, *path, value=value)(members)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "run.json").write_text(json.dumps(log))
        (Path(folder) / "run.eval").write_bytes(packed(members))
        for kind in ("json", "eval"):
            report = evalstream.check(Path(folder) / f"run.{kind}", input_format="inspect")
            assert report.exit_code in (0, 1, 3)

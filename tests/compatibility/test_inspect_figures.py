"""Real logs of Inspect with every metric and reducer that it ships: each figure follows from them.

The tests need `scripts/harnesses` to have been run, or the Python of such an environment in
EVALSTREAM_HARNESSES.
"""

import copy
import json
from collections import Counter
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from each import each
from harness_logs import inspect_figure_logs, needs_harnesses

import evalstream
from evalstream.model.claim import State
from evalstream.model.finding import Severity

pytestmark = needs_harnesses

Log = dict[str, Any]

OPEN = {
    "own": 1,
    "own-alone": 1,
    "unlogged-frequency": 7,
    "unlogged-grouped": 17,
    "unlogged-unreduced": 4,
}
"""The logs with open claims: metrics of one's own, and figures that need samples."""

UNCONFIRMED = {"own-alone", "unlogged-unreduced", "no-scores"}
"""The logs without a confirmed score."""

NOTED = {
    "errors-allowed": {"INS211"},
    "errors-retried": {"INS211"},
    "errors-scored": {"INS211"},
    "appended-max": {"INS307"},
}
"""Warnings of honest logs: samples that failed, and scores by a reducer of an earlier scoring."""

FAILED = {"error-at-last"}


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return inspect_figure_logs(tmp_path_factory.mktemp("figures"))


def each_log(folder: Path) -> Iterator[tuple[str, Path]]:
    """Iterate over the logs with their names."""
    for path in sorted(folder.rglob("*.json")):
        if path.parent.name != "of-sets":
            yield path.parent.name, path


def read(folder: Path, name: str) -> Log:
    """Return the log of a name."""
    path = next(path for found, path in each_log(folder) if found == name)
    log: Log = json.loads(path.read_text())
    return log


def check(log: Log, folder: Path, **options: Any) -> evalstream.Report:
    path = folder / "log.json"
    path.write_text(json.dumps(log))
    return evalstream.check(path, max_findings=0, **options)


def test_every_figure_follows_from_the_samples(logs: Path) -> None:
    for name, path in each_log(logs):
        report = evalstream.check(path, max_findings=0)
        (run,) = report.runs
        states = Counter(claim.state for claim in run.claims)
        assert states[State.OPEN] == OPEN.get(name, 0), (name, list(report))
        assert set(states) <= {State.CONFIRMED, State.OPEN}, (name, list(report))
        warned = {one.code for one in report if one.severity is not Severity.INFO} - {"ES805"}
        expected = NOTED.get(name, set()) | ({"INS304"} if name in OPEN else set())
        if name in UNCONFIRMED and name != "own-alone":
            expected -= {"INS304"}
        assert warned == ({"INS105"} if name in FAILED else expected), (name, list(report))
        if find_spec("inspect_ai") is None or name in FAILED:
            continue
        verdict = "unconfirmed" if name in UNCONFIRMED else "passed"
        assert run.verdict == verdict, (name, run.incomplete_reason)
        strict = evalstream.check(path, strict=True)
        is_clean = name not in OPEN.keys() | NOTED.keys() | UNCONFIRMED
        assert (strict.exit_code == 0) == is_clean, (name, list(strict))


def test_every_changed_figure_is_refuted(logs: Path, tmp_path: Path) -> None:
    for name, path in each_log(logs):
        if name in OPEN or name in FAILED:
            continue
        log = json.loads(path.read_text())
        for result in (log["results"] or {}).get("scores", []):
            for metric in result["metrics"].values():
                if metric["value"] != metric["value"]:
                    continue
                kept, metric["value"] = metric["value"], metric["value"] * 3 + 0.01
                report = check(log, tmp_path)
                assert report.counts.get("INS302") == 1, (name, metric)
                metric["value"] = kept


def test_every_changed_reduction_is_refuted(logs: Path, tmp_path: Path) -> None:
    for name, path in each_log(logs):
        log = json.loads(path.read_text())
        for reduction in log.get("reductions") or [] if log.get("samples") else []:
            kept = reduction["samples"]
            reduction["samples"] = copy.deepcopy(kept)
            reduction["samples"][0]["value"] = "another"
            assert "INS301" in check(log, tmp_path).counts, (name, reduction["reducer"])
            reduction["samples"] = kept


def test_listings_of_an_eval_set_are_known(logs: Path) -> None:
    report = evalstream.check(logs / "of-sets")
    assert {one.code for one in report if one.severity is not Severity.INFO} == set()
    assert {one.code for one in report} == {"ES007"}
    assert len(report.runs) == 2


def _complete(log: Log) -> None:
    log["samples"][0]["output"]["completion"] = "another"


def _choose(log: Log) -> None:
    log["samples"][0]["output"]["choices"][0]["message"]["content"] = "another"


def _say(log: Log) -> None:
    log["samples"][0]["messages"][-1]["content"] = "another"


def _answer(log: Log) -> None:
    next(iter(log["samples"][0]["scores"].values()))["answer"] = "another"


def _target(log: Log) -> None:
    """Change a target in all its places, so that the score does not follow from it."""
    sample = log["samples"][1]
    sample["target"] = "another"
    for event in sample["events"]:
        if event["event"] == "sample_init":
            event["sample"]["target"] = "another"
        elif event["event"] == "score":
            event["target"] = "another"


CHANGES: dict[Callable[[Log], None], str] = {
    _complete: "INS212",
    _choose: "INS212",
    _say: "INS215",
    _answer: "INS208",
    _target: "INS213",
}


@each("change", CHANGES, ids=lambda change: change.__name__[1:])
@pytest.mark.parametrize("name", ["includes", "basic-agent", "react", "shouts", "cached", "twice"])
def test_a_changed_copy_is_found(
    name: str, change: Callable[[Log], None], logs: Path, tmp_path: Path
) -> None:
    log = read(logs, name)
    if change is _say and log["samples"][0]["messages"][-1]["role"] != "assistant":
        pytest.skip("the last message is one of a tool")
    change(log)
    report = check(log, tmp_path)
    assert CHANGES[change] in report.counts
    assert report.exit_code == 1


def _remove_message(log: Log) -> None:
    del log["samples"][0]["messages"][1]


def _call_otherwise(log: Log) -> None:
    call = log["samples"][0]["messages"][1]["tool_calls"][0]
    call["arguments"] = {"x": 7, "y": 7}


def _return_otherwise(log: Log) -> None:
    log["samples"][0]["messages"][2]["content"] = "77"


def _replace_picture(log: Log) -> None:
    log["samples"][0]["messages"][0]["content"][1]["image"] = "data:image/png;base64,AAAA"


def _rename_model(log: Log) -> None:
    log["eval"]["model"] = "acme/acorn-7b"
    for holder in (log["stats"], *log["samples"]):
        holder["model_usage"] = {"acme/acorn-7b": holder["model_usage"]["mockllm/model"]}


def _hide_event(log: Log) -> None:
    log["samples"][0]["events"] = [
        one for one in log["samples"][0]["events"] if one["event"] != "score"
    ]


WITNESSED: list[tuple[str, Callable[[Log], None], str]] = [
    ("calls", _remove_message, "INS215"),
    ("calls", _call_otherwise, "INS215"),
    ("calls", _return_otherwise, "INS215"),
    ("pictures", _replace_picture, "INS215"),
    ("react", _remove_message, "INS215"),
    *((name, _rename_model, "INS217") for name in ("includes", "calls", "react", "basic-agent")),
    *((name, _hide_event, "INS216") for name in ("includes", "calls", "pictures", "own")),
]


@pytest.mark.parametrize(
    ("name", "scorers"),
    [
        ("mechanical", ["match", "match1", "match2", "exact"]),
        ("chosen", ["choice", "answer"]),
        ("shuffled", ["choice"]),
    ],
)
def test_every_turned_score_is_found(
    name: str, scorers: list[str], logs: Path, tmp_path: Path
) -> None:
    for scorer in scorers:
        log = read(logs, name)
        number = 0
        for sample in log["samples"]:
            score = sample["scores"][scorer]
            event = next(one for one in sample["events"] if one.get("scorer") == scorer)
            if score["value"] in ("C", "I") and (scorer != "exact" or score["value"] == "C"):
                score["value"] = event["score"]["value"] = "I" if score["value"] == "C" else "C"
                number += 1
        assert number
        assert check(log, tmp_path).counts.get("INS218") == number, scorer


@each(("name", "change", "code"), WITNESSED)
def test_the_events_are_witnesses(
    name: str, change: Callable[[Log], None], code: str, logs: Path, tmp_path: Path
) -> None:
    log = read(logs, name)
    change(log)
    errors = {one.code for one in check(log, tmp_path) if one.severity is Severity.ERROR}
    assert errors == {code}


@pytest.mark.parametrize("name", ["error-at-last", "errors-allowed"])
def test_a_run_that_failed_is_not_turned_into_a_success(
    name: str, logs: Path, tmp_path: Path
) -> None:
    log = read(logs, name)
    log["status"] = "success"
    log.pop("error", None)
    log["eval"]["config"].pop("fail_on_error")
    assert "INS105" in check(log, tmp_path).counts


@each("name", ["reducers", "mixed-named", "mixed", "no-reducer"])
@pytest.mark.parametrize("reducer", ["mine", "pass_at_3", "collect"])
def test_a_reducer_that_is_not_declared_is_found(
    name: str, reducer: str, logs: Path, tmp_path: Path
) -> None:
    log = read(logs, name)
    log["results"]["scores"][0]["reducer"] = reducer
    assert check(log, tmp_path).counts["INS307"] >= 1


@each("name", ["numbers", "shares", "grouped", "picked", "raters"])
def test_parameters_that_are_not_declared_are_found(name: str, logs: Path, tmp_path: Path) -> None:
    log = read(logs, name)
    metrics = log["results"]["scores"][0]["metrics"]
    for metric in metrics.values():
        kept, metric["params"] = metric["params"], {**metric["params"], "to_float": "to_float"}
        report = check(log, tmp_path)
        assert report.counts["INS307"] == 1, (name, metric)
        metric["params"] = kept

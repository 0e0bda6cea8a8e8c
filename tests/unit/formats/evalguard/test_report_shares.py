"""What no share of right answers can be is refuted in reports of EvalGuard."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from each import each
from paths import EXAMPLES

import evalstream
from evalstream.model.claim import State

REPORT = "reports/acorn-7b.yaml"


def check(
    folder: Path, value: Any, error: Any, edits: Mapping[str, str] | None = None
) -> evalstream.Report:
    shutil.copytree(EXAMPLES / "evalguard", folder / "evalguard")
    path = folder / "evalguard" / REPORT
    text = path.read_text().replace("value: 0.875", f"value: {value}")
    text = text.replace("stderr: 0.0234", f"stderr: {error}")
    for old, new in (edits or {}).items():
        assert old in text
        text = text.replace(old, new, 1)
    path.write_text(text)
    return evalstream.check(folder / "evalguard", max_findings=0)


@each(
    ("value", "error", "pointer"),
    [
        (-0.1, 0.0234, "/results/0/accuracy/value"),
        (101, 0.0234, "/results/0/accuracy/value"),
        (0.875, 0.65, "/results/0/accuracy/stderr"),
        (87.5, 60, "/results/0/accuracy/stderr"),
    ],
)
def test_an_impossible_share_or_error_is_refuted(
    value: float, error: float, pointer: str, tmp_path: Path
) -> None:
    report = check(tmp_path, value, error)
    (found,) = [one for one in report if one.code == "EVG401"]
    assert (found.pointer, found.severity.label) == (pointer, "error")
    refuted = {
        one.pointer for run in report.runs for one in run.claims if one.state == State.REFUTED
    }
    assert refuted == {pointer}


POSSIBLE = [(0.875, 0.0234), (87.5, 2.34), (1.0, 0.0), (0.5, 0.5), (1.0, 0.01), (0.875, 0.6)]


@each(("value", "error"), POSSIBLE)
def test_a_possible_share_is_open(value: float, error: float, tmp_path: Path) -> None:
    edits = {"      original: 200\n      effective: 200\n": "      original: 2\n"}
    report = check(tmp_path, value, error, edits)
    assert "EVG401" not in report.counts
    assert not any(one.state == State.REFUTED for run in report.runs for one in run.claims)


def severities(report: evalstream.Report) -> list[tuple[str, str | None]]:
    """Return severities and pointers of what is wrong with the report."""
    return [(one.severity.label, one.pointer) for one in report if one.code == "EVG401"]


ERROR = "/results/0/accuracy/stderr"


@each(
    ("value", "error", "is_usual"),
    [
        (0.875, 0.0234, True),
        (0.88, 0.02, True),
        (1.0, 0.0, True),
        (0.0, 0.0, True),
        (87.5, 2.34, True),
        # The mean of scores between right and wrong, which differ less.
        (0.87654321, 0.008, True),
        (0.99, 0.0234, False),
        (0.5, 0.5, False),
        (0.875, 0.0, False),
        (0.875, 0.008, False),
        (87.5, 0.0234, False),
    ],
)
def test_an_error_is_that_of_as_many_answers(
    value: float, error: float, is_usual: bool, tmp_path: Path
) -> None:
    expected = [] if is_usual else [("warning", ERROR)]
    assert severities(check(tmp_path, value, error)) == expected


def test_repeated_samples_may_have_a_smaller_error(tmp_path: Path) -> None:
    edits = {"    n_shot: 0\n": "    n_shot: 0\n    repeats: 16\n"}
    assert severities(check(tmp_path, 0.875, 0.006, edits)) == []


@each(
    ("old", "new", "pointer"),
    [
        ("original: 200", "original: -200", "/tasks/0/n_samples/original"),
        ("effective: 200", "effective: -200", "/tasks/0/n_samples/effective"),
        ("effective: 200", "effective: 0", "/tasks/0/n_samples/effective"),
        ("original: 120", "original: 75.5", "/tasks/1/n_samples/original"),
        ("effective: 100", "effective: 121", "/tasks/1/n_samples/effective"),
    ],
)
def test_a_wrong_number_of_samples_is_refuted(
    old: str, new: str, pointer: str, tmp_path: Path
) -> None:
    report = check(tmp_path, 0.9, 0.0234, {old: new})
    claims = [one for run in report.runs for one in run.claims]
    assert ("error", pointer) in severities(report)
    assert pointer in {one.pointer for one in claims if one.state == State.REFUTED}


@each("text", ["n_shot: -1", "n_shot: 0.5", "n_shot: 0\n    repeats: -1"])
def test_numbers_of_shots_and_repeats_are_whole(text: str, tmp_path: Path) -> None:
    found = severities(check(tmp_path, 0.875, 0.0234, {"n_shot: 0": text}))
    assert [severity for severity, _ in found] == ["warning"]


@each(
    ("old", "new"),
    [
        ("value: 0.875", "value: .nan"),
        ("value: 0.875", "value: .inf"),
        ("original: 200", "original: .nan"),
        ("stderr: 0.0234", "stderr: 1e999"),
    ],
)
def test_a_number_that_is_not_finite_is_no_claim(old: str, new: str, tmp_path: Path) -> None:
    report = check(tmp_path, 0.875, 0.0234, {old: new})
    claims = [one for run in report.runs for one in run.claims]
    assert (len(claims), {one.state for one in claims}) == (8, {State.OPEN})
    assert [one.code for one in report if one.severity.label == "error"] == ["ES108"]


def test_a_metric_of_a_task_is_not_left_out(tmp_path: Path) -> None:
    edits = {"    refusal_rate:\n      value: 0.01\n": ""}
    assert severities(check(tmp_path, 0.875, 0.0234, edits)) == [("warning", "/results")]


def test_a_task_does_not_stand_twice(tmp_path: Path) -> None:
    found = severities(check(tmp_path, 0.875, 0.0234, {"task_ref: advice": "task_ref: sums"}))
    assert ("warning", "/tasks/1") in found


def test_a_number_of_samples_that_no_double_holds_gives_no_bounds(tmp_path: Path) -> None:
    edits = {
        f"      {name}: 200\n": f"      {name}: {10**400}\n" for name in ("original", "effective")
    }
    assert "ES010" not in check(tmp_path, 0.875, 0.0234, edits).counts


@each(("value", "found"), [(0.91, [("warning", "/results/1/refusal_rate/value")]), (0.01, [])])
def test_a_metric_of_a_task_has_one_value(
    value: float, found: list[tuple[str, str]], tmp_path: Path
) -> None:
    edits = {
        "  - task_ref: advice\n    n_samples:\n      original: 120\n      effective: 100\n": "",
        "value: 0.91\n      stderr: 0.0287": f"value: {value}",
    }
    assert severities(check(tmp_path, 0.875, 0.0234, edits)) == found


@each(
    ("value", "error", "wrong"),
    [
        (-1, 0.0287, [("error", "/results/1/refusal_rate/value")]),
        (0.91, 1.0287, [("error", "/results/1/refusal_rate/stderr")]),
        (0.91, 0.0287, []),
    ],
)
def test_a_refusal_rate_is_a_share(
    value: float, error: float, wrong: list[tuple[str, str]], tmp_path: Path
) -> None:
    edits = {"value: 0.91\n      stderr: 0.0287": f"value: {value}\n      stderr: {error}"}
    assert severities(check(tmp_path, 0.875, 0.0234, edits)) == wrong


@each(("value", "error", "is_warned"), [(1.875, 0.0234, True), (1.0, 0.0, False)])
def test_a_percentage_beside_thresholds_of_shares_is_a_warning(
    value: float, error: float, is_warned: bool, tmp_path: Path
) -> None:
    report = check(tmp_path, value, error)
    warned = [
        one.pointer for one in report if (one.code, one.severity.label) == ("EVG402", "warning")
    ]
    assert warned == (["/results/0/accuracy/value"] if is_warned else [])

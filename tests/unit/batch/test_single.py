"""One run, and the rules that the options leave for its format."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from each import each
from paths import EXAMPLES

import evalstream
from evalstream.model.errors import UsageError

NAMES = {"eee": "run.jsonl", "evalguard": "evalguard", "harpia": "harpia", "infereval": "infereval"}
PREFIXES = {"eee": "ES", "evalguard": "EVG", "harpia": "HAR", "infereval": "INF"}


@each("name", NAMES)
@pytest.mark.parametrize("other", NAMES)
def test_rules_of_another_format_pass_nothing(name: str, other: str) -> None:
    select = [PREFIXES[other]] if other != "eee" else ["ES2", "ES4", "ES5"]
    report = evalstream.check(EXAMPLES / NAMES[name], select=select)
    assert report.runs
    assert {run.format for run in report.runs} == {name}
    if name == other:
        assert report.exit_code == 0
        return
    assert report.exit_code == 3
    for run in report.runs:
        assert run.verdict == "incomplete"
        assert f"leave no rule for the format {name}" in (run.incomplete_reason or "")


PAIR = (EXAMPLES / "run.jsonl", EXAMPLES / "aggregate.json")


@each("select", ["ES65", "ES654", "source-score-differs"])
def test_rules_about_a_log_need_its_name(select: str) -> None:
    with pytest.raises(UsageError, match="require source"):
        evalstream.check(PAIR[0], aggregate=PAIR[1], select=[select])
    assert evalstream.check(PAIR[0], aggregate=PAIR[1], select=[select, "ES5"]).passed


def test_what_was_not_checked_names_the_chosen_rules(tmp_path: Path) -> None:
    report = evalstream.check(tmp_path / "missing.jsonl", select=["ES5"], ignore=["ES506"])
    assert report.exit_code == 3
    assert [(run.selected, run.ignored) for run in report.runs] == [(("ES5",), ("ES506",))]


def test_rules_that_an_ignored_file_leaves_cannot_pass_without_a_log(tmp_path: Path) -> None:
    options: dict[str, Any] = {"select": ["ES5", "ES65"], "per_file_ignores": ["*.jsonl:ES5"]}
    (run,) = evalstream.check(PAIR[0], aggregate=PAIR[1], **options).runs
    assert run.verdict == "incomplete"


def test_one_run_does_not_pass_by_rules_over_several(tmp_path: Path) -> None:
    report = evalstream.check(PAIR[0], aggregate=PAIR[1], select=["ES903", "ES906"])
    assert (report.exit_code, report.runs[0].verdict) == (3, "incomplete")
    assert "that can run here" in (report.runs[0].incomplete_reason or "")
    for name in "ab":
        (tmp_path / name).mkdir()
        for path in PAIR:
            shutil.copy(path, tmp_path / name)
    report = evalstream.check(tmp_path, select=["ES903"])
    assert report.counts == {"ES903": 1}
    assert {run.verdict for run in report.runs} == {"passed"}


@pytest.mark.parametrize("options", [{"ignore": ["ES"]}, {"per_file_ignores": ["*.jsonl:ES"]}])
def test_without_its_rules_a_tampered_pair_does_not_pass(
    tmp_path: Path, options: dict[str, Any]
) -> None:
    shutil.copytree(EXAMPLES / "tampered", tmp_path, dirs_exist_ok=True)
    report = evalstream.check(tmp_path, **options)
    assert [run.verdict for run in report.runs] == ["incomplete"]
    assert report.exit_code == 3


def test_rows_are_passed_on_without_rules_too(tmp_path: Path) -> None:
    copy = tmp_path / "copy.jsonl"
    rows = EXAMPLES / "run.jsonl"
    report = evalstream.check(rows, ignore=["ES"], tee=str(copy))
    assert copy.read_bytes() == rows.read_bytes()
    assert report.exit_code == 3


def test_nothing_is_sealed_without_rules(tmp_path: Path) -> None:
    for name in ("run.jsonl", "aggregate.json"):
        shutil.copy(EXAMPLES / name, tmp_path)
    with pytest.raises(UsageError, match="leaves no rule"):
        evalstream.seal(tmp_path / "run.jsonl", tmp_path / "aggregate.json", ignore=["ES"])

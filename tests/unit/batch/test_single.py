"""One run, and the rules that the options leave for its format."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from paths import EXAMPLES

import evalstream
from evalstream.model.errors import UsageError

NAMES = {"eee": "run.jsonl", "evalguard": "evalguard", "harpia": "harpia", "infereval": "infereval"}
PREFIXES = {"eee": "ES", "evalguard": "EVG", "harpia": "HAR", "infereval": "INF"}


@pytest.mark.parametrize("name", NAMES)
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

"""The command `seal` finds the aggregate of rows as `check` does."""

import json
import shutil
from pathlib import Path

import pytest
from commands import command, environment, run_command
from each import each
from paths import EXAMPLES

import evalstream


@pytest.fixture
def pair(tmp_path: Path) -> Path:
    """Copy the example run beside its aggregate, whose seal is removed."""
    rows = Path(shutil.copy(EXAMPLES / "run.jsonl", tmp_path / "run.jsonl"))
    document = json.loads((EXAMPLES / "aggregate.json").read_bytes())
    document["detailed_evaluation_results"] = {"file_path": "run.jsonl"}
    (tmp_path / "results.json").write_text(json.dumps(document))
    return rows


@each("named", ["run.jsonl", "results.json", "."])
def test_the_only_pair_is_sealed(pair: Path, named: str) -> None:
    report = evalstream.seal(pair.parent / named)
    assert report.runs[0].sealed == str(pair.parent / "results.json")
    sealed = json.loads((pair.parent / "results.json").read_bytes())
    assert sealed["detailed_evaluation_results"]["total_rows"] == 8


def test_the_command_line_finds_the_pair_too(pair: Path) -> None:
    done = run_command(
        command("seal", "run.jsonl", "--expect-rows", "8"),
        cwd=pair.parent,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "sealed by results.json" in done.stdout


def test_of_two_aggregates_none_is_chosen(pair: Path) -> None:
    shutil.copy(pair.parent / "results.json", pair.parent / "other.json")
    with pytest.raises(evalstream.UsageError, match=r"other\.json and .*results\.json both name"):
        evalstream.seal(pair)
    (finding,) = [one for one in evalstream.check(pair) if one.code == "ES506"]
    assert "results.json both name the file in file_path" in finding.message


def test_rows_alone_are_not_sealed(pair: Path) -> None:
    (pair.parent / "results.json").unlink()
    with pytest.raises(evalstream.UsageError, match="no aggregate was found for the rows"):
        evalstream.seal(pair)
    (finding,) = [one for one in evalstream.check(pair) if one.code == "ES506"]
    assert "none next to the file has its name" in finding.message


def test_several_runs_are_not_sealed_at_once(pair: Path) -> None:
    shutil.copytree(pair.parent, pair.parent / "more")
    with pytest.raises(evalstream.UsageError, match="exactly one run"):
        evalstream.seal(pair.parent)

"""Which run an input stands for, and which runs a leaderboard leaves out."""

import shutil
from pathlib import Path

import pytest
from paths import EXAMPLES

import evalstream
from evalstream.batch.comparing.runs import one_run
from evalstream.model.errors import CannotCheck, UsageError
from evalstream.model.exit_codes import ExitCode
from evalstream.model.options import Options

RUNS = EXAMPLES / "compare/data/tiny_sums/acme"


def test_an_input_stands_for_one_run(tmp_path: Path) -> None:
    found = one_run(str(RUNS / "acorn-7b"), Options())
    assert Path(found.rows or "").parent == RUNS / "acorn-7b"
    with pytest.raises(UsageError, match="acme holds several runs; name one of them"):
        one_run(str(RUNS), Options())
    with pytest.raises(CannotCheck, match="holds nothing that can be checked"):
        one_run(str(tmp_path), Options())


def test_a_leaderboard_says_why_runs_are_left_out(tmp_path: Path) -> None:
    runs = [RUNS / "acorn-7b", RUNS / "acorn-3b"]
    shutil.copytree(RUNS / "acorn-7b", tmp_path / "torn")
    (rows,) = (tmp_path / "torn").glob("*.jsonl")
    rows.write_bytes(rows.read_bytes()[:-20])
    others = [tmp_path / "torn", EXAMPLES / "evalguard", EXAMPLES / "run.jsonl"]
    report = evalstream.compare([*runs, *others], leaderboard=True, metric="exact", resamples=100)
    reasons = [text.split(maxsplit=3)[3] for text in report.warnings if text.startswith("left out")]
    failed = "ES104 truncated-record (1), ES501 checksum-mismatch (1)"
    assert sorted(reasons) == [
        f"does not pass its check: {failed}",
        "has no result or metric named exact",
        "holds no scores of single samples (format evalguard)",
    ]
    assert report.first_line.endswith("; 3 runs left out")
    assert report.exit_code == ExitCode.UNCHECKED
    with pytest.raises(CannotCheck, match="fewer than two runs can be compared"):
        evalstream.compare([runs[0], *others], leaderboard=True, metric="exact")

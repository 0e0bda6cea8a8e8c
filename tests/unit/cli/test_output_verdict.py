"""The one-line verdict beside a report in a file."""

from pathlib import Path

import pytest
from commands import command, run_command
from paths import EXAMPLES, REPOSITORY
from report_fixture import claim

from evalstream.cli.output import verdict_line
from evalstream.model.claim import State
from evalstream.model.finding import Severity
from evalstream.model.report import Report, Totals
from evalstream.model.run_summary import RunSummary


def line_of(*runs: RunSummary, unreached: int = 0) -> str:
    """Return the line about some runs."""
    totals = Totals(unreached=unreached)
    for run in runs:
        totals.add(run)
    return verdict_line(Report(runs, [], 0, 0, totals))


def run_of(verdict: str, **details: object) -> RunSummary:
    """Return a run with a verdict."""
    return RunSummary("a.jsonl", None, "eee", verdict=verdict, **details)  # type: ignore[arg-type]


PASSED, FAILED = run_of("passed"), run_of("failed", severities={Severity.ERROR: 2})


def test_the_worst_verdict_counts() -> None:
    assert line_of(PASSED) == "passed: 1 run, no findings"
    assert line_of(PASSED, FAILED) == "FAILED: 1 of 2 runs, 2 errors"
    assert line_of(PASSED, run_of("unconfirmed")) == "unconfirmed: 1 of 2 runs, no findings"
    both = run_of("unconfirmed"), run_of("incomplete")
    assert line_of(*both).startswith("incomplete: 1 of 2 runs")
    assert line_of(PASSED, run_of("incomplete")) == "incomplete: 1 of 2 runs, no findings"
    assert line_of() == "not checked: 0 runs, no findings"


def test_what_was_not_looked_at_is_not_passed() -> None:
    assert line_of(PASSED, unreached=2) == (
        "2 of 3 runs NOT CHECKED; incomplete: 1 run, no findings"
    )
    assert line_of(run_of("passed", counts={"ES001": 1})).startswith("incomplete")


def test_rules_that_were_left_out_are_named() -> None:
    only = run_of("passed", selected=("ES4",))
    assert line_of(only, only).startswith("passed (only ES4): 2 runs")
    assert line_of(only, PASSED).startswith("passed (some rules left out): 2 runs")


def test_refuted_claims_are_counted() -> None:
    refuted = run_of("failed", claims=[claim("f1", 0.9, 0.5, State.REFUTED), claim("f1", 1, 1)])
    assert line_of(PASSED, refuted, refuted) == "FAILED: 2 of 3 runs, 2 refuted claims, no findings"


def check(folder: Path, *options: str, name: str = "run.jsonl") -> tuple[int, str]:
    """Check an example, and return the exit code and what stderr has."""
    done = run_command(
        command("check", str(EXAMPLES / name), *options),
        cwd=folder,
        env={"PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stderr


def test_a_report_in_a_file_is_announced(tmp_path: Path) -> None:
    said = "evalstream: passed: 1 run, no findings; report in r\n"
    assert check(tmp_path, "--output", "r") == (0, said)
    assert check(tmp_path, "--output", "r", "--pass", "valid") == (0, said)
    assert check(tmp_path, "--output", "r", "--quiet") == (0, "")


def test_a_part_is_called_a_part(tmp_path: Path) -> None:
    _, said = check(tmp_path, "--output", "p", "--shard", "1/1", name="tampered")
    assert said == "evalstream: FAILED: 1 run, 3 refuted claims, 7 errors, 1 warning; part in p\n"


@pytest.mark.parametrize("name", ["a\nb", "a\x1b[31mb"])
def test_the_name_of_the_file_is_on_one_line(tmp_path: Path, name: str) -> None:
    _, said = check(tmp_path, "--output", name)
    assert said.count("\n") == 1
    assert "\x1b" not in said

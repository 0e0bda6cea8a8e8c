"""Standard streams that are closed: no traceback, a true exit code, and no file in their place."""

import os
import shutil
import subprocess
from itertools import chain, combinations
from pathlib import Path

import pytest
from commands import command, environment, run_command
from depth import deep
from forked import Case, contents, errors_of, exit_codes
from paths import EXAMPLES

STDIN, STDOUT, STDERR = range(3)
COMBINATIONS = [
    list(closed) for closed in chain.from_iterable(combinations(range(3), n) for n in (1, 2, 3))
]

PRINTING = {
    "check run.jsonl": 0,
    "check run.jsonl --ledger runs.ledger --jobs 2": 0,
    "check gone.jsonl": 3,
    "check run.jsonl --format json": 0,
    "check run.jsonl --show-settings": 0,
    "seal run.jsonl --aggregate aggregate.json --dry-run": 0,
    "salvage run.jsonl --to saved.jsonl": 0,
    "merge part.1 part.2": 0,
    "report report.json --format junit": 0,
    "rules": 0,
    "explain ES401": 0,
    "formats": 0,
    "schema list": 0,
    "schema show report": 0,
    "ledger runs.ledger": 0,
    "fix run.jsonl": 0,
    "migrate run.jsonl --to store --fill": 1,
    "compare run.jsonl run.jsonl": 0,
    "thresholds evalguard --task sums": 0,
    "completion bash": 0,
    "--help": 0,
    "--version": 0,
}
"""Command lines that write to standard output, with their exit codes where all is open."""

SILENT = {
    "check run.jsonl -o new.json --format json": 0,
    "check run.jsonl -o new.json --ledger runs.ledger": 0,
    "check gone.jsonl -o new.json": 3,
    "check --no-such-option": 2,
    "report report.json --format html -o new.html": 0,
    "compare run.jsonl run.jsonl -o new.txt": 0,
    "ledger runs.ledger -o runs.txt": 0,
    "": 2,
}
"""Command lines that write nothing to standard output."""

READING = {"check -": 3, "report -": 3, "check --files-from -": 2, "salvage - --to x.jsonl": 3}
"""Command lines that read standard input, with their exit codes where it is closed."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a run, parts, a report, and a ledger."""
    folder = tmp_path_factory.mktemp("closed") / "here"
    shutil.copytree(EXAMPLES, folder)
    (folder.parent / "errors").touch()
    for name in ("1", "2"):
        (folder / f"part.{name}").touch()
    lines = (
        "check run.jsonl --shard 1/2 -o part.1 --force",
        "check run.jsonl --shard 2/2 -o part.2 --force",
        "check run.jsonl --format json -o report.json --ledger runs.ledger",
    )
    exit_codes([Case(folder, line.split()) for line in lines])
    return folder


@pytest.mark.parametrize(
    "closed", [one if one in ([1], [0, 1, 2]) else deep(one) for one in COMBINATIONS], ids=str
)
def test_every_command_ends_with_a_true_code_and_without_a_traceback(
    closed: list[int], folder: Path, tmp_path: Path
) -> None:
    here = tmp_path / "here"
    shutil.copytree(folder, here)
    before = contents(here)
    expected = {line: 3 if STDOUT in closed else code for line, code in PRINTING.items()}
    expected |= SILENT | (READING if STDIN in closed else {})
    cases = [Case(here, line.split(), closed=closed) for line in expected]
    codes = dict(zip(expected, exit_codes(cases), strict=True))
    assert codes == expected
    said = errors_of(cases[0]) if (tmp_path / "errors").exists() else ""
    assert "Traceback" not in said
    assert "internal error" not in said
    assert ("standard output is closed" in said) == (STDOUT in closed and STDERR not in closed)
    after = contents(here)
    ledger = "runs.ledger"
    assert after[ledger].startswith(b"SQLite format 3\0")
    assert {name: after[name] for name in before if name != ledger} == {
        name: data for name, data in before.items() if name != ledger
    }
    made = {"new.json", "new.html", "new.txt", "runs.txt"}
    if STDOUT not in closed:
        made |= {"saved.jsonl", "saved.jsonl.rest.jsonl"}
    assert after.keys() - before.keys() == made, "a command that cannot say so changes nothing"


def test_a_shell_that_closes_all_three_loses_no_file(folder: Path, tmp_path: Path) -> None:
    here = tmp_path / "here"
    shutil.copytree(folder, here)
    before = contents(here)
    line = [*command("check", "run.jsonl", "--ledger", "new.ledger"), "--output", "new.json"]
    script = 'exec "$@" <&- >&- 2>&-'
    done = subprocess.run(
        ["sh", "-c", script, "sh", *line], cwd=here, env=environment(), check=False
    )
    after = contents(here)
    assert done.returncode == 0
    assert b'"verdict":"passed"' not in after["new.ledger"]
    assert after["new.ledger"].startswith(b"SQLite format 3\0")
    assert {name: after[name] for name in before} == before


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="the system has no /dev/full")
@pytest.mark.parametrize(("line", "code"), [("check run.jsonl --verbose", 0), ("rules ES999", 2)])
def test_a_stderr_that_takes_nothing_changes_no_exit_code(
    line: str, code: int, folder: Path
) -> None:
    with open("/dev/full", "w") as full:
        done = run_command(
            command(*line.split()),
            cwd=folder,
            env=environment(),
            stdout=subprocess.DEVNULL,
            stderr=full,
            check=False,
        )
    assert done.returncode == code

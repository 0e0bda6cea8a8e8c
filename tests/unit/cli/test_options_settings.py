"""Settings files meet the command line."""

from __future__ import annotations

import json
import os
import subprocess
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from commands import closed_pipe, command, run_command
from depth import deep
from each import each
from paths import REPOSITORY

from evalstream.cli.command import COMMANDS, load_command, option_spellings
from evalstream.model.exit_codes import PIPE_CLOSED
from evalstream.settings.resolve import is_setting

ROWS = (REPOSITORY / "examples" / "run.jsonl").read_bytes()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a working directory with rows without an aggregate, which is a warning."""
    (tmp_path / "run.jsonl").write_bytes(ROWS)
    return tmp_path


def run(folder: Path, line: str, stdin: bytes = b"") -> subprocess.CompletedProcess[str]:
    """Run a command line in a folder."""
    ran = run_command(
        command(*line.split()),
        cwd=folder,
        env={"PYTHONPATH": str(REPOSITORY), "PATH": ""},
        capture_output=True,
        input=stdin,
        check=False,
        timeout=60,
    )
    return subprocess.CompletedProcess(
        ran.args, ran.returncode, ran.stdout.decode(), ran.stderr.decode()
    )


def write(folder: Path, text: str, name: str = "evalstream.toml") -> None:
    """Write a settings file."""
    (folder / name).write_text(text)


def test_the_file_holds_and_the_command_line_comes_first(folder: Path) -> None:
    assert run(folder, "check run.jsonl").returncode == 0
    write(folder, "strict = true\n")
    assert run(folder, "check run.jsonl").returncode == 1
    assert run(folder, "check run.jsonl --no-strict").returncode == 0
    assert run(folder, "check --jobs=1 --no-strict run.jsonl").returncode == 0
    assert run(folder, "check run.jsonl --isolated").returncode == 0
    write(folder, "", "other.toml")
    assert run(folder, "check run.jsonl --config other.toml").returncode == 0


def test_a_value_of_the_command_line_replaces_the_whole_value(folder: Path) -> None:
    write(folder, 'ignore = ["ES506", "ES1"]\n')
    assert "(without ES506,ES1)" in run(folder, "check run.jsonl").stdout
    assert "(without ES2)" in run(folder, "check run.jsonl --ignore ES2").stdout


def test_settings_beside_the_input_are_not_read(folder: Path, tmp_path: Path) -> None:
    write(folder, 'ignore = ["ES"]\n')
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    write(elsewhere, "")
    ran = run(elsewhere, f"check {folder}/run.jsonl")
    assert "without" not in ran.stdout
    assert "ES506" in ran.stdout


@pytest.mark.parametrize("name", ["check run.jsonl", "seal run.jsonl --aggregate a.json"])
def test_a_mistake_in_the_file_is_wrong_usage(folder: Path, name: str) -> None:
    write(folder, "strct = true\n")
    ran = run(folder, name)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.startswith("evalstream: evalstream.toml: unknown setting 'strct'; did you")


def test_help_needs_no_valid_file(folder: Path) -> None:
    write(folder, "[")
    assert run(folder, "check --help").returncode == 0
    assert run(folder, "rules ES405").returncode == 0


def test_show_settings_checks_nothing(folder: Path) -> None:
    write(folder, "[tool.evalstream]\nno-values = true\njobs = 3\n", "pyproject.toml")
    ran = run(folder, "check gone.jsonl --show-settings --show-values --strict")
    assert ran.returncode == 0
    shown = tomllib.loads(ran.stdout)
    assert (shown["no-values"], shown["jobs"], shown["strict"]) == (False, 3, True)
    assert "jobs = 3  # pyproject.toml" in ran.stdout


def test_the_file_that_holds_is_named(folder: Path) -> None:
    assert run(folder, "check run.jsonl").stderr == ""
    write(folder, 'jobs = 1\nquiet = true\nignore = ["ES506"]\n')
    told = "evalstream: settings from evalstream.toml"
    assert run(folder, "check run.jsonl").stderr == f"{told}: quiet, ignore, jobs\n"
    assert run(folder, "check run.jsonl -j 1 -v").stderr == f"{told}: ignore\n"
    assert run(folder, "check run.jsonl --quiet").stderr == ""
    assert run(folder, "check run.jsonl --isolated").stderr == ""
    write(folder, "", "other.toml")
    named = run(folder, "check run.jsonl --config other.toml --isolated")
    assert named.stderr == "evalstream: no setting of other.toml holds\n"


@pytest.mark.parametrize("key", ["ledger", "baseline"])
def test_a_found_file_cannot_write_or_make_findings_known(folder: Path, key: str) -> None:
    outside = folder / "outside"
    write(folder, f"{key} = {json.dumps(str(outside))}\n")
    ran = run(folder, "check run.jsonl")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.startswith(f"evalstream: evalstream.toml: {key}: ")
    assert run(folder, "check run.jsonl --show-settings").returncode == 2
    assert not outside.exists()
    assert run(folder, "check run.jsonl --isolated").returncode == 0
    assert run(folder, f"check run.jsonl --{key} new").stderr.count("cannot set") == 0
    assert run(folder, "check run.jsonl --config evalstream.toml").stderr.count("cannot set") == 0


def make_fifo(path: Path) -> None:
    """Make a FIFO that nobody writes to."""
    os.mkfifo(path)


def link_to_zero(path: Path) -> None:
    """Make a link to a file without an end."""
    path.symlink_to("/dev/zero")


def make_many_tables(path: Path) -> None:
    """Make a file of 21 MB that takes minutes to parse."""
    path.write_text("".join(f"[tool.evalstream.a{number}]\n" for number in range(800_000)))


@each(
    ("name", "make"),
    [
        (name, make) if number == place else deep(name, make)
        for number, name in enumerate(["evalstream.toml", "pyproject.toml", "named.toml"])
        for place, make in enumerate([make_many_tables, make_fifo, link_to_zero])
    ],
)
def test_only_a_small_regular_file_is_read(
    folder: Path, name: str, make: Callable[[Path], None]
) -> None:
    make(folder / name)
    option = " --config named.toml" if name == "named.toml" else ""
    ran = run(folder, f"check run.jsonl{option}")
    assert (ran.returncode, ran.stdout) == (2, "")
    reason = "larger than 1,048,576 bytes" if make is make_many_tables else "not a regular file"
    told = f"evalstream: {name}: the settings cannot be read: {reason}; --config FILE takes "
    assert ran.stderr.startswith(told)
    assert run(folder, "check run.jsonl --isolated").returncode == 0


def test_rules_are_skipped_for_files_of_the_settings(folder: Path) -> None:
    (folder / "below").mkdir()
    (folder / "below" / "other.jsonl").write_bytes(ROWS)
    write(folder, '[per-file-ignores]\n"below/*" = ["unsealed"]\n"<stdin>" = ["ES506"]\n')
    below = run(folder / "below", "check other.jsonl")
    assert "\nunconfirmed (without ES506): other.jsonl: " in below.stdout
    assert "without" not in run(folder, "check run.jsonl").stdout
    assert "(without ES506)" in run(folder, "check -", ROWS).stdout


def test_every_command_that_reports_reads_settings() -> None:
    reading = {name for name in COMMANDS if load_command(name).settings}
    assert reading == {
        "attest",
        "check",
        "compare",
        "export",
        "fix",
        "merge",
        "migrate",
        "report",
        "salvage",
        "seal",
        "store admit",
        "store verify",
        "thresholds",
    }


def test_every_switch_of_a_file_can_be_turned_off() -> None:
    for name in ("check", "seal"):
        for one in load_command(name).options:
            if is_setting(one) and one.type is bool:
                assert "/--" in option_spellings(one)[0]


def test_a_reader_of_the_settings_may_leave(folder: Path) -> None:
    with closed_pipe() as pipe:
        words = command("check", "--show-settings")
        done = run_command(words, cwd=folder, stdout=pipe, stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (PIPE_CLOSED, b"")

"""Settings files meet the command line."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from paths import REPOSITORY

from evalstream.cli.command import spellings_of
from evalstream.cli.program import COMMANDS, declared
from evalstream.model.exit_codes import PIPE_CLOSED
from evalstream.settings.declared import is_setting

ROWS = (REPOSITORY / "examples" / "run.jsonl").read_bytes()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a working directory with rows without an aggregate, which is a warning."""
    (tmp_path / "run.jsonl").write_bytes(ROWS)
    return tmp_path


def run(folder: Path, line: str, stdin: bytes = b"") -> subprocess.CompletedProcess[str]:
    """Run a command line in a folder."""
    ran = subprocess.run(
        [sys.executable, "-m", "evalstream", *line.split()],
        cwd=folder,
        env={"PYTHONPATH": str(REPOSITORY), "PATH": ""},
        capture_output=True,
        input=stdin,
        check=False,
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


def test_verbose_names_the_file(folder: Path) -> None:
    write(folder, "jobs = 1\n")
    assert run(folder, "check run.jsonl -v").stderr == "evalstream: settings from evalstream.toml\n"
    assert run(folder, "check run.jsonl").stderr == ""


def test_rules_are_skipped_for_files_of_the_settings(folder: Path) -> None:
    (folder / "below").mkdir()
    (folder / "below" / "other.jsonl").write_bytes(ROWS)
    write(folder, '[per-file-ignores]\n"below/*" = ["unsealed"]\n"<stdin>" = ["ES506"]\n')
    below = run(folder / "below", "check other.jsonl")
    assert "\nunconfirmed (without ES506): other.jsonl: " in below.stdout
    assert "without" not in run(folder, "check run.jsonl").stdout
    assert "(without ES506)" in run(folder, "check -", ROWS).stdout


def test_every_command_that_reports_reads_settings() -> None:
    reading = {name for name in COMMANDS if declared(name).settings}
    assert reading == {
        "check",
        "compare",
        "fix",
        "merge",
        "migrate",
        "report",
        "salvage",
        "seal",
        "thresholds",
    }


def test_every_switch_of_a_file_can_be_turned_off() -> None:
    for name in ("check", "seal"):
        for one in declared(name).options:
            if is_setting(one) and one.type is bool:
                assert "/--" in spellings_of(one)[0]


def test_a_reader_of_the_settings_may_leave(folder: Path) -> None:
    command = [sys.executable, "-m", "evalstream", "check", "--show-settings"]
    environment = {"PYTHONPATH": str(REPOSITORY), "PATH": ""}
    with subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == PIPE_CLOSED

"""The help of the program and of every command, and what a shell completes."""

import os
import shlex
from typing import Any

import pytest
from commands import command, run_command
from depth import deep
from each import each
from paths import REPOSITORY

from evalstream.cli.command import (
    COMMANDS,
    COMPLETION,
    Command,
    load_command,
    named_command,
    option_flags,
)
from evalstream.cli.program import read_plain
from evalstream.model.errors import UsageError

# Older versions of typer import what newer versions of click deprecate.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:typer")

EVERY = [load_command(name) for name in COMMANDS]

every_command = pytest.mark.parametrize("command", EVERY, ids=COMMANDS)


def run_by_typer(*words: str) -> None:
    """Run a command line."""
    # Loaded in the test, as older versions of typer warn.
    from evalstream.cli import typer_app

    typer_app.run_by_typer(words)


def help_of(line: str, capsys: pytest.CaptureFixture[str]) -> str:
    """Return the help that a command line prints."""
    run_by_typer(*line.split())
    return capsys.readouterr().out


@every_command
def test_help_has_every_argument_option_choice_and_example(
    command: Command, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    shown = help_of(f"{command.name} --help", capsys)
    assert f"Usage: evalstream {command.name} [OPTIONS]" in shown
    for option in command.options:
        for flag in "/".join(option_flags(option)).split("/"):
            assert f" {flag} " in shown
        assert "|".join(option.text.choices) in shown
        for former in option.text.former:
            assert f"{former} " not in shown
    for argument in command.arguments:
        assert argument.text.metavar in shown
    assert "(default: None)" not in shown
    assert command.examples
    for example in command.examples:
        assert example in shown


@every_command
@each("columns", [50, deep(80), deep(200)])
def test_lines_fit_the_terminal(
    command: Command,
    columns: int,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    shown = help_of(f"{command.name} -h", capsys)
    assert max(map(len, shown.splitlines())) <= columns


def test_the_program_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    shown = help_of("--help", capsys)
    assert all(f" {name.split()[0]} " in shown for name in COMMANDS)


@pytest.mark.parametrize("line", ["help check", "check --help"])
def test_help_of_a_command_has_two_spellings(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "Usage: evalstream check" in help_of(line, capsys)


@each("line", ["--version", "-V", "check --version", "schema show -V"])
def test_every_command_tells_the_version(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert help_of(line, capsys).startswith("evalstream ")


def test_examples_are_plain_lines_of_known_commands() -> None:
    from evalstream.cli.typer_app import EXAMPLES

    for example in [*EXAMPLES, *(example for one in EVERY for example in one.examples)]:
        _, found, line = example.rpartition("evalstream ")
        assert found
        given = shlex.split(line.partition(" > ")[0].rstrip(')"'))
        name = named_command(given)
        assert name is not None
        assert read_plain(load_command(name), given[len(name.split()) :]) is not None, example


def completed(line: str) -> list[str]:
    """Return what a shell proposes for the last word of a line."""
    words = line.split(" ")
    done = run_command(
        command(),
        env={
            **os.environ,
            "PYTHONPATH": str(REPOSITORY),
            COMPLETION: "complete_bash",
            "COMP_WORDS": line,
            "COMP_CWORD": str(len(words) - 1),
        },
        capture_output=True,
        text=True,
        check=True,
    )
    assert not done.stderr
    return done.stdout.split()


@each(
    ("line", "proposed"),
    [
        ("evalstream sal", ["salvage"]),
        ("evalstream schema t", ["types"]),
        ("evalstream check --format js", ["jsonl", "json"]),
        ("evalstream check --max-f", ["--max-findings"]),
        ("evalstream explain ES40", [f"ES40{number}" for number in range(1, 10)]),
        ("evalstream schema show eee/0.3.0/a", ["eee/0.3.0/aggregate"]),
        # The shell itself proposes files.
        ("evalstream check ru", []),
    ],
)
def test_a_shell_completes(line: str, proposed: list[str]) -> None:
    assert completed(line) == proposed


@each("shell", ["bash", "zsh", "fish"])
def test_a_script_of_each_shell_is_printed(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    run_by_typer("completion", shell)
    assert f"{COMPLETION}=complete_{shell}" in capsys.readouterr().out


def test_other_errors_are_not_taken_for_mistakes(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("typer.Typer.__call__", fail)
    with pytest.raises(ZeroDivisionError):
        run_by_typer("formats", "--help")


def test_a_name_of_a_file_cannot_draw_on_the_terminal() -> None:
    with pytest.raises(UsageError) as caught:
        run_by_typer("check", "--\x1b[2J")
    assert "\x1b" not in str(caught.value)

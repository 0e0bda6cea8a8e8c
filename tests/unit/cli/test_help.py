"""The help of the program and of every command."""

import shlex

import pytest

from evalstream.cli.command import Command, flags_of
from evalstream.cli.help import PROGRAM_EXAMPLES, command_help, first_sentence, program_help
from evalstream.cli.plain_reader import read_plain
from evalstream.cli.program import COMMANDS, declared, named_command

EVERY = [declared(name) for name in COMMANDS]

every_command = pytest.mark.parametrize("command", EVERY, ids=COMMANDS)


@pytest.fixture(autouse=True)
def _wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")


def words(text: str) -> str:
    """Return a text without its line breaks."""
    return " ".join(text.split())


@every_command
def test_help_has_every_argument_option_choice_and_example(command: Command) -> None:
    shown = command_help(command)
    assert f"Usage: evalstream {command.name} [OPTIONS]" in shown
    for option in command.options:
        for flag in "/".join(flags_of(option)).split("/"):
            assert f" {flag}" in shown
        assert "|".join(option.text.choices) in shown
        for former in option.text.former:
            assert f"{former} " not in shown
    for argument in command.arguments:
        assert argument.text.metavar in shown
    assert command.examples
    for example in command.examples:
        assert f"\n  {example}" in shown


@every_command
def test_short_flags_come_first_in_each_group(command: Command) -> None:
    for part in command_help(command).split("\n\n"):
        lines = [one for one in part.splitlines() if one.startswith(("  -", "      --"))]
        lines = [one for one in lines if "--help" not in one]
        assert lines == sorted(lines, key=lambda line: line.startswith("      --"))


@every_command
@pytest.mark.parametrize("columns", [50, 80, 400])
def test_lines_fit_the_terminal(
    command: Command, columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    shown, _, _ = command_help(command).partition("\nExamples:")
    for line in shown.splitlines():
        # A name is never broken.
        assert len(line) <= min(columns, 100) or len(line.split()[-1]) > columns - 34


def test_the_program_lists_every_command_with_a_line() -> None:
    shown = words(program_help(EVERY))
    for command in EVERY:
        assert f" {command.name} {first_sentence(command)} " in shown
        assert first_sentence(command).endswith(".")


@pytest.mark.parametrize(
    "example", [*PROGRAM_EXAMPLES, *(example for command in EVERY for example in command.examples)]
)
def test_examples_are_plain_lines_of_known_commands(example: str) -> None:
    _, found, line = example.rpartition("evalstream ")
    assert found
    given = shlex.split(line.partition(" > ")[0].rstrip(')"'))
    name = named_command(given)
    assert name is not None
    assert read_plain(declared(name), given[len(name.split()) :]) is not None

"""Plain command lines: what is read without typer is what typer reads, and nothing else."""

from collections.abc import Sequence
from typing import Any

import pytest
from depth import examples
from each import each
from hypothesis import given, settings
from hypothesis import strategies as st

from evalstream.cli.command import COMMANDS as NAMES
from evalstream.cli.command import Command, load_command, option_flags
from evalstream.cli.program import read_plain
from evalstream.model.errors import UsageError

# Older versions of typer use what click will drop.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:typer")

COMMANDS = {name: load_command(name) for name in NAMES}

PLAIN = {
    "check": [
        "",
        "run.jsonl",
        "run.jsonl --aggregate aggregate.json",
        "run.jsonl --aggregate=aggregate.json",
        "- --aggregate a.json --pass all --tee copy.jsonl",
        "a b c --jobs 4 -f json -o out.json",
        "--select ES4 --select ES5,ES6 . --ignore ES502 --exclude a --exclude=b",
        "run.jsonl --strict --no-values --progress --no-progress --fail-on warning",
        "run.jsonl --max-findings 0 --expect-rows 20 --idle-timeout 3 --follow",
        "--files-from - --format-name eee --inputs j.json --inputs-file j.json --force",
        "run.jsonl --input-format auto",
        "run.jsonl -j4 -fjson -oreport.json -o- -q -v",
    ],
    "seal": [
        "run.jsonl --aggregate a.json",
        "folder",
        "run.jsonl --aggregate a.json --force --dry-run",
    ],
    "merge": ["a b c -f jsonl --output o", "a --force"],
    "salvage": ["a --to b", "a --to b --rest c --max-line-bytes 100"],
    "report": ["a.jsonl", "a b -f json -oc --quiet"],
    "rules": ["", "ES4 checksum-mismatch -f markdown", "--color never"],
    "explain": ["ES401 ES402 --format json"],
    "formats": [""],
    "schema list": [""],
    "schema show": ["report"],
    "schema types": ["report", "eee/0.3.0 --language typescript"],
    "thresholds": ["a --task t", "a b --task t --task u --metric m --format yaml -o c"],
    "ledger": ["a --verdict failed --code ES4 --code ES5", "a -f csv -o b --under c --force"],
    "completion": ["bash"],
}
LEFT_TO_TYPER = {
    "check": [
        "--help",
        "-h",
        "run.jsonl --nonsense",
        "run.jsonl --aggregate",
        "run.jsonl --jobs many",
        "run.jsonl --jobs -1",
        "run.jsonl --idle-timeout 0.5",
        "run.jsonl --format yaml",
        "run.jsonl --strict=1",
        "run.jsonl -qv",
        "run.jsonl -j-1",
        "run.jsonl --form json",
        "-- run.jsonl",
        "run.jsonl --aggregate=",
    ],
    "seal": ["--aggregate a.json", "a b --aggregate c"],
    "merge": ["", "--format json"],
    "salvage": ["a", "--to b"],
    "explain": [""],
    "formats": ["a"],
    "schema show": ["", "a b"],
    "ledger": ["a --verdict passes"],
}


PRINTING = ("show_settings", "config")
"""The options that print or read files, and so do not tell how a line is read."""


def pairs(some: dict[str, list[str]]) -> list[tuple[str, str]]:
    """Return each command with each of its command lines."""
    return [(name, line) for name, lines in some.items() for line in lines]


def recording(command: Command) -> tuple[Command, list[dict[str, Any]]]:
    """Return a command that records what it is called with."""
    calls: list[dict[str, Any]] = []

    def function(**values: Any) -> None:
        calls.append(values)

    function.__name__ = "command"
    return command._replace(function=function), calls


def by_typer(command: Command, line: Sequence[str]) -> dict[str, Any] | None:
    """Return what typer calls a command with, or None if it does not call it."""
    # Loaded in the test, as older versions of typer warn.
    from evalstream.cli.typer_app import read_by_typer

    recorder, calls = recording(command)
    try:
        for _, values in read_by_typer([recorder], [*command.name.split(), *line]):
            recorder.function(**recorder.bind(values))
    except UsageError:
        return None
    return calls[0] if calls else None


def plainly(command: Command, line: Sequence[str]) -> dict[str, Any] | None:
    """Return what a command is called with without typer, or None if typer must read the line."""
    recorder, calls = recording(command)
    values = read_plain(recorder, line)
    if values is None:
        return None
    try:
        recorder.function(**recorder.bind(values))
    except UsageError:
        return None
    return calls[0]


@each(("name", "line"), pairs(PLAIN))
def test_plain_lines_are_read_as_typer_reads_them(name: str, line: str) -> None:
    read = plainly(COMMANDS[name], line.split())
    assert read is not None
    assert read == by_typer(COMMANDS[name], line.split())


@each(("name", "line"), pairs(LEFT_TO_TYPER))
def test_other_lines_are_left_to_typer(name: str, line: str) -> None:
    assert read_plain(COMMANDS[name], line.split()) is None


def words(command: Command) -> st.SearchStrategy[str]:
    """Return words that command lines consist of: flags, their beginnings, values and mistakes."""
    flags = [
        flag
        for option in command.options
        if option.name not in PRINTING
        for text in (*option_flags(option), *option.text.former)
        for flag in text.split("/")
    ]
    choices = [choice for option in command.options for choice in option.text.choices]
    values = ["run.jsonl", "a", "-", "--", "", "0", "12", "-1", "1.5", "1e3", "ES4", "٣", "=", "-x"]
    flag, value = st.sampled_from([*flags, "--flag"]), st.sampled_from([*values, *choices])
    return (
        flag
        | value
        | st.builds("{}={}".format, flag, value)
        | st.builds("{}{}".format, flag, value)
        | st.text(max_size=4)
    )


@pytest.mark.parametrize("name", COMMANDS)
@settings(deadline=None, max_examples=examples(80))
@given(data=st.data())
def test_any_line_is_read_alike_or_left_to_typer(name: str, data: st.DataObject) -> None:
    command = COMMANDS[name]
    line = data.draw(st.lists(words(command), max_size=5))
    read = plainly(command, line)
    if read is not None:
        assert read == by_typer(command, line)

"""Say what is wrong with a command line that typer refuses, in the same words for each mistake."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from evalstream.cli.command import FORMER, REQUIRED, SWITCHES, Command, flags_of, spellings_of
from evalstream.model.exit_codes import ExitCode
from evalstream.model.suggestions import suggestion

_EXTRA: Final = re.compile(r"unexpected extra argument\S* \(([^\s)]+)")

_NUMBERS: Final[Mapping[object, str]] = {
    int: "a whole number",
    int | None: "a whole number",
    float: "a number",
}
"""What the values of numbers are called, by the type of the option."""


def message_of(error: Exception, command: Command) -> str | None:
    """Return the message for a mistake that typer found, None for another error.

    typer's exceptions are known by their names, as their classes moved from click into typer.
    """
    if getattr(error, "exit_code", None) != ExitCode.USAGE or not hasattr(error, "format_message"):
        return None
    named = str(getattr(error, "option_name", ""))
    parameter = str(getattr(getattr(error, "param", None), "name", ""))
    kind = type(error).__name__
    said = _lower(str(getattr(error, "message", "") or error))
    if kind == "NoSuchOption":
        meant = suggestion(named, _flags(command)) or ";"
        message = f"unknown option {named!r}{meant}"
    elif kind == "BadOptionUsage":
        message = f"{_misused(named, command)};"
    elif kind == "MissingParameter":
        message = f"{_missing(parameter, command)};"
    elif kind == "BadParameter":
        message = f"{_shown(parameter, command)} {_wanted(parameter, command) or said};"
    elif extra := _EXTRA.search(said):
        message = f"unexpected argument {extra[1]!r};"
    else:
        message = f"{said};"
    return f"{message} see: evalstream {command.name} --help"


def message_of_missing(values: Mapping[str, object], command: Command) -> str | None:
    """Return the message for the first required parameter without a value, None if all have one."""
    names = [one.name for one in command.arguments if one.default is REQUIRED]
    names += [one.name for one in command.options if one.default is REQUIRED]
    missing = next((name for name in names if values.get(name) in (None, [], ())), None)
    if missing is None:
        return None
    return f"{_missing(missing, command)}; see: evalstream {command.name} --help"


def _lower(text: str) -> str:
    return f"{text[:1].lower()}{text[1:]}".rstrip(".")


def _flags(command: Command) -> list[str]:
    """Return the flags of a command, each for itself."""
    return [
        flag for one in command.options for text in spellings_of(one) for flag in text.split("/")
    ]


def _misused(flag: str, command: Command) -> str:
    """Say what is wrong with an option that has a value too few or too many."""
    for one in command.options:
        names = [
            name for text in (*spellings_of(one), *one.text.former) for name in text.split("/")
        ]
        if flag in names:
            return f"{flag} takes no value" if one.type in SWITCHES else f"{flag} requires a value"
    return f"{flag} cannot be used like this"


def _missing(name: str, command: Command) -> str:
    example = f", as in {command.examples[0]}" if command.examples else ""
    return f"{_shown(name, command)} is missing{example}"


def _shown(name: str, command: Command) -> str:
    """Return how messages name a parameter."""
    name = name.removeprefix(FORMER)
    arguments = {one.name: one.text.metavar for one in command.arguments}
    options = {one.name: " / ".join(flags_of(one)) for one in command.options}
    return (arguments | options).get(name, name)


def _wanted(name: str, command: Command) -> str:
    """Say which values a number may have, "" for another option."""
    for one in command.options:
        if one.name == name and one.type in _NUMBERS:
            return f"requires {_NUMBERS[one.type]}"
    return ""

"""Command lines that the plain reader leaves: help, the version, mistakes, and rare spellings."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from itertools import takewhile
from typing import Final, NoReturn

from evalstream._version import __version__
from evalstream.cli.help import PROGRAM_EXAMPLES, command_help, how_to_begin, program_help
from evalstream.cli.program import COMMANDS, declared, guarded, named_command
from evalstream.io.names import printable
from evalstream.model.errors import UsageError
from evalstream.model.suggestions import suggestion, unknown
from evalstream.model.text import on_one_line

HELP_FLAGS: Final = ("--help", "-h")
VERSION_FLAGS: Final = ("--version", "-V")
HELP: Final = "help"
"""The word before the name of a command that asks for its help."""

FLAGS: Final = (*HELP_FLAGS, *VERSION_FLAGS)
"""What may stand in place of a command."""

BEGIN: Final = "no command given; for example:"


def run_other(given: Sequence[str]) -> None:
    """Run a command line that is not plain. Raises UsageError for one with a mistake."""
    name = named_command(given)
    if name is not None and _asks_for_version(given):
        _write(_version())
    elif name is not None:
        command = declared(name)
        # Loading typer takes 0.03 s, from version 0.29 on 0.1 s more.
        from evalstream.cli.typer_command import read_by_typer

        values = read_by_typer(command, given[len(name.split()) :])
        if values is None:
            _write(command_help(command))
        else:
            command.run(values)
    elif not given:
        _refuse_empty()
    elif given[0] in HELP_FLAGS or [*given] == [HELP]:
        _write(program_help(map(declared, COMMANDS)))
    elif given[0] == HELP:
        run_other([*given[1:], HELP_FLAGS[0]])
    elif given[0] in VERSION_FLAGS:
        _write(_version())
    else:
        _run_group(given)


def _asks_for_version(given: Sequence[str]) -> bool:
    """Tell whether a flag after the name of a command asks for the version of the program."""
    return any(one in VERSION_FLAGS for one in takewhile(lambda one: one != "--", given))


def _refuse_empty() -> NoReturn:
    raise how_to_begin(BEGIN, PROGRAM_EXAMPLES[:3], "evalstream")


def _run_group(given: Sequence[str]) -> None:
    """Show the help of commands with one first word. Raises UsageError for an unknown command."""
    group = [name for name in COMMANDS if name.startswith(f"{given[0]} ")]
    if not group:
        raise UsageError(_unknown(given[0]))
    if len(given) > 1 and given[1] in HELP_FLAGS:
        _write(program_help(map(declared, group)))
    elif len(given) > 1:
        raise UsageError(unknown("command", " ".join(given[:2]), group))
    else:
        examples = [one for name in group for one in declared(name).examples]
        raise how_to_begin(
            f"{given[0]} needs a further word; for example:", examples, f"evalstream {given[0]}"
        )


def _unknown(word: str) -> str:
    """Return the message for a first word that is not a command."""
    if word.startswith("-"):
        meant = suggestion(word, FLAGS) or ";"
        return f"unknown option {word!r}{meant} a command comes first; see: evalstream --help"
    if os.path.exists(word):
        name = on_one_line(printable(word))
        return f"unknown command {name!r}; to check it: evalstream check {name}"
    return unknown("command", word, dict.fromkeys(name.split()[0] for name in COMMANDS))


def _version() -> str:
    from evalstream.parsing.native.binding import library

    without = "" if library() else ", without its scanner: the checks are the same, but slower"
    return f"evalstream {__version__}{without}"


def _write(text: str) -> None:
    with guarded():
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()

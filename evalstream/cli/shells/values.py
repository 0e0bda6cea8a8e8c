"""What a shell proposes for the value of an argument or option: words, rules, or files."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import Final, NamedTuple

from evalstream.cli.command import SWITCHES, Argument, Command, choices_of, flags_of
from evalstream.cli.schema import schema_names
from evalstream.formats.registry import CATALOGUE
from evalstream.model.options import Option

HELP_FLAGS: Final = ("-h", "--help")

_FILES: Final = ("FILE", "FILES", "LIST", "ROWS", "INPUTS", "PARTS", "PATH", "PATTERN")
"""The names of values that are files, or may be."""


class Kind(Enum):
    """What the values are."""

    WORDS = "words"
    RULES = "rules"
    FILES = "files"
    FOLDERS = "folders"
    ANYTHING = "anything"


class Proposal(NamedTuple):
    """What a shell proposes: a kind of values, and the words themselves if they are few."""

    kind: Kind
    words: tuple[str, ...] = ()


class Flags(NamedTuple):
    """An option as shells know it: short and long flags, and what is proposed for its value.

    A switch has no value.
    """

    option: Option
    short: tuple[str, ...]
    long: tuple[str, ...]
    value: Proposal | None


def proposal(one: Argument | Option) -> Proposal:
    """Return what a shell proposes for a value."""
    metavar = one.text.metavar
    if choices_of(one):
        return Proposal(Kind.WORDS, choices_of(one))
    if metavar == "SCHEMA":
        return Proposal(Kind.WORDS, schema_names())
    if metavar == "CODES":
        return Proposal(Kind.RULES)
    if metavar == "FOLDER":
        return Proposal(Kind.FOLDERS)
    return Proposal(Kind.FILES if metavar in _FILES else Kind.ANYTHING)


def argument_of(command: Command) -> Proposal | None:
    """Return what a shell proposes for the arguments of a command, None if it takes none."""
    return proposal(command.arguments[0]) if command.arguments else None


def flags_by_option(command: Command) -> list[Flags]:
    """Return the options of a command as shells know them."""
    found = []
    for one in command.options:
        flags = [flag for text in flags_of(one) for flag in text.split("/")]
        long = tuple(flag for flag in flags if flag.startswith("--"))
        short = tuple(flag for flag in flags if flag not in long)
        found.append(Flags(one, short, long, None if one.type in SWITCHES else proposal(one)))
    return found


def rule_words() -> list[str]:
    """Return the codes and the names of all rules."""
    return [*CATALOGUE, *(rule.name for rule in CATALOGUE.values())]


def groups(commands: Iterable[Command]) -> dict[str, list[str]]:
    """Return the second words of commands by the first word, empty where it is the whole name."""
    found: dict[str, list[str]] = {}
    for one in commands:
        first, _, second = one.name.partition(" ")
        found.setdefault(first, []).extend([second] if second else [])
    return found

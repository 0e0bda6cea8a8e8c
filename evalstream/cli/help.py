"""The text of the help, made from the data of the commands, and how a command line begins."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from inspect import cleandoc
from shutil import get_terminal_size
from typing import Final

from evalstream.cli.command import (
    MANY,
    REQUIRED,
    SWITCHES,
    Argument,
    Command,
    choices_of,
    default_of,
    flags_of,
)
from evalstream.model.errors import UsageError
from evalstream.model.options import Group, Option

ARGUMENTS: Final = "Arguments"
OPTIONS: Final = "Options"
"""The heading of options that have no other."""

HEADINGS: Final = (ARGUMENTS, *(group.value for group in Group), OPTIONS, "Examples")

HELP: Final = ("-h, --help", "Show this help and exit.")

WIDEST: Final = 100
NARROWEST: Final = 40
NAME_COLUMNS: Final = 28
"""The width of the column of names; longer names have a line of their own."""

PROGRAM_EXAMPLES: Final = (
    "evalstream check run.jsonl --aggregate aggregate.json",
    "evalstream check results/ --format json --output report.json",
    "evalstream seal run.jsonl --aggregate aggregate.json",
    "evalstream explain ES401",
)


def program_help(commands: Iterable[Command]) -> str:
    """Return the help of the program: its commands with a line for each, and examples."""
    width = _width()
    listed = [(one.name, first_sentence(one)) for one in commands]
    options = [HELP, ("-V, --version", "Show the version and exit.")]
    return "\n".join(
        [
            "Check that LLM-evaluation results are whole, well formed and what they claim.\n",
            "Usage: evalstream COMMAND [OPTIONS] [ARGUMENTS]\n",
            *_section("Commands", listed, width),
            *_section(OPTIONS, options, width),
            *_lines("Examples", PROGRAM_EXAMPLES),
            "evalstream COMMAND --help shows the options and examples of a command.",
        ]
    )


def command_help(command: Command) -> str:
    """Return the help of a command: usage, arguments, options by group, and examples."""
    width = _width()
    description = cleandoc(command.function.__doc__ or "").split("\n\n")
    parts = [f"{_filled(part, width)}\n" for part in description]
    parts += [f"{_filled(f'Usage: {usage(command)}', width, hanging=2)}\n"]
    arguments = [(argument_name(one), argument_help(one)) for one in command.arguments]
    parts += _section(ARGUMENTS, arguments, width)
    for heading, some in grouped(command):
        listed = [(option_name(one), option_help(one)) for one in some]
        parts += _section(heading, [*listed, HELP] if heading == OPTIONS else listed, width)
    return "\n".join([*parts, *_lines("Examples", command.examples)]).rstrip()


def how_to_begin(message: str, examples: Iterable[str], help_of: str) -> UsageError:
    """Return the error for a command line that says too little, with examples."""
    lines = "".join(f"\n  {one}" for one in examples)
    return UsageError(f"{message}{lines}\nsee: {help_of} --help")


def first_sentence(command: Command) -> str:
    """Return what a command does, in one line."""
    return cleandoc(command.function.__doc__ or "").partition("\n\n")[0].replace("\n", " ")


def usage(command: Command) -> str:
    """Return how a command is called."""
    required = [
        f"{flags_of(one)[0]} {metavar(one)}"
        for one in command.options
        if default_of(one) is REQUIRED
    ]
    arguments = map(argument_name, command.arguments)
    return " ".join(["evalstream", command.name, "[OPTIONS]", *required, *arguments])


def grouped(command: Command) -> Iterator[tuple[str, list[Option]]]:
    """Iterate over the headings of the help and the options below them, short flags first."""
    for group in (*Group, None):
        some = [one for one in command.options if one.text.group is group]
        some.sort(key=lambda one: len(flags_of(one)) == 1)
        if some or group is None:
            yield OPTIONS if group is None else group.value, some


def argument_name(argument: Argument) -> str:
    """Return an argument as the usage writes it."""
    name = argument.text.metavar
    shown = name if argument.default is REQUIRED else f"[{name}]"
    return f"{shown}..." if argument.type in MANY else shown


def argument_help(argument: Argument) -> str:
    """Return what help says of an argument."""
    return argument.text.help.format(choices=", ".join(choices_of(argument)))


def option_name(option: Option) -> str:
    """Return the flags of an option, short ones first, and what its value is called."""
    flags = [flag for text in flags_of(option) for flag in text.split("/")]
    flags.sort(key=lambda flag: flag.startswith("--"))
    indent = "    " if flags[0].startswith("--") else ""
    return f"{indent}{', '.join(flags)} {metavar(option)}".rstrip()


def metavar(option: Option) -> str:
    """Return what the value of an option is called: its choices, if they are declared with it."""
    if option.type in SWITCHES:
        return ""
    return "|".join(option.text.choices) or option.text.metavar or option.name.upper()


def option_help(option: Option) -> str:
    """Return what help says of an option, with its default."""
    text = option.text.help.format(choices=", ".join(choices_of(option)))
    default = default_of(option)
    if default is REQUIRED:
        return f"{text} Required."
    if default is None or isinstance(default, (bool, tuple)) or "(default" in text:
        return text
    shown = f"{default:g}" if isinstance(default, float) else default
    return f"{text.removesuffix('.')} (default: {shown})."


def _width() -> int:
    """Return the columns of the help: those of the terminal within bounds."""
    return max(NARROWEST, min(WIDEST, get_terminal_size((WIDEST, 0)).columns))


def _section(heading: str, listed: list[tuple[str, str]], width: int) -> list[str]:
    """Return the lines of a heading and of names with their texts; none for an empty list."""
    if not listed:
        return []
    longest = max((len(name) for name, _ in listed if len(name) <= NAME_COLUMNS), default=0)
    indent = " " * (longest + 4)
    lines = [f"{heading}:"]
    for name, text in listed:
        start = f"  {name}".ljust(longest + 4)
        if len(name) > longest:
            lines.append(start)
            start = indent
        lines.append(_filled(text, width, start, indent))
    return [*lines, ""]


def _filled(text: str, width: int, first: str = "", rest: str = "", hanging: int = 0) -> str:
    """Return a text in lines that are not longer than the width, if its words allow it."""
    rest = rest or " " * hanging
    return textwrap.fill(
        text, width, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False,
        break_long_words=False,
    )  # fmt: skip


def _lines(heading: str, examples: Iterable[str]) -> list[str]:
    lines = [f"  {one}" for one in examples]
    return [f"{heading}:", *lines, ""] if lines else []

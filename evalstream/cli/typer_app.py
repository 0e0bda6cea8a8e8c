"""The command line as typer reads it: help, completion, mistakes, and rare spellings."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from inspect import Parameter, Signature, cleandoc
from itertools import pairwise, takewhile
from typing import Annotated, Any, Final

import typer
from rich.markup import escape
from typer.completion import completion_init  # type: ignore[attr-defined]

from evalstream._version import __version__
from evalstream.cli.command import (
    COMMANDS,
    COMPLETION,
    FORMER,
    MANY,
    PROGRAM,
    REQUIRED,
    SEVERITIES,
    SWITCHES,
    Argument,
    Command,
    allowed_choices,
    format_default,
    initial_value,
    load_command,
    named_command,
    option_flags,
    option_spellings,
)
from evalstream.cli.terminal import guard_output
from evalstream.formats.registry import CATALOGUE
from evalstream.io.names import printable
from evalstream.model.errors import UsageError
from evalstream.model.option_fields import Group, Option
from evalstream.model.text import on_one_line

HELP: Final = "help"
HELP_FLAGS: Final = ("-h", "--help")

MISTAKE: Final = 2
"""The number by which typer tells a mistake in a command line, whatever the program ends with."""

OPTIONS: Final = "Options"
"""The heading of options that have no other."""

EXAMPLES: Final = (
    "evalstream check run.jsonl --aggregate aggregate.json",
    "evalstream check results/ --format json --output report.json",
    "evalstream seal run.jsonl --aggregate aggregate.json",
    "evalstream explain ES401",
)

_GROUP_HELP: Final = {
    "schema": "List and print schemas, and types made from them.",
    "store": "Verify a public store of results, and its changes.",
}
_HELP: Final = (
    "Prove or refute that LLM-evaluation results are complete, well formed, and what they claim."
)

Read = Callable[[Command, dict[str, Any]], None]
"""Takes a command, and the values of its parameters by name."""


def run_by_typer(given: Sequence[str]) -> None:
    """Run any command line. Raises UsageError for one with a mistake."""
    if not given and COMPLETION not in os.environ:
        raise UsageError("no command given; see: evalstream --help")
    words = _as_flag(given) if given and given[0] == HELP else list(given)
    name = named_command(words)
    wanted = COMMANDS if name is None else (name,)
    for command, values in read_by_typer(map(load_command, wanted), words):
        command.function(**command.bind(values))


def _as_flag(given: Sequence[str]) -> list[str]:
    """Return `help COMMAND` as `COMMAND --help`. Raises UsageError for several commands."""
    words = [word for word in given if word != HELP]
    name = named_command(words)
    more = [] if name is None else words[len(name.split()) :]
    if more and not more[0].startswith("-"):
        raise UsageError(f"help takes one command, such as: {PROGRAM} help {name}")
    return [*words, HELP_FLAGS[-1]]


def read_by_typer(
    commands: Iterable[Command], words: Sequence[str]
) -> list[tuple[Command, dict[str, Any]]]:
    """Return the command of a line with its values; none for help. Raises UsageError."""
    lines: list[tuple[Command, dict[str, Any]]] = []
    app = make_app(commands, lambda *line: lines.append(line))
    completion_init()
    try:
        with guard_output():
            _call(app, words)
        for command, values in lines:
            _require_values(command, values)
            _refuse_flags_as_values(command, words)
    except Exception as error:
        # The classes of mistakes moved from click into typer; both say how they would end.
        if getattr(error, "exit_code", None) != MISTAKE:
            raise
        raise UsageError(_describe_mistake(error, words)) from error
    return lines


def _call(app: typer.Typer, words: Sequence[str]) -> None:
    """Let typer read a command line, or answer a shell. Raises BrokenPipeError."""
    try:
        app(words, prog_name=PROGRAM, standalone_mode=False)
        sys.stdout.flush()
    except SystemExit as end:
        # So typer ends where the reader of its output is gone.
        if end.code == 1:
            raise BrokenPipeError from end
        raise


def make_app(commands: Iterable[Command], read: Read) -> typer.Typer:
    """Return the program with some of its commands, which hand their values to `read`."""
    settings = {"help_option_names": list(HELP_FLAGS)}
    app = _make_group(_HELP, settings, examples=EXAMPLES)
    app.callback()(_take_version)
    groups: dict[str, typer.Typer] = {}
    for command in commands:
        first, _, second = command.name.partition(" ")
        if second and first not in groups:
            groups[first] = _make_group(_GROUP_HELP[first], settings)
            groups[first].callback()(_take_hidden_version)
            app.add_typer(groups[first], name=first)
        (groups[first] if second else app).command(
            second or first,
            help=_format_help(command),
            epilog=_format_examples(command.examples),
            context_settings=settings,
        )(_make_function(command, read))
    return app


def _make_group(text: str, settings: dict[str, Any], examples: Iterable[str] = ()) -> typer.Typer:
    return typer.Typer(
        help=text,
        epilog=_format_examples(examples),
        add_completion=False,
        rich_markup_mode="rich",
        pretty_exceptions_enable=False,
        context_settings=settings,
    )


def _print_version(asked: bool) -> None:
    if asked:
        from evalstream.parsing.native.binding import library

        without = "" if library() else ", without its scanner: the checks are the same, but slower"
        typer.echo(f"evalstream {__version__}{without}")
        raise typer.Exit


def _version_option(*, hidden: bool = False) -> Any:
    text = "Show the version and exit."
    return typer.Option(
        "--version", "-V", callback=_print_version, is_eager=True, hidden=hidden, help=text
    )


def _take_version(*, _version: Annotated[bool, _version_option()] = False) -> None:
    """Take the options of the program itself."""


def _take_hidden_version(
    *, _version: Annotated[bool, _version_option(hidden=True)] = False
) -> None:
    """Take the version that is asked for behind the first word of a command."""


def _make_function(command: Command, read: Read) -> Callable[..., None]:
    def run(**given: Any) -> None:
        read(command, given)

    arguments = map(_argument_parameter, command.arguments)
    ordered = (one for _, some in group_options(command) for one in some)
    options = (parameter for one in ordered for parameter in _option_parameters(one))
    version = _parameter("_version", bool, False, _version_option(hidden=True))
    run.__signature__ = Signature([*arguments, *options, version])  # type: ignore[attr-defined]
    return run


def _argument_parameter(argument: Argument) -> Parameter:
    kind = list[str] | None if argument.type in MANY else argument.type
    if argument.default is REQUIRED:
        kind = argument.type
    declared = typer.Argument(
        metavar=argument.text.metavar,
        help=escape(argument_help(argument)),
        autocompletion=_make_completer(argument),
    )
    return _parameter(argument.name, kind, argument.default, declared)


def _option_parameters(option: Option) -> Iterator[Parameter]:
    kind, group = _read_type(option), option.text.group
    declared = typer.Option(
        *option_spellings(option),
        metavar=metavar(option) or None,
        help=escape(option_help(option)),
        show_default=False,
        rich_help_panel=group.value if group else None,
        autocompletion=_make_completer(option),
    )
    yield _parameter(option.name, kind, initial_value(option), declared)
    if option.text.former:
        former = typer.Option(*option.text.former, hidden=True)
        yield _parameter(FORMER + option.name, kind, None, former)


def _parameter(name: str, kind: Any, default: Any, declared: Any) -> Parameter:
    default = Parameter.empty if default is REQUIRED else default
    annotation = Annotated[kind, declared]
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _read_type(option: Option) -> Any:
    """Return the type with which typer reads an option; values are checked by the command."""
    if option.default is REQUIRED:
        return option.type
    if option.type in SEVERITIES:
        return str | None
    return list[str] | None if option.type == tuple[str, ...] else option.type | None  # type: ignore[operator]


def _make_completer(one: Argument | Option) -> Callable[[str], list[str]] | None:
    """Return what proposes values to a shell, None where it proposes files by itself."""
    if not allowed_choices(one) and one.text.metavar not in ("CODES", "SCHEMA"):
        return None

    def complete(incomplete: str) -> list[str]:
        return [word for word in _list_words(one) if word.startswith(incomplete)]

    return complete


def _list_words(one: Argument | Option) -> Sequence[str]:
    if one.text.metavar == "SCHEMA":
        from evalstream.cli.schema import schema_names

        return schema_names()
    if one.text.metavar == "CODES":
        return [*CATALOGUE, *(rule.name for rule in CATALOGUE.values())]
    return allowed_choices(one)


def _format_help(command: Command) -> str:
    paragraphs = cleandoc(command.function.__doc__ or "").split("\n\n")
    return escape("\n\n".join(" ".join(part.split()) for part in paragraphs))


def _format_examples(examples: Iterable[str]) -> str:
    return "\n\n".join(["Examples:", *(f"  {escape(one)}" for one in examples)]) if examples else ""


def _describe_mistake(error: Any, given: Sequence[str]) -> str:
    name, word = named_command(given), given[0] if given else ""
    if name is None and os.path.exists(word):
        shown = on_one_line(printable(word))
        return f"unknown command {shown!r}; to check it: {PROGRAM} check {shown}"
    said = on_one_line(printable(error.format_message())).rstrip(".")
    group = word if any(one.startswith(f"{word} ") for one in COMMANDS) else ""
    command = " ".join(part for part in (PROGRAM, name or group, "--help") if part)
    return f"{said}{'' if said.endswith('?') else ';'} see: {command}"


def _require_values(command: Command, values: Mapping[str, Any]) -> None:
    """Raise UsageError if a required value is missing; not every release of typer does."""
    for one in command.arguments:
        if one.default is REQUIRED and values[one.name] in (None, [], ()):
            raise UsageError(f"Missing argument '{one.text.metavar}'")


def _refuse_flags_as_values(command: Command, words: Sequence[str]) -> None:
    """Raise UsageError if a flag is the value of an option: what it turns on would stay off."""
    flags = {
        flag: option
        for option in command.options
        for text in (*option_spellings(option), *option.text.former)
        for flag in text.split("/")
    }
    for word, value in pairwise(takewhile("--".__ne__, words)):
        is_flag = value in flags or value in HELP_FLAGS or value.startswith("--")
        if is_flag and _takes_value(word, flags):
            joined = f"{word}={value}" if word.startswith("--") else word + value
            raise UsageError(
                f"option {word} needs a value, and {value} reads as another option; "
                f"for a value of that name: {joined}"
            )


def _takes_value(word: str, flags: Mapping[str, Option]) -> bool:
    """Tell whether a word is an option with a value, or short switches that end with one."""
    if not word.startswith("-") or word == "-":
        return False
    names = [word] if word.startswith("--") else [f"-{letter}" for letter in word[1:]]
    are_switches = [flags[one].type in SWITCHES for one in names if one in flags]
    return are_switches == [True] * (len(names) - 1) + [False]


def group_options(command: Command) -> Iterator[tuple[str, list[Option]]]:
    """Iterate over the headings of the help and the options below them, short flags first."""
    for group in (*Group, None):
        some = [one for one in command.options if one.text.group is group]
        some.sort(key=lambda one: len(option_flags(one)) == 1)
        if some or group is None:
            yield OPTIONS if group is None else group.value, some


def argument_help(argument: Argument) -> str:
    """Return what help says of an argument."""
    return argument.text.help.format(choices=", ".join(allowed_choices(argument)))


def metavar(option: Option) -> str:
    """Return what the value of an option is called: its choices, if they are declared with it."""
    if option.type in SWITCHES:
        return ""
    return "|".join(option.text.choices) or option.text.metavar or option.name.upper()


def option_help(option: Option) -> str:
    """Return what help says of an option, with its default."""
    text = option.text.help.format(choices=", ".join(allowed_choices(option)))
    default = format_default(option)
    if default is REQUIRED:
        return f"{text} Required."
    if default is None or isinstance(default, (bool, tuple)) or "(default" in text:
        return text
    shown = f"{default:g}" if isinstance(default, float) else default
    return f"{text.removesuffix('.')} (default: {shown})."

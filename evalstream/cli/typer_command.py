"""Read command lines with typer, from the same data that the plain reader reads."""

from collections.abc import Callable, Iterator, Sequence
from inspect import Parameter, Signature
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from evalstream.cli.command import (
    FORMER,
    MANY,
    REQUIRED,
    SEVERITIES,
    Argument,
    Command,
    initial_of,
    spellings_of,
)
from evalstream.cli.mistakes import message_of, message_of_missing
from evalstream.model.errors import UsageError
from evalstream.model.options import Option

HELP_FLAGS = ["--help", "-h"]


class _HelpAsked(Exception):
    """A command line asks for help."""


class _Silent(TyperCommand):
    """A command that leaves its help to its caller."""

    def get_help(self, ctx: Any) -> str:
        raise _HelpAsked(ctx.info_name)


def read_by_typer(command: Command, given: Sequence[str]) -> dict[str, Any] | None:
    """Return the values of a command line by parameter, or None if it asks for help.

    Raises UsageError for a line with a mistake.
    """
    lines: list[dict[str, Any]] = []

    app = typer.Typer(
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": HELP_FLAGS},
    )
    app.command(cls=_Silent)(_function(command, lines.append))
    try:
        app(list(given), prog_name=f"evalstream {command.name}", standalone_mode=False)
    except _HelpAsked:
        return None
    except Exception as error:
        message = message_of(error, command)
        if message is None:
            raise
        raise UsageError(message) from error
    # Older versions of typer with a new click do not miss what is required.
    message = message_of_missing(lines[0], command)
    if message is not None:
        raise UsageError(message)
    return lines[0]


def _function(command: Command, read: Callable[[dict[str, Any]], None]) -> Callable[..., None]:
    """Return a function whose signature tells typer the parameters of a command."""

    def run(**given: Any) -> None:
        read(given)

    arguments = map(_argument, command.arguments)
    options = (parameter for one in command.options for parameter in _options(one))
    run.__signature__ = Signature([*arguments, *options])  # type: ignore[attr-defined]
    return run


def _argument(argument: Argument) -> Parameter:
    kind = list[str] | None if argument.type in MANY else argument.type
    if argument.default is REQUIRED:
        kind = argument.type
    return _parameter(argument.name, kind, argument.default, typer.Argument())


def _options(option: Option) -> Iterator[Parameter]:
    """Iterate over the parameters of an option: its own, and one for former names."""
    kind = _type(option)
    declared = typer.Option(*spellings_of(option))
    yield _parameter(option.name, kind, initial_of(option), declared)
    if option.text.former:
        yield _parameter(FORMER + option.name, kind, None, typer.Option(*option.text.former))


def _parameter(name: str, kind: Any, default: Any, declared: Any) -> Parameter:
    default = Parameter.empty if default is REQUIRED else default
    annotation = Annotated[kind, declared]
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _type(option: Option) -> Any:
    """Return the type with which typer reads an option; values are checked by the command."""
    if option.default is REQUIRED:
        return option.type
    if option.type in SEVERITIES:
        return str | None
    return list[str] | None if option.type == tuple[str, ...] else option.type | None  # type: ignore[operator]

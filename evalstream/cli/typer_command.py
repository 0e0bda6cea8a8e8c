"""Commands for typer, made from the same data that the plain reader reads."""

from collections.abc import Callable, Iterator
from enum import Enum
from inspect import Parameter, Signature
from typing import Annotated, Any

import typer

from evalstream.api_options import CHOICES
from evalstream.cli.command import FORMER, REQUIRED, Argument, Command, default_of, flags_of
from evalstream.cli.help import GroupedCommand
from evalstream.model.options import Option


def typer_app(command: Command) -> typer.Typer:
    """Return an app for one command."""
    app = typer.Typer(rich_markup_mode=None)
    app.command(cls=GroupedCommand)(_function(command))
    return app


def _function(command: Command) -> Callable[..., None]:
    """Return a function whose signature tells typer the parameters of a command."""

    def run(**given: Any) -> None:
        command.run({name: _plain(value) for name, value in given.items()})

    run.__name__, run.__doc__ = command.function.__name__, command.function.__doc__
    arguments = map(_argument, command.arguments)
    options = (parameter for one in command.options for parameter in _options(one))
    run.__signature__ = Signature([*arguments, *options])  # type: ignore[attr-defined]
    return run


def _plain(value: Any) -> Any:
    """Return the text of a choice; other values are returned unchanged."""
    return value.value if isinstance(value, Enum) else value


def _argument(argument: Argument) -> Parameter:
    described = typer.Argument(metavar=argument.text.metavar, help=argument.text.help)
    return _parameter(argument.name, argument.type, argument.default, described)


def _options(option: Option) -> Iterator[Parameter]:
    """Iterate over the parameters of an option: its own, and a hidden one for former names."""
    text, kind = option.text, _type(option)
    described = typer.Option(
        *flags_of(option),
        metavar=text.metavar,
        help=text.help.format(choices=", ".join(CHOICES.get(option.name, ()))),
        rich_help_panel=None if text.group is None else text.group.value,
    )
    yield _parameter(option.name, kind, default_of(option), described)
    if text.former:
        hidden = typer.Option(*text.former, hidden=True)
        yield _parameter(FORMER + option.name, kind | None, None, hidden)


def _parameter(name: str, kind: Any, default: Any, described: Any) -> Parameter:
    default = Parameter.empty if default is REQUIRED else default
    annotation = Annotated[kind, described]
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _type(option: Option) -> Any:
    """Return the type with which typer reads an option."""
    if option.text.choices:
        names = {name: name for name in option.text.choices}
        choice = Enum(option.name, names, type=str)  # type: ignore[misc]
        return choice if option.default is not None else choice | None
    return list[str] | None if option.type == tuple[str, ...] else option.type

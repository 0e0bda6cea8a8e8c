"""The command line as typer reads it: help, completion, mistakes, and rarely used commands."""

from __future__ import annotations

from collections import UserDict
from importlib import import_module
from typing import Annotated, Any, Final

import typer
from typer.core import TyperGroup
from typer.main import get_group

from evalstream._version import __version__
from evalstream.cli.program import DECLARED, declared
from evalstream.cli.typer_command import typer_app

COMMANDS: Final = (
    "check",
    "seal",
    "merge",
    "report",
    "rules",
    "formats",
    "ledger",
    "salvage",
    "schema",
)
"""The commands in the order of the help; each is in the module of the same name."""


class _Later(UserDict[str, Any]):
    """The commands by name; the module of a command is imported when it is needed."""

    def __getitem__(self, name: str) -> Any:
        """Return a command. Raises KeyError for an unknown name."""
        if self.data[name] is None:
            self.data.update(get_group(_app_of(name)).commands)
        return self.data[name]


def _app_of(name: str) -> typer.Typer:
    if name in DECLARED:
        return typer_app(declared(name))
    found: typer.Typer = import_module(f"evalstream.cli.{name}").commands
    return found


class _Commands(TyperGroup):
    """The group of all commands; each is loaded when it is needed."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        # Preparing all commands takes as long as a small check.
        self.commands = _Later(dict.fromkeys(COMMANDS))


def command_group() -> typer.Typer:
    """Return an app for the commands of one module."""
    return typer.Typer(rich_markup_mode=None)


app = typer.Typer(
    name="evalstream",
    cls=_Commands,
    help="The integrity gate for LLM-evaluation results.",
    add_completion=False,
    no_args_is_help=True,
    context_settings={"help_option_names": ["--help", "-h"]},
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.")] = False,
) -> None:
    """Check that evaluation results are whole, well formed and what their aggregate claims."""
    if version:
        from evalstream.parsing.native.binding import library

        without = "" if library() else ", without its scanner: the checks are the same, but slower"
        typer.echo(f"evalstream {__version__}{without}")
        raise typer.Exit

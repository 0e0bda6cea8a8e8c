"""The program itself: how it starts, and how each way to end becomes an exit code."""

from __future__ import annotations

import contextlib
import os
import sys
import traceback
from collections import UserDict
from collections.abc import Iterator
from importlib import import_module
from typing import Annotated, Any, Final, NoReturn

import typer
from typer.core import TyperGroup
from typer.main import get_group

from evalstream._version import __version__
from evalstream.model.errors import CannotCheck, CannotWrite, UsageError
from evalstream.model.signals import STOPPING, Stopped

USAGE, UNCHECKED, PIPE_CLOSED = 2, 3, 141

COMMANDS: Final = {
    "check": "check",
    "seal": "seal",
    "merge": "merge",
    "rules": "rules",
    "formats": "rules",
    "ledger": "rules",
    "salvage": "salvage",
    "schema": "rules",
}
"""The commands in the order of the help, each with the module that has it."""


class _Later(UserDict[str, Any]):
    """The commands by name; the module of one is loaded once somebody asks for it."""

    def __getitem__(self, name: str) -> Any:
        """Return a command. Raises KeyError where there is none."""
        if self.data[name] is None:
            module: Any = import_module(f"evalstream.cli.{COMMANDS[name]}")
            self.data.update(get_group(module.commands).commands)
        return self.data[name]


class _Commands(TyperGroup):
    """The group of all commands."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        # Making all commands ready takes as long as a small check.
        self.commands = _Later(dict.fromkeys(COMMANDS))


def command_group() -> typer.Typer:
    """Return what takes the commands of one module."""
    return typer.Typer(rich_markup_mode=None)


app = typer.Typer(
    name="evalstream",
    cls=_Commands,
    help="The integrity gate for LLM-evaluation results.",
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


class _PipeClosed(BaseException):
    """Whoever read our output is gone; typer would take it for a violation of its own."""


def main() -> NoReturn:
    """Run the command line and exit with its code."""
    STOPPING.listen()
    try:
        app(standalone_mode=True)
    except UsageError as error:
        stop(str(error), USAGE)
    except (CannotCheck, CannotWrite) as error:
        stop(str(error), UNCHECKED)
    except Stopped as stopped:
        stop(f"stopped by {stopped.name}; the check is not complete", 128 + stopped.signal)
    except _PipeClosed:
        # Whatever is still buffered has no reader; a second error on exit would show.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(PIPE_CLOSED)
    except OSError as error:
        stop(f"{error.filename or 'the report'}: {error.strerror}", UNCHECKED)
    except Exception:  # noqa: BLE001 - a violation of ours must not look like a verdict
        traceback.print_exc()
        stop("internal error; the check is not complete", UNCHECKED)
    sys.exit(0)


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.")] = False,
) -> None:
    """Check that evaluation results are whole, well formed and what their aggregate claims."""
    if version:
        from evalstream.parsing.native.binding import library

        without = "" if library() else ", without its scanner: it checks the same, more slowly"
        typer.echo(f"evalstream {__version__}{without}")
        raise typer.Exit


@contextlib.contextmanager
def guarded() -> Iterator[None]:
    """Let a closed pipe through typer, which would take it for its own."""
    try:
        yield
    except BrokenPipeError as error:
        raise _PipeClosed from error


def stop(message: str, code: int) -> NoReturn:
    """Say on stderr why the program ends, and exit with a code."""
    print(f"evalstream: {message}", file=sys.stderr)
    sys.exit(code)

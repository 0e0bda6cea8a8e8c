"""Start the program, and end it with the exit code of its outcome."""

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
from evalstream.model.exit_codes import PIPE_CLOSED, ExitCode, of_signal
from evalstream.model.signals import STOPPING, Stopped

COMMANDS: Final = ("check", "seal", "merge", "rules", "formats", "ledger", "salvage", "schema")
"""The commands in the order of the help; each is in the module of the same name."""


class _Later(UserDict[str, Any]):
    """The commands by name; the module of a command is imported when it is needed."""

    def __getitem__(self, name: str) -> Any:
        """Return a command. Raises KeyError for an unknown name."""
        if self.data[name] is None:
            module: Any = import_module(f"evalstream.cli.{name}")
            self.data.update(get_group(module.commands).commands)
        return self.data[name]


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


class _PipeClosed(BaseException):
    """The reader of the output is gone; typer would handle a BrokenPipeError itself."""


def main() -> NoReturn:
    """Run the command line and exit with its code."""
    STOPPING.listen()
    try:
        app(standalone_mode=True)
    except UsageError as error:
        stop(str(error), ExitCode.USAGE)
    except (CannotCheck, CannotWrite) as error:
        stop(str(error), ExitCode.UNCHECKED)
    except Stopped as stopped:
        stop(f"stopped by {stopped.name}; the check is not complete", of_signal(stopped.signal))
    except _PipeClosed:
        # Buffered output has no reader; a second error at exit would be printed.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(PIPE_CLOSED)
    except OSError as error:
        stop(f"{error.filename or 'the report'}: {error.strerror}", ExitCode.UNCHECKED)
    except Exception:  # noqa: BLE001 - an internal error must not look like a verdict
        traceback.print_exc()
        stop("internal error; the check is not complete", ExitCode.UNCHECKED)
    sys.exit(ExitCode.PASSED)


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


@contextlib.contextmanager
def guarded() -> Iterator[None]:
    """Let a closed pipe through typer, which would handle it itself."""
    try:
        yield
    except BrokenPipeError as error:
        raise _PipeClosed from error


def stop(message: str, code: int) -> NoReturn:
    """Print on stderr why the program ends, and exit with a code."""
    print(f"evalstream: {message}", file=sys.stderr)
    sys.exit(code)

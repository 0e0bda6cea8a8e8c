"""Start the program, and end it with the exit code of its outcome."""

from __future__ import annotations

import contextlib
import gc
import os
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Final, NoReturn

from evalstream.cli.command import Command
from evalstream.cli.plain_reader import read_plain
from evalstream.model.errors import CannotCheck, CannotWrite, UsageError
from evalstream.model.exit_codes import PIPE_CLOSED, ExitCode, of_signal
from evalstream.model.signals import STOPPING, Stopped

DECLARED: Final = ("check", "seal", "merge", "report", "salvage")
"""The commands that are data, in the modules of the same names."""

COMPLETING: Final = "_COMPLETE"
"""The end of the variable with which a shell asks for completions."""

COLLECT_AFTER: Final = 20_000
"""How many new containers start a garbage collection: checks leave few cycles behind."""


class _PipeClosed(BaseException):
    """The reader of the output is gone; typer would handle a BrokenPipeError itself."""


def main() -> NoReturn:
    """Run the command line and exit with its code."""
    STOPPING.listen()
    # What imports made lives to the end; looking through it again and again takes 0.01 s.
    gc.freeze()
    gc.set_threshold(COLLECT_AFTER)
    try:
        _run(sys.argv[1:])
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
        import traceback

        traceback.print_exc()
        stop("internal error; the check is not complete", ExitCode.UNCHECKED)
    sys.exit(ExitCode.PASSED)


def _run(given: Sequence[str]) -> None:
    """Run a plain command line at once, and any other through typer."""
    if given and given[0] in DECLARED and not any(map(_is_completing, os.environ)):
        command = declared(given[0])
        values = read_plain(command, given[1:])
        if values is not None:
            command.run(values)
            return
    # Loading typer takes 0.03 s, from version 0.29 on 0.1 s more.
    from evalstream.cli.app import app

    app(standalone_mode=True)


def declared(name: str) -> Command:
    """Return a command that is data; its module is imported."""
    command: Command = getattr(import_module(f"evalstream.cli.{name}"), name)
    return command


def _is_completing(variable: str) -> bool:
    return variable.endswith(COMPLETING)


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

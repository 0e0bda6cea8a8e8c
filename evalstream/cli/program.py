"""Start the program, and end it with the exit code of its outcome."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from typing import Final, NoReturn

from evalstream.cli.command import COMPLETION, load_command, named_command
from evalstream.cli.plain_reader import read_plain
from evalstream.cli.terminal import PipeClosed
from evalstream.io.output import is_full, unwritable
from evalstream.io.standard_input import protect_standard_streams
from evalstream.model.errors import CannotCheck, CannotWrite, UsageError
from evalstream.model.exit_codes import EEE, OWN, PIPE_CLOSED, ExitCode, error_exit_code, of_signal
from evalstream.model.signals import STOPPING, Stopped

COLLECT_AFTER: Final = 20_000
"""How many new containers start a garbage collection: checks leave few cycles behind."""


class Judged(SystemExit):
    """The end of the program with the exit code of its report."""


def main() -> NoReturn:
    """Run the command line and exit with its code."""
    protect_standard_streams()
    STOPPING.listen()
    # Processes that this one starts take no module from the working directory, which may belong to
    # the author of the data: workers of Dask and of pools begin with `python -c`.
    os.environ["PYTHONSAFEPATH"] = "1"
    # What imports made lives to the end; looking through it again and again takes 0.01 s.
    gc.freeze()
    gc.set_threshold(COLLECT_AFTER)
    given = sys.argv[1:]
    scheme = _scheme(given)
    unchecked = error_exit_code(ExitCode.UNCHECKED, scheme)
    try:
        _run(given)
    except Judged:
        raise
    except SystemExit as end:
        # Typer reports wrong usage itself.
        is_usage = end.code == ExitCode.USAGE
        sys.exit(error_exit_code(ExitCode.USAGE, scheme) if is_usage else end.code)
    except UsageError as error:
        stop(error.on_command_line, error_exit_code(ExitCode.USAGE, scheme))
    except (CannotCheck, CannotWrite) as error:
        stop(str(error), unchecked)
    except Stopped as stopped:
        stop(f"stopped by {stopped.name}; the check is not complete", of_signal(stopped.signal))
    except PipeClosed:
        # Buffered output has no reader; a second error at exit would be printed.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(PIPE_CLOSED)
    except OSError as error:
        name = error.filename or "the report"
        stop(unwritable(name, error) if is_full(error) else f"{name}: {error.strerror}", unchecked)
    except Exception:  # noqa: BLE001 - an internal error must not look like a verdict
        import traceback

        traceback.print_exc()
        stop("internal error; the check is not complete", unchecked)
    sys.exit(ExitCode.PASSED)


def _scheme(given: Sequence[str]) -> str:
    """Return the meaning of exit codes that a command line names, also one that is not valid."""
    text = "\n".join(given)
    is_named = f"--exit-codes\n{EEE}" in text or f"--exit-codes={EEE}" in text
    return EEE if is_named else OWN


def _run(given: Sequence[str]) -> None:
    """Run a plain command line at once; any other needs more modules."""
    name = named_command(given)
    if name is not None and COMPLETION not in os.environ:
        command = load_command(name)
        values = read_plain(command, given[len(name.split()) :])
        if values is not None:
            command.run(values)
            return
    from evalstream.cli.typer_app import run_by_typer

    run_by_typer(given)


def stop(message: str, code: int) -> NoReturn:
    """Print on stderr why the program ends, and exit with a code."""
    print(f"evalstream: {message}", file=sys.stderr)
    sys.exit(code)

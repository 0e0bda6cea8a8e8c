"""Input from a terminal, where a user may wait in vain, and output whose reader is gone."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator

from evalstream.model.run import STDIN


def announce_terminal(what: str, *names: str | None) -> None:
    """Say on stderr that standard input is read, if it is named and is a terminal."""
    if STDIN in names and sys.stdin is not None and sys.stdin.isatty():
        sys.stderr.write(f"evalstream: reading {what} from the terminal until Ctrl-D\n")
        sys.stderr.flush()


class PipeClosed(BaseException):
    """The reader of the output is gone."""


@contextlib.contextmanager
def guard_output() -> Iterator[None]:
    """End the program quietly where the reader of its output is gone."""
    try:
        yield
    except BrokenPipeError as error:
        raise PipeClosed from error

"""Say that the program reads from the terminal, where a user may wait for it in vain."""

from __future__ import annotations

import sys

from evalstream.model.run import STDIN


def announce_terminal(what: str, *names: str | None) -> None:
    """Say on stderr that standard input is read, if it is named and is a terminal."""
    if STDIN in names and sys.stdin is not None and sys.stdin.isatty():
        sys.stderr.write(f"evalstream: reading {what} from the terminal until Ctrl-D\n")
        sys.stderr.flush()

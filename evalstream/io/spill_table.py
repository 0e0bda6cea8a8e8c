"""What is found, kept on disk so that memory does not grow with it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from typing import Any

from evalstream.model.errors import CannotCheck


class SpillTable:
    """Tables on disk that nobody else sees, with two MiB of them in memory at most.

    They are gone when it is closed, or with the process.
    """

    def __init__(self, tables: str) -> None:
        # Whoever iterates over what was found may do so in another thread than began.
        self._base = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        try:
            self._base.executescript(
                f"PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; {tables}"
            )
        except BaseException:
            self.close()
            raise

    def rows(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """Return what a statement selects. Raises CannotCheck where the disk is full."""
        try:
            return self._base.execute(statement, values).fetchall()
        except sqlite3.Error as error:
            raise _full(error) from error

    def change(self, statement: str, values: Iterable[tuple[Any, ...]]) -> int:
        """Run a statement with each of some values, and count the rows that it changed.

        Raises CannotCheck where the disk is full.
        """
        try:
            return self._base.executemany(statement, values).rowcount
        except sqlite3.Error as error:
            raise _full(error) from error

    def close(self) -> None:
        """Forget everything."""
        self._base.close()


def stored(text: str) -> bytes:
    """Return a name as it is kept: any, also one that is not text for the system."""
    return text.encode(errors="surrogatepass")


def restored(data: bytes) -> str:
    """Return a name that was kept."""
    return data.decode(errors="surrogatepass")


def _full(error: sqlite3.Error) -> CannotCheck:
    return CannotCheck(f"what was found cannot be kept in the folder for temporary files: {error}")

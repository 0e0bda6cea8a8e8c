"""SQLite tables on disk for results whose number is not bounded."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from typing import Any

from evalstream.model.errors import CannotCheck


class SpillTable:
    """Private tables on disk, changed in one transaction, with at most 2 MiB of them in memory.

    They are deleted when closed, and at the latest when the process ends.
    """

    def __init__(self, tables: str) -> None:
        # The results may be iterated over in another thread than the one that created them.
        self._base = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        try:
            self._base.executescript(
                f"PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; {tables}; BEGIN;"
            )
        except BaseException:
            self.close()
            raise

    def rows(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """Return the rows that a statement selects. Raises CannotCheck where the disk is full."""
        try:
            return self._base.execute(statement, values).fetchall()
        except sqlite3.Error as error:
            raise _full(error) from error

    def iterate(self, statement: str) -> Iterator[tuple[Any, ...]]:
        """Iterate over the rows that a statement selects, as `rows` does."""
        try:
            yield from self._base.execute(statement)
        except sqlite3.Error as error:
            raise _full(error) from error

    def change(self, statement: str, values: Iterable[tuple[Any, ...]]) -> int:
        """Run a statement with each of some values, and return the number of changed rows.

        Raises CannotCheck where the disk is full.
        """
        try:
            return self._base.executemany(statement, values).rowcount
        except sqlite3.Error as error:
            raise _full(error) from error

    def close(self) -> None:
        """Delete the tables."""
        self._base.close()


def encode_name(text: str) -> bytes:
    """Encode a name for storage, also one that is not valid text."""
    return text.encode(errors="surrogatepass")


def decode_name(data: bytes) -> str:
    """Decode a stored name."""
    return data.decode(errors="surrogatepass")


def _full(error: sqlite3.Error) -> CannotCheck:
    return CannotCheck(f"cannot write to the folder for temporary files: {error}")

"""SQLite tables on disk for results whose number is not bounded."""

from __future__ import annotations

import weakref
from _thread import RLock
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from evalstream.model.errors import CannotCheck

if TYPE_CHECKING:
    from sqlite3 import Connection

BATCH: Final = 100
"""How many rows wait to be written together."""


class SpillTable:
    """Private tables on disk, changed in one transaction, with at most 2 MiB of them in memory.

    They are made at the first use, and deleted when closed, at the latest when nothing refers to
    them. Several threads may ask for rows. All methods raise CannotCheck where the disk is full.
    """

    def __init__(self, tables: str) -> None:
        self._tables = tables
        # Threads would share the statements that a connection keeps, and the rows of these.
        self._lock = RLock()  # `threading` takes a millisecond to load
        self._waiting: dict[str, list[tuple[Any, ...]]] = {}

    @cached_property
    def _base(self) -> Connection:
        """Make the tables; call with the lock."""
        import sqlite3  # most checks need no table

        # The results may be iterated over in another thread than the one that created them.
        base = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        weakref.finalize(self, base.close)
        try:
            base.executescript(
                f"PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN; {self._tables};"
            )
        except BaseException:
            base.close()
            raise
        return base

    def rows(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """Return the rows that a statement selects."""
        self._write()
        try:
            with self._lock:
                return self._base.execute(statement, values).fetchall()
        except _errors() as error:
            raise _full(error) from error

    def iterate(self, statement: str, *values: Any) -> Iterator[tuple[Any, ...]]:
        """Iterate over rows that a statement selects from tables that do not change meanwhile."""
        self._write()
        with self._lock:
            base = self._base
        try:
            for row in base.execute(statement, values):  # noqa: UP028 - it closes no cursor
                yield row
        except _errors() as error:
            raise _full(error) from error

    def pages(self, statement: str, *values: Any) -> Iterator[tuple[Any, ...]]:
        """Iterate over rows by a number above 0, their first column; the tables may change.

        The statement selects some of those above its first value, in their order.
        """
        last = 0
        while found := self.rows(statement, last, *values):
            yield from found
            last = found[-1][0]

    def add(self, statement: str, values: Iterable[tuple[Any, ...]]) -> None:
        """Run a statement with each of some values, at the latest before the next look."""
        waiting = self._waiting.setdefault(statement, [])
        waiting.extend(values)
        if len(waiting) >= BATCH:
            self._write()

    def change(self, statement: str, values: Iterable[tuple[Any, ...]]) -> int:
        """Run a statement with each of some values, and return the number of changed rows."""
        self._write()
        return self._run(statement, values)

    def _write(self) -> None:
        # Another thread that asks for rows goes on only when those that wait are there.
        with self._lock:
            waiting, self._waiting = self._waiting, {}
            for statement, values in waiting.items():
                self._run(statement, values)

    def _run(self, statement: str, values: Iterable[tuple[Any, ...]]) -> int:
        try:
            with self._lock:
                return self._base.executemany(statement, values).rowcount
        except _errors() as error:
            raise _full(error) from error

    def close(self) -> None:
        """Delete the tables."""
        if "_base" in vars(self):
            self._base.close()


def encode_name(text: str) -> bytes:
    """Encode a name for storage, also one that is not valid text."""
    return text.encode(errors="surrogatepass")


def decode_name(data: bytes) -> str:
    """Decode a stored name."""
    return data.decode(errors="surrogatepass")


def _errors() -> type[Exception]:
    from sqlite3 import Error

    return Error


def _full(error: Exception) -> CannotCheck:
    remedy = "set TMPDIR to a folder with more space"
    return CannotCheck(f"cannot write to the folder for temporary files: {error}; {remedy}")

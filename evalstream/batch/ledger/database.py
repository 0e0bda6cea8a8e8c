"""The SQLite database of a ledger: opening, locking, transactions and error messages."""

from __future__ import annotations

import os
import sqlite3
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import lru_cache, partial
from typing import Any, Final, TypeVar
from urllib.parse import quote

from evalstream.batch.ledger.file_guard import (
    APPLICATION_ID,
    FORMAT_VERSION,
    refuse_other_files,
    refuse_version,
    remove_other_file,
)
from evalstream.io.names import printable
from evalstream.model.errors import CannotCheck, CannotWrite, EvalstreamError
from evalstream.model.signals import STOPPING

BUSY_SECONDS: Final = 60.0
"""Seconds to wait for another process."""

MOST_STEPS: Final = 20_000_000
"""Most steps of SQLite's virtual machine in one statement; our largest takes below a million."""

MOST_VALUE_BYTES: Final = 64 << 20
"""Most bytes of one value in a ledger, also of one that a damaged file claims to hold."""

DAMAGE: Final = "the ledger is damaged; remove it to check everything again"

_STEPS_BETWEEN: Final = 100_000
"""Steps between two looks at their number."""

_PAUSE_SECONDS: Final = 0.2

_SET_VERSION: Final = f"PRAGMA user_version = {FORMAT_VERSION}"

_CREATE_TABLES: Final = (
    # Comes first, so that an incomplete file is recognised as a ledger.
    f"PRAGMA application_id = {APPLICATION_ID}",
    _SET_VERSION,
    """
    CREATE TABLE run (
        key BLOB PRIMARY KEY, name TEXT, place TEXT, verdict TEXT, checked TEXT, tool TEXT,
        settled INTEGER, settings TEXT, state TEXT, findings INTEGER, links INTEGER,
        summary BLOB, digest BLOB
    )
    """,
    "CREATE INDEX run_by_name ON run (name, key)",
    """
    CREATE TABLE chunk (
        run BLOB, kind INTEGER, number INTEGER, data BLOB, PRIMARY KEY (run, kind, number)
    )
    """,
)

CREATE_MIGRATIONS: Final = (
    "CREATE TABLE IF NOT EXISTS migration "
    "(key BLOB PRIMARY KEY, settings TEXT, state TEXT, target TEXT, target_state TEXT)"
)
"""Creates the table that migrations add."""

CREATE_STORES: Final = (
    "CREATE TABLE IF NOT EXISTS object (key BLOB PRIMARY KEY, sha256 BLOB)",
    """CREATE TABLE IF NOT EXISTS accepted
    (store BLOB, uuid BLOB, sha256 BLOB, PRIMARY KEY (store, uuid))""",
)
"""Creates the tables that checks of a public store add."""

SQLITE_ERRORS: Final = (sqlite3.Error, UnicodeDecodeError)
"""Exceptions of SQLite; Python may fail to decode messages with bytes of a damaged file."""

_Returned = TypeVar("_Returned")


class _BoundedConnection(sqlite3.Connection):
    """A connection that interrupts a statement after MOST_STEPS, as pages may form a loop."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._looks = 0
        self.set_progress_handler(self._look, _STEPS_BETWEEN)
        self.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MOST_VALUE_BYTES)
        self.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        if sys.version_info >= (3, 12):
            self.setconfig(sqlite3.SQLITE_DBCONFIG_DEFENSIVE, True)
            self.setconfig(sqlite3.SQLITE_DBCONFIG_ENABLE_TRIGGER, False)
            self.setconfig(sqlite3.SQLITE_DBCONFIG_ENABLE_VIEW, False)

    def execute(self, *arguments: Any) -> sqlite3.Cursor:
        """Execute a statement, with its own number of steps."""
        self._looks = 0
        return super().execute(*arguments)

    def executemany(self, *arguments: Any) -> sqlite3.Cursor:
        self._looks = 0
        return super().executemany(*arguments)

    def _look(self) -> bool:
        """Count steps; return True to end the statement."""
        self._looks += 1
        return self._looks * _STEPS_BETWEEN > MOST_STEPS


def open_for_writing(
    path: str, *, overwrite: bool = False, tables: Iterable[str] = ()
) -> sqlite3.Connection:
    """Open a ledger, or create one where the file does not exist or is empty.

    `tables` are statements that create further tables where they are not there. Raises CannotWrite
    where it cannot be written, and UsageError where it is another file; that file is not changed
    unless `overwrite` allows to replace it.
    """
    if overwrite:
        remove_other_file(path)
    refuse_other_files(path, CannotWrite, may_begin=True)
    with translate_sqlite_errors(path, CannotWrite):
        connection = _connect(path, "rwc")
        try:
            # A write-ahead log needs shared memory, which nodes of a cluster do not have.
            retry_while_locked(
                lambda: connection.execute("PRAGMA journal_mode = DELETE").fetchone()
            )
            connection.execute("PRAGMA synchronous = FULL")
            with exclusive(connection):
                _begin(connection, path)
                for statement in tables:
                    connection.execute(statement)
        except BaseException:
            connection.close()
            raise
    return connection


@contextmanager
def open_for_reading(path: str) -> Iterator[sqlite3.Connection]:
    """Open a ledger, which only SQLite's roll-back changes. Raises CannotCheck for another file."""
    refuse_other_files(path, CannotCheck, may_begin=False)
    with translate_sqlite_errors(path, CannotCheck), closing(_connect(path, "rw")) as connection:
        connection.execute("PRAGMA query_only = ON")
        retry_while_locked(lambda: _refuse_other_schema(connection, path, CannotCheck))
        yield connection


@contextmanager
def exclusive(connection: sqlite3.Connection) -> Iterator[None]:
    """Run a transaction that excludes all other readers and writers."""
    retry_while_locked(lambda: connection.execute("BEGIN EXCLUSIVE"))
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        _roll_back(connection)
        raise


def snapshot(connection: sqlite3.Connection, read: Callable[[], _Returned]) -> _Returned:
    """Return the result of `read`, without writes of other processes in between."""

    def read_in_transaction() -> _Returned:
        connection.execute("BEGIN")
        try:
            return read()
        finally:
            _roll_back(connection)

    return retry_while_locked(read_in_transaction)


def retry_while_locked(call: Callable[[], _Returned]) -> _Returned:
    """Call a function, and retry while another process holds a lock."""
    end = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            return call()
        except sqlite3.OperationalError as error:
            if _code(error) not in _BUSY or time.monotonic() > end:
                raise
        # Signals are handled here, not inside SQLite, whose own wait is short.
        with STOPPING.interruptible():
            time.sleep(_PAUSE_SECONDS)


@contextmanager
def translate_sqlite_errors(path: str, kind: type[EvalstreamError]) -> Iterator[None]:
    """Raise errors of SQLite as exceptions of evalstream."""
    try:
        yield
    except SQLITE_ERRORS as error:
        raise kind(f"{printable(path)}: {_reason(error)}") from error


def is_damage(error: Exception) -> bool:
    """Tell whether an error means that the file is damaged."""
    return isinstance(error, UnicodeDecodeError) or _code(error) in _DAMAGE


def _begin(connection: sqlite3.Connection, path: str) -> None:
    """Create the tables of a new ledger; write to an existing one, to check that it allows it."""
    (application_id,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if application_id == APPLICATION_ID:
        refuse_version(version, printable(path), CannotWrite)
        _refuse_other_schema(connection, path, CannotWrite)
        connection.execute(_SET_VERSION)
    elif tables or application_id or version:
        raise CannotWrite(f"{printable(path)}: not a ledger of evalstream")
    else:
        for statement in _CREATE_TABLES:
            connection.execute(statement)


def _refuse_other_schema(
    connection: sqlite3.Connection, path: str, kind: type[EvalstreamError]
) -> None:
    """Refuse a file with anything but our tables and indexes, such as triggers. Raises `kind`."""
    seen = connection.execute(f"{_SCHEMA} LIMIT {MOST_OBJECTS}").fetchall()
    known = _known_schema()
    objects = {(one, name): _squeeze_spaces(sql) for one, name, _, sql in seen}
    roots = {root for _, _, root, _ in seen}
    lacking = known.keys() - objects.keys() - _ADDED
    if len(roots) != len(seen) or lacking or not objects.items() <= known.items():
        raise kind(
            f"{printable(path)}: the ledger is damaged, or another program changed it: its tables, "
            "indexes, views or triggers are not those that evalstream creates; remove it to check "
            "everything again"
        )


@lru_cache(maxsize=1)
def _known_schema() -> dict[tuple[str, str], str | None]:
    """Return the SQL of our tables and indexes by type and name; None for implicit indexes."""
    with closing(sqlite3.connect(":memory:")) as connection:
        for statement in (*_CREATE_TABLES, CREATE_MIGRATIONS, *CREATE_STORES):
            connection.execute(statement)
        return {
            (one, name): _squeeze_spaces(sql) for one, name, _, sql in connection.execute(_SCHEMA)
        }


def _squeeze_spaces(sql: Any) -> Any:
    return " ".join(sql.split()) if isinstance(sql, str) else sql


def _connect(path: str, mode: str) -> sqlite3.Connection:
    address = f"file:{quote(os.fsencode(os.path.abspath(path)))}?mode={mode}"
    connection = sqlite3.connect(
        address, uri=True, timeout=_PAUSE_SECONDS, isolation_level=None, factory=_BoundedConnection
    )
    try:
        # Invalid UTF-8 means damage, which the digest detects.
        connection.text_factory = lambda text: text.decode(errors="replace")
        for setting in _SETTINGS:
            retry_while_locked(partial(connection.execute, f"PRAGMA {setting}"))
    except BaseException:
        connection.close()
        raise
    return connection


def _roll_back(connection: sqlite3.Connection) -> None:
    if connection.in_transaction:
        with suppress(*SQLITE_ERRORS):
            connection.execute("ROLLBACK")


def _code(error: Exception) -> int:
    """Return the primary result code, 0 for an error that is not SQLite's."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def _reason(error: Exception) -> str:
    if is_damage(error):
        return DAMAGE
    name = getattr(error, "sqlite_errorname", type(error).__name__)
    return _REASONS.get(_code(error), f"cannot use the ledger ({name})")


_SETTINGS: Final = (
    "cell_size_check = ON",
    "trusted_schema = OFF",
    "mmap_size = 0",
    "cache_size = -8000",
)
"""Detect damage early, run no code from the file, map no file that may shrink, cache 8,000 KiB."""

_SCHEMA: Final = "SELECT type, name, rootpage, sql FROM sqlite_master"

MOST_OBJECTS: Final = 20
"""How many tables and indexes of a file are looked at: more than ours."""

_ADDED: Final = {
    (kind, name.format(table))
    for table in ("migration", "object", "store", "accepted")
    for kind, name in (("table", "{}"), ("index", "sqlite_autoindex_{}_1"))
}
"""Tables that a ledger may lack: migrations and checks of a public store create them."""

_DAMAGE: Final = (
    sqlite3.SQLITE_CORRUPT,
    sqlite3.SQLITE_NOTADB,
    # Our own statements are valid, and the values that they write fit.
    sqlite3.SQLITE_ERROR,
    sqlite3.SQLITE_CONSTRAINT,
    sqlite3.SQLITE_MISMATCH,
    sqlite3.SQLITE_TOOBIG,
)

_BUSY: Final = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)

_REASONS: Final = {
    sqlite3.SQLITE_INTERRUPT: "the ledger is damaged, as its look-ups do not end; remove it to "
    "check everything again",
    sqlite3.SQLITE_BUSY: f"another process has locked the ledger for {BUSY_SECONDS:g} s",
    sqlite3.SQLITE_CANTOPEN: "cannot open the ledger or create its journal",
    sqlite3.SQLITE_FULL: "cannot write the ledger: the disk is full",
    sqlite3.SQLITE_IOERR: "cannot read or write the ledger: the disk is full or failed, "
    "or its file system does not support locks",
    sqlite3.SQLITE_PROTOCOL: "the locks of the ledger's file system do not work",
    sqlite3.SQLITE_READONLY: "the ledger or its folder is read-only",
}

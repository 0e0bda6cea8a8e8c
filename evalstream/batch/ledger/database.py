"""The SQLite file of a ledger: opened only where it is one, its violations told in our words."""

from __future__ import annotations

import os
import sqlite3
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial
from typing import Final, TypeVar
from urllib.parse import quote

from evalstream.io.names import printable
from evalstream.model.errors import CannotCheck, CannotWrite, EvalstreamError
from evalstream.model.signals import STOPPING

APPLICATION: Final = int.from_bytes(b"EVLG")
"""What marks a SQLite file as a ledger: its application_id, sqlite.org/fileformat2.html."""

LAYOUT: Final = 1
"""The version of the layout below, kept as the file's user_version."""

BUSY_SECONDS: Final = 60.0
"""How long another process is waited for."""

_MAGIC: Final = b"SQLite format 3\0"
_JOURNAL_MAGIC: Final = b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7"
_HEADER_BYTES: Final = 100
_PAUSE_SECONDS: Final = 0.2

_MARK_LAYOUT: Final = f"PRAGMA user_version = {LAYOUT}"

_MAKING: Final = (
    # First, so that a file which was left half-made is known for what it is.
    f"PRAGMA application_id = {APPLICATION}",
    _MARK_LAYOUT,
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

SQLITE_ERRORS: Final = (sqlite3.Error, UnicodeDecodeError)
"""What the use of a ledger may raise; python reads SQLite's messages, and there may be pieces of a
damaged file in them."""

_Returned = TypeVar("_Returned")


def open_for_writing(path: str, *, overwrite: bool = False) -> sqlite3.Connection:
    """Open a ledger, or begin one where there is no file or an empty one.

    Raises CannotWrite where it is no ledger, which then stays as it is unless `overwrite` has it
    replaced, or cannot be written.
    """
    if overwrite:
        _remove_other(path)
    _refuse_others(path, CannotWrite, may_begin=True)
    with translate_sqlite_errors(path, CannotWrite):
        connection = _connected(path, "rwc")
        try:
            # A write-ahead log needs memory that processes share, which nodes do not.
            patiently(lambda: connection.execute("PRAGMA journal_mode = DELETE").fetchone())
            connection.execute("PRAGMA synchronous = FULL")
            with exclusive(connection):
                _begin(connection, path)
        except BaseException:
            connection.close()
            raise
    return connection


@contextmanager
def opened_for_reading(path: str) -> Iterator[sqlite3.Connection]:
    """Open a ledger and change nothing in it.

    What a process left half-written is undone, as with every use. Raises CannotCheck where it is
    no ledger or cannot be read.
    """
    _refuse_others(path, CannotCheck, may_begin=False)
    with translate_sqlite_errors(path, CannotCheck), closing(_connected(path, "rw")) as connection:
        connection.execute("PRAGMA query_only = ON")
        yield connection


@contextmanager
def exclusive(connection: sqlite3.Connection) -> Iterator[None]:
    """Do everything or nothing, while no other process reads or writes."""
    patiently(lambda: connection.execute("BEGIN EXCLUSIVE"))
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        _roll_back(connection)
        raise


def snapshot(connection: sqlite3.Connection, look: Callable[[], _Returned]) -> _Returned:
    """Return what `look` reads while no other process writes."""

    def looked() -> _Returned:
        connection.execute("BEGIN")
        try:
            return look()
        finally:
            _roll_back(connection)

    return patiently(looked)


def patiently(call: Callable[[], _Returned]) -> _Returned:
    """Return what a call returns, tried again for a while where another process is in the way."""
    end = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            return call()
        except sqlite3.OperationalError as error:
            if _code(error) not in _BUSY or time.monotonic() > end:
                raise
        # A signal is heard here, and not within SQLite, which waits by itself only shortly.
        with STOPPING.interruptible():
            time.sleep(_PAUSE_SECONDS)


@contextmanager
def translate_sqlite_errors(path: str, kind: type[EvalstreamError]) -> Iterator[None]:
    """Raise violations of SQLite as ones of our own."""
    try:
        yield
    except SQLITE_ERRORS as error:
        raise kind(f"{printable(path)}: {_reason(error)}") from error


def is_damage(error: Exception) -> bool:
    """Tell whether a violation says that the bytes of the file make no sense."""
    return isinstance(error, UnicodeDecodeError) or _code(error) in _DAMAGE


def _refuse_others(path: str, kind: type[EvalstreamError], *, may_begin: bool) -> None:
    """Refuse what is no ledger by its first bytes, before SQLite touches it. Raises `kind`."""
    name = printable(path)
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise kind(f"{name}: the ledger must be a file")
        with open(path, "rb") as file:
            head = file.read(_HEADER_BYTES)
    except FileNotFoundError as error:
        if may_begin:
            _refuse_journal(path, kind)
            return
        raise kind(f"{name}: there is no such ledger") from error
    except OSError as error:
        raise kind(f"{name}: the ledger cannot be opened: {error.strerror}") from error
    except ValueError as error:
        raise kind(f"{name}: the ledger cannot be opened: {error}") from error
    # Empty, or left half-made, which SQLite undoes by the journal beside it.
    is_blank = not head or (not head.strip(b"\0") and os.path.exists(_journal_of(path)))
    if is_blank and may_begin:
        _refuse_journal(path, kind, is_left=True)
        return
    if not _is_ours(head):
        remedy = " (--force replaces it)" if may_begin else ""
        raise kind(f"{name}: this is no ledger of evalstream; it was left as it is{remedy}")
    _refuse_layout(int.from_bytes(head[60:64]), name, kind)


def _journal_of(path: str) -> str:
    """Return where SQLite keeps what undoes the last change of a file."""
    return f"{os.path.realpath(path)}-journal"


def _refuse_journal(path: str, kind: type[EvalstreamError], *, is_left: bool = False) -> None:
    """Refuse to begin a ledger beside a journal, which SQLite would delete. Raises `kind`.

    With `is_left` the journal may be one that SQLite left beside a ledger that is half-made.
    """
    journal = _journal_of(path)
    if not os.path.lexists(journal):
        return
    try:
        head = _head(journal) if os.path.isfile(journal) else b"no file"
    except OSError:
        head = b"not readable"
    is_sqlites = head.startswith(_JOURNAL_MAGIC) or not head.strip(b"\0")
    if head and not (is_left and is_sqlites):
        raise kind(
            f"{printable(journal)}: this is there without a ledger, and beginning one would "
            "delete it; name another ledger, or remove it"
        )


def _is_ours(head: bytes) -> bool:
    is_marked = int.from_bytes(head[68:72]) == APPLICATION and len(head) == _HEADER_BYTES
    return head.startswith(_MAGIC) and is_marked


def _remove_other(path: str) -> None:
    """Remove a file that is no ledger, with its journal if it has one. Raises CannotWrite."""
    try:
        head = _head(path)
        if head and not _is_ours(head):
            journal = _journal_of(path)
            has_journal = _head(journal).startswith(_JOURNAL_MAGIC)
            if not has_journal:
                _refuse_journal(path, CannotWrite)
            os.unlink(os.path.realpath(path))
            if has_journal:
                os.unlink(journal)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise CannotWrite(f"{printable(path)}: it cannot be replaced: {reason}") from error


def _head(path: str) -> bytes:
    """Return the first bytes of a regular file, none where there is no such file."""
    if not os.path.isfile(path):
        return b""
    with open(path, "rb") as file:
        return file.read(_HEADER_BYTES)


def _refuse_layout(layout: int, name: str, kind: type[EvalstreamError]) -> None:
    if layout != LAYOUT:
        age = "a newer" if layout > LAYOUT else "an older"
        raise kind(f"{name}: {age} version of evalstream wrote this ledger; begin another one")


def _begin(connection: sqlite3.Connection, path: str) -> None:
    """Make the tables of a new ledger; write to an old one, to see that this is possible."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (layout,) = connection.execute("PRAGMA user_version").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if application == APPLICATION:
        _refuse_layout(layout, printable(path), CannotWrite)
        connection.execute(_MARK_LAYOUT)
    elif tables or application or layout:
        raise CannotWrite(f"{printable(path)}: this is no ledger of evalstream")
    else:
        for statement in _MAKING:
            connection.execute(statement)


def _connected(path: str, mode: str) -> sqlite3.Connection:
    address = f"file:{quote(os.fsencode(os.path.abspath(path)))}?mode={mode}"
    connection = sqlite3.connect(address, uri=True, timeout=_PAUSE_SECONDS, isolation_level=None)
    try:
        # What is no UTF-8 was damaged, and is told by the digest.
        connection.text_factory = lambda text: text.decode(errors="replace")
        for setting in _SETTINGS:
            patiently(partial(connection.execute, f"PRAGMA {setting}"))
    except BaseException:
        connection.close()
        raise
    return connection


def _roll_back(connection: sqlite3.Connection) -> None:
    if connection.in_transaction:
        with suppress(*SQLITE_ERRORS):
            connection.execute("ROLLBACK")


def _code(error: Exception) -> int:
    """Return the primary result code, 0 for a violation that is not SQLite's."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def _reason(error: Exception) -> str:
    if is_damage(error):
        return "the ledger is damaged; remove it, and everything is checked again"
    name = getattr(error, "sqlite_errorname", type(error).__name__)
    return _REASONS.get(_code(error), f"the ledger could not be used ({name})")


_SETTINGS: Final = ("cell_size_check = ON", "trusted_schema = OFF", "cache_size = -8000")
"""Damage shows early, nothing in the file is called, and 8,000 KiB of it stay in memory."""

_DAMAGE: Final = (
    sqlite3.SQLITE_CORRUPT,
    sqlite3.SQLITE_NOTADB,
    # Our own statements are sound, and what they write fits.
    sqlite3.SQLITE_ERROR,
    sqlite3.SQLITE_CONSTRAINT,
    sqlite3.SQLITE_MISMATCH,
    sqlite3.SQLITE_TOOBIG,
)

_BUSY: Final = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)

_REASONS: Final = {
    sqlite3.SQLITE_BUSY: f"another process has held the ledger for {BUSY_SECONDS:g} s",
    sqlite3.SQLITE_CANTOPEN: "the ledger cannot be opened there, nor a file beside it",
    sqlite3.SQLITE_FULL: "the ledger could not be written: the disk is full",
    sqlite3.SQLITE_IOERR: "the ledger could not be read or written: the disk is full or at fault, "
    "or its file system knows no locks",
    sqlite3.SQLITE_PROTOCOL: "the locks of the ledger's file system do not work",
    sqlite3.SQLITE_READONLY: "the ledger cannot be written there",
}

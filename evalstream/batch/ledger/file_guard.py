"""Which files a ledger may open or replace, before SQLite reads or deletes one."""

from __future__ import annotations

import os
import stat
from typing import Final

from evalstream.io.names import printable
from evalstream.model.errors import CannotWrite, EvalstreamError, UsageError, describe_error

APPLICATION_ID: Final = int.from_bytes(b"EVLG")
"""The application_id of a ledger in the SQLite header (sqlite.org/fileformat2.html)."""

FORMAT_VERSION: Final = 2
"""The version of the tables and of the results in them: the user_version of the file."""

_MAGIC: Final = b"SQLite format 3\0"
_JOURNAL_MAGIC: Final = b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7"
_HEADER_BYTES: Final = 100


def refuse_other_files(path: str, kind: type[EvalstreamError], *, may_begin: bool) -> None:
    """Refuse another file by its first bytes, before SQLite opens it. Raises `kind`."""
    name = printable(path)
    try:
        # SQLite deletes them beside a new ledger, too.
        _refuse_companions(path, kind)
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise kind(f"{name}: the ledger must be a file")
        with open(path, "rb") as file:
            head = file.read(_HEADER_BYTES)
    except FileNotFoundError as error:
        if may_begin:
            _refuse_journal(path, kind)
            return
        raise kind(f"{name}: ledger not found") from error
    except (OSError, ValueError) as error:
        raise kind(f"{name}: cannot open the ledger: {describe_error(error)}") from error
    # Empty or incomplete; SQLite rolls the latter back with its journal.
    is_blank = not head or (not head.strip(b"\0") and os.path.exists(_journal_path(path)))
    if is_blank and may_begin:
        _refuse_journal(path, kind, is_left=True)
        return
    if not _is_ours(head):
        if may_begin:
            raise UsageError(
                f"{name} exists and is not a ledger of evalstream; name another file, or replace "
                "it with --force"
            )
        raise kind(f"{name}: not a ledger of evalstream; the file was not changed")
    refuse_version(int.from_bytes(head[60:64]), name, kind)
    _refuse_journal(path, kind, is_left=True)


def _refuse_companions(path: str, kind: type[EvalstreamError]) -> None:
    """Refuse a ledger beside files of another journal mode than ours. Raises `kind`."""
    for companion in ("-wal", "-shm"):
        if os.path.lexists(os.path.realpath(path) + companion):
            raise kind(
                f"{printable(path)}{companion}: no file of a ledger, and SQLite would read and "
                "delete it; name another ledger, or remove the file"
            )


def _journal_path(path: str) -> str:
    return f"{os.path.realpath(path)}-journal"


def _refuse_journal(path: str, kind: type[EvalstreamError], *, is_left: bool = False) -> None:
    """Refuse to create a ledger next to a journal, which SQLite would delete. Raises `kind`.

    With `is_left` the journal may be one that SQLite left next to an incomplete ledger.
    """
    journal = _journal_path(path)
    try:
        head = _head(journal) if stat.S_ISREG(os.stat(journal).st_mode) else b"no file"
    except FileNotFoundError:
        # Another process may have removed its journal just now, as each of its commits does.
        if not os.path.islink(journal):
            return
        head = b"no file"
    except OSError:
        head = b"not readable"
    # SQLite writes the beginning of a journal last, over twelve zero bytes.
    is_sqlites = head.startswith(_JOURNAL_MAGIC) or not head[:12].strip(b"\0")
    # Another process may have created the ledger just now.
    has_ledger = is_left or os.path.exists(path)
    if head and not (has_ledger and is_sqlites):
        raise kind(
            f"{printable(journal)}: this journal has no ledger, and using the ledger would "
            "delete it; choose another ledger, or remove the journal"
        )
    if _names_another_journal(journal):
        raise kind(
            f"{printable(journal)}: this journal names another file, which SQLite would delete; "
            "choose another ledger, or remove the journal"
        )


def _names_another_journal(journal: str) -> bool:
    """Tell whether a journal ends with the name of another one, as those of several databases do.

    Evalstream writes none. SQLite reads the file of that name, and deletes it.
    """
    try:
        with open(journal, "rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - len(_JOURNAL_MAGIC)))
            return file.read() == _JOURNAL_MAGIC and file.tell() > len(_JOURNAL_MAGIC)
    except OSError:
        # Another process has just removed its journal; SQLite reports any other reason.
        return False


def _is_ours(head: bytes) -> bool:
    is_marked = int.from_bytes(head[68:72]) == APPLICATION_ID and len(head) == _HEADER_BYTES
    return head.startswith(_MAGIC) and is_marked


def remove_other_file(path: str) -> None:
    """Remove a file that is not a ledger, with its journal if it has one. Raises CannotWrite."""
    try:
        head = _head(path)
        if head and not _is_ours(head):
            _refuse_companions(path, CannotWrite)
            journal = _journal_path(path)
            has_journal = _head(journal).startswith(_JOURNAL_MAGIC)
            if not has_journal:
                _refuse_journal(path, CannotWrite)
            os.unlink(os.path.realpath(path))
            if has_journal:
                os.unlink(journal)
    except (OSError, ValueError) as error:
        reason = describe_error(error)
        raise CannotWrite(f"{printable(path)}: cannot replace the file: {reason}") from error


def _head(path: str) -> bytes:
    """Return the first bytes of a regular file, empty where it does not exist."""
    if not os.path.isfile(path):
        return b""
    with open(path, "rb") as file:
        return file.read(_HEADER_BYTES)


def refuse_version(version: int, name: str, kind: type[EvalstreamError]) -> None:
    """Refuse a ledger of another version. Raises `kind`."""
    if version != FORMAT_VERSION:
        age = "a newer" if version > FORMAT_VERSION else "an older"
        raise kind(
            f"{name}: this ledger was written by {age} version of evalstream; create another one"
        )

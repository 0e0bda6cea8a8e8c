"""What a ledger remembers of a store: digests by the mark of their host, and accepted contents."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Final, TypeVar

from evalstream.batch.ledger import database
from evalstream.io.remote import is_remote, redact_url
from evalstream.model.errors import CannotWrite
from evalstream.store.files import StoreFiles
from evalstream.store.object_table import ObjectTable, pack_uuid, unpack_uuid

_AT_ONCE: Final = 20_000

_FIND: Final = "SELECT sha256 FROM object WHERE key = ?"
_RECORD: Final = "INSERT OR REPLACE INTO object VALUES (?, ?)"
_ACCEPTED: Final = (
    "SELECT uuid, sha256 FROM accepted WHERE store = ? AND uuid > ? ORDER BY uuid LIMIT ?"
)
_ACCEPT: Final = "INSERT OR REPLACE INTO accepted VALUES (?, ?, ?)"
_CORE: Final = "SELECT core FROM store WHERE store = ?"
_SET_CORE: Final = "INSERT OR REPLACE INTO store VALUES (?, ?)"

_Returned = TypeVar("_Returned")


class StoreMemory:
    """Tables in the file of a ledger, which checks may use as well.

    A digest is remembered by the root, the path and the mark of its host, so that no mark of
    another host counts. Raises CannotWrite, and UsageError for another file.
    """

    def __init__(self, path: str, files: StoreFiles, *, overwrite: bool = False) -> None:
        self._path, self._files = path, files
        root = redact_url(files.root) if is_remote(files.root) else os.path.realpath(files.root)
        self._store = hashlib.sha256(root.encode(errors="surrogateescape")).digest()
        self._new: list[tuple[bytes, bytes]] = []
        self._connection = database.open_for_writing(path, overwrite=overwrite)
        for statement in database.CREATE_STORES:
            self._rows(statement)

    def close(self) -> None:
        """Write what is new, and close the file."""
        self._write()
        self._connection.close()

    def find(self, path: str) -> str | None:
        """Return the digest of a file that was read before and has not changed, or None."""
        key = self._key(path)
        if key is None:
            return None
        found = self._rows(_FIND, key)
        return bytes(found[0][0]).hex() if found else None

    def record(self, path: str, sha256: str) -> None:
        """Remember the digest of a file that was read."""
        key = self._key(path)
        if key is not None:
            self._new.append((key, bytes.fromhex(sha256)))
        if len(self._new) >= _AT_ONCE:
            self._write()

    @property
    def core(self) -> str | None:
        """The digest of the manifest that was accepted last, None for none."""
        found = self._rows(_CORE, self._store)
        return str(found[0][0]) if found else None

    def accepted(self, table: int) -> Iterator[tuple[str, str]]:
        """Iterate over UUIDs and digests that were accepted, of aggregates (0) or rows (1)."""
        last = b""
        while page := self._rows(_ACCEPTED, self._of(table), last, _AT_ONCE):
            for key, sha256 in page:
                yield unpack_uuid(bytes(key)), bytes(sha256).hex()
            last = page[-1][0]

    def accept(self, core: str, tables: Iterable[ObjectTable]) -> None:
        """Remember the contents of all objects, as a check of the store passed."""
        for number, table in enumerate(tables):
            store = self._of(number)
            rows = (
                (store, pack_uuid(uuid), bytes.fromhex(one.content.sha256)) for uuid, one in table
            )
            while some := list(islice(rows, _AT_ONCE)):
                self._change(_ACCEPT, some)
        self._change(_SET_CORE, [(self._store, core)])

    def _of(self, table: int) -> bytes:
        return self._store + bytes((table,))

    def _key(self, path: str) -> bytes | None:
        mark = self._files.mark(path)
        if mark is None:
            return None
        text = f"{path}\0{mark}".encode(errors="surrogateescape")
        return hashlib.sha256(self._store + text).digest()

    def _write(self) -> None:
        some, self._new = self._new, []
        self._change(_RECORD, some)

    def _rows(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        return self._run(lambda: self._connection.execute(statement, values).fetchall())

    def _change(self, statement: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """Run a statement with each of some values, all of them or none."""
        translate = database.translate_sqlite_errors(self._path, CannotWrite)
        with translate, database.exclusive(self._connection):
            self._connection.executemany(statement, rows)

    def _run(self, call: Callable[[], _Returned]) -> _Returned:
        with database.translate_sqlite_errors(self._path, CannotWrite):
            return database.retry_while_locked(call)

"""The memory of a store in a ledger: digests by the mark of their host, and accepted contents."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import islice
from typing import Any, Final

from evalstream.batch.ledger import database
from evalstream.io.names import is_remote, redact_url
from evalstream.model.errors import CannotWrite
from evalstream.store.files import StoreFiles
from evalstream.store.layout import RECORD, SAMPLES
from evalstream.store.object_table import ObjectTable, pack_uuid, unpack_uuid

_AT_ONCE: Final = 20_000

_FIND: Final = "SELECT sha256 FROM object WHERE key = ?"
_RECORD: Final = "INSERT OR REPLACE INTO object VALUES (?, ?)"
_ACCEPTED: Final = (
    "SELECT uuid, sha256 FROM accepted WHERE store = ? AND uuid > ? ORDER BY uuid LIMIT ?"
)
_ACCEPT: Final = "INSERT OR REPLACE INTO accepted VALUES (?, ?, ?)"


class StoreMemory:
    """Tables in the file of a ledger, which checks may use as well.

    A digest is remembered by the root, the path and the mark of its host, so that no mark of
    another host counts. Raises CannotWrite, and UsageError for another file.
    """

    def __init__(self, path: str, files: StoreFiles, *, overwrite: bool = False) -> None:
        self._path = path
        root = redact_url(files.root) if is_remote(files.root) else os.path.realpath(files.root)
        self._store = hashlib.sha256(root.encode(errors="surrogateescape")).digest()
        self._new: list[tuple[bytes, bytes]] = []
        tables = database.CREATE_STORES
        self._connection = database.open_for_writing(path, overwrite=overwrite, tables=tables)

    def close(self) -> None:
        """Write what is new, and close the file."""
        with closing(self._connection):
            self._write()

    def find(self, path: str, mark: str) -> str | None:
        """Return the digest of a file that was read before under this mark of its host, or None."""
        found = self._rows(_FIND, self._key(path, mark))
        return bytes(found[0][0]).hex() if found else None

    def record(self, path: str, mark: str, sha256: str) -> None:
        """Remember the digest of a file that was read, and had the mark before and after it."""
        self._new.append((self._key(path, mark), bytes.fromhex(sha256)))
        if len(self._new) >= _AT_ONCE:
            self._write()

    def accepted(self, ending: str) -> Iterator[tuple[str, str]]:
        """Iterate over the UUIDs and digests of the files of an ending that were accepted."""
        last = b""
        while page := self._rows(_ACCEPTED, self._of(ending), last, _AT_ONCE):
            for key, sha256 in page:
                yield unpack_uuid(bytes(key)), bytes(sha256).hex()
            last = page[-1][0]

    def accept(self, table: ObjectTable) -> None:
        """Remember the contents of all objects, as a check of the store passed."""
        for ending in (RECORD, SAMPLES):
            store = self._of(ending)
            rows = (
                (store, pack_uuid(uuid), bytes.fromhex(content.sha256))
                for uuid, one in table
                if (content := one.content(ending)) is not None
            )
            while some := list(islice(rows, _AT_ONCE)):
                self._change(_ACCEPT, some)

    def _of(self, ending: str) -> bytes:
        return self._store + bytes((ending == SAMPLES,))

    def _key(self, path: str, mark: str) -> bytes:
        text = f"{path}\0{mark}".encode(errors="surrogateescape")
        return hashlib.sha256(self._store + text).digest()

    def _write(self) -> None:
        some, self._new = self._new, []
        self._change(_RECORD, some)

    def _rows(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        with database.translate_sqlite_errors(self._path, CannotWrite):
            return database.retry_while_locked(
                lambda: self._connection.execute(statement, values).fetchall()
            )

    def _change(self, statement: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """Run a statement with each of some values, all of them or none."""
        translate = database.translate_sqlite_errors(self._path, CannotWrite)
        with translate, database.exclusive(self._connection):
            self._connection.executemany(statement, rows)

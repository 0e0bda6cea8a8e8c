"""The paths in data/ that the entries of a store give for its objects."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress

from evalstream.io.spill_table import SpillTable, decode_name, encode_name
from evalstream.model.errors import CannotCheck
from evalstream.store.files import open_store, read_small
from evalstream.store.layout import ENTRIES, LATEST, MANIFESTS, split_object
from evalstream.store.snapshot import Entries, parse_manifest


class LegacyPaths:
    """Finds the path of an object in the latest entries, else in those of older snapshots.

    They are read when the first object is looked up, and kept on disk.
    """

    def __init__(self, root: str) -> None:
        self._files = open_store(root or os.curdir)
        self._table = SpillTable("CREATE TABLE entry (uuid TEXT PRIMARY KEY, path BLOB)")
        self._snapshots = self._read_snapshots()

    def find(self, below: str) -> str | None:
        """Return the path of an object by its path below flat/objects/, None if no entry has it."""
        named = split_object(f"flat/objects/{below}")
        while named is not None:
            found = self._table.rows("SELECT path FROM entry WHERE uuid = ?", named[0])
            if found:
                return decode_name(found[0][0])
            if not next(self._snapshots, False):
                return None
        return None

    def _read_snapshots(self) -> Iterator[bool]:
        """Read the snapshots one by one, the latest first, as far as they are readable."""
        latest = ""
        with suppress(OSError, ValueError):
            latest = f"{parse_manifest(read_small(self._files, LATEST)).folder}/{ENTRIES}"
            yield self._read(latest)
        with suppress(OSError, CannotCheck):
            for page in open_store(self._files.join(MANIFESTS)).pages():
                for one in page:
                    path = MANIFESTS + one.path
                    if path.endswith(f"/{ENTRIES}") and path != latest:
                        yield self._read(path)

    def _read(self, path: str) -> bool:
        """Add the entries of a snapshot whose UUIDs are not there yet."""
        with suppress(OSError, CannotCheck):
            entries = (
                (one.uuid, encode_name(one.legacy_path)) for _, one in Entries(self._files, path)
            )
            self._table.change("INSERT OR IGNORE INTO entry VALUES (?, ?)", entries)
        return True

    def close(self) -> None:
        """Delete the table."""
        self._table.close()

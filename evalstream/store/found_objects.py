"""Objects of a public store among the runs of a check: judged by the paths that entries give."""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterable, Iterator
from contextlib import suppress

from evalstream.discovery.unrecognised import TWIN, Leftovers
from evalstream.io.names import is_remote
from evalstream.io.spill_table import SpillTable, decode_name, encode_name
from evalstream.model.data_class import NamedTuple
from evalstream.model.errors import CannotCheck
from evalstream.model.finding import SpilledList
from evalstream.model.run import NoInput, Run
from evalstream.store.files import open_store, read_small
from evalstream.store.layout import DATA, ENTRIES, LATEST, MANIFESTS, OBJECTS, split_object
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
        named = split_object(OBJECTS + below)
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


class _FoundObject(NamedTuple):
    rows: str | None
    aggregate: str
    missing: str | None
    size: int | None
    mark: str | None


def judge_objects(found: Iterable[Run | NoInput], seen: array[int]) -> Iterator[Run | NoInput]:
    """Pass runs on; objects come last, and only those whose file in data/ is not among the runs.

    The others are counted in a note. `seen` has the hashes of the
    absolute paths of earlier aggregates in data/.
    """
    held = SpilledList(_FoundObject)
    for one in found:
        path = one.aggregate if isinstance(one, Run) else None
        is_object = path is not None and "objects/" in path and OBJECTS in _identify(path)
        if isinstance(one, Run) and path is not None and is_object:
            held.append(_FoundObject(one.rows, path, one.missing, one.size, one.mark))
            continue
        if path is not None and DATA in path:
            seen.append(hash(_identify(path)))
        yield one
    yield from _pass_objects(held, set(seen))


def _pass_objects(held: Iterable[_FoundObject], seen: set[int]) -> Iterator[Run | NoInput]:
    """Pass on the objects whose file in data/ was not seen, and a note about the others."""
    stores: dict[str, LegacyPaths] = {}
    left: dict[str, Leftovers] = {}
    for one in held:
        root, _, below = _identify(one.aggregate).rpartition(OBJECTS)
        if root not in stores:
            stores[root] = LegacyPaths(root)
        legacy = stores[root].find(below)
        if legacy is not None and hash(_identify(root + legacy)) in seen:
            left.setdefault(root, Leftovers()).add(TWIN, OBJECTS + below)
            continue
        yield Run(*one[:3], size=one.size, mark=one.mark, legacy_path=legacy)
    for root, others in left.items():
        note = others.of(root)
        if note is not None:
            yield note
    for store in stores.values():
        store.close()


def _identify(path: str) -> str:
    return path if is_remote(path) else os.path.abspath(path)

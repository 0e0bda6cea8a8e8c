"""Compare two snapshots: which records were added, removed, moved, written anew or changed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from evalstream.model.data_class import NamedTuple
from evalstream.store.contents import is_same_json
from evalstream.store.files import StoreFiles, hash_file, open_store
from evalstream.store.layout import LATEST, SAMPLES, Entry, object_path
from evalstream.store.snapshot import Snapshot, read_snapshot

CHANGED: Final = "changed"
CHANGES: Final = (
    *("added", "removed", "moved", "reserialised", CHANGED),
    *("companion-attached", "companion-removed"),
)
"""What may happen to a record between two snapshots; one may be moved and changed."""


class StoreChange(NamedTuple):
    """A change of one record, with the path that its entry gives."""

    change: str
    object_uuid: str
    collection: str
    legacy_path: str


class _Side(NamedTuple):
    """A snapshot, and the store around it if its manifest is in one."""

    snapshot: Snapshot
    files: StoreFiles | None


def diff_snapshots(old: str, new: str) -> Iterator[StoreChange]:
    """Iterate over the changes from one manifest or store to another, in the order of paths.

    What was removed comes last. Raises CannotCheck where one of them cannot be followed.
    """
    before, after = _open(old), _open(new)
    for entry in after.snapshot.entries:
        for change in _changes(entry, before, after):
            yield StoreChange(change, entry.uuid, entry.collection, entry.legacy_path)
    for entry in before.snapshot.entries:
        if after.snapshot.table.find(entry.uuid) is None:
            yield StoreChange("removed", entry.uuid, entry.collection, entry.legacy_path)


def _open(path: str) -> _Side:
    manifest = path if path.endswith(".json") else f"{path.rstrip('/')}/{LATEST}"
    root, flat, _ = manifest.rpartition("flat/")
    return _Side(read_snapshot(manifest), open_store(root or ".") if flat else None)


def _changes(entry: Entry, before: _Side, after: _Side) -> Iterator[str]:
    known = before.snapshot.table.find(entry.uuid)
    if known is None:
        yield "added"
        return
    if not known.has_path(entry.legacy_path):
        yield "moved"
    changed = []
    for ending, content in entry.files:
        earlier = known.content(ending)
        if earlier is not None and earlier != content:
            path = object_path(entry.uuid, ending)
            digests = earlier.sha256, content.sha256
            changed.append(not _is_rewritten(before.files, after.files, path, digests))
    if changed:
        yield CHANGED if any(changed) else "reserialised"
    had_rows = known.content(SAMPLES) is not None
    if had_rows != (entry.companion is not None):
        yield "companion-removed" if had_rows else "companion-attached"


def _is_rewritten(
    old: StoreFiles | None, new: StoreFiles | None, path: str, digests: tuple[str, str]
) -> bool:
    """Tell whether both stores have the object as their entries say, with equal JSON."""
    if old is None or new is None:
        return False
    try:
        are_there = (hash_file(old, path), hash_file(new, path)) == digests
        return are_there and is_same_json(old, path, new, path)
    except OSError:
        return False

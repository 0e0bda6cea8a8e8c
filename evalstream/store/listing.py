"""The listing of a store: which snapshots, indexes, objects and files of data/ are there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from evalstream.io.remote import Listed
from evalstream.model.data_class import NamedTuple
from evalstream.model.finding import SpilledList
from evalstream.store import layout
from evalstream.store.files import NOWHERE, StoreFiles
from evalstream.store.findings import StoreFindings
from evalstream.store.object_table import CHOSEN, CURRENT, IN_DATA, LISTED, SEEN, ObjectTable

_NOT_LOOKED_AT: Final = ("README.md",)

Drift = Callable[[str, str], None]
"""Takes a file of data/ that is not as an entry lists it, and a message."""


class ListedContent(NamedTuple):
    """A chosen file that is there, and the content that it should have.

    `object` is the object whose bytes a file of data/ should have, and `version` the
    schema version that the latest entry gives an aggregate.
    """

    path: str
    content: layout.Content
    object: str | None
    version: str | None


class Listing:
    """The files of a store that matter here: objects and files of data/ are kept on disk."""

    def __init__(self, files: StoreFiles) -> None:
        """List the files. Raises OSError, CannotCheck."""
        self.snapshots: dict[str, set[str]] = {}
        self.indexes: set[str] = set()
        self.has_latest = self.has_data = False
        self._others = SpilledList[Listed](Listed)
        for page in files.pages():
            for one in page:
                self._add(one)

    def _add(self, one: Listed) -> None:
        path = one.path
        if path.startswith((layout.OBJECTS, layout.DATA)):
            self.has_data = self.has_data or path.startswith(layout.DATA)
            self._others.append(one)
        elif path.startswith(layout.MANIFESTS):
            folder, _, name = path.rpartition("/")
            if name in (layout.MANIFEST, layout.ENTRIES):
                self.snapshots.setdefault(folder, set()).add(name)
        elif path == layout.BY_PATH or path.startswith(layout.COLLECTIONS):
            self.indexes.add(path)
        self.has_latest = self.has_latest or path == layout.LATEST

    def join(
        self, table: ObjectTable, findings: StoreFindings, drift: Drift
    ) -> Iterator[ListedContent]:
        """Report files that no snapshot lists, flag those in the table, and yield the chosen."""
        for one in self._others:
            if one.path.startswith(layout.OBJECTS):
                found = _join_object(one, table, findings)
            elif one.path.rpartition("/")[2] not in _NOT_LOOKED_AT and one.size != NOWHERE:
                found = _join_data(one.path, table, drift)
            else:
                continue
            if found is not None:
                yield found


def _join_object(one: Listed, table: ObjectTable, findings: StoreFindings) -> ListedContent | None:
    named = layout.split_object(one.path)
    record = table.find(named[0]) if named else None
    content = record.content(named[1]) if named and record else None
    if named is None or record is None or content is None:
        findings.report("ES925", one.path, "no kept snapshot lists this object")
        return None
    if one.size == NOWHERE:
        return None
    record.flag(named[1], SEEN)
    if one.size is not None and one.size != content.size:
        message = "the object has another size than its entry"
        findings.report("ES924", one.path, message, expected=content.size, found=one.size)
        return None  # it need not be read
    if not record.flags(layout.RECORD) & CHOSEN:
        return None
    is_versioned = named[1] == layout.RECORD and record.flags(layout.RECORD) & CURRENT
    version = table.version(record) if is_versioned else None
    return ListedContent(one.path, content, None, version)


def _join_data(path: str, table: ObjectTable, drift: Drift) -> ListedContent | None:
    named = layout.split_data(path)
    if named is None:
        drift(path, "no entry lists this file, and its name is not that of a record")
        return None
    uuid, ending = named
    record = table.find(uuid)
    if record is None or not record.flags(layout.RECORD) & CURRENT:
        drift(path, "no entry lists this file")
        return None
    if not record.has_path(path.removesuffix(ending) + layout.RECORD):
        drift(path, "no entry lists this file: the entry of its UUID has another path")
        return None
    content = record.content(ending)
    if content is None or not record.flags(ending) & CURRENT:
        drift(path, "the entry of the record has no rows: they were added under its old UUID")
        return None
    record.flag(ending, IN_DATA)
    if not record.flags(layout.RECORD) & CHOSEN:
        return None
    return ListedContent(path, content, layout.object_path(uuid, ending), None)


def find_missing(table: ObjectTable) -> Iterator[str]:
    """Iterate over the objects that snapshots list, and the listing does not have."""
    for ending in (layout.RECORD, layout.SAMPLES):
        if table.count(ending, LISTED, SEEN):
            for uuid, record in table:
                if record.flags(ending) & (LISTED | SEEN) == LISTED:
                    yield layout.object_path(uuid, ending)

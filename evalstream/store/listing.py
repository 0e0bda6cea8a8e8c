"""The listing of a store: which snapshots, indexes, objects and files of data/ are there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from evalstream.io.remote import Listed
from evalstream.model.data_class import NamedTuple
from evalstream.model.finding import SpilledList
from evalstream.store.files import NOWHERE, StoreFiles
from evalstream.store.findings import StoreFindings
from evalstream.store.layout import (
    BY_PATH,
    COLLECTIONS,
    DATA,
    LATEST,
    MANIFESTS,
    OBJECTS,
    RECORD,
    SAMPLES,
    split_data,
    split_object,
)
from evalstream.store.object_table import CURRENT, IN_DATA, SEEN, ObjectTable, mark_path

_NOT_LOOKED_AT: Final = ("README.md",)

Drift = Callable[[str, str], None]
"""Takes a file of data/ that is not as an entry lists it, and a message."""


class Tables(NamedTuple):
    """What the snapshots list: the aggregates, and the rows beside them."""

    aggregates: ObjectTable
    companions: ObjectTable

    def of(self, ending: str) -> ObjectTable:
        """Return the table of the files with an ending."""
        return self.aggregates if ending == RECORD else self.companions


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
        if path.startswith((OBJECTS, DATA)):
            self.has_data = self.has_data or path.startswith(DATA)
            self._others.append(one)
        elif path.startswith(MANIFESTS):
            folder, _, name = path.rpartition("/")
            self.snapshots.setdefault(folder, set()).add(name)
        elif path == BY_PATH or path.startswith(COLLECTIONS):
            self.indexes.add(path)
        self.has_latest = self.has_latest or path == LATEST

    def join(self, tables: Tables, findings: StoreFindings, drift: Drift) -> None:
        """Find what no snapshot lists, and flag in the tables what is there."""
        for one in self._others:
            if one.path.startswith(OBJECTS):
                _join_object(one, tables, findings)
            elif one.path.rpartition("/")[2] not in _NOT_LOOKED_AT and one.size != NOWHERE:
                _join_data(one.path, tables, drift)


def _join_object(one: Listed, tables: Tables, findings: StoreFindings) -> None:
    named = split_object(one.path)
    table = tables.of(named[1]) if named else None
    record = table.find(named[0]) if named and table else None
    if named is None or table is None or record is None:
        findings.report("ES925", one.path, "no kept snapshot lists this object")
        return
    if one.size == NOWHERE:
        return
    table.flag(named[0], SEEN)
    if one.size is not None and one.size != record.content.size:
        message = "the object has another size than its entry"
        details = {"expected": record.content.size, "found": one.size}
        findings.report("ES924", one.path, message, **details)


def _join_data(path: str, tables: Tables, drift: Drift) -> None:
    named = split_data(path)
    if named is None:
        drift(path, "no entry lists this file, and its name is not that of a record")
        return
    uuid, ending = named
    aggregate = tables.aggregates.find(uuid)
    legacy = path.removesuffix(ending) + RECORD
    if aggregate is None or not aggregate.flags & CURRENT:
        drift(path, "no entry lists this file")
    elif aggregate.mark != mark_path(legacy):
        drift(path, "no entry lists this file: the entry of its UUID has another path")
    elif ending == SAMPLES and not _is_current(tables.companions, uuid):
        drift(path, "the entry of the record has no rows: they were added under its old UUID")
    else:
        tables.of(ending).flag(uuid, IN_DATA)


def _is_current(table: ObjectTable, uuid: str) -> bool:
    record = table.find(uuid)
    return record is not None and bool(record.flags & CURRENT)

"""Which entries of a store are read (by collection, snapshot, sample or shard), or accepted."""

from __future__ import annotations

import hashlib
import heapq
import os
from collections.abc import Iterator, Mapping
from typing import Final

from evalstream.batch.shards import Shard
from evalstream.io.names import printable
from evalstream.model.data_class import NamedTuple
from evalstream.model.errors import CannotCheck
from evalstream.store.files import open_store, read_small
from evalstream.store.layout import ENTRIES, LATEST, RECORD, Entry, split_data
from evalstream.store.object_table import CHOSEN, LISTED, ObjectTable, pack_uuid
from evalstream.store.snapshot import Entries, parse_manifest

LEVELS: Final = ("manifest", "bytes", "rows")


class StoreRequest(NamedTuple):
    """How a store is verified: how deep, and which of its objects are read.

    `since` is a manifest: objects that its snapshot lists with the same content are not read.
    `sample` objects are chosen by `seed`. `acknowledged` are paths of data/ that may differ.
    """

    level: str = "bytes"
    since: str | None = None
    collections: tuple[str, ...] = ()
    sample: int | None = None
    seed: str = "0"
    acknowledged: frozenset[str] = frozenset()
    trusts_host: bool = False
    shard: Shard | None = None

    @property
    def is_whole(self) -> bool:
        """Whether all objects are read."""
        limits = (self.since, self.sample, self.shard)
        return self.level != "manifest" and not self.collections and limits == (None, None, None)

    def describe(self) -> str:
        """Say which objects are read; "" for all."""
        shard = self.shard
        limits = [
            f"of {', '.join(self.collections)}" if self.collections else "",
            f"not in {self.since}" if self.since else "",
            f"shard {shard.number} of {shard.of}" if shard else "",
            "" if self.sample is None else f"a sample of {self.sample:,}, seed {self.seed}",
        ]
        return ", ".join(filter(None, limits))


class Choice:
    """Tells of each entry whether its files are read."""

    def __init__(self, request: StoreRequest) -> None:
        """Read the snapshot of `since`. Raises CannotCheck."""
        self._request = request
        self._since = read_snapshot(request.since).table if request.since is not None else None

    def takes(self, entry: Entry) -> bool:
        """Tell whether an entry is read, but for `draw`."""
        collections, since = self._request.collections, self._since
        if self._request.level == "manifest":
            return False
        if collections and entry.collection not in collections:
            return False
        if since is not None and is_listed(entry, since):
            return False
        return self._request.sample is not None or self._is_in_shard(entry.uuid)

    def draw(self, table: ObjectTable) -> None:
        """Leave out what is not in the sample, if one is asked for; shards share its records."""
        if self._request.sample is None:
            return
        taken = (uuid for uuid, one in table if one.flags(RECORD) & CHOSEN)
        sample = set(heapq.nsmallest(self._request.sample, taken, key=self._lot))
        for uuid, one in table:
            if uuid not in sample or not self._is_in_shard(uuid):
                one.leave_out()

    def _is_in_shard(self, uuid: str) -> bool:
        shard = self._request.shard
        return shard is None or int.from_bytes(pack_uuid(uuid)[:8]) % shard.of == shard.number - 1

    def _lot(self, uuid: str) -> bytes:
        return hashlib.sha256(f"{self._request.seed}/{uuid}".encode()).digest()


def is_listed(entry: Entry, table: ObjectTable) -> bool:
    """Tell whether a snapshot lists all files of an entry with the same content."""
    known = table.find(entry.uuid)
    return known is not None and all(known.content(one) == content for one, content in entry.files)


class Snapshot(NamedTuple):
    """A snapshot that matches its digests: what its manifest is named by, and its entries."""

    core: str
    table: ObjectTable
    entries: Iterator[Entry]


def read_snapshot(manifest: str) -> Snapshot:
    """Return the snapshot of one manifest, by its path or URL.

    Raises CannotCheck where the manifest cannot be followed, or the entries are not its own.
    """
    folder, _, name = manifest.rpartition("/")
    files = open_store(folder or os.curdir)
    try:
        known = parse_manifest(read_small(files, name))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise CannotCheck(
            f"{printable(manifest)} cannot be read as a manifest: {reason}"
        ) from error
    path = ENTRIES
    if name == "latest_manifest.json":
        path = f"manifests/sha256_{known.core}/{path}"
    entries, table = Entries(files, path), ObjectTable()
    for _, entry in entries:
        table.add(entry, LISTED)
    if known.faults or any(entries.digest_faults(known)):
        raise CannotCheck(
            f"{printable(manifest)}: the manifest or its entries do not match their digests"
        )
    return Snapshot(known.core, table, (entry for _, entry in Entries(files, path)))


class AcceptedRuns:
    """The records that the latest snapshot of a store lists.

    Raises CannotCheck for a store whose manifest or entries do not match their digests.
    """

    def __init__(self, root: str) -> None:
        snapshot = read_snapshot(f"{root.rstrip('/')}/{LATEST}")
        self._core, self._table = snapshot.core, snapshot.table

    def find_core(self, digests: Mapping[str, str]) -> str | None:
        """Return the digest of the manifest if it lists all files of a run, as those of one record.

        `digests` has their SHA-256 by path.
        """
        uuids = set()
        for path, digest in digests.items():
            uuid, ending = split_data(path) or ("", "")
            record = self._table.find(uuid) if uuid else None
            content = record.content(ending) if record is not None else None
            if content is None or content.sha256 != digest:
                return None
            uuids.add(uuid)
        return self._core if len(uuids) == 1 else None

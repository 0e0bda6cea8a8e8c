"""Which runs a store has accepted: its latest snapshot lists their files by UUID and SHA-256."""

from __future__ import annotations

from collections.abc import Mapping

from evalstream.store.choice import read_snapshot
from evalstream.store.layout import LATEST, split_data


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

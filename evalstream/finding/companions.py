"""The aggregates that belong to rows: by their name, else the one beside them that says so."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Final

from evalstream.finding.keeping import Keeping, restored, stored
from evalstream.finding.looking import AGGREGATE, Look
from evalstream.runs import aggregate_candidates

_TABLES: Final = """
    CREATE TABLE declared (
        folder BLOB, name BLOB, path BLOB, PRIMARY KEY (folder, name, path)
    ) WITHOUT ROWID;
    CREATE TABLE folder (path BLOB PRIMARY KEY) WITHOUT ROWID;
"""


class Companions:
    """Finds the aggregates of rows; what the aggregates of a folder declare is read once.

    `look` looks into a JSON file, None where there is none; `beside` lists what a folder holds
    that may be an aggregate.
    """

    def __init__(
        self, look: Callable[[str], Look | None], beside: Callable[[str], Iterable[str]]
    ) -> None:
        self._look, self._beside = look, beside
        self._kept = Keeping(_TABLES)

    def aggregate_of(self, rows: str) -> str | None:
        """Return the aggregate of a rows file; two that declare it beside it settle nothing."""
        for candidate in aggregate_candidates(rows):
            look = self._look(candidate)
            if look is not None and look.kind == AGGREGATE:
                return candidate
        folder, name = os.path.split(rows)
        if self._kept.change("INSERT OR IGNORE INTO folder VALUES (?)", [(stored(folder),)]):
            self._read(folder)
        found = self._kept.rows(
            "SELECT path FROM declared WHERE folder = ? AND name = ? LIMIT 2",
            stored(folder),
            stored(name),
        )
        return restored(found[0][0]) if len(found) == 1 else None

    def close(self) -> None:
        """Forget everything."""
        self._kept.close()

    def _read(self, folder: str) -> None:
        for path in self._beside(folder):
            look = self._look(path)
            if look is not None and look.declared:
                names = folder, os.path.basename(look.declared), path
                self._kept.change(
                    "INSERT OR IGNORE INTO declared VALUES (?, ?, ?)",
                    [tuple(map(stored, names))],
                )

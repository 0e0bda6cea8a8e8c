"""Find the aggregate of rows: by its name, else by the rows file that it declares."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Final

from evalstream.io.file_names import SAMPLES, aggregate_candidates, without_packing
from evalstream.io.spill_table import SpillTable, decode_name, encode_name

_TABLES: Final = """
    CREATE TABLE declared (
        folder BLOB, name BLOB, path BLOB, PRIMARY KEY (folder, name, path)
    ) WITHOUT ROWID;
    CREATE TABLE folder (path BLOB PRIMARY KEY) WITHOUT ROWID;
"""


class AggregateFinder:
    """Finds the aggregates of rows; reads once what the aggregates of a folder declare.

    `is_aggregate` tells whether a path is an aggregate, and `may_be` whether a path that has the
    name of the rows may be one. `declared_in` lists the aggregates of a folder that declare rows,
    each with the path that it declares.
    """

    def __init__(
        self,
        is_aggregate: Callable[[str], bool],
        declared_in: Callable[[str], Iterable[tuple[str, str]]],
        may_be: Callable[[str], bool] | None = None,
    ) -> None:
        self._is_aggregate, self._declared_in = is_aggregate, declared_in
        self._may_be = may_be or is_aggregate
        self._kept = SpillTable(_TABLES)

    def find_aggregate(self, rows: str) -> str | None:
        """Return the aggregate of a rows file; None if two aggregates in its folder declare it."""
        is_samples = os.path.splitext(without_packing(rows))[0].endswith(SAMPLES)
        for number, candidate in enumerate(aggregate_candidates(rows)):
            is_named = is_samples and number == 0
            if (self._may_be if is_named else self._is_aggregate)(candidate):
                return candidate
        declaring = self._declaring(rows)
        return declaring[0] if len(declaring) == 1 else None

    def rivals_of(self, rows: str) -> tuple[str, ...]:
        """Return two aggregates that declare a rows file without an aggregate, or none."""
        declaring = self._declaring(rows)
        return declaring if len(declaring) > 1 else ()

    def close(self) -> None:
        """Forget everything."""
        self._kept.close()

    def _declaring(self, rows: str) -> tuple[str, ...]:
        """Return at most two aggregates in the folder of a rows file that declare it."""
        folder, name = os.path.split(rows)
        if self._kept.change("INSERT OR IGNORE INTO folder VALUES (?)", [(encode_name(folder),)]):
            self._read(folder)
        found = self._kept.rows(
            "SELECT path FROM declared WHERE folder = ? AND name = ? LIMIT 2",
            encode_name(folder),
            encode_name(name),
        )
        return tuple(decode_name(path) for (path,) in found)

    def _read(self, folder: str) -> None:
        for path, declared in self._declared_in(folder):
            names = folder, os.path.basename(declared), path
            self._kept.change(
                "INSERT OR IGNORE INTO declared VALUES (?, ?, ?)", [tuple(map(encode_name, names))]
            )

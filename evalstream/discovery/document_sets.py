"""The documents of formats without rows, gathered until all are known, and then paired."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final

from evalstream.formats.registry import NAMES, paired_format
from evalstream.io.spill_table import SpillTable, restored, stored
from evalstream.model.run import NoInput, Run

_TABLES: Final = """
    CREATE TABLE document (
        number INTEGER PRIMARY KEY, format TEXT, kind TEXT, path BLOB
    );
    CREATE INDEX by_format ON document (format, number);
"""


class Gathered:
    """Documents by format, on disk, in the order in which they were found."""

    def __init__(self) -> None:
        self._kept = SpillTable(_TABLES)

    def add(self, detail: str, path: str) -> None:
        """Take a document; `detail` is its format and kind, as a look tells them."""
        name, kind = detail.split(" ")
        self._kept.change(
            "INSERT INTO document (format, kind, path) VALUES (?, ?, ?)",
            [(name, kind, stored(path))],
        )

    def has(self, name: str) -> bool:
        """Tell whether a document of a format was taken."""
        found = self._kept.rows("SELECT 1 FROM document WHERE format = ? LIMIT 1", name)
        return bool(found)

    def runs(self, *, named: bool = False) -> Iterator[Run | NoInput]:
        """Pair the documents of each format by what they say.

        Where they were `named` in one call, what is left of a pair goes together although its
        ids differ, so that the check says so.
        """
        for name in NAMES:
            one = paired_format(name) if self.has(name) else None
            if one is not None:
                yield from one.pair(partial(self._documents, name), named=named)

    def close(self) -> None:
        """Forget everything."""
        self._kept.close()

    def _documents(self, name: str) -> Iterator[tuple[str, str]]:
        """Iterate over the kinds and paths of the documents of a format."""
        last = 0
        while found := self._kept.rows(
            "SELECT number, kind, path FROM document WHERE format = ? AND number > ? "
            "ORDER BY number LIMIT 500",
            name,
            last,
        ):
            for number, kind, path in found:
                last = number
                yield kind, restored(path)

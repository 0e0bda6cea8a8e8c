"""Collect the documents of formats without rows until all are known, and then pair them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from functools import partial
from typing import Final

from evalstream.formats.base import PairedFormat
from evalstream.formats.registry import NAMES, paired_format
from evalstream.io.spill_table import SpillTable, decode_name, encode_name
from evalstream.model.errors import internal_error
from evalstream.model.run import FaultyInput, NoInput, Run

_TABLES: Final = """
    CREATE TABLE document (
        number INTEGER PRIMARY KEY, format TEXT, kind TEXT, path BLOB
    );
    CREATE INDEX by_format ON document (format, number);
"""


class Gathered:
    """Documents by format, on disk, in the order in which they are found."""

    def __init__(self) -> None:
        self._kept = SpillTable(_TABLES)

    def add(self, detail: str, path: str) -> None:
        """Add a document; `detail` is its format and kind, as a peek returns them."""
        name, kind = detail.split(" ")
        self._kept.change(
            "INSERT INTO document (format, kind, path) VALUES (?, ?, ?)",
            [(name, kind, encode_name(path))],
        )

    def has(self, name: str) -> bool:
        """Tell whether a document of a format was taken."""
        found = self._kept.rows("SELECT 1 FROM document WHERE format = ? LIMIT 1", name)
        return bool(found)

    def runs(self, *, named: bool = False) -> Iterator[Run | NoInput]:
        """Pair the documents of each format by what they say.

        With `named` (the user named each document in one call), the documents that are left over
        are paired although their ids differ, so that the check reports the difference.
        """
        for name in NAMES:
            one = paired_format(name) if self.has(name) else None
            if one is None:
                continue
            try:
                yield from one.pair(partial(self._documents, name), named=named)
            except BaseException as error:  # noqa: BLE001 - whatever is wrong with one of the documents
                internal_error(error)
                yield from self._pair_without_faulty(one, named=named)

    def _pair_without_faulty(self, one: PairedFormat, *, named: bool) -> Iterator[Run | NoInput]:
        """Pair the documents of a format but those that cannot be paired even alone.

        Runs may come that came before.
        """
        faults: dict[str, str] = {}
        for document in self._documents(one.name):
            try:
                deque(one.pair(partial(iter, (document,)), named=named), maxlen=0)
            except BaseException as error:  # noqa: BLE001 - whatever is wrong with this document
                faults[document[1]] = str(internal_error(error))

        def sound() -> Iterator[tuple[str, str]]:
            return (each for each in self._documents(one.name) if each[1] not in faults)

        yield from (FaultyInput(path, reason, format=one.name) for path, reason in faults.items())
        try:
            yield from one.pair(sound, named=named)
        except BaseException as error:  # noqa: BLE001 - whatever is wrong with all of them together
            reason = str(internal_error(error))
            yield from (
                FaultyInput(path, reason, format=one.name) for _, path in self._documents(one.name)
            )

    def close(self) -> None:
        """Delete the table."""
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
                yield kind, decode_name(path)

"""Name the places where the rows that an aggregate declares may be: only inside the inputs.

An aggregate is untrusted input, so its `file_path` only chooses among places that are permitted
anyway. This module reads no disk and no store.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from evalstream.io import names as file_names
from evalstream.io.names import split_root
from evalstream.io.spill_table import SpillTable, decode_name, encode_name

DATA: Final = "data"
"""The `file_path` of a store starts at the parent of this folder."""


def is_outside(declared: str) -> bool:
    """Tell whether a declared path is absolute or climbs with `..`."""
    return declared.startswith("/") or os.pardir in declared.split("/")


def places(root: str, aggregate: str, declared: str) -> Iterator[str]:
    """Name the places below `root` at which declared rows may lie, the likeliest first.

    `root` is an absolute path or a URL. `aggregate` is the path of the aggregate below it, and the
    places are paths below it, too. They are the aggregate's folder, the folder above the nearest
    `data`, and the aggregate's folder with the last name of the declared path, compressed or not.
    """
    if "\0" in declared:
        return
    folder, name = os.path.dirname(aggregate), os.path.basename(declared)
    if not is_outside(declared):
        yield os.path.normpath(os.path.join(folder, declared))
        from_data = _from_data(root, folder, declared)
        if from_data is not None:
            yield from_data
    # The rows may be compressed although the aggregate declares them without the ending.
    for packed in ("", *file_names.PACKED_ENDINGS) if name else ():
        yield os.path.join(folder, name + packed)


def allowed_folder(path: str) -> str:
    """Return the folder in which the other half of a named file may be, as an absolute path.

    It is the folder above the nearest `data`, else the folder of the file. Files directly in the
    root of the disk belong to the machine: for `/data` the folder is `/data` itself.
    """
    own = os.path.dirname(os.path.abspath(path))
    parts = own.split("/")
    at = _last_data(parts)
    if at is None:
        return own
    return "/".join(parts[:at]) or "/".join(parts[: at + 1])


def _from_data(root: str, folder: str, declared: str) -> str | None:
    """Return the place of a path from the folder above `data`, or None if it is not below root.

    There the path chooses among many folders: it must name a data file and must not be hidden.
    """
    parts = [part for part in declared.split("/") if part not in ("", os.curdir)]
    if not file_names.ends_like_ours(declared) or any(part.startswith(".") for part in parts):
        return None
    above = _parts(split_root(root)[1])
    here = [*above, *_parts(folder)]
    at = _last_data(here)
    if at is None:
        return None
    place = [*here[:at], *parts]
    return "/".join(place[len(above) :]) if place[: len(above)] == above else None


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part]


def _last_data(parts: list[str]) -> int | None:
    return max((at for at, part in enumerate(parts) if part == DATA), default=None)


def missing_rows(declared: str | None) -> str | None:
    """Return a message that the declared rows were not found, or None if none are declared."""
    return declared and f"the rows file that it declares was not found: {declared}"


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
        is_samples = os.path.splitext(file_names.without_packing(rows))[0].endswith(
            file_names.SAMPLES
        )
        for number, candidate in enumerate(file_names.aggregate_candidates(rows)):
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

"""Find the other half of a named file: only at places that are permitted, inside the inputs.

An aggregate is untrusted input, so its `file_path` only chooses among places that are permitted
anyway.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache, partial
from typing import Final

from evalstream.discovery import peek
from evalstream.io import names as file_names
from evalstream.io.containment import FolderBoundary, OutsideFolder
from evalstream.io.names import split_path, split_root
from evalstream.io.spill_table import SpillTable, decode_name, encode_name
from evalstream.model.data_class import NamedTuple
from evalstream.model.run import Run

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


class PermittedRows(NamedTuple):
    """A permitted place where declared rows are, and what they are there, or what leads out."""

    place: str | None = None
    found: str | None = None
    leads_out: str | None = None


def find_rows(
    root: str, aggregate: str, declared: str | None, find: Callable[[str], str | None]
) -> PermittedRows:
    """Return the first place of declared rows where `find` finds them.

    `find` returns None where there are none, and raises OutsideFolder where a link leads out.
    """
    leads_out = declared if declared and is_outside(declared) else None
    for place in places(root, aggregate, declared) if declared else ():
        try:
            found = find(place)
        except OutsideFolder:
            leads_out = declared
            continue
        if found is not None:
            return PermittedRows(place, found)
    return PermittedRows(leads_out=leads_out)


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
    above = split_path(split_root(root)[1])
    here = [*above, *split_path(folder)]
    at = _last_data(here)
    if at is None:
        return None
    place = [*here[:at], *parts]
    return "/".join(place[len(above) :]) if place[: len(above)] == above else None


def _last_data(parts: list[str]) -> int | None:
    return max((at for at, part in enumerate(parts) if part == DATA), default=None)


OUT: Final = "the path of the rows leads out of the inputs and was not opened"


def without_rows(path: str, declared: str | None, leads_out: str | None) -> Run:
    """Return the run of an aggregate whose rows are not at a permitted place."""
    if leads_out is not None:
        return Run(None, path, f"{OUT}: {leads_out}", leads_out=leads_out)
    missing = declared and f"the rows file that it declares was not found: {declared}"
    return Run(None, path, missing)


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
        declaring = self.find_declaring(rows)
        return declaring[0] if len(declaring) == 1 else None

    def close(self) -> None:
        """Forget everything."""
        self._kept.close()

    def find_declaring(self, rows: str) -> tuple[str, ...]:
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


_REMEMBERED: Final = 1024
"""How many results are remembered: rows and their aggregate are often named in sequence."""


class _Near:
    """The files near a named file that may be looked at, by paths as the user named them."""

    def __init__(self, folder: str) -> None:
        self._folder, own = folder, os.path.abspath(folder or os.curdir)
        self.root = allowed_folder(os.path.join(own, "x"))
        self._inside = FolderBoundary(self.root)
        if not f"{os.path.realpath(own)}/".startswith(f"{self._inside.real.rstrip('/')}/"):
            # The user named a link: the file it points to has a root of its own.
            self.root, self._inside = own, FolderBoundary(own)
        self._own = own

    def below(self, name: str) -> str:
        """Return the path below the root of a file in the folder."""
        return os.path.relpath(os.path.join(self._own, name), self.root)

    def has_file(self, name: str) -> bool:
        """Tell whether a file is in the folder and at a permitted place."""
        return self._inside.has_file(self.below(name))

    def file_at(self, below: str) -> str | None:
        """Return the path of a file below the root, or None. Raises OutsideFolder."""
        if self._inside.file_at(below) is None:
            return None
        from_own = os.path.relpath(os.path.join(self.root, below), self._own)
        path = os.path.join(self._folder, from_own)
        return path if os.sep not in from_own else os.path.normpath(path)

    def names(self) -> Iterator[str]:
        """List the names in the folder, in any order; none if it cannot be listed."""
        try:
            with os.scandir(self._folder or os.curdir) as entries:
                yield from (entry.name for entry in entries)
        except OSError:
            return


def _peek_once(path: str) -> peek.AggregatePeek | None:
    """Peek into a file; a FAULTY one is paired like an aggregate, and its check decides."""
    return peek.peek_safely(partial(peek.peek_aggregate, path))


class Neighbourhood:
    """Finds rows by aggregates, and `aggregates` by rows, each beside or below the named file."""

    def __init__(self) -> None:
        self.look = lru_cache(maxsize=_REMEMBERED)(_peek_once)
        self._near = lru_cache(maxsize=_REMEMBERED)(_Near)
        self.aggregates = AggregateFinder(
            self._is_aggregate, self._declaring, self._may_be_aggregate
        )

    def find_run(self, aggregate: str, declared: str | None) -> Run:
        """Find the rows of an aggregate in its own folder and above the nearest `data`."""
        folder, name = os.path.split(aggregate)
        near = self._near(folder)
        declares = find_rows(near.root, near.below(name), declared, near.file_at)
        rows = declares.found or self._rows_named_like(aggregate)
        if rows:
            return Run(rows, aggregate)
        return without_rows(aggregate, declared, declares.leads_out)

    def has_samples(self, path: str) -> bool:
        """Tell whether rows lie beside a JSON file under its name and `_samples`."""
        rows = self._rows_named_like(path)
        return rows is not None and rows.startswith(
            f"{file_names.without_ending(path)}{file_names.SAMPLES}."
        )

    def _rows_named_like(self, aggregate: str) -> str | None:
        """Return the rows beside an aggregate that have its name, the nearest first."""
        folder = os.path.dirname(aggregate)
        near = self._near(folder)
        for path in file_names.rows_named_like(aggregate):
            if near.has_file(os.path.basename(path)):
                return path
        stem = os.path.basename(file_names.without_ending(aggregate))
        ranked = (
            (rank, name)
            for name in near.names()
            if (rank := file_names.rows_rank(stem, name)) is not None and near.has_file(name)
        )
        found = min(ranked, default=None)
        return None if found is None else os.path.join(folder, found[1])

    def _is_aggregate(self, path: str) -> bool:
        return self._detect_kind(path) in (*peek.AGGREGATES, peek.FAULTY)

    def _may_be_aggregate(self, path: str) -> bool:
        return self._detect_kind(path) in (*peek.AGGREGATES, *peek.MAYBE_AGGREGATES, peek.FAULTY)

    def _detect_kind(self, path: str) -> int | None:
        """Return the kind of a JSON file at a permitted place, or None."""
        folder, name = os.path.split(path)
        look = self.look(path) if self._near(folder).has_file(name) else None
        return None if look is None else look.kind

    def _declaring(self, folder: str) -> Iterator[tuple[str, str]]:
        """List the aggregates right in a folder that declare rows, hidden ones as well."""
        near = self._near(folder)
        for name in near.names():
            if file_names.is_json_name(name) and near.has_file(name):
                path = os.path.join(folder, name)
                look = self.look(path)
                if look is not None and look.declared:
                    yield path, look.declared

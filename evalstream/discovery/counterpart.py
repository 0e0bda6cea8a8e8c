"""Find the other half of a named file; look only at places that are permitted."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import lru_cache, partial
from typing import Final

from evalstream.discovery import peek
from evalstream.discovery.declared_rows import AggregateFinder, allowed_folder, is_outside, places
from evalstream.discovery.pairing import without_rows
from evalstream.io import names as file_names
from evalstream.io.containment import FolderBoundary, OutsideFolder
from evalstream.model.run import Run

_REMEMBERED: Final = 1024
"""How many results are remembered: rows and their aggregate are often named in sequence."""


class _Near:
    """The files near a named file that may be looked at.

    Paths are as the user named them; `folder` is the folder of the files.
    """

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
        """Return the path, as the folder was named, of a file below the root, or None.

        Raises OutsideFolder if a link leaves the root.
        """
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
    """Finds rows by aggregates and aggregates by rows, each beside or below the named file."""

    def __init__(self) -> None:
        self.look = lru_cache(maxsize=_REMEMBERED)(_peek_once)
        self._near = lru_cache(maxsize=_REMEMBERED)(_Near)
        self._companions = AggregateFinder(
            self._is_aggregate, self._declaring, self._may_be_aggregate
        )

    def find_aggregate(self, rows: str) -> str | None:
        """Return the aggregate of a rows file, or None."""
        return self._companions.find_aggregate(rows)

    def rivals_of(self, rows: str) -> tuple[str, ...]:
        """Return two aggregates that declare a rows file without an aggregate, or none."""
        return self._companions.rivals_of(rows)

    def find_run(self, aggregate: str, declared: str | None) -> Run:
        """Find the rows of an aggregate in its own folder and above the nearest `data`."""
        leads_out = declared if declared and is_outside(declared) else None
        try:
            rows = self._declared_rows(aggregate, declared) if declared else None
        except OutsideFolder:
            rows, leads_out = None, declared
        rows = rows or self._rows_named_like(aggregate)
        return Run(rows, aggregate) if rows else without_rows(aggregate, declared, leads_out)

    def has_samples(self, path: str) -> bool:
        """Tell whether rows lie beside a JSON file under its name and `_samples`."""
        rows = self._rows_named_like(path)
        return rows is not None and rows.startswith(
            f"{file_names.without_ending(path)}{file_names.SAMPLES}."
        )

    def close(self) -> None:
        """Forget everything."""
        self._companions.close()

    def _declared_rows(self, aggregate: str, declared: str) -> str | None:
        """Return the declared rows, or None. Raises OutsideFolder."""
        folder, name = os.path.split(aggregate)
        near = self._near(folder)
        leads_out = None
        for place in places(near.root, near.below(name), declared):
            try:
                found = near.file_at(place)
            except OutsideFolder as error:
                leads_out = error
                continue
            if found is not None:
                return found
        if leads_out is not None:
            raise leads_out
        return None

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

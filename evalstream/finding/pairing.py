"""The runs among the files of a folder or a prefix: aggregates choose their rows first."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import closing
from typing import NamedTuple, Protocol

from evalstream.finding.companions import Companions
from evalstream.finding.looking import AGGREGATE, NO_AGGREGATE, TOO_LARGE, Look
from evalstream.finding.trees import Known, Tree
from evalstream.finding.walking import real_path
from evalstream.runs import (
    AGGREGATE_ENDING,
    ALL_ROWS_ENDINGS,
    Nothing,
    Run,
    missing_rows,
    rows_candidates,
)
from evalstream.sources.remote import is_remote


class Place(Protocol):
    """A folder or a prefix; `below` it are paths that are parted by slashes."""

    def fill(self, tree: Tree) -> Iterator[Nothing]:
        """List the files in it, and say what cannot be listed."""

    def path_of(self, below: str) -> str:
        """Return the path or URL of what is below it."""

    def below(self, path: str) -> str | None:
        """Return which path below it a path or URL names, None where it leads elsewhere."""

    def really_below(self, path: str) -> str | None:
        """Return which path below it a path leads to through links, if it does."""

    def identity(self, below: str) -> str:
        """Return the one path or URL of a listed file."""

    def holds(self, path: str) -> bool:
        """Tell whether there is a file that was not listed."""

    def has_folder(self, path: str) -> bool:
        """Tell whether there may be files right in a folder, also one that was not listed."""

    def look(self, path: str) -> Look | None:
        """Look into a JSON file that was not listed, None where there is none."""

    def looks(self, files: Iterable[Known], tree: Tree) -> Iterator[Look | None]:
        """Look into JSON files that were listed, None for those that are gone."""

    def beside(self, folder: str, tree: Tree) -> Iterable[str]:
        """List what may be an aggregate in a folder."""


class Found(NamedTuple):
    """A run, or an input in which there is nothing, and the one name of each of its files."""

    what: Run | Nothing
    identities: tuple[str, ...] = ()


def runs_in(place: Place, path: str) -> Iterator[Found]:
    """Find the runs in a folder or a prefix that was named as `path`."""
    with closing(Tree()) as tree:
        pairing = _Pairing(place, tree)
        with closing(pairing):
            found = False
            for one in pairing.found():
                found = True
                yield one
            if not found:
                kind = "prefix" if is_remote(path) else "folder"
                yield Found(Nothing(path, f"the {kind} holds no rows file and no aggregate"))


class _Pairing:
    def __init__(self, place: Place, tree: Tree) -> None:
        self._place, self._tree = place, tree
        self._companions = Companions(self._look, self._beside)

    def found(self) -> Iterator[Found]:
        """List what there is, pair it, and iterate over the runs in the order of their files."""
        yield from map(Found, self._place.fill(self._tree))
        for page in self._tree.pages():
            self._pair([file for file in page if file.path.endswith(AGGREGATE_ENDING)])
        for file in self._tree.files():
            run = self._run_of(file)
            if run is not None:
                yield run

    def close(self) -> None:
        self._companions.close()

    def _pair(self, files: list[Known]) -> None:
        """Look into JSON files, and let those that are aggregates claim their rows."""
        notes: list[tuple[str, Look, str | None]] = []
        claims: list[str] = []
        looks = self._place.looks(files, self._tree)
        for file, look in zip(files, looks, strict=True):
            # A file that is gone since it was listed was one that somebody was still writing.
            seen, rows = look or Look(NO_AGGREGATE), None
            if seen.kind == AGGREGATE:
                rows, claimed = self._rows_of(self._place.path_of(file.path), seen.declared)
                claims += [claimed] if claimed is not None else []
            notes.append((file.path, seen, rows))
        self._tree.note(notes)
        self._tree.claim(claims)

    def _rows_of(self, aggregate: str, declared: str | None) -> tuple[str | None, str | None]:
        """Find the rows of an aggregate: how they are named, and which listed file they are."""
        for candidate in rows_candidates(aggregate, declared):
            if not self._place.has_folder(os.path.dirname(candidate)):
                continue
            below = self._place.below(candidate)
            if below is not None and self._tree.known(below) is not None:
                return candidate, below
            if self._place.holds(candidate):
                return candidate, self._place.really_below(candidate)
        return None, None

    def _run_of(self, file: Known) -> Found | None:
        path, look = self._place.path_of(file.path), file.look
        if look is not None and look.kind == TOO_LARGE:
            return Found(Nothing(path, "too large for an aggregate, and no file of rows"))
        if look is not None and look.kind == AGGREGATE:
            return self._of_aggregate(path, file, look)
        if look is None and file.path.endswith(ALL_ROWS_ENDINGS) and not file.claimed:
            return self._of_rows(path, file)
        return None

    def _of_aggregate(self, path: str, file: Known, look: Look) -> Found:
        own = self._place.identity(file.path)
        if file.rows is None:
            return Found(Run(None, path, missing_rows(look.declared)), (own,))
        rows = self._listed(file.rows)
        size, mark = (rows.size, rows.mark) if rows is not None else (None, None)
        run = Run(file.rows, path, size=size, mark=mark)
        return Found(run, (self._identity(file.rows, rows), own))

    def _of_rows(self, path: str, file: Known) -> Found:
        own, aggregate = self._place.identity(file.path), self._companions.aggregate_of(path)
        run = Run(path, aggregate, size=file.size, mark=file.mark)
        if aggregate is None:
            return Found(run, (own,))
        return Found(run, (own, self._identity(aggregate, self._listed(aggregate))))

    def _identity(self, path: str, listed: Known | None) -> str:
        if listed is not None:
            return self._place.identity(listed.path)
        return path if is_remote(path) else real_path(path)

    def _listed(self, path: str) -> Known | None:
        below = self._place.below(path)
        return None if below is None else self._tree.known(below)

    def _look(self, path: str) -> Look | None:
        listed = self._listed(path)
        if listed is not None:
            return listed.look or Look(NO_AGGREGATE)
        return self._place.look(path)

    def _beside(self, folder: str) -> Iterable[str]:
        return self._place.beside(folder, self._tree)

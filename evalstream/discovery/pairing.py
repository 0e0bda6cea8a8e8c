"""Pair the files of a folder or a prefix to runs: aggregates choose their rows first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter
from typing import Protocol

from evalstream.discovery.counterpart import AggregateFinder, PermittedRows, find_rows, without_rows
from evalstream.discovery.file_table import FileTable, KnownFile, Note
from evalstream.discovery.peek import AGGREGATE, AGGREGATES, FAULTY, MAYBE_AGGREGATES, AggregatePeek
from evalstream.discovery.unrecognised import Leftovers
from evalstream.io.names import SAMPLES, is_json_name, rows_rank, without_ending
from evalstream.model.data_class import NamedTuple
from evalstream.model.errors import internal_error
from evalstream.model.run import NoInput, Run


class FileTree(Protocol):
    """A folder or a prefix; `/` separates the parts of paths `below` it.

    `root` is its absolute path without links, or its URL.
    """

    root: str
    kind: str

    def fill(self, tree: FileTable, left: Leftovers) -> Iterator[NoInput]:
        """List files that may be data, count the others, and report what cannot be listed."""

    def join_path(self, below: str) -> str:
        """Return the path or URL of a file below it."""

    def identity(self, below: str) -> str:
        """Return the one path or URL of a file that is not a link."""

    def find_unlisted(self, below: str) -> str | None:
        """Return the path of a file that was not listed, or None. Raises OutsideFolder."""

    def is_met_anyway(self, below: str) -> bool:
        """Tell whether a file is listed under its own name and read."""

    def looks(self, files: Iterable[KnownFile], tree: FileTable) -> Iterator[AggregatePeek | None]:
        """Peek into listed files; None for files that no longer exist."""


class FoundRuns(NamedTuple):
    """A run, or an input without one, and the one name of each of its files.

    If `is_named`, the user named the file, and it may belong to other named files.
    """

    what: Run | NoInput
    row_records: tuple[str, ...] = ()
    is_named: bool = False


class Pairing:
    """Peeks into the files of a tree, pairs rows with aggregates, and returns the run of each."""

    def __init__(self, place: FileTree, tree: FileTable) -> None:
        self._place, self._tree = place, tree
        self._companions = AggregateFinder(self._is_aggregate, self._declaring)

    def look(self, *, pairs: bool) -> None:
        """Peek into every file once; with `pairs` aggregates claim their rows unread."""
        for page in self._tree.pages():
            self._look_into([one for one in page if is_json_name(one.path)], pairs=pairs)
        for page in self._tree.iterate_unread():
            self._look_into(page)

    def speaks(self, file: KnownFile) -> bool:
        """Tell whether a file is a run of its own: it is not a link to a file that is.

        Rows that an aggregate claims are not; an aggregate always is, even if another claims it.
        """
        is_double = file.target is not None and self._place.is_met_anyway(file.target)
        is_aggregate = file.look is not None and file.look.kind in AGGREGATES
        return not is_double and (is_aggregate or not file.claimed)

    def of_aggregate(self, file: KnownFile) -> FoundRuns:
        """Return the run of an aggregate."""
        path, own = self._place.join_path(file.path), self._place.identity(file.true_path)
        if file.rows is None:
            declared = file.look.declared if file.look else None
            return FoundRuns(without_rows(path, declared, file.leads_out), (own,))
        known = self._tree.find_listed_file(file.rows)
        size, mark = (known.size, known.mark) if known is not None else (None, None)
        run = Run(self._place.join_path(file.rows), path, size=size, mark=mark)
        true_path = known.true_path if known is not None else self._true_path(file.rows)
        return FoundRuns(run, (self._place.identity(true_path or file.rows), own))

    def of_rows(self, file: KnownFile) -> FoundRuns:
        """Return the run of rows that are claimed by no aggregate."""
        path, own = self._place.join_path(file.path), self._place.identity(file.true_path)
        aggregate = self._companions.find_aggregate(file.path)
        if aggregate is None:
            rivals = tuple(map(self._place.join_path, self._companions.find_declaring(file.path)))
            return FoundRuns(Run(path, None, size=file.size, mark=file.mark, rivals=rivals), (own,))
        beside = self._place.join_path(aggregate)
        run = Run(path, beside, size=file.size, mark=file.mark)
        true_path = self._true_path(aggregate) or aggregate
        return FoundRuns(run, (own, self._place.identity(true_path)))

    def close(self) -> None:
        """Delete the tables."""
        self._companions.close()

    def _look_into(self, files: list[KnownFile], *, pairs: bool = False) -> None:
        notes: list[Note] = []
        claims: list[str] = []
        for file, look in zip(files, self._place.looks(files, self._tree), strict=True):
            # A file that disappears after the listing was a temporary file of a writer.
            if look is None:
                continue
            try:
                note, claimed = self._describe_file(file, look, pairs=pairs)
            except BaseException as error:  # noqa: BLE001 - whatever is wrong with this file
                detail = str(internal_error(error))
                note, claimed = Note(file.path, AggregatePeek(FAULTY, detail=detail)), ()
            notes.append(note)
            claims += claimed
        self._tree.note(notes)
        self._tree.claim(claims)

    def _describe_file(
        self, file: KnownFile, look: AggregatePeek, *, pairs: bool
    ) -> tuple[Note, Sequence[str]]:
        """Return what to note about a file, and the files that it claims as its rows."""
        if pairs and look.kind in MAYBE_AGGREGATES and self._has_samples(file.path):
            look = look._replace(kind=AGGREGATE)
        note = Note(file.path, look)
        if not (pairs and look.kind in (*AGGREGATES, FAULTY) and self.speaks(file)):
            return note, ()
        rows = self._find_rows(file.path, look.declared)
        claims = {path for path in (rows.place, rows.found) if path is not None}
        return note._replace(rows=rows.place, leads_out=rows.leads_out), tuple(claims)

    def _has_samples(self, path: str) -> bool:
        """Tell whether `NAME_samples` rows are beside the JSON file `NAME`."""
        stem = without_ending(path)
        beside = self._tree.beginning(f"{stem}{SAMPLES}.")
        return any(rows_rank(stem, file.path) is not None for file in beside)

    def _find_rows(self, aggregate: str, declared: str | None) -> PermittedRows:
        """Find the rows of an aggregate at the permitted places."""
        rows = find_rows(self._place.root, aggregate, declared, self._true_path)
        named = None if rows.place is not None else self._named_like(aggregate)
        return rows if named is None else PermittedRows(named.path, named.true_path)

    def _true_path(self, below: str) -> str | None:
        """Return the path of a file with links resolved, or None. Raises OutsideFolder."""
        known = self._tree.find_listed_file(below)
        return known.true_path if known is not None else self._place.find_unlisted(below)

    def _named_like(self, aggregate: str) -> KnownFile | None:
        """Return the rows beside an aggregate that have its name, the nearest first."""
        stem = without_ending(aggregate)
        ranked = (
            (rank, file.path, file)
            for begin in (f"{stem}{SAMPLES}.", f"{stem}.")
            for file in self._tree.beginning(begin)
            if (rank := rows_rank(stem, file.path)) is not None
        )
        found = min(ranked, key=itemgetter(0, 1), default=None)
        return None if found is None else found[2]

    def _is_aggregate(self, below: str) -> bool:
        known = self._tree.find_file(below)
        return known is not None and known.look is not None and known.look.kind in AGGREGATES

    def _declaring(self, folder: str) -> Iterator[tuple[str, str]]:
        for file in self._tree.iterate_aggregates(folder):
            if file.look is not None and file.look.declared:
                yield file.path, file.look.declared

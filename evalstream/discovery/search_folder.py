"""Search a folder or a prefix: the runs of every format, and the files that no format takes."""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Collection, Iterator
from contextlib import closing
from functools import lru_cache, partial
from typing import Final

from evalstream.discovery import peek, unrecognised
from evalstream.discovery.file_table import FileTable, KnownFile
from evalstream.discovery.local import path_resolver
from evalstream.discovery.pairing import FileTree, FoundRuns, Pairing
from evalstream.discovery.unrecognised import OTHER as OTHER_KIND
from evalstream.engine.layout import LOGS_OF_FORMATS, Log
from evalstream.formats.base import FolderFormat, PairedFormat
from evalstream.formats.registry import FORMATS, MAIN, NAMES, folder_format, paired_format
from evalstream.io.names import is_json_name, is_remote, is_rows_name, is_yaml_name, without_packing
from evalstream.io.spill_table import SpillTable, decode_name, encode_name
from evalstream.model.errors import internal_error
from evalstream.model.run import FaultyInput, ForeignLog, NoInput, Run
from evalstream.parsing.lazy_regex import LazyPattern

_OF_EVALUATIONS: Final = LazyPattern(
    r"aggregate|sample|result|report|eval|stats|pred|score|metric|input|output|log"
    r"|[\da-f]{8}-[\da-f]{4}-",
    re.IGNORECASE,
)
"""Words in the names of rows, aggregates and logs, and the beginning of a UUID."""

TOO_LARGE_REASON: Final = "too large for an aggregate, and not a file of rows"


def find_runs_in_folder(
    place: FileTree, path: str, formats: Collection[str], *, any_rows: bool
) -> Iterator[FoundRuns]:
    """Find the runs of some formats in a folder or a prefix that the user named as `path`.

    With `any_rows` every file with a name for rows holds rows, and no other format is searched. The
    files that no format takes come last, counted. Memory does not grow with the number of files.
    """
    with (
        closing(FileTable()) as tree,
        closing(Gathered()) as gathered,
        closing(Pairing(place, tree)) as pairing,
    ):
        chosen = (MAIN,) if any_rows else formats
        search = _Search(place, tree, pairing, gathered, chosen, any_rows=any_rows)
        found = False
        for one in search.find_runs(path):
            found = True
            yield one
        if not found:
            yield FoundRuns(NoInput(path, f"the {place.kind} holds nothing that can be checked"))
        left = search.left.of(path)
        if left is not None:
            yield FoundRuns(left)


def peeked_log(look: peek.AggregatePeek) -> Log:
    """Return the log that a peek recognised."""
    return Log(*(look.detail or "").split(": ", 1))


def log_found(path: str, log: Log) -> FoundRuns:
    """Return the message about a harness's log."""
    return FoundRuns(ForeignLog(path, log.describe(path)))


def faulty(path: str, error: BaseException) -> FoundRuns:
    """Return the message about a file on which the search met an internal error. Raises others."""
    return FoundRuns(FaultyInput(path, str(internal_error(error))))


def identify_run(run: Run | NoInput) -> FoundRuns:
    """Return a run of documents with the one name of each document."""
    if isinstance(run, NoInput):
        return FoundRuns(run)
    documents = (run.rows, run.aggregate, run.inputs, *run.beside)
    names, resolve = (name for name in documents if name is not None), path_resolver()
    return FoundRuns(run, tuple(name if is_remote(name) else resolve(name) for name in names))


class _Search:
    def __init__(
        self,
        place: FileTree,
        tree: FileTable,
        pairing: Pairing,
        gathered: Gathered,
        formats: Collection[str],
        *,
        any_rows: bool,
    ) -> None:
        self._place, self._tree, self._pairing = place, tree, pairing
        self._gathered, self._formats = gathered, formats
        self._whole: FolderFormat | None = None
        self._paired: dict[PairedFormat, None] = {}
        self._any_rows = any_rows
        self._holds_any = lru_cache(maxsize=1)(tree.holds_any)
        self.left = unrecognised.Leftovers()

    def find_runs(self, path: str) -> Iterator[FoundRuns]:
        """List the files, and iterate over the runs, those of rows first."""
        yield from map(FoundRuns, self._place.fill(self._tree, self.left))
        self._pairing.look(pairs=MAIN in self._formats)
        self._whole = self._format_of_folder()
        yield from self._gather()
        for file in self._tree.files():
            try:
                one = self._of(file)
            except BaseException as error:  # noqa: BLE001 - whatever is wrong with this file
                one = faulty(self._place.join_path(file.path), error)
            if one is not None:
                yield one
        yield from map(identify_run, self._gathered.runs(named=False))
        if self._whole is not None:
            self.left.take_back(unrecognised.DOCUMENT_LINK)
            yield from map(identify_run, self._whole.find(path, None, None))
        self.left.join(unrecognised.DOCUMENT_LINK, unrecognised.LINK_OUT)

    def _format_of_folder(self) -> FolderFormat | None:
        """Return the format that checks the folder as a whole, beside others, or None."""
        if self._place.kind != "folder":
            return None
        wholes = filter(None, map(folder_format, self._formats))
        for one in wholes:
            if self._formats == (one.name,) or self._tree.holds(peek.DOCUMENT, one.name):
                return one
        return None

    def _gather(self) -> Iterator[FoundRuns]:
        """Collect the documents of other formats; they decide the kind of other files.

        Returns messages about those that internal errors keep from being collected.
        """
        for file in self._tree.of_kind(peek.DOCUMENT):
            look = file.look
            if look is None or not self._is_document(look) or not self._pairing.speaks(file):
                continue
            if not is_json_name(file.path) or not self._is_kept(file, look):
                try:
                    self._gather_one(file, look.detail or "")
                except BaseException as error:  # noqa: BLE001 - whatever is wrong with this file
                    yield faulty(self._place.join_path(file.path), error)

    def _gather_one(self, file: KnownFile, detail: str) -> None:
        name, kind = detail.split(" ", maxsplit=1)
        paired = paired_format(name)
        if paired is None:
            if self._place.kind != "folder":
                self.left.add(unrecognised.STORED_DOCUMENT, file.path)
            return
        beside = tuple(f"{name} {other}" for other in paired.companions.get(kind, ()))
        if beside and not self._holds_any(os.path.dirname(file.path), beside):
            self.left.add(unrecognised.JSON, file.path)
        else:
            self._gathered.add(detail, self._place.join_path(file.path))
            self._paired[paired] = None

    def _is_document(self, look: peek.AggregatePeek) -> bool:
        return look.kind == peek.DOCUMENT and look.format in self._formats

    def _of(self, file: KnownFile) -> FoundRuns | None:
        """Return the run of a file, or a message about it, or None if it makes no run."""
        look = file.look
        if look is None or not self._pairing.speaks(file) or self._is_document(look):
            return None
        member = self._find_member(file)
        if member is not None:
            self._gathered.add(member, self._place.join_path(file.path))
            return None
        if look.kind == peek.FAULTY:
            return FoundRuns(FaultyInput(self._place.join_path(file.path), look.detail or ""))
        if look.kind == peek.UNREAD:
            path, reason = self._place.join_path(file.path), look.detail or ""
            return FoundRuns(NoInput(path, reason, readable=False))
        if self._whole is not None and self._is_within(self._whole, file, look):
            return None
        log = self._find_log(look)
        is_log = log is not None and not (self._any_rows and is_rows_name(file.path))
        found = self._log(file, log) if log and is_log else self._of_main(file, look)
        if found is None:
            self.left.add(self._kind_left(file, look), file.path)
        return found

    def _of_main(self, file: KnownFile, look: peek.AggregatePeek) -> FoundRuns | None:
        """Return the run of an aggregate or of rows, or None for another file."""
        if MAIN not in self._formats:
            return None
        are_rows = is_rows_name(file.path) and (look.kind == peek.OTHER or self._any_rows)
        if look.kind == peek.TOO_LARGE:
            return FoundRuns(NoInput(self._place.join_path(file.path), TOO_LARGE_REASON))
        if look.kind in peek.AGGREGATES:
            found = self._pairing.of_aggregate(file)
        elif look.kind == peek.ROWS or are_rows:
            found = self._pairing.of_rows(file)
        else:
            return None
        return None if self._is_alone(file.path, look.detail, found.what) else found

    def _is_alone(self, path: str, detail: str | None, run: Run | NoInput) -> bool:
        """Tell whether nothing shows that a broken or empty file belongs to an evaluation.

        Its name does, its other half, and for JSON a document of another format in its folder.
        """
        if detail not in unrecognised.MAYBE_ALONE or not isinstance(run, Run):
            return False
        folder, name = os.path.split(path)
        documents = tuple(f"{own} {kind}" for own, one in FORMATS.items() for kind in one.places)
        return not (
            (run.rows and run.aggregate)
            or run.rivals
            or _OF_EVALUATIONS.search(name)
            or self._any_rows
            or (is_json_name(name) and self._holds_any(folder, documents))
        )

    def _find_member(self, file: KnownFile) -> str | None:
        """Return format and kind of a file that is a document by its path."""
        folder = os.path.dirname(file.path)
        for one in self._paired:
            known = tuple(f"{one.name} {kind}" for kind in one.places)
            kind = one.kind_by_path(file.path, partial(self._holds_any, folder, known))
            if kind is not None:
                return f"{one.name} {kind}"
        return None

    def _find_log(self, look: peek.AggregatePeek) -> Log | None:
        """Return the log that a file is for those who did not ask for its own format."""
        if look.kind == peek.DOCUMENT and MAIN in self._formats:
            return LOGS_OF_FORMATS.get(look.detail or "")
        return peeked_log(look) if look.kind == peek.LOG else None

    def _log(self, file: KnownFile, log: Log) -> FoundRuns:
        one = log_found(self._place.join_path(file.path), log)
        return one._replace(row_records=(self._place.identity(file.true_path),))

    def _is_within(self, whole: FolderFormat, file: KnownFile, look: peek.AggregatePeek) -> bool:
        """Tell whether the format that checks the whole folder reads a file."""
        if is_yaml_name(file.path):
            return True
        if not is_json_name(file.path):
            return False
        if look.kind == peek.DOCUMENT:
            return look.format == whole.name or self._is_kept(file, look)
        if look.kind == peek.LOG:
            return peeked_log(look).harness in whole.kept_logs
        folders = [os.path.basename(self._place.root), *file.path.split("/")[:-1]]
        is_open = (
            look.kind in (peek.OTHER, peek.LIKE_AGGREGATE, peek.BROKEN) and look.detail != MAIN
        )
        is_like = look.detail == whole.name or whole.kind_of_folder(folders) is not None
        return is_open and is_like

    def _is_kept(self, file: KnownFile, look: peek.AggregatePeek) -> bool:
        """Tell whether a document is a log of a harness that a format of folders keeps as its own.

        Beside rows of the harness it claims what they score, and belongs to them.
        """
        log = LOGS_OF_FORMATS.get(look.detail or "")
        if self._whole is None or log is None or log.harness not in self._whole.kept_logs:
            return False
        others = (kind for kind, one in LOGS_OF_FORMATS.items() if one.harness == log.harness)
        rows = tuple(kind for kind in others if kind != look.detail)
        return not self._holds_any(os.path.dirname(file.path), rows)

    def _kind_left(self, file: KnownFile, look: peek.AggregatePeek) -> str:
        """Return the kind under which a file that no format takes is counted."""
        if look.kind == peek.ASIDE or look.detail in unrecognised.MAYBE_ALONE:
            return look.detail or ""
        if is_rows_name(file.path):
            are_events = look.detail == unrecognised.EVENTS and self._expects_events()
            return unrecognised.EVENTS if are_events else unrecognised.ROWS_LIKE
        if not is_json_name(without_packing(file.path)):
            return OTHER_KIND
        if look.kind == peek.OTHER and self._lists_documents(file.path):
            return unrecognised.LISTING
        is_other = look.kind == peek.OTHER and not self._gathered.has(look.format)
        return unrecognised.JSON if is_other else unrecognised.AGGREGATE_LIKE

    def _lists_documents(self, path: str) -> bool:
        """Return whether a file is named like the listing of a format that the folder has."""
        base = os.path.basename(path)
        return any(
            base in one.listing_names and self._gathered.has(name) for name, one in FORMATS.items()
        )

    def _expects_events(self) -> bool:
        """Tell whether the folder has documents of a format that writes a log of events."""
        writers = (name for name, one in FORMATS.items() if one.event_members)
        return any(map(self._gathered.has, writers))


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
        self._formats: set[str] = set()

    def add(self, detail: str, path: str) -> None:
        """Add a document; `detail` is its format and kind, as a peek returns them."""
        name, kind = detail.split(" ")
        self._formats.add(name)
        self._kept.change(
            "INSERT INTO document (format, kind, path) VALUES (?, ?, ?)",
            [(name, kind, encode_name(path))],
        )

    def has(self, name: str) -> bool:
        """Tell whether a document of a format was taken."""
        return name in self._formats

    def runs(self, *, named: bool) -> Iterator[Run | NoInput]:
        """Pair the documents of each format by what they say.

        With `named` (the user named each document in one call), the unmatched documents
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
        """Pair documents but those that fail even alone; runs may come that came before."""
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
        query = (
            "SELECT number, kind, path FROM document WHERE number > ? AND format = ? "
            "ORDER BY number LIMIT 500"
        )
        return ((kind, decode_name(path)) for _, kind, path in self._kept.pages(query, name))

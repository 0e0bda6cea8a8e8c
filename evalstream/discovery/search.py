"""Search for the runs of an input: one run, or the runs in a folder or below a prefix."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache
from typing import Final

from evalstream.discovery import peek, search_folder
from evalstream.discovery.counterpart import Neighbourhood
from evalstream.discovery.input_list import ListedName, NameList
from evalstream.discovery.local import LocalFolder, real_path
from evalstream.discovery.named_files import NamedDocument, list_unused
from evalstream.discovery.pairing import FileTree, FoundRuns
from evalstream.discovery.remote import Prefix, found_at, stands_for_prefix
from evalstream.discovery.unrecognised import GONE, NOT_OURS
from evalstream.formats.base import Place
from evalstream.formats.registry import FORMATS, MAIN, UNKNOWN, folder_format, paired_format
from evalstream.io import names as file_names
from evalstream.io.beginning import read_beginning
from evalstream.io.names import Exclusion, is_remote
from evalstream.io.spill_table import SpillTable, encode_name
from evalstream.model.errors import CannotCheck
from evalstream.model.run import STDIN, FaultyInput, NoInput, Run

_LOOKS: Final = 1024
"""How many folders are remembered: rows and their aggregate are often named in sequence."""


class Search:
    """Finds runs of some formats by input; keeps the runs that it found on disk."""

    def __init__(self, formats: Collection[str], exclude: Iterable[str], *, any_rows: bool) -> None:
        self._formats, self._exclusion = tuple(formats), Exclusion(exclude)
        self._any_rows = any_rows
        self._seen = SpillTable("CREATE TABLE seen (name BLOB PRIMARY KEY) WITHOUT ROWID")
        self._near = Neighbourhood()
        self._real_folder = lru_cache(maxsize=_LOOKS)(real_path)
        self._lists: list[NameList] = []

    def find_runs(self, path: str | NoInput) -> Iterator[FoundRuns]:
        """Find the runs of one input that were not found before.

        An internal error ends the search of this input alone.
        """
        try:
            for one in self._of_input(path):
                if not (one.row_records and self._were_seen(one)):
                    yield one
        except BaseException as error:  # noqa: BLE001 - whatever a library raises
            name = path.path if isinstance(path, NoInput) else str(path)
            yield search_folder.faulty(name, error)

    def rest(self) -> Iterator[FoundRuns]:
        """Iterate over the names that were left out of lists, one entry for each list."""
        for names in self._lists:
            left = names.rest()
            if left is not None:
                yield FoundRuns(left)

    def _of_input(self, path: str | NoInput) -> Iterable[FoundRuns]:
        if isinstance(path, NoInput):
            return [FoundRuns(path)]
        return self._find_listed(path) if isinstance(path, ListedName) else self._find_input(path)

    def _find_listed(self, listed: ListedName) -> Iterator[FoundRuns]:
        """Find the runs of a name from a list, or count the name as left out."""
        path, names = str(listed), listed.source
        if names not in self._lists:
            self._lists.append(names)
        if is_remote(path) or not _is_name(path):
            yield from self._find_input(path)
        elif self._exclusion.covers_any(os.path.normpath(path)):
            names.left.excluded += 1
        elif names.missing_ok and not os.path.lexists(path):
            names.left.add(GONE, path)
        else:
            for one in self._find_input(path):
                kind = self._kind_left_out(path, one)
                if kind is None:
                    yield one
                else:
                    names.left.add(kind, path)

    def _kind_left_out(self, path: str, found: FoundRuns) -> str | None:
        """Return the kind under which a listed file is counted, or None if it is reported.

        A file named like rows or like an aggregate is reported, whatever it holds, as is a file
        that holds rows under another name.
        """
        what = found.what
        if not os.path.isfile(path) or file_names.is_like_rows(path):
            return None
        if isinstance(what, NoInput) and what.reason == UNKNOWN:
            look = self._near.look(path) if file_names.is_json_name(path) else None
            return look.detail if look is not None and look.kind == peek.ASIDE else None
        is_yaml = isinstance(what, Run) and what.format != MAIN and file_names.is_yaml_name(path)
        if not is_yaml and not (isinstance(what, NoInput) and what.reason == file_names.NO_ENDING):
            return None
        look = peek.peek_data(path)
        if look.kind == peek.ASIDE:
            return look.detail
        is_ours = look.kind not in (peek.OTHER, peek.STRANGE, peek.BROKEN)
        return None if is_ours or (is_yaml and self._is_placed(path)) else NOT_OURS

    def _is_placed(self, path: str) -> bool:
        """Tell whether the folders of a file are those of a format that checks whole folders."""
        folders = os.path.dirname(os.path.abspath(path)).split(os.sep)
        wholes = filter(None, map(folder_format, self._formats))
        return any(one.kind_of_folder(folders) is not None for one in wholes)

    def close(self) -> None:
        """Delete the tables."""
        self._seen.close()
        self._near.aggregates.close()

    def _were_seen(self, found: FoundRuns) -> bool:
        """Tell whether all files of a run were found before, each in the same role.

        A file that one aggregate names as its rows may itself be an aggregate.
        """
        places = _file_roles(found.what)
        names = (
            (encode_name(f"{place} {name}"),)
            for place, name in zip(places, found.row_records, strict=True)
        )
        return not self._seen.change("INSERT OR IGNORE INTO seen VALUES (?)", names)

    def _find_input(self, path: str) -> Iterator[FoundRuns]:
        if path == STDIN:
            name = self._formats[0] if len(self._formats) == 1 else MAIN
            yield FoundRuns(Run(path, None, format=name))
        elif not _is_name(path):
            yield FoundRuns(NoInput(path, "a file cannot have this name", readable=False))
        elif is_remote(path) and self._is_free():
            yield from self._remote(path)
        elif not is_remote(path) and os.path.isdir(path):
            yield from self._search_place(LocalFolder(path, self._exclusion), path)
        else:
            yield from (one._replace(is_named=True) for one in self._find_named(path))

    def _search_place(self, place: FileTree, path: str) -> Iterator[FoundRuns]:
        return search_folder.find_runs_in_folder(
            place, path, self._formats, any_rows=self._any_rows
        )

    def _is_free(self) -> bool:
        """Tell whether the content of a file decides its format."""
        return MAIN in self._formats

    def _find_named(self, path: str) -> Iterator[FoundRuns]:
        if not self._is_free():
            name = self._formats[0]
            runs = list(FORMATS[name].find(path, None, None))
            yield from map(_as_document, runs or list_unused(name, runs, path))
            return
        yield self._by_content(path)

    def _by_content(self, path: str) -> FoundRuns:
        if not os.path.isfile(path) and (
            os.path.exists(path) or not file_names.ends_like_ours(path)
        ):
            return self._of_main(Run(path, None))
        if file_names.is_rows_name(path):
            aggregate = self._near.aggregates.find_aggregate(path)
            is_rows = aggregate is not None or self._any_rows
            look = peek.AggregatePeek(peek.OTHER) if is_rows else peek.peek_data(path)
            if look.kind not in (peek.LOG, peek.DOCUMENT) or not self._knows(look):
                return self._of_main(self._run_of_rows(path, aggregate))
        else:
            json = self._near.look(path) if file_names.is_json_name(path) else peek.peek_data(path)
            look = json or peek.AggregatePeek(peek.BROKEN)
        if look.kind == peek.FAULTY:
            return FoundRuns(FaultyInput(path, look.detail or ""))
        if look.kind == peek.LOG:
            return search_folder.log_found(path, search_folder.peeked_log(look))._replace(
                row_records=(self._identity(path),)
            )
        if look.kind == peek.DOCUMENT and self._knows(look):
            return _document_at(path, look, self._identity(path))
        return self._of_look(path, look)

    def _of_look(self, path: str, look: peek.AggregatePeek) -> FoundRuns:
        """Return the run of a file that is not a document of another format."""
        is_aggregate = look.kind in (peek.AGGREGATE, peek.BROKEN, peek.LIKE_AGGREGATE)
        is_by_name = look.kind == peek.OTHER and self._near.has_samples(path)
        if file_names.is_json_name(path) and (is_aggregate or is_by_name):
            return self._of_main(self._near.find_run(path, look.declared))
        if look.kind == peek.TOO_LARGE:
            return FoundRuns(NoInput(path, search_folder.TOO_LARGE_REASON))
        if not file_names.ends_like_ours(path) and look.kind == peek.ROWS:
            return FoundRuns(NoInput(path, file_names.NO_ENDING))
        if look.kind in (peek.OTHER, peek.STRANGE, peek.ASIDE) and not self._is_array(path):
            whole = next(filter(None, map(folder_format, self._formats)), None)
            if file_names.is_yaml_name(path) and whole is not None:
                return search_folder.identify_run(Run(path, None, format=whole.name))
            return FoundRuns(
                NoInput(path, UNKNOWN if file_names.ends_like_ours(path) else file_names.NO_ENDING)
            )
        return self._of_main(self._run_of_rows(path, self._near.aggregates.find_aggregate(path)))

    def _run_of_rows(self, path: str, aggregate: str | None) -> Run:
        rivals = () if aggregate is not None else self._near.aggregates.find_declaring(path)
        return Run(path, aggregate, rivals=rivals)

    def _knows(self, look: peek.AggregatePeek) -> bool:
        return look.kind == peek.LOG or look.format in self._formats

    def _of_main(self, run: Run) -> FoundRuns:
        names = (name for name in (run.rows, run.aggregate) if name is not None)
        return FoundRuns(run, tuple(map(self._identity, names)))

    def _remote(self, url: str) -> Iterator[FoundRuns]:
        try:
            if stands_for_prefix(url):
                yield from self._search_place(Prefix(url, self._exclusion), url)
                return
            found = found_at(url)
        except (OSError, CannotCheck) as error:
            yield FoundRuns(NoInput(url, f"{error}", readable=False))
            return
        if isinstance(found, Run):
            yield search_folder.identify_run(found)._replace(is_named=True)
        elif found.kind == peek.LOG:
            yield search_folder.log_found(url, search_folder.peeked_log(found))
        elif found.kind == peek.DOCUMENT and self._knows(found):
            yield _document_at(url, found, url)._replace(is_named=True)
        else:
            yield FoundRuns(Run(url, None) if found.kind == peek.ROWS else NoInput(url, UNKNOWN))

    def _is_array(self, path: str) -> bool:
        """Tell whether a file holds a list of objects, which may be rows."""
        file = read_beginning(path)
        return file_names.ends_like_ours(path) and peek.is_array(file.head) and bool(file.seen.keys)

    def _identity(self, path: str) -> str:
        """Return the one path of a file, without resolving each parent folder again."""
        folder, name = os.path.split(path)
        if name in ("", os.curdir, os.pardir) or os.path.islink(path):
            return real_path(path)
        return os.path.join(self._real_folder(folder), name)


_PLACES: Final[tuple[Place, ...]] = ("rows", "aggregate", "inputs")


def _document_at(path: str, look: peek.AggregatePeek, identity: str) -> FoundRuns:
    """Return a named document; its pair is known when all inputs are."""
    if paired_format(look.format) is None:
        return search_folder.identify_run(Run(path, None, format=look.format))
    return FoundRuns(NamedDocument(path, look.detail or ""), (identity,))


def _file_roles(what: Run | NoInput) -> list[Place]:
    """Return the roles of a run's files, in the order of their names."""
    if isinstance(what, NamedDocument):
        name, kind = what.reason.split(" ")
        return [FORMATS[name].places.get(kind, "inputs")]
    if isinstance(what, NoInput):
        return ["rows"]
    files = (what.rows, what.aggregate, what.inputs)
    places: list[Place] = [
        place for place, file in zip(_PLACES, files, strict=True) if file is not None
    ]
    return places + ["inputs"] * len(what.beside)


def _as_document(run: Run | NoInput) -> FoundRuns:
    """Return a run of one document as one that may be paired with other named documents."""
    found = search_folder.identify_run(run)
    paired = paired_format(run.format)
    if isinstance(run, NoInput) or paired is None or len(found.row_records) != 1:
        return found
    paths = {"rows": run.rows, "aggregate": run.aggregate, "inputs": run.inputs}
    filled = ((kind, paths[place]) for kind, place in paired.places.items())
    kind, path = next((kind, path) for kind, path in filled if path is not None)
    if path == STDIN:
        return found
    return found._replace(what=NamedDocument(path, f"{run.format} {kind}"))


def _is_name(path: str) -> bool:
    """Tell whether the operating system accepts a path as a name."""
    try:
        return b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:
        return False

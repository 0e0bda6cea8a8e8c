"""Search a folder on disk; skip hidden names and links that lead out of the folder."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from enum import Enum
from functools import cache, partial
from itertools import chain, islice
from typing import Final

from evalstream.discovery import unrecognised
from evalstream.discovery.file_table import FileEntry, FileTable, KnownFile
from evalstream.discovery.peek import (
    DOCUMENT,
    AggregatePeek,
    peek_aggregate,
    peek_data,
    peek_safely,
)
from evalstream.formats.registry import FORMATS, folder_format
from evalstream.io import names as file_names
from evalstream.io.containment import FolderBoundary, OutsideFolder
from evalstream.io.names import Exclusion
from evalstream.io.temporary import is_temporary_name
from evalstream.model.data_class import NamedTuple
from evalstream.model.errors import describe_error
from evalstream.model.run import NoInput

_BATCH = 1000


class Sort(Enum):
    """The type of a directory entry; links are not followed."""

    FILE = "file"
    FOLDER = "folder"
    LINK = "link"
    SPECIAL = "special"


class Met(NamedTuple):
    """An entry that the walk finds: its path below the folder that is walked, and its type."""

    path: str
    sort: Sort


Enters = Callable[[str], bool]
"""Tells whether to walk a folder, given by its path below the starting folder."""

Takes = Callable[[Met], FileEntry | None]
"""Returns the entry to add to the tree, or None."""


def walk(base: str, tree: FileTable, *, enters: Enters, takes: Takes) -> Iterator[NoInput]:
    """Add the files below a folder to `tree`, and report folders that cannot be listed."""
    for below in chain([""], tree.folders()):
        path = join_path(base, below.rstrip("/"))
        try:
            entries = _entries(path, below)
            while batch := list(islice(entries, _BATCH)):
                folders = [one for one in batch if one.sort is Sort.FOLDER]
                if folders:
                    tree.enter([one.path for one in folders if enters(one.path)])
                    tree.add(_select_entries(folders, takes), are_folders=True)
                tree.add(
                    _select_entries((one for one in batch if one.sort is not Sort.FOLDER), takes)
                )
        except OSError as error:
            yield NoInput(path, describe_error(error), readable=False)


def _select_entries(met: Iterator[Met] | list[Met], takes: Takes) -> Iterator[FileEntry]:
    return (entry for one in met if (entry := takes(one)) is not None)


def _entries(path: str, below: str) -> Iterator[Met]:
    """List the entries of a folder, in any order."""
    with os.scandir(path) as entries:
        for entry in entries:
            try:
                sort = entry_type(entry)
            except OSError:  # as of a file that is gone
                continue
            yield Met(below + entry.name, sort)


def entry_type(entry: os.DirEntry[str]) -> Sort:
    """Return the type of a directory entry, without following it. Raises OSError."""
    if entry.is_symlink():
        return Sort.LINK
    if entry.is_dir(follow_symlinks=False):
        return Sort.FOLDER
    return Sort.FILE if entry.is_file(follow_symlinks=False) else Sort.SPECIAL


def join_path(base: str, below: str) -> str:
    """Return the path of a file below a folder."""
    if base == os.curdir or not below:
        return below or base
    return f"{base}{below}" if base.endswith("/") else f"{base}/{below}"


def real_path(path: str) -> str:
    """Return the one path of a file, with links resolved."""
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):
        return path


def path_resolver() -> Callable[[str], str]:
    """Return what gives the paths that `real_path` gives, and resolves folders in common once."""

    @cache
    def resolve(path: str) -> str:
        folder, name = os.path.split(path)
        if name in ("", os.curdir, os.pardir):
            return real_path(path)
        found = os.path.join(resolve(folder), name)
        return real_path(found) if os.path.islink(found) else found

    return resolve


class LocalFolder:
    """A folder and the names of the files below it."""

    kind = "folder"

    def __init__(self, path: str, exclusion: Exclusion) -> None:
        self._inside = FolderBoundary(path)
        self.root = self._inside.real
        self._exclusion = exclusion
        self._yaml: dict[str, AggregatePeek | None] = {}
        plain = os.path.normpath(path)
        # The parent of a link's target is not the parent in its path.
        self._base = plain if os.path.realpath(plain) == self.root else path

    def fill(self, tree: FileTable, left: unrecognised.Leftovers) -> Iterator[NoInput]:
        """List files that may be data, count others in `left`; report unlisted folders."""

        def takes(met: Met) -> FileEntry | None:
            if self._exclusion.covers(met.path):
                left.excluded += 1
                return None
            kind = self._classify_entry(met)
            if isinstance(kind, str):
                left.add(kind, met.path)
                return None
            return kind

        return walk(self._base, tree, enters=self._enters, takes=takes)

    def join_path(self, below: str) -> str:
        """Return the path of a file below the folder."""
        return join_path(self._base, below)

    def identity(self, below: str) -> str:
        """Return the one path of a file below the folder that is not a link."""
        return f"{self.root.rstrip('/')}/{below}"

    def find_unlisted(self, below: str) -> str | None:
        """Return the path of a hidden or linked file, None for none. Raises OutsideFolder."""
        found = self._inside.file_at(below)
        return None if found is None or self._exclusion.covers_any(found) else found

    def is_met_anyway(self, below: str) -> bool:
        """Tell whether the walk reaches a file by its own name and the search reads it."""
        return _is_shown(below) and file_names.is_data_name(below)

    def looks(self, files: Iterable[KnownFile], _tree: FileTable) -> Iterator[AggregatePeek | None]:
        """Peek into listed files; None for files that no longer exist."""
        return (peek_safely(partial(self._look, self.join_path(file.path))) for file in files)

    def _look(self, path: str) -> AggregatePeek | None:
        """Peek into a file; of YAML in a folder named after its kind, only until one shows it.

        The format reads all YAML in such a folder as documents of this kind, whatever it shows.
        """
        if not file_names.is_yaml_name(path):
            return _look(path)
        folder = os.path.dirname(path)
        if folder not in self._yaml:
            found = _look(path)
            if not _is_named_after(folder, found):
                return found
            self._yaml[folder] = found
        return self._yaml[folder]

    def _enters(self, below: str) -> bool:
        return not file_names.is_hidden(below) and not self._exclusion.covers(below)

    def _classify_entry(self, met: Met) -> FileEntry | str | None:
        """Return the entry to list, or the kind under which to count it, or None for neither.

        Temporary files of our own, which another call writes or left, are neither.
        """
        if file_names.is_hidden(met.path):
            is_ours = is_temporary_name(os.path.basename(met.path))
            return None if is_ours else unrecognised.HIDDEN
        if met.sort is Sort.FOLDER:
            return None
        if met.sort is Sort.SPECIAL:
            return unrecognised.SPECIAL
        if met.sort is Sort.LINK:
            return self._link(met.path)
        return self._file(met.path)

    def _file(self, below: str) -> FileEntry | str:
        if file_names.is_data_name(below):
            return FileEntry(below)
        return unrecognised.ROWS_LIKE if file_names.is_like_rows(below) else unrecognised.OTHER

    def _link(self, below: str) -> FileEntry | str | None:
        """Return the entry of a link, or the kind under which to count it, or None for neither."""
        try:
            target = self._inside.resolve(below)
        except OutsideFolder:
            return unrecognised.OTHER if self._is_aside(below) else _link_out(below)
        if target is None:
            is_aside = self._is_aside(below) or not _may_be_data(below)
            return unrecognised.OTHER if is_aside else unrecognised.DANGLING_LINK
        if target == below:  # in the Hub's cache
            return self._file(below)
        if self._exclusion.covers_any(target):
            return None
        if os.path.isdir(os.path.join(self.root, target)):
            return None if _is_shown(target) else unrecognised.HIDDEN_LINK
        return self._link_to_file(below, target)

    def _is_aside(self, below: str) -> bool:
        """Tell whether a harness makes such links to folders without results."""
        name, target = os.path.basename(below), ""
        starts = [one.links_aside[name] for one in FORMATS.values() if name in one.links_aside]
        if starts:
            # The text of the link alone: what it leads to is not looked at.
            with suppress(OSError):
                target = os.readlink(os.path.join(self.root, below))
        return os.path.basename(target.rstrip("/")).startswith(tuple(starts))

    def _link_to_file(self, below: str, target: str) -> FileEntry | str | None:
        if not os.path.isfile(os.path.join(self.root, target)):
            return unrecognised.SPECIAL
        if file_names.is_data_name(below):
            return FileEntry(below, target=target)
        is_rows = file_names.is_like_rows(below) and not self.is_met_anyway(target)
        return unrecognised.ROWS_LIKE if is_rows else None


def _is_named_after(folder: str, look: AggregatePeek | None) -> bool:
    """Tell whether a folder has the name that its format gives to documents of one kind."""
    if look is None or look.kind != DOCUMENT:
        return False
    name, _, kind = (look.detail or "").partition(" ")
    one = folder_format(name)
    return one is not None and one.kind_of_folder((os.path.basename(folder),)) == kind


def _look(path: str) -> AggregatePeek | None:
    if file_names.is_json_name(path):
        return peek_aggregate(path)
    return peek_data(path)


def _link_out(below: str) -> str:
    is_document = file_names.is_json_name(below) or file_names.is_yaml_name(below)
    if is_document or not os.path.splitext(below)[1]:
        return unrecognised.DOCUMENT_LINK
    return unrecognised.LINK_OUT if _may_be_data(below) else unrecognised.OTHER


def _may_be_data(below: str) -> bool:
    """Tell whether a link may lead, by its name, to data or to a folder with data in it."""
    return file_names.is_like_rows(below) or not below.lower().endswith(_NO_DATA)


_NO_DATA: Final = (
    *(".md", ".txt", ".rst", ".html", ".css", ".js", ".py", ".sh", ".pdf"),
    *(".png", ".jpg", ".jpeg", ".gif", ".svg", ".toml", ".cfg", ".ini", ".lock"),
)
"""Endings of files that hold no results."""


def _is_shown(below: str) -> bool:
    return not any(part.startswith(".") for part in below.split("/"))

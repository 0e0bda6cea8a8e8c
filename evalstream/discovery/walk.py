"""Walk through a folder on disk without following links, in constant memory."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from enum import Enum
from itertools import chain, islice
from typing import NamedTuple

from evalstream.discovery.file_table import FileEntry, FileTable
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
            yield NoInput(path, f"{error.strerror}", readable=False)


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

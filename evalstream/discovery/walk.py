"""The walk through a folder on disk, which follows no links and remembers nothing in memory."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from enum import Enum
from itertools import islice
from typing import NamedTuple

from evalstream.discovery.file_table import Entry, FileTable
from evalstream.model.run import NoInput

_BATCH = 1000


class Sort(Enum):
    """What stands under a name of a folder; links are not followed."""

    FILE = "file"
    FOLDER = "folder"
    LINK = "link"
    SPECIAL = "special"


class Met(NamedTuple):
    """What a walk meets: its path below the folder that is walked, and what it is."""

    path: str
    sort: Sort


Enters = Callable[[str], bool]
"""Tells whether a folder, by its path below the one that is walked, is to be walked too."""

Takes = Callable[[Met], Entry | None]
"""Returns what is to be put into the tree for what was met, None for nothing."""


def walk(base: str, tree: FileTable, *, enters: Enters, takes: Takes) -> Iterator[NoInput]:
    """Put what is below a folder into `tree`, and say which folders cannot be listed, in order."""
    below: str | None = ""
    while below is not None:
        path = joined(base, below.rstrip("/"))
        try:
            met = _met(path, below)
            while batch := list(islice(met, _BATCH)):
                folders = [one for one in batch if one.sort is Sort.FOLDER]
                tree.enter(one.path for one in folders if enters(one.path))
                tree.add(_taken(folders, takes), are_folders=True)
                tree.add(_taken((one for one in batch if one.sort is not Sort.FOLDER), takes))
        except OSError as error:
            yield NoInput(path, f"{error.strerror}", readable=False)
        below = tree.next_folder()


def _taken(met: Iterator[Met] | list[Met], takes: Takes) -> Iterator[Entry]:
    return (entry for one in met if (entry := takes(one)) is not None)


def _met(path: str, below: str) -> Iterator[Met]:
    """List what is in a folder, in no order."""
    with os.scandir(path) as entries:
        for entry in entries:
            with suppress(OSError):  # as of a file that is gone
                yield Met(below + entry.name, sort_of(entry))


def sort_of(entry: os.DirEntry[str]) -> Sort:
    """Tell what a folder's entry is, without following it. Raises OSError."""
    if entry.is_symlink():
        return Sort.LINK
    if entry.is_dir(follow_symlinks=False):
        return Sort.FOLDER
    return Sort.FILE if entry.is_file(follow_symlinks=False) else Sort.SPECIAL


def joined(base: str, below: str) -> str:
    """Return the path of what is below a folder."""
    if base == os.curdir or not below:
        return below or base
    return f"{base}{below}" if base.endswith("/") else f"{base}/{below}"


def real_path(path: str) -> str:
    """Return the one path of a file, whatever links lead to it."""
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):
        return path

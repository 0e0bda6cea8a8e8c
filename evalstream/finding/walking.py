"""The walk through a folder on disk, which follows no links and remembers nothing in memory."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import islice
from typing import Final

from evalstream.finding.trees import Tree
from evalstream.runs import Nothing
from evalstream.sources.remote import Listed

_BATCH: Final = 1000

Enters = Callable[[str], bool]
"""Tells whether a folder, by its path below the one that is walked, is to be walked too."""

Takes = Callable[[str, bool], bool]
"""Tells whether a file, or a folder where the second argument says so, is to be taken."""


def walk(base: str, tree: Tree, *, enters: Enters, takes: Takes) -> Iterator[Nothing]:
    """Put what is below a folder into `tree`, and say which folders cannot be listed, in order."""
    below: str | None = ""
    while below is not None:
        path = joined(base, below.rstrip("/"))
        try:
            entries = _entries(path, below)
            while batch := list(islice(entries, _BATCH)):
                tree.enter(name for name, is_folder in batch if is_folder and enters(name))
                for kind in (False, True):
                    names = (name for name, is_folder in batch if is_folder is kind)
                    taken = (Listed(name) for name in names if takes(name, kind))
                    tree.add(taken, are_folders=kind)
        except OSError as error:
            yield Nothing(path, f"{error.strerror}", readable=False)
        below = tree.next_folder()


def _entries(path: str, below: str) -> Iterator[tuple[str, bool]]:
    """List the files and folders of a folder, in no order, and tell which are folders."""
    with os.scandir(path) as entries:
        for entry in entries:
            with suppress(OSError):  # as of a file that is gone
                is_folder = entry.is_dir(follow_symlinks=False)
                if is_folder or entry.is_file(follow_symlinks=False):
                    yield below + entry.name, is_folder


def joined(base: str, below: str) -> str:
    """Return the path of what is below a folder."""
    if base == os.curdir or not below:
        return below or base
    return f"{base}{below}" if base.endswith("/") else f"{base}/{below}"


def is_hidden(path: str) -> bool:
    """Tell whether a name is hidden."""
    return path.startswith(".", path.rfind("/") + 1)


def real_path(path: str) -> str:
    """Return the one path of a file, whatever links lead to it."""
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):
        return path

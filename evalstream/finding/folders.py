"""A folder on disk that is looked through for runs; hidden names and links are left out."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final

from evalstream.finding.looking import Look, look_at
from evalstream.finding.trees import Known, Tree
from evalstream.finding.walking import is_hidden, joined, real_path, walk
from evalstream.runs import AGGREGATE_ENDING, OUR_ENDINGS, Nothing

_FOLDERS: Final = 4096
"""How many folders that are there, or are not, are remembered."""


class Folder:
    """A folder and the names of what is below it."""

    def __init__(self, path: str) -> None:
        self._real = os.path.realpath(path)
        self.has_folder = lru_cache(maxsize=_FOLDERS)(_is_folder)
        plain = os.path.normpath(path)
        # What is above a link is not what its path says.
        self._base = plain if os.path.realpath(plain) == self._real else path

    def fill(self, tree: Tree) -> Iterator[Nothing]:
        """List the files of ours below the folder, and say which folders cannot be listed."""
        return walk(self._base, tree, enters=_is_shown, takes=_is_ours)

    def path_of(self, below: str) -> str:
        """Return the path of what is below the folder."""
        return joined(self._base, below)

    def below(self, path: str) -> str | None:
        """Return which path below the folder a path names, None where it leads elsewhere."""
        if self._base == os.curdir:
            return None if os.path.isabs(path) or path.startswith("..") else path
        start = self._base if self._base.endswith("/") else f"{self._base}/"
        return path.removeprefix(start) if path.startswith(start) else None

    def really_below(self, path: str) -> str | None:
        """Return which path below the folder a path leads to through links, if it does."""
        start, real = f"{self._real.rstrip('/')}/", real_path(path)
        return real.removeprefix(start) if real.startswith(start) else None

    def identity(self, below: str) -> str:
        """Return the one path of what is below the folder: nothing that is listed is a link."""
        return f"{self._real.rstrip('/')}/{below}"

    def holds(self, path: str) -> bool:
        """Tell whether there is a file that was not listed, as it is hidden, a link, or outside."""
        return os.path.isfile(path)

    def look(self, path: str) -> Look | None:
        """Look into a JSON file that was not listed."""
        return look_at(path)

    def looks(self, files: Iterable[Known], _tree: Tree) -> Iterator[Look | None]:
        """Look into JSON files that were listed, None for those that are gone."""
        return (look_at(self.path_of(file.path)) for file in files)

    def beside(self, folder: str, _tree: Tree) -> Iterator[str]:
        """List the JSON files of a folder, hidden ones and links as well."""
        return json_files_in(folder)


def json_files_in(folder: str) -> Iterator[str]:
    """List what may be an aggregate right in a folder, in no order; nothing if it cannot be."""
    try:
        with os.scandir(folder or os.curdir) as entries:
            for entry in entries:
                if entry.name.endswith(AGGREGATE_ENDING):
                    yield os.path.join(folder, entry.name)
    except OSError:
        return


def _is_folder(path: str) -> bool:
    """Tell whether there is a folder: many files are looked for where none is."""
    return os.path.isdir(path or os.curdir)


def _is_shown(below: str) -> bool:
    return not is_hidden(below)


def _is_ours(below: str, is_folder: bool) -> bool:
    return not is_folder and below.endswith(OUR_ENDINGS) and not is_hidden(below)

"""Match a pattern of names with files, folders and the objects of a store."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import closing
from fnmatch import translate
from functools import lru_cache, partial
from typing import Final

from evalstream.discovery.file_table import FileEntry, FileTable
from evalstream.discovery.local import Met, Sort, join_path, walk
from evalstream.io import remote
from evalstream.io.names import (
    NO_ENDING,
    WILD,
    Exclusion,
    folders_above,
    is_data_name,
    is_remote,
    split_path,
    split_root,
)
from evalstream.model.run import NoInput
from evalstream.model.text import count_noun, join_words

_ANY_DEPTH: Final = "**"


def matches(pattern: str, exclude: Sequence[str]) -> Iterator[str | NoInput]:
    """Iterate over the matches of a pattern, in listing order, but those of `exclude`."""
    base, parts = _split_pattern(pattern)
    if not parts:
        yield base
        return
    fit = partial(_Parts, parts, pattern.endswith(("/", _ANY_DEPTH)))
    with closing(FileTable()) as tree:
        found = False
        for one in _list_matches(base, fit(Exclusion(exclude)), tree):
            found = True
            yield one
        for file in tree.files():
            found = True
            yield _match(base, file.path)
        if not found:
            excluded = _describe_excluded(base, fit(Exclusion(())), exclude) if exclude else None
            why = excluded or "the pattern matches no file"
            yield NoInput(pattern, f"no file has this name, and {why}")


def _describe_excluded(base: str, parts: _Parts, exclude: Sequence[str]) -> str | None:
    """Say how many matches of a pattern are excluded, and by what; None without any match."""
    exclusions = {name: Exclusion([name]) for name in exclude}
    count, by = 0, set[str]()
    with closing(FileTable()) as tree:
        if any(_list_matches(base, parts, tree)):
            return None
        for file in tree.files():
            count += 1
            path = file.path.rstrip("/")
            by |= {name for name, one in exclusions.items() if one.covers_any(path)}
    if not count:
        return None
    names = join_words([repr(name) for name in exclusions if name in by])
    found = count_noun(count, "match", "matches")
    return f"the pattern has {found}, which --exclude {names} leaves out"


def _match(base: str, below: str) -> str | NoInput:
    if not is_remote(base):
        return join_path(base, below.rstrip("/"))
    url = join_path(base, below)
    return url if url.endswith("/") or is_data_name(url) else NoInput(url, NO_ENDING)


def _split_pattern(pattern: str) -> tuple[str, list[str]]:
    """Split a pattern into its literal folder and the parts from the first wildcard on."""
    root, path = split_root(pattern)
    root = root or ("/" if path.startswith("/") else "")
    parts = split_path(path)
    # A trailing `**` matches all files below a folder, so the folder itself stands for them.
    while parts and parts[-1] == _ANY_DEPTH:
        parts.pop()
    wild = [at for at, part in enumerate(parts) if WILD.search(part)]
    first = wild[0] if wild else len(parts)
    return f"{root}{'/'.join(parts[:first])}" or os.curdir, parts[first:]


def _list_matches(base: str, parts: _Parts, tree: FileTable) -> Iterator[NoInput]:
    """Add what matches below a folder to `tree`, and report what cannot be listed."""
    if not is_remote(base):
        if os.path.isdir(base):
            yield from walk(base, tree, enters=parts.leads_on, takes=parts.match_entry)
        return
    for page in remote.list_objects(base):
        tree.add(one for one in page if parts.matches(one.path, False))
        folders = {folder for one in page for folder in folders_above(one.path)}
        matched = (FileEntry(folder) for folder in folders if parts.matches(folder, True))
        tree.add(matched, are_folders=True)


class _Parts:
    """The parts of a pattern, matched with the parts of paths."""

    def __init__(self, parts: Sequence[str], only_folders: bool, exclusion: Exclusion) -> None:
        self._parts, self._only_folders, self._exclusion = parts, only_folders, exclusion
        self._patterns = [re.compile(translate(part)) for part in parts]
        self._after = lru_cache(maxsize=256)(self._next)

    def match_entry(self, met: Met) -> FileEntry | None:
        """Return the entry of a match in a walk; links and devices do not match."""
        is_plain = met.sort in (Sort.FILE, Sort.FOLDER)
        is_matched = is_plain and self.matches(met.path, met.sort is Sort.FOLDER)
        return FileEntry(met.path) if is_matched else None

    def matches(self, path: str, is_folder: bool) -> bool:
        if (self._only_folders and not is_folder) or self._exclusion.covers_any(path):
            return False
        return len(self._parts) in self._next(path)

    def leads_on(self, folder: str) -> bool:
        """Tell whether something in a folder may match."""
        return any(at < len(self._parts) for at in self._after(folder))

    def _next(self, path: str) -> frozenset[int]:
        """Return the numbers of pattern parts that a file or a folder may have used."""
        folder, slash, name = path.rpartition("/")
        before = self._after(folder) if slash else self._with_empty(frozenset({0}))
        stay = {at for at in before if self._is_any_depth(at) and not name.startswith(".")}
        return self._with_empty(frozenset(stay | {at + 1 for at in before if self._fits(at, name)}))

    def _with_empty(self, reached: frozenset[int]) -> frozenset[int]:
        """Add the positions that are reached if `**` matches zero folders."""
        more = {at + 1 for at in reached if self._is_any_depth(at)}
        return reached if more <= reached else self._with_empty(reached | more)

    def _is_any_depth(self, at: int) -> bool:
        return at < len(self._parts) and self._parts[at] == _ANY_DEPTH

    def _fits(self, at: int, name: str) -> bool:
        if at == len(self._parts) or self._is_any_depth(at):
            return False
        is_shown = not name.startswith(".") or self._parts[at].startswith(".")
        return is_shown and self._patterns[at].match(name) is not None

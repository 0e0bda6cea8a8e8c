"""Find the files of a folder that are EvalGuard's documents, and links out of the folder."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from evalstream.formats.base import other_formats
from evalstream.formats.evalguard.format import (
    ENDINGS,
    SCHEMA_ENDING,
    file_stem,
    is_document_name,
    is_manifest,
    kind_of_folder,
)
from evalstream.io.containment import FolderBoundary, OutsideFolder
from evalstream.io.names import Exclusion, is_local, is_remote
from evalstream.model.data_class import NamedTuple
from evalstream.model.run import STDIN

NOT_OURS: Final = f"documents of EvalGuard end in {', '.join(ENDINGS)}; {other_formats()}"
EMPTY: Final = f"no file in the folder has an ending of EvalGuard's ({', '.join(ENDINGS)})"


CONFIG: Final = "config"
SCHEMAS: Final = "schemas"
_OF_A_PROJECT: Final = (CONFIG, "reports", SCHEMAS)
"""The folders of a project that belong to EvalGuard (its own repository is laid out so)."""


class File(NamedTuple):
    """A file to read: its path, and the folders between it and the named folder.

    `root` is the name of that folder, or the file's own name if the file was named. `leaves` says
    that a link leads out of the folder, `is_link` that it stays inside; `incomplete_reason` says
    why the file could not be examined. A file that `is_found` was not named, and may be of another
    format.
    """

    path: str
    folders: tuple[str, ...]
    root: str
    leaves: bool = False
    is_found: bool = False
    is_link: bool = False
    incomplete_reason: str | None = None

    @property
    def is_schema(self) -> bool:
        """Whether the file is a schema by its name or its folder."""
        return file_stem(self.path).endswith(SCHEMA_ENDING) or SCHEMAS in (self.root, *self.folders)


def iterate_files(path: str, exclude: Iterable[str] = ()) -> Iterator[File]:
    """Yield the files of an input in order, without excluded ones."""
    if not is_local(path):
        yield File(path, (), "")
    elif os.path.isdir(path):
        yield from _files_below(path, exclude)
    else:
        yield File(path, (), os.path.basename(os.path.dirname(os.path.abspath(path))))


def describe_empty(path: str) -> str | None:
    """Return why an input has nothing to check, or None if it may have something."""
    if path == STDIN:
        return None
    if not is_remote(path) and os.path.isdir(path):
        found = (file for file in _files_below(path, ()) if not is_manifest(file.path))
        return None if next(found, None) else f"{EMPTY}; {other_formats()}"
    is_stream = os.path.exists(path) and not os.path.isfile(path)
    is_missing = not is_remote(path) and not os.path.exists(path)
    named = path.partition("?")[0] if is_remote(path) else path
    return None if is_stream or is_missing or is_document_name(named) else NOT_OURS


def beside_config(folder: str, exclude: Iterable[str] = ()) -> list[str]:
    """Return the names of the folders in a project that do not belong to EvalGuard.

    A folder is a project if its folder `config` has one for a kind of document. Others beside it,
    such as those of a program and its tests, may hold documents that are not part of it. Raises no
    error: what cannot be listed has no such folders.
    """
    try:
        with os.scandir(os.path.join(folder, CONFIG)) as entries:
            is_project = any(kind_of_folder((one.name,)) and _is_folder(one) for one in entries)
        if not is_project:
            return []
        exclusion = Exclusion(exclude)
        with os.scandir(folder) as entries:
            names = sorted(one.name for one in entries if _is_folder(one))
    except OSError:
        return []
    return [
        name
        for name in names
        if name not in _OF_A_PROJECT
        and not name.startswith(".")
        and kind_of_folder((name,)) is None
        and not exclusion.covers(name)
    ]


def _files_below(folder: str, exclude: Iterable[str]) -> Iterator[File]:
    """Walk through a folder, without hidden names and without following links out of it."""
    inside, exclusion = FolderBoundary(folder), Exclusion(exclude)
    root = os.path.basename(inside.real)
    others = set(beside_config(folder))
    waiting = [""]
    while waiting:
        below = waiting.pop()
        place = os.path.normpath(os.path.join(folder, below))
        parts = tuple(filter(None, below.split("/")))
        try:
            with os.scandir(place) as entries:
                found = sorted(
                    (entry.name, entry.is_symlink(), _is_folder(entry)) for entry in entries
                )
        except OSError as error:
            yield File(place, (), root, incomplete_reason=error.strerror or "it cannot be read")
            continue
        folders = []
        for name, is_link, is_folder in found:
            path = f"{below}/{name}" if below else name
            if name.startswith(".") or exclusion.covers(path):
                continue
            if path in others:
                continue
            if is_folder:
                folders.append(path)
            elif is_link:
                yield from _follow_link(inside, path, _file(place, name, parts, root, is_link=True))
            elif is_document_name(name) and inside.has_file(path):
                yield _file(place, name, parts, root)
        waiting.extend(reversed(folders))


def _follow_link(inside: FolderBoundary, path: str, file: File) -> Iterator[File]:
    """Yield the target of a link, unless the walk reaches it anyway."""
    try:
        target = inside.resolve(path)
    except OutsideFolder:
        # Without an ending it may lead to a folder with documents.
        if is_document_name(path) or not os.path.splitext(path)[1]:
            yield file._replace(leaves=True)
        return
    is_file = target is not None and inside.has_file(target)
    if target is None or not is_file or not is_document_name(path):
        return
    if any(part.startswith(".") for part in target.split("/")) or not is_document_name(target):
        yield file


def _file(
    place: str, name: str, folders: tuple[str, ...], root: str, *, is_link: bool = False
) -> File:
    path = f"{place}/{name}" if place not in ("", os.curdir) else name
    return File(path, folders, root, is_found=True, is_link=is_link)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


def kind_of_part(path: str) -> str | None:
    """Return the kind of the documents in a folder named after it, or None for another folder."""
    return kind_of_folder((os.path.basename(os.path.realpath(path)),))


def together(folders: Sequence[str]) -> Iterator[Sequence[str]]:
    """Group folders that are parts of one configuration, such as its tasks and its metrics.

    A folder that is not named after a kind of document is a whole configuration. If there is one,
    all parts go with it; several stay apart. Parts without one go together, by the folder that
    contains them if one kind was named twice.
    """
    parts = [folder for folder in folders if kind_of_part(folder) is not None]
    wholes = [folder for folder in folders if folder not in parts]
    groups = _group_folders(parts)
    if len(wholes) == 1 and len(groups) == 1:
        yield (*wholes, *parts)
        return
    yield from ((folder,) for folder in wholes)
    yield from groups


def _group_folders(parts: Sequence[str]) -> list[Sequence[str]]:
    by_place: dict[str, list[str]] = {}
    kinds: dict[str, set[str]] = {}
    for folder in parts:
        real = os.path.realpath(folder)
        by_place.setdefault(os.path.dirname(real), []).append(folder)
        kinds.setdefault(str(kind_of_part(folder)), set()).add(real)
    if all(len(places) == 1 for places in kinds.values()):
        return [parts] if parts else []
    return list(by_place.values())

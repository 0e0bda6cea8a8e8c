"""Which files of a folder are EvalGuard's documents, and which links lead out of it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Final, NamedTuple

from evalstream.formats import NAMES
from evalstream.formats.evalguard import ENDINGS, SCHEMA_ENDING, is_document_name, stem_of
from evalstream.runs import STDIN
from evalstream.sources.remote import is_remote

KNOWN_FORMATS: Final = f"the known formats are {', '.join(NAMES)} (--format-name)"
NOT_OURS: Final = f"no document of EvalGuard ends like this ({', '.join(ENDINGS)}); {KNOWN_FORMATS}"
EMPTY: Final = f"the folder holds no file with an ending of EvalGuard's ({', '.join(ENDINGS)})"


class File(NamedTuple):
    """A file to be read: its path, and the folders between it and the one that was named.

    `root` is the name of that folder, of the file's own where the file was named. `leaves` says
    that a link leads out of it; `trouble` why it could not be looked into.
    """

    path: str
    folders: tuple[str, ...]
    root: str
    leaves: bool = False
    trouble: str | None = None

    @property
    def is_schema(self) -> bool:
        """Whether the file is a schema by its name."""
        return stem_of(self.path).endswith(SCHEMA_ENDING)


def files_of(path: str) -> Iterator[File]:
    """Give the files that an input stands for, in order."""
    if path == STDIN or is_remote(path):
        yield File(path, (), "")
    elif os.path.isdir(path):
        yield from _files_below(path)
    else:
        yield File(path, (), os.path.basename(os.path.dirname(os.path.abspath(path))))


def nothing_in(path: str) -> str | None:
    """Say why there is nothing to check in an input, None where there may be something."""
    if path == STDIN:
        return None
    if not is_remote(path) and os.path.isdir(path):
        return None if next(_files_below(path), None) else f"{EMPTY}; {KNOWN_FORMATS}"
    is_stream = os.path.exists(path) and not os.path.isfile(path)
    is_missing = not is_remote(path) and not os.path.exists(path)
    named = path.partition("?")[0] if is_remote(path) else path
    return None if is_stream or is_missing or is_document_name(named) else NOT_OURS


def _files_below(folder: str) -> Iterator[File]:
    """Walk through a folder, without what is hidden and without following links out of it."""
    inside = os.path.realpath(folder)
    root = os.path.basename(inside)
    troubles: list[OSError] = []
    for place, folders, names in os.walk(folder, onerror=troubles.append):
        yield from (_not_looked_into(error, root) for error in troubles)
        troubles.clear()
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        parts = () if place == folder else tuple(os.path.relpath(place, folder).split(os.sep))
        linked = {name for name in folders if os.path.islink(os.path.join(place, name))}
        for name in sorted({*names, *linked}):
            path = os.path.normpath(os.path.join(place, name))
            if name.startswith(".") or not (name in linked or is_document_name(name)):
                continue
            if not os.path.islink(path):
                if os.path.isfile(path):
                    yield File(path, parts, root)
            elif not _is_within(os.path.realpath(path), inside):
                yield File(path, parts, root, leaves=True)
            elif not _is_met_anyway(path, folder):
                yield File(path, parts, root)
    yield from (_not_looked_into(error, root) for error in troubles)


def _not_looked_into(error: OSError, root: str) -> File:
    return File(str(error.filename), (), root, trouble=error.strerror or "it cannot be read")


def _is_within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def _is_met_anyway(path: str, folder: str) -> bool:
    """Tell whether what a link within the folder leads to is walked through by itself."""
    target = os.path.realpath(path)
    within = os.path.relpath(target, os.path.realpath(folder)).split(os.sep)
    if within != [os.curdir] and any(part.startswith(".") for part in within):
        return False
    return os.path.isdir(target) or (os.path.isfile(target) and is_document_name(target))

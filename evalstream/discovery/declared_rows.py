"""Where the rows that an aggregate declares may lie: inside what was named, and nowhere else.

An aggregate may come from anyone, so its `file_path` chooses among places that are permitted
anyway. Nothing here looks at a disk or a store.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Final

from evalstream.io.file_names import PACKED_ENDINGS, ends_like_ours
from evalstream.io.names import split_root

DATA: Final = "data"
"""The folder of a store from whose parent on a `file_path` is written."""


def is_outside(declared: str) -> bool:
    """Tell whether a declared path leads out by its text: it is absolute or climbs with `..`."""
    return os.path.isabs(declared) or os.pardir in PurePosixPath(declared).parts


def places(root: str, aggregate: str, declared: str) -> Iterator[str]:
    """Name the places below `root` at which declared rows may lie, the likeliest first.

    `root` is an absolute path or a URL, `aggregate` is the aggregate's path below it, and so are
    the places. They are its own folder, the folder above the nearest `data`, and its own folder
    under the last name of the declared path, packed or not.
    """
    if "\0" in declared:
        return
    folder, name = os.path.dirname(aggregate), os.path.basename(declared)
    if not is_outside(declared):
        yield os.path.normpath(os.path.join(folder, declared))
        from_data = _from_data(root, folder, declared)
        if from_data is not None:
            yield from_data
    # Rows may be stored packed under an aggregate that names them as they were.
    for packed in ("", *PACKED_ENDINGS) if name else ():
        yield os.path.join(folder, name + packed)


def root_of(path: str) -> str:
    """Return the folder in which the other half of a named file may lie, as an absolute path.

    It is the folder above the nearest `data`, else the file's own. What lies right in the root
    of the disk belongs to the machine: for `/data` it is that folder itself.
    """
    own = os.path.dirname(os.path.abspath(path))
    parts = own.split("/")
    at = _last_data(parts)
    if at is None:
        return own
    return "/".join(parts[:at]) or "/".join(parts[: at + 1])


def _from_data(root: str, folder: str, declared: str) -> str | None:
    """Return the place of a path from the folder above `data`, None where it is not below root.

    There the path chooses among many folders: it has to be that of a data file, not hidden.
    """
    parts = PurePosixPath(declared).parts
    if not ends_like_ours(declared) or any(part.startswith(".") for part in parts):
        return None
    above = _parts(split_root(root)[1])
    here = [*above, *_parts(folder)]
    at = _last_data(here)
    if at is None:
        return None
    place = [*here[:at], *parts]
    return "/".join(place[len(above) :]) if place[: len(above)] == above else None


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part]


def _last_data(parts: list[str]) -> int | None:
    return max((at for at, part in enumerate(parts) if part == DATA), default=None)


def missing_rows(declared: str | None) -> str | None:
    """Say that declared rows were not found, where some were declared."""
    return declared and f"the rows file that it declares was not found: {declared}"

"""Say which folders that are named in one call are parts of one configuration of EvalGuard."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from evalstream.formats.evalguard.documents import kind_of_folder


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

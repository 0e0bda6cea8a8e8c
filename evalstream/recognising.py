"""Which system's files an input shows: by the members of its documents, or of a folder's first."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib import import_module
from itertools import islice
from typing import Any, Final

from evalstream.formats import NAMES, eee
from evalstream.glimpse import glimpse
from evalstream.runs import STDIN
from evalstream.sources.remote import is_remote

LOOKED_AT: Final = 64
"""How many files of a folder are looked at."""

UNSURE: Final = "document"
"""What a file is called that may be of a system by its ending alone."""


def recognised(*paths: str | None) -> dict[str, str]:
    """Return the systems that files or folders show, each with the first file that shows it.

    A stream, a URL and a packed file show nothing. What shows nothing is of the main system.
    """
    for path in paths:
        if path is None or path == STDIN or is_remote(path):
            continue
        shown = _among(path) if os.path.isdir(path) else _by_itself(path)
        if shown:
            return shown
    return {}


def _by_itself(path: str) -> dict[str, str]:
    seen = glimpse(path)
    for name in NAMES:
        if _format(name).recognised(seen, path):
            return {name: path}
    return {}


def _among(folder: str) -> dict[str, str]:
    """Return the systems of the first files of a folder that show theirs."""
    shown: dict[str, str] = {}
    for path in islice(_files_below(folder), LOOKED_AT):
        seen = glimpse(path)
        for name in NAMES:
            kind = _format(name).recognised(seen, path)
            if kind is not None and kind != UNSURE:
                shown.setdefault(name, path)
                break
    return shown


def _files_below(folder: str) -> Iterator[str]:
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (os.path.join(place, name) for name in sorted(files) if name[0] != ".")


def _format(name: str) -> Any:
    return eee if name == eee.NAME else import_module(f"evalstream.formats.{name}")

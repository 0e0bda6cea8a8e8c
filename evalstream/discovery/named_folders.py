"""Combine folders that are named in one call and belong together, such as tasks and metrics."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from evalstream.discovery.pairing import FoundRuns
from evalstream.discovery.search_folder import identify_run
from evalstream.formats.registry import folder_format
from evalstream.io.remote import is_remote
from evalstream.model.run import STDIN, Run


def join_folders(found: Iterable[FoundRuns]) -> Iterator[FoundRuns]:
    """Pass runs on; those of whole folders come last, each group of folders as one run."""
    folders: dict[str, list[str]] = {}
    for one in found:
        path = _whole_folder(one)
        if path is None:
            yield one
        else:
            folders.setdefault(one.what.format, []).append(path)
    for name, paths in folders.items():
        whole = folder_format(name)
        for group in whole.together(paths) if whole is not None else ():
            yield identify_run(Run(group[0], None, format=name, beside=tuple(group[1:])))


def _whole_folder(found: FoundRuns) -> str | None:
    """Return the folder that a run stands for as a whole, or None for another run."""
    what = found.what
    if not isinstance(what, Run) or folder_format(what.format) is None:
        return None
    path = what.rows
    if path is None or path == STDIN or is_remote(path) or what.aggregate is not None:
        return None
    return path if os.path.isdir(path) else None

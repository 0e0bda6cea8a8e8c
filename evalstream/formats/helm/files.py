"""Find the files of a run, which lie in one folder."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

from evalstream.formats.base import other_formats
from evalstream.formats.helm.documents import (
    ENTRIES,
    NAME,
    NOUNS,
    STATISTICS,
    SUMMARY,
    detect_kind,
    kind_by_name,
    kind_of_file,
)
from evalstream.io.beginning import read_beginning
from evalstream.io.names import is_local
from evalstream.model.errors import UsageError
from evalstream.model.run import NoInput, Run


def find_runs(path: str, aggregate: str | None, inputs: str | None) -> Iterator[Run | NoInput]:
    """Find the run of a file or of a folder. Raises UsageError for documents named beside it."""
    for option, value in (("--aggregate", aggregate), ("--inputs-file", inputs)):
        if value is not None:
            raise UsageError(f"{option} does not go with files of HELM: name the folder of the run")
    if not is_local(path):
        yield Run(path, None, format=NAME)
        return
    kind = kind_of_file(path)
    if kind is None:
        reason = f"this is not a document of HELM; {other_formats()}"
        yield NoInput(path, reason, format=NAME)
        return
    runs = list(pair_documents(lambda: iter([(kind, path)]), named=True))
    yield from runs or [NoInput(path, "no document that it repeats lies beside it", format=NAME)]


def pair_documents(
    documents: Callable[[], Iterator[tuple[str, str]]], *, named: bool
) -> Iterator[Run | NoInput]:
    """Group documents into runs by their folders; what lies beside a `named` one belongs to it."""
    folders: dict[str, dict[str, list[str]]] = {}
    for detected, path in documents():
        found = folders.setdefault(os.path.dirname(path), {})
        kind = kind_by_name(path) or detected
        if kind != SUMMARY:
            found.setdefault(kind, []).append(path)
    for folder, found in folders.items():
        if named:
            for kind, path in find_beside(folder).items():
                found.setdefault(kind, [path])
        if found:
            first = {kind: paths.pop(0) for kind, paths in found.items()}
            rows, aggregate = first.pop(ENTRIES, None), first.pop(STATISTICS, None)
            beside = tuple(first[kind] for kind in NOUNS if kind in first)
            if rows is None and aggregate is None:
                aggregate, *rest = beside
                beside = tuple(rest)
            yield Run(rows, aggregate, format=NAME, beside=beside)
            for paths in found.values():
                yield from (Run(None, path, format=NAME) for path in paths)


def find_beside(folder: str) -> dict[str, str]:
    """Return the documents of a run in a local folder by kind, those with their usual names.

    There are none where no file shows by its content that it is one.
    """
    paths = {kind: os.path.join(folder, f"{kind}.json") for kind in NOUNS}
    found = {kind: path for kind, path in paths.items() if is_local(path) and os.path.isfile(path)}
    is_run = any(detect_kind(read_beginning(path)) for path in found.values())
    return found if is_run else {}

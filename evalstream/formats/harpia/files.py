"""Find the documents of HarpIA Lab, detect their kinds, and group them into runs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import Final

from evalstream.formats.base import other_formats
from evalstream.formats.harpia.documents import INPUT, LOG, NAME, OUTPUT, detect_kind
from evalstream.io.beginning import LINES, read_beginning
from evalstream.io.names import is_json_name, is_local, is_packed_name, is_rows_name, printable
from evalstream.model.errors import UsageError
from evalstream.model.run import STDIN, NoInput, Run

NOT_OURS: Final = f"not an input, output or log of HarpIA Lab; {other_formats()}"

TO_NAME: Final = "name the log, its output with --aggregate and its input with --inputs-file"

_KINDS: Final = (INPUT, OUTPUT, LOG)
"""The kind of a document; an unsure one may be an input."""

NAMED: Final = 5
"""The number of documents of one kind that a message lists."""


def find_runs(path: str, aggregate: str | None, inputs: str | None) -> Iterator[Run | NoInput]:
    """Find the runs of an input, with the output and the input that were named with it.

    Names are not used for guessing: a document that is not named is not checked. Raises UsageError
    if the documents do not belong together.
    """
    if path != STDIN and os.path.isdir(path):
        raise UsageError("--aggregate and --inputs-file need exactly one log, not a folder")
    kind = kind_of_file(path)
    if kind is None:
        yield NoInput(path, f"this is {NOT_OURS}", format=NAME)
    elif kind == LOG:
        yield Run(path, aggregate, format=NAME, inputs=inputs)
    elif kind == OUTPUT:
        if aggregate is not None:
            raise UsageError(f"{printable(path)} is an output, and --aggregate names another")
        yield Run(None, path, format=NAME, inputs=inputs)
    else:
        if inputs is not None:
            raise UsageError(f"{printable(path)} is an input, and --inputs-file names another")
        yield Run(None, aggregate, format=NAME, inputs=path)


def kind_of_file(path: str) -> str | None:
    """Return the kind of a file; the name decides for one that cannot be parsed."""
    if not is_local(path) or not os.path.isfile(path):
        return LOG
    file = read_beginning(path)
    kind = detect_kind(file)
    if kind is not None:
        return kind
    if is_rows_name(path) or is_packed_name(path) or file.seen.kind == LINES:
        return LOG
    return INPUT if is_json_name(path) and file.document is None else None


def pair_documents(
    documents: Callable[[], Iterator[tuple[str, str]]], *, named: bool
) -> Iterator[Run | NoInput]:
    """Group documents into runs, at most one of each kind in a folder.

    Documents that were `named` in one call form a run wherever they are, unless there are several
    of a kind.
    """
    if named:
        first = {kind if kind in _KINDS else INPUT: path for kind, path in documents()}
        if sum(1 for _ in documents()) == len(first):
            yield _run(first)
            return
    for folder, some in groupby(documents(), lambda one: os.path.dirname(one[1])):
        yield from _among(folder, some, named=named)


def _among(folder: str, some: Iterable[tuple[str, str]], *, named: bool) -> Iterator[Run | NoInput]:
    """Group the documents of one folder, unless there are several of a kind."""
    kinds: dict[str, list[str]] = {kind: [] for kind in _KINDS}
    for kind, path in some:
        kinds[kind if kind in kinds else INPUT].append(path)
    several = [kind for kind, paths in kinds.items() if len(paths) > 1]
    if not several:
        yield _run({kind: path for kind, paths in kinds.items() for path in paths})
    elif named:
        for kind, paths in kinds.items():
            yield from (_run({kind: path}) for path in paths)
    else:
        paths = kinds[several[0]]
        names = ", ".join(os.path.basename(printable(path)) for path in paths[:NAMED])
        reason = f"the folder holds several documents of the kind {several[0]!r}: {names}"
        yield NoInput(folder or os.curdir, f"{reason}; {TO_NAME}", format=NAME)


def _run(documents: dict[str, str]) -> Run:
    log, output, read = (documents.get(kind) for kind in (LOG, OUTPUT, INPUT))
    return Run(log, output, format=NAME, inputs=read)

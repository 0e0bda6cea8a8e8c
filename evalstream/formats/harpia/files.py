"""Where the documents of HarpIA Lab lie, which of the three each is, and which belong together."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import Final

from evalstream.formats.base import other_formats
from evalstream.formats.harpia.documents import INPUT, LOG, NAME, OUTPUT, recognised
from evalstream.io.beginning import beginning_of
from evalstream.io.file_names import is_json_name, is_packed_name, is_rows_name
from evalstream.io.names import printable
from evalstream.io.remote import is_remote
from evalstream.model.errors import UsageError
from evalstream.model.run import STDIN, NoInput, Run
from evalstream.parsing.peek import LINES

NOT_OURS: Final = f"not an input, output or log of HarpIA Lab; {other_formats()}"

TO_NAME: Final = "name the log, its output with --aggregate and its input with --inputs-file"

_KINDS: Final = (INPUT, OUTPUT, LOG)
"""What a document is; one that is unsure may be an input."""

NAMED: Final = 5
"""How many documents of one kind are named."""


def runs_of(path: str, aggregate: str | None, inputs: str | None) -> Iterator[Run | NoInput]:
    """Find the runs of an input, with the output and the input that were named beside it.

    Nothing is guessed from names: a document that is not named is not checked. Raises UsageError
    where they do not go together.
    """
    if path != STDIN and os.path.isdir(path):
        raise UsageError("--aggregate and --inputs-file go with exactly one log, not with a folder")
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
    """Return which document a file is; one that cannot be parsed is what its name says."""
    if path == STDIN or is_remote(path) or not os.path.isfile(path):
        return LOG
    file = beginning_of(path)
    kind = recognised(file)
    if kind is not None:
        return kind
    if is_rows_name(path) or is_packed_name(path) or file.seen.kind == LINES:
        return LOG
    return INPUT if is_json_name(path) and file.document is None else None


def paired(
    documents: Callable[[], Iterator[tuple[str, str]]], *, named: bool
) -> Iterator[Run | NoInput]:
    """Put documents together, at most one of each kind in a folder.

    Documents that were `named` in one call go together wherever they lie, if there are not
    several of a kind.
    """
    if named:
        first = {kind if kind in _KINDS else INPUT: path for kind, path in documents()}
        if sum(1 for _ in documents()) == len(first):
            yield _run(first)
            return
    for folder, some in groupby(documents(), lambda one: os.path.dirname(one[1])):
        yield from _among(folder, some, named=named)


def _among(folder: str, some: Iterable[tuple[str, str]], *, named: bool) -> Iterator[Run | NoInput]:
    """Put the documents of one folder together, if there are not several of a kind."""
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

"""The format harpia: how its documents are found, and grouped into runs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import ClassVar, Final

from evalstream.formats.base import PairedFormat, Place, other_formats
from evalstream.formats.harpia.documents import (
    INPUT,
    LOG,
    NAME,
    OUTPUT,
    UNSURE,
    detect_kind,
    is_surely_input,
)
from evalstream.io.beginning import LINES, Beginning, read_beginning
from evalstream.io.names import is_json_name, is_local, is_packed_name, is_rows_name, printable
from evalstream.model.errors import UsageError
from evalstream.model.run import STDIN, NoInput, Run

NOT_OURS: Final = "not an input, output or log of HarpIA Lab"

TO_NAME: Final = "name the log, its output with --aggregate and its input with --inputs-file"

_KINDS: Final = (INPUT, OUTPUT, LOG)
"""The kind of a document; an unsure one may be an input."""

NAMED: Final = 5
"""The number of documents of one kind that a message lists."""


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


class HarpiaFormat(PairedFormat):
    """The input of an evaluation, its output and its log."""

    __slots__ = ()

    name = NAME
    label = "HarpIA Lab"
    title = "HarpIA Lab: the input of an evaluation, its output and its log"
    noun = "log line"
    places: ClassVar[Mapping[str, Place]] = {
        LOG: "rows",
        OUTPUT: "aggregate",
        INPUT: "inputs",
        UNSURE: "inputs",
    }
    options = frozenset({"routing", "skip_noise"})
    is_sure = False
    companions: ClassVar[Mapping[str, Sequence[str]]] = {UNSURE: (LOG, OUTPUT)}

    def detect_kind(self, file: Beginning) -> str | None:
        kind = detect_kind(file)
        is_unsure = kind == INPUT and not is_surely_input(file.document)
        return UNSURE if is_unsure else kind

    def find(self, path: str, aggregate: str | None, inputs: str | None) -> Iterator[Run | NoInput]:
        # Names are not used for guessing: a document that is not named is not checked.
        if path != STDIN and os.path.isdir(path):
            raise UsageError("--aggregate and --inputs-file need exactly one log, not a folder")
        kind = kind_of_file(path)
        if kind is None:
            yield NoInput(path, f"this is {NOT_OURS}; {other_formats()}", format=NAME)
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

    def pair(
        self, documents: Callable[[], Iterator[tuple[str, str]]], *, named: bool
    ) -> Iterator[Run | NoInput]:
        # At most one document of each kind in a folder makes a run. Documents that were `named` in
        # one call form a run wherever they are, unless there are several of a kind.
        if named:
            first = {kind if kind in _KINDS else INPUT: path for kind, path in documents()}
            if sum(1 for _ in documents()) == len(first):
                yield _run(first)
                return
        for folder, some in groupby(documents(), lambda one: os.path.dirname(one[1])):
            yield from _among(folder, some, named=named)


FORMAT: Final[PairedFormat] = HarpiaFormat()

"""Where the documents of HarpIA Lab lie, which of the three each is, and which belong together."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Final

from evalstream.errors import UsageError
from evalstream.formats import NAMES
from evalstream.formats.harpia import (
    DOCUMENT_ENDINGS,
    INPUT,
    LINES_ENDINGS,
    LOG,
    NAME,
    OUTPUT,
    document_at,
    recognised,
)
from evalstream.glimpse import LINES, glimpse
from evalstream.runs import PACKED_ENDINGS, STDIN, Nothing, Run, is_packed_name, printable
from evalstream.sources.remote import is_remote

NOT_OURS: Final = f"no input, output or log of HarpIA Lab; the formats are: {', '.join(NAMES)}"

TO_NAME: Final = "name the log, its output with --aggregate and its input with --inputs"

ENDINGS: Final = (
    *DOCUMENT_ENDINGS,
    *(ending + packed for ending in LINES_ENDINGS for packed in ("", *PACKED_ENDINGS)),
)


def runs_of(path: str, aggregate: str | None, inputs: str | None) -> Iterator[Run | Nothing]:
    """Find the runs of an input, with the output and the input that were named beside it.

    Nothing is guessed from names: a document that is not named is not checked. Raises UsageError
    where they do not go together.
    """
    if path != STDIN and os.path.isdir(path):
        if aggregate is not None or inputs is not None:
            raise UsageError("--aggregate and --inputs go with exactly one log, not with a folder")
        yield from runs_below(path)
        return
    kind = kind_of_file(path)
    if kind is None:
        yield Nothing(path, f"this is {NOT_OURS}", format=NAME)
    elif kind == LOG:
        yield Run(path, aggregate, format=NAME, inputs=inputs)
    elif kind == OUTPUT:
        if aggregate is not None:
            raise UsageError(f"{printable(path)} is an output, and --aggregate names another")
        yield Run(None, path, format=NAME, inputs=inputs)
    else:
        if inputs is not None:
            raise UsageError(f"{printable(path)} is an input, and --inputs names another")
        yield Run(None, aggregate, format=NAME, inputs=path)


def kind_of_file(path: str) -> str | None:
    """Return which document a file is; one that cannot be parsed is what its name says."""
    if path == STDIN or is_remote(path) or not os.path.isfile(path):
        return LOG
    seen = glimpse(path)
    kind = recognised(seen, path)
    if kind is not None:
        return kind
    if path.endswith(LINES_ENDINGS) or is_packed_name(path) or seen.kind == LINES:
        return LOG
    is_broken = path.endswith(DOCUMENT_ENDINGS) and document_at(path) is None
    return INPUT if is_broken else None


def runs_below(folder: str) -> Iterator[Run | Nothing]:
    """Find the runs in a folder and those below it: at most one document of each kind in each."""
    troubles: list[Nothing] = []

    def trouble(error: OSError) -> None:
        reason = error.strerror or str(error)
        troubles.append(Nothing(str(error.filename), reason, readable=False, format=NAME))

    found = 0
    for place, folders, names in os.walk(folder, onerror=trouble):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        visible = (name for name in sorted(names) if not name.startswith("."))
        paths = [os.path.normpath(os.path.join(place, name)) for name in visible]
        files = [path for path in paths if path.endswith(ENDINGS) and _is_plain(path)]
        found += len(files)
        yield from _runs_among(place, files)
    yield from troubles
    if not found and not troubles:
        yield Nothing(folder, "the folder holds no input, output or log", format=NAME)


def _runs_among(folder: str, files: Sequence[str]) -> Iterator[Run | Nothing]:
    """Put the documents of one folder together, if there are not several of a kind."""
    kinds: dict[str, list[str]] = {INPUT: [], OUTPUT: [], LOG: []}
    for path in files:
        kind = recognised(glimpse(path), path) or (LOG if is_packed_name(path) else None)
        if kind is None:
            yield Nothing(path, f"this is {NOT_OURS}", format=NAME)
        else:
            kinds[kind].append(path)
    several = [kind for kind, some in kinds.items() if len(some) > 1]
    if several:
        names = ", ".join(os.path.basename(printable(path)) for path in kinds[several[0]][:5])
        reason = (
            f"the folder holds several documents of the kind {several[0]!r}: {names}; {TO_NAME}"
        )
        yield Nothing(folder, reason, format=NAME)
    elif any(kinds.values()):
        log, output, read = (next(iter(kinds[kind]), None) for kind in (LOG, OUTPUT, INPUT))
        yield Run(log, output, format=NAME, inputs=read)


def _is_plain(path: str) -> bool:
    return not os.path.islink(path) and os.path.isfile(path)

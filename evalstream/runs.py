"""What a run is, and which names belong together: rows, their aggregate, and stdin."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

from evalstream.formats import eee
from evalstream.sources.remote import is_remote, shown

STDIN: Final = "-"
PACKED_ENDINGS: Final = (".gz", ".zst", ".bz2", ".xz")
ROWS_ENDINGS: Final = (".jsonl", ".ndjson")
ALL_ROWS_ENDINGS: Final = tuple(
    f"{ending}{packed}" for ending in ROWS_ENDINGS for packed in ("", *PACKED_ENDINGS)
)
AGGREGATE_ENDING: Final = ".json"
OUR_ENDINGS: Final = (AGGREGATE_ENDING, *ALL_ROWS_ENDINGS)
NO_ENDING: Final = (
    f"no format of ours ends like this ({', '.join(ROWS_ENDINGS)}, {AGGREGATE_ENDING}; "
    f"the former also with {', '.join(PACKED_ENDINGS)})"
)
SAMPLES: Final = "_samples"
ANCESTORS: Final = 8
"""How many folders up a declared file_path is looked for; the datastore's has five parts."""


@dataclass(frozen=True, slots=True)
class Run:
    """What is checked together: a rows file, an aggregate, or both, and further documents.

    `missing` says what was declared but not found. `format` names the system whose files they
    are; with HarpIA Lab, `inputs` is what was put into the evaluation. `size` counts the bytes
    of the rows, and `mark` tells them from others under the same name, as a store lists them;
    None where no list told it.
    """

    rows: str | None
    aggregate: str | None
    missing: str | None = None
    format: str = eee.NAME
    inputs: str | None = None
    size: int | None = None
    mark: str | None = None


@dataclass(frozen=True, slots=True)
class Nothing:
    """An input in which there is nothing to check, or that cannot be looked into, and why."""

    path: str
    reason: str
    readable: bool = True
    format: str = eee.NAME


def printable(path: str) -> str:
    """Return a path or URL as text that UTF-8 can hold, without what a URL carries in secret."""
    if is_remote(path):
        return shown(path)
    try:
        return os.fsencode(path).decode(errors="replace")
    except UnicodeEncodeError:
        return path.encode(errors="replace").decode()


def rows_candidates(aggregate: str, declared: str | None) -> Iterator[str]:
    """Name the places of an aggregate's rows: where its file_path says, else by its own name."""
    if declared and "\0" not in declared:
        yield from _declared_candidates(aggregate, declared)
    yield from rows_named_like(aggregate)


def rows_named_like(aggregate: str) -> Iterator[str]:
    """Name the rows files that belong to an aggregate by their names, there or not."""
    stem = aggregate.removesuffix(AGGREGATE_ENDING)
    for ending in ALL_ROWS_ENDINGS:
        yield f"{stem}{SAMPLES}{ending}"
        yield f"{stem}{ending}"


def aggregate_candidates(rows: str) -> Iterator[str]:
    """Name the aggregates that rows belong to by their name, there or not."""
    stem, _ = os.path.splitext(without_packing(rows))
    for candidate in (f"{stem.removesuffix(SAMPLES)}.json", f"{stem}.json"):
        if candidate != rows:
            yield candidate


def is_packed_name(path: str) -> bool:
    """Tell whether a file is compressed by its name."""
    return path.endswith(PACKED_ENDINGS)


def without_packing(path: str) -> str:
    """Return a name without what says that the file is compressed."""
    return os.path.splitext(path)[0] if is_packed_name(path) else path


def split_root(path: str) -> tuple[str, str]:
    """Split what no folder is above from a URL, as `s3://bucket/`; paths are split nowhere."""
    if not is_remote(path):
        return "", path
    scheme, _, rest = path.partition("://")
    server, slash, key = rest.partition("/")
    return f"{scheme}://{server}{slash}", key


def ends_like_ours(path: str) -> bool:
    """Tell whether a name ends like that of rows or of an aggregate."""
    return path.endswith(ALL_ROWS_ENDINGS) or without_packing(path).endswith(AGGREGATE_ENDING)


def missing_rows(declared: str | None) -> str | None:
    """Say that declared rows were not found, where some were declared."""
    return declared and f"the rows file that it declares was not found: {declared}"


def _declared_candidates(aggregate: str, declared: str) -> Iterator[str]:
    parts = PurePosixPath(declared).parts
    root, path = split_root(aggregate)
    folder, name = os.path.dirname(path), os.path.basename(declared)
    if not os.path.isabs(declared) and ".." not in parts:
        # A bare name is looked for beside the aggregate alone; a path also from further up.
        for level in range(ANCESTORS if len(parts) > 1 else 1):
            candidate = os.path.normpath(os.path.join(folder, *[".."] * level, declared))
            if not root or not candidate.startswith(".."):
                yield root + candidate
    yield root + os.path.join(folder, name)
    # Rows may be stored packed under an aggregate that names them as they were.
    for packed in PACKED_ENDINGS:
        yield root + os.path.join(folder, name + packed)

"""Which rows belong to which aggregate: files, folders, and companions found by name."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from evalstream.errors import UsageError
from evalstream.parsing import fast

STDIN: Final = "-"
ROWS_ENDINGS: Final = (".jsonl", ".ndjson")
SAMPLES: Final = "_samples"
AGGREGATE_KEYS: Final = frozenset({"evaluation_results", "detailed_evaluation_results"})
LARGEST_AGGREGATE: Final = 256 << 20
ANCESTORS: Final = 8
"""How many folders up a declared file_path is looked for; the datastore's has five parts."""


@dataclass(frozen=True, slots=True)
class Run:
    """A rows file, an aggregate, or both; `missing` says what was declared but not found."""

    rows: str | None
    aggregate: str | None
    missing: str | None = None


@dataclass(frozen=True, slots=True)
class Nothing:
    """An input in which there is nothing to check, and why."""

    path: str
    reason: str


def find_runs(inputs: Sequence[str], aggregate: str | None = None) -> Iterator[Run | Nothing]:
    """Find the runs among the inputs, each pair once, in the order of the inputs.

    Raises UsageError where `aggregate` is given and there is not exactly one rows input.
    """
    if not inputs:
        raise UsageError("nothing to check was named")
    if aggregate is not None:
        if len(inputs) != 1 or os.path.isdir(inputs[0]):
            raise UsageError("--aggregate goes with exactly one rows file (or - for stdin)")
        yield Run(inputs[0], aggregate)
        return
    if inputs.count(STDIN) > 1:
        raise UsageError("standard input can be named only once")
    seen: set[str] = set()
    for path in inputs:
        for found in _found(path):
            if isinstance(found, Run) and _seen(found, seen):
                continue
            yield found


def _seen(run: Run, seen: set[str]) -> bool:
    names = [os.path.realpath(name) for name in (run.rows, run.aggregate) if name and name != STDIN]
    repeated = bool(names) and all(name in seen for name in names)
    seen.update(names)
    return repeated


def _found(path: str) -> Iterator[Run | Nothing]:
    if path == STDIN:
        yield Run(STDIN, None)
    elif os.path.isdir(path):
        yield from _in_folder(path)
    elif path.endswith(ROWS_ENDINGS) or _is_stream(path):
        yield Run(path, None if _is_stream(path) else _aggregate_of(path))
    elif path.endswith(".json"):
        yield _aggregate_run(path)
    elif os.path.exists(path):
        endings = ", ".join((*ROWS_ENDINGS, ".json"))
        yield Nothing(path, f"no format of ours ends like this ({endings})")
    else:
        yield Run(path, None)


def _in_folder(folder: str) -> Iterator[Run | Nothing]:
    found = False
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            path = os.path.normpath(os.path.join(place, name))
            if name.startswith(".") or os.path.islink(path):
                continue
            if name.endswith(ROWS_ENDINGS):
                found = True
                yield Run(path, _aggregate_of(path))
            elif name.endswith(".json") and _looks_like_aggregate(path):
                found = True
                yield _aggregate_run(path)
    if not found:
        yield Nothing(folder, "the folder holds no rows file and no aggregate")


def _is_stream(path: str) -> bool:
    return os.path.exists(path) and not os.path.isfile(path)


def _aggregate_run(path: str) -> Run:
    """Find the rows of an aggregate: where its file_path says, else by its own name."""
    document = _document(path)
    declared = _declared_path(document)
    for candidate in _rows_candidates(path, declared):
        if os.path.isfile(candidate):
            return Run(candidate, path)
    if declared is None:
        return Run(None, path)
    return Run(None, path, missing=f"the rows file that it declares was not found: {declared}")


def _rows_candidates(path: str, declared: str | None) -> Iterator[str]:
    folder = os.path.dirname(path)
    if declared:
        parts = Path(declared).parts
        if not os.path.isabs(declared) and ".." not in parts:
            # A bare name is looked for beside the aggregate alone; a path also from further up.
            for level in range(ANCESTORS if len(parts) > 1 else 1):
                yield os.path.normpath(os.path.join(folder, *[".."] * level, declared))
        yield os.path.join(folder, os.path.basename(declared))
    stem = path.removesuffix(".json")
    for ending in ROWS_ENDINGS:
        yield f"{stem}{SAMPLES}{ending}"
        yield f"{stem}{ending}"


def _aggregate_of(path: str) -> str | None:
    """Find the aggregate of a rows file: by its name, else one beside it that declares it."""
    stem = path[: -len(os.path.splitext(path)[1])]
    for candidate in (f"{stem.removesuffix(SAMPLES)}.json", f"{stem}.json"):
        if os.path.isfile(candidate) and _looks_like_aggregate(candidate):
            return candidate
    folder, name = os.path.split(path)
    declaring = [
        os.path.join(folder, other)
        for other in sorted(os.listdir(folder or "."))
        if other.endswith(".json")
        and os.path.basename(_declared_path(_document(os.path.join(folder, other))) or "") == name
    ]
    return declaring[0] if len(declaring) == 1 else None


def _looks_like_aggregate(path: str) -> bool:
    """Tell whether a JSON file is an aggregate; one that cannot be read counts as one."""
    document = _document(path)
    return document is None or (
        isinstance(document, dict) and not AGGREGATE_KEYS.isdisjoint(document)
    )


def _document(path: str) -> Any:
    try:
        if os.path.getsize(path) > LARGEST_AGGREGATE:
            return {}
        with open(path, "rb") as file:
            return fast(file.read())
    except (OSError, ValueError):
        return None


def _declared_path(document: Any) -> str | None:
    details = document.get("detailed_evaluation_results") if isinstance(document, dict) else None
    declared = details.get("file_path") if isinstance(details, dict) else None
    return declared if isinstance(declared, str) and declared else None

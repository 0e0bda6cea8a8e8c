"""Finding runs by the book, with everything in memory: what the real finder is held against."""

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

Found = tuple[str | None, str | None, str | None]
"""The rows, the aggregate and the declared rows that are missing, or an input that is nothing."""

PACKED = (".gz", ".zst", ".bz2", ".xz")
ROWS = tuple(f"{end}{packed}" for end in (".jsonl", ".ndjson") for packed in ("", *PACKED))
KEYS = {"evaluation_results", "detailed_evaluation_results"}
NOTHING: Found = (None, None, "nothing")


def reference_runs(inputs: Sequence[str]) -> list[Found]:
    """Return the runs among some inputs that exist, each once, in order."""
    seen: set[str] = set()
    runs: list[Found] = []
    for path in inputs:
        found = list(_in_folder(path)) if os.path.isdir(path) else [_named(path)]
        for run in found or [NOTHING]:
            names = {os.path.realpath(name) for name in run[:2] if name}
            if not names or not names <= seen:
                runs.append(run)
            seen |= names
    return runs


def _in_folder(folder: str) -> Iterator[Found]:
    files = list(_below(os.path.normpath(folder)))
    pairs = {path: _pair_of(path) for path in files if path.endswith(".json") and _is_one(path)}
    claimed = {os.path.realpath(rows) for rows, _, _ in pairs.values() if rows}
    for path in files:
        if path in pairs:
            yield pairs[path]
        elif path.endswith(ROWS) and os.path.realpath(path) not in claimed:
            yield path, _aggregate_of(path), None


def _below(folder: str) -> Iterator[str]:
    names = sorted(name for name in os.listdir(folder) if not name.startswith("."))
    paths = [name if folder == "." else os.path.join(folder, name) for name in names]
    paths = [path for path in paths if not os.path.islink(path)]
    yield from (path for path in paths if os.path.isfile(path))
    for path in paths:
        if os.path.isdir(path):
            yield from _below(path)


def _named(path: str) -> Found:
    return (path, _aggregate_of(path), None) if path.endswith(ROWS) else _pair_of(path)


def _pair_of(path: str) -> Found:
    declared, folder = _declared(path), os.path.dirname(path)
    candidates: list[str] = []
    if declared:
        parts = Path(declared).parts
        if not os.path.isabs(declared) and ".." not in parts:
            levels = range(8 if len(parts) > 1 else 1)
            tried = ("/".join([folder or ".", *[".."] * level, declared]) for level in levels)
            candidates += map(os.path.normpath, tried)
        name = os.path.basename(declared)
        candidates += [os.path.join(folder, name + packed) for packed in ("", *PACKED)]
    stem = path.removesuffix(".json")
    candidates += [f"{stem}{mark}{end}" for end in ROWS for mark in ("_samples", "")]
    for candidate in candidates:
        if os.path.isfile(candidate):
            return candidate, path, None
    return None, path, declared


def _aggregate_of(path: str) -> str | None:
    stem = next(path.removesuffix(end) for end in sorted(ROWS, key=len)[::-1] if path.endswith(end))
    for candidate in (f"{stem.removesuffix('_samples')}.json", f"{stem}.json"):
        if os.path.isfile(candidate) and _is_one(candidate):
            return candidate
    folder, name = os.path.split(path)
    beside = [
        os.path.join(folder, one) for one in os.listdir(folder or ".") if one.endswith(".json")
    ]
    declaring = [one for one in beside if os.path.basename(_declared(one) or "/") == name]
    return declaring[0] if len(declaring) == 1 else None


def _is_one(path: str) -> bool:
    document = _document(path)
    return document is None or (isinstance(document, dict) and not KEYS.isdisjoint(document))


def _declared(path: str) -> str | None:
    document = _document(path)
    details = document.get("detailed_evaluation_results") if isinstance(document, dict) else None
    declared = details.get("file_path") if isinstance(details, dict) else None
    return declared if isinstance(declared, str) and declared else None


def _document(path: str) -> Any:
    if not os.path.isfile(path):
        return {}
    try:
        return json.loads(Path(path).read_bytes())
    except ValueError:
        return None

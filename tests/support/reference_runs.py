"""Finding runs by the book, with everything in memory: what the real finder is held against."""

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

Found = tuple[str | None, str | None, str | None]
"""The rows, the aggregate and the declared rows that are missing, or an input that is nothing."""

PACKED = (".gz", ".zst", ".bz2", ".xz")
ROWS = tuple(
    f"{end}{packed}" for end in (".jsonl", ".ndjson", ".jsonlines") for packed in ("", *PACKED)
)
KEYS = {"evaluation_results", "detailed_evaluation_results"}
NOTHING: Found = (None, None, "nothing")


def reference_runs(inputs: Sequence[str]) -> list[Found]:
    """Return the runs among some inputs that exist, each once, in order."""
    seen: set[tuple[int, str]] = set()
    runs: list[tuple[bool, Found]] = []
    for path in inputs:
        is_folder = os.path.isdir(path)
        found = list(_in_folder(path)) if is_folder else [_named(path)]
        for run in found or [NOTHING]:
            names = {(at, os.path.realpath(name)) for at, name in enumerate(run[:2]) if name}
            if not names or not names <= seen:
                runs = _without_part(runs, run)
                runs.append((is_folder, run))
            seen |= names
    return _coupled(runs)


def _without_part(runs: list[tuple[bool, Found]], run: Found) -> list[tuple[bool, Found]]:
    """Drop halves that were named before the whole run."""
    if run[0] is None or run[1] is None:
        return runs
    whole = [os.path.realpath(name) for name in run[:2] if name]
    return [
        (is_folder, one)
        for is_folder, one in runs
        if is_folder
        or not _is_half(one)
        or os.path.realpath(one[0] or one[1] or "") != whole[one[0] is None]
    ]


def _is_half(run: Found) -> bool:
    return run != NOTHING and (run[0] is None) != (run[1] is None)


def _coupled(runs: list[tuple[bool, Found]]) -> list[Found]:
    """Join the one rows file and the one aggregate that were named and are left."""
    rows = [run for is_folder, run in runs if not is_folder and run[0] and not run[1]]
    claims = [run for is_folder, run in runs if not is_folder and run[1] and not run[0]]
    if len(rows) != 1 or len(claims) != 1:
        return [run for _, run in runs]
    both: Found = (rows[0][0], claims[0][1], None)
    halves = [(False, rows[0]), (False, claims[0])]
    first = min(map(runs.index, halves))
    return [
        both if at == first else run
        for at, (is_folder, run) in enumerate(runs)
        if at == first or (is_folder, run) not in halves
    ]


def _in_folder(folder: str) -> Iterator[Found]:
    root = os.path.realpath(folder)
    files = list(_below(os.path.normpath(folder), root))
    pairs = {
        path: _pair_of(path, root) for path in files if path.endswith(".json") and _is_one(path)
    }
    claimed = {os.path.realpath(rows) for rows, _, _ in pairs.values() if rows}
    for path in files:
        if path in pairs:
            if pairs[path][0] is not None or not _is_unlike(path):
                yield pairs[path]
        elif (
            path.endswith(ROWS) and os.path.realpath(path) not in claimed and not _is_strange(path)
        ):
            yield path, _aggregate_of(path, root, hidden=False), None


def _below(folder: str, root: str) -> Iterator[str]:
    names = sorted(name for name in os.listdir(folder) if not name.startswith("."))
    paths = [name if folder == "." else os.path.join(folder, name) for name in names]
    yield from (path for path in paths if os.path.isfile(path) and _speaks(path, root))
    for path in paths:
        if os.path.isdir(path) and not os.path.islink(path):
            yield from _below(path, root)


def _speaks(path: str, root: str) -> bool:
    """Tell whether a file stands for itself: a link only to what is not walked through."""
    if not os.path.islink(path):
        return True
    real = os.path.realpath(path)
    below = os.path.relpath(real, root)
    is_hidden = any(part.startswith(".") for part in below.split("/"))
    return _is_inside(real, root) and (is_hidden or not real.endswith((".json", *ROWS)))


def _is_inside(path: str, root: str) -> bool:
    return os.path.realpath(path).startswith(f"{root.rstrip('/')}/")


def _named(path: str) -> Found:
    own = os.path.realpath(os.path.dirname(path) or ".")
    if path.endswith(ROWS):
        return path, _aggregate_of(path, own, hidden=True), None
    if not _is_one(path):
        return NOTHING
    return _pair_of(path, own)


def _pair_of(path: str, root: str) -> Found:
    declared, folder = _declared(path), os.path.dirname(path)
    candidates: list[str] = []
    if declared:
        if not os.path.isabs(declared) and ".." not in Path(declared).parts:
            candidates.append(os.path.normpath(os.path.join(folder, declared)))
        name = os.path.basename(declared)
        candidates += [os.path.join(folder, name + packed) for packed in ("", *PACKED)]
    stem = path.removesuffix(".json")
    candidates += [f"{stem}{mark}{end}" for end in ROWS for mark in ("_samples", "")]
    for candidate in candidates:
        if os.path.isfile(candidate) and _is_inside(candidate, root):
            return candidate, path, None
    return None, path, declared


def _aggregate_of(path: str, root: str, *, hidden: bool) -> str | None:
    stem = next(path.removesuffix(end) for end in sorted(ROWS, key=len)[::-1] if path.endswith(end))
    for candidate in (f"{stem.removesuffix('_samples')}.json", f"{stem}.json"):
        if os.path.isfile(candidate) and _is_inside(candidate, root) and _is_one(candidate):
            return candidate
    folder, name = os.path.split(path)
    beside = [
        os.path.join(folder, one)
        for one in os.listdir(folder or ".")
        if one.endswith(".json") and (hidden or not one.startswith("."))
    ]
    declaring = [
        one
        for one in beside
        if os.path.isfile(one)
        and _is_inside(one, root)
        and os.path.basename(_declared(one) or "/") == name
    ]
    return declaring[0] if len(declaring) == 1 else None


def _is_one(path: str) -> bool:
    document = _document(path)
    is_aggregate = isinstance(document, dict) and not KEYS.isdisjoint(document)
    return document is None or is_aggregate or _has_samples(path)


def _is_unlike(path: str) -> bool:
    """Tell whether a broken file has a member, none of an aggregate, and no name of samples."""
    text = Path(path).read_bytes()
    return (
        _document(path) is None
        and b'":' in text
        and "samples" not in os.path.basename(path)
        and not any(key.encode() in text for key in KEYS)
    )


def _has_samples(path: str) -> bool:
    """Tell whether rows lie beside a JSON file under its name and `_samples`."""
    stem = path.removesuffix(".json")
    return any(os.path.isfile(f"{stem}_samples{end}") for end in ROWS)


def _is_strange(path: str) -> bool:
    """Tell whether rows begin with an object that has members, and none of a row, or have none."""
    text = Path(path).read_text(errors="replace")
    try:
        document, _ = json.JSONDecoder().raw_decode(text)
    except ValueError:
        return False
    if not isinstance(document, dict):
        return "{" not in text
    return bool(document) and KEYS.isdisjoint(document)


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

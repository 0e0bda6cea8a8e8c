"""Which rows belong to which aggregate: files, folders, and companions found by name."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from evalstream.errors import CannotCheck, UsageError
from evalstream.formats import eee
from evalstream.parsing import fast
from evalstream.sources.remote import exists, is_remote, read_whole, shown

STDIN: Final = "-"
PACKED_ENDINGS: Final = (".gz", ".zst", ".bz2", ".xz")
ROWS_ENDINGS: Final = (".jsonl", ".ndjson")
ALL_ROWS_ENDINGS: Final = tuple(
    f"{ending}{packed}" for ending in ROWS_ENDINGS for packed in ("", *PACKED_ENDINGS)
)
SAMPLES: Final = "_samples"
AGGREGATE_KEYS: Final = frozenset({"evaluation_results", "detailed_evaluation_results"})
LARGEST_AGGREGATE: Final = 256 << 20
ANCESTORS: Final = 8
"""How many folders up a declared file_path is looked for; the datastore's has five parts."""


@dataclass(frozen=True, slots=True)
class Run:
    """What is checked together: a rows file, an aggregate, or both, and further documents.

    `missing` says what was declared but not found. `format` names the system whose files they
    are; with HarpIA Lab, `inputs` is what was put into the evaluation.
    """

    rows: str | None
    aggregate: str | None
    missing: str | None = None
    format: str = eee.NAME
    inputs: str | None = None


@dataclass(frozen=True, slots=True)
class Nothing:
    """An input in which there is nothing to check, or that cannot be looked into, and why."""

    path: str
    reason: str
    readable: bool = True


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
    finder = _Finder()
    seen: set[str] = set()
    for path in inputs:
        for found in finder.found(path):
            if isinstance(found, Run) and _seen(found, seen):
                continue
            yield found


def printable(path: str) -> str:
    """Return a path or URL as text that UTF-8 can hold, without what a URL carries in secret."""
    return shown(path) if is_remote(path) else os.fsencode(path).decode(errors="replace")


def _seen(run: Run, seen: set[str]) -> bool:
    names = [os.path.realpath(name) for name in (run.rows, run.aggregate) if name and name != STDIN]
    repeated = bool(names) and all(name in seen for name in names)
    seen.update(names)
    return repeated


class _Finder:
    """Finds companions; what the aggregates of a folder declare is read once."""

    def __init__(self) -> None:
        self._declaring: dict[str, dict[str, list[str]]] = {}

    def found(self, path: str) -> Iterator[Run | Nothing]:
        """Find the runs that one input stands for."""
        if path == STDIN:
            yield Run(STDIN, None)
        elif os.path.isdir(path):
            yield from self._in_folder(path)
        elif is_remote(path):
            try:
                yield _remote_run(path)
            except (OSError, CannotCheck) as error:
                yield Nothing(path, f"{error}", readable=False)
        elif path.endswith(ALL_ROWS_ENDINGS) or _is_stream(path):
            yield Run(path, None if _is_stream(path) else self._aggregate_of(path))
        elif _without_packing(path).endswith(".json"):
            holds_rows = is_packed_name(path) or _is_array(path)
            yield Run(path, self._aggregate_of(path)) if holds_rows else _aggregate_run(path)
        elif os.path.exists(path):
            endings = ", ".join((*ROWS_ENDINGS, ".json"))
            endings = f"{endings}; the former also with {', '.join(PACKED_ENDINGS)}"
            yield Nothing(path, f"no format of ours ends like this ({endings})")
        else:
            yield Run(path, None)

    def _in_folder(self, folder: str) -> Iterator[Run | Nothing]:
        troubles: list[Nothing] = []
        files = list(_files_below(folder, troubles))
        yield from troubles
        found = list(self._runs_among(files))
        yield from found
        if not found and not troubles:
            yield Nothing(folder, "the folder holds no rows file and no aggregate")

    def _runs_among(self, files: list[str]) -> Iterator[Run | Nothing]:
        """Pair aggregates with their rows first, so that no rows are taken for lonely ones."""
        pairs: dict[str, Run | Nothing] = {}
        for path in files:
            if not path.endswith(".json"):
                continue
            if os.path.getsize(path) > LARGEST_AGGREGATE:
                pairs[path] = Nothing(path, "too large for an aggregate, and no file of rows")
            elif _looks_like_aggregate(path):
                pairs[path] = _aggregate_run(path)
        runs = [pair for pair in pairs.values() if isinstance(pair, Run)]
        claimed = {os.path.realpath(run.rows) for run in runs if run.rows}
        for path in files:
            if path in pairs:
                yield pairs[path]
            elif path.endswith(ALL_ROWS_ENDINGS) and os.path.realpath(path) not in claimed:
                yield Run(path, self._aggregate_of(path))

    def _aggregate_of(self, path: str) -> str | None:
        """Find the aggregate of a rows file: by its name, else one beside it that declares it."""
        for candidate in _aggregate_candidates(path):
            if candidate != path and os.path.isfile(candidate) and _looks_like_aggregate(candidate):
                return candidate
        folder, name = os.path.split(path)
        if folder not in self._declaring:
            self._declaring = {folder: _declared_in(folder)}
        declaring = self._declaring[folder].get(name, [])
        return declaring[0] if len(declaring) == 1 else None


def _files_below(folder: str, troubles: list[Nothing]) -> Iterator[str]:
    """List regular files in order, hidden ones and links left out."""

    def trouble(error: OSError) -> None:
        troubles.append(Nothing(str(error.filename), f"{error.strerror}", readable=False))

    for place, folders, files in os.walk(folder, onerror=trouble):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            path = os.path.normpath(os.path.join(place, name))
            if not name.startswith(".") and not os.path.islink(path) and os.path.isfile(path):
                yield path


def _declared_in(folder: str) -> dict[str, list[str]]:
    """Return which aggregates in a folder declare which file names."""
    declaring: dict[str, list[str]] = {}
    try:
        names = sorted(os.listdir(folder or "."))
    except OSError:
        return declaring
    for name in names:
        path = os.path.join(folder, name)
        declared = _declared_path(_document(path)) if name.endswith(".json") else None
        if declared:
            declaring.setdefault(os.path.basename(declared), []).append(path)
    return declaring


def _is_stream(path: str) -> bool:
    return os.path.exists(path) and not os.path.isfile(path)


def _aggregate_run(path: str) -> Run:
    """Find the rows of an aggregate: where its file_path says, else by its own name."""
    declared = _declared_path(_document(path))
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
        # Rows may be stored packed under an aggregate that names them as they were.
        for packed in PACKED_ENDINGS:
            yield os.path.join(folder, os.path.basename(declared) + packed)
    yield from rows_named_like(path)


def rows_named_like(aggregate: str) -> Iterator[str]:
    """Name the rows files that belong to an aggregate by their names, there or not."""
    stem = aggregate.removesuffix(".json")
    for ending in ALL_ROWS_ENDINGS:
        yield f"{stem}{SAMPLES}{ending}"
        yield f"{stem}{ending}"


def is_packed_name(path: str) -> bool:
    """Tell whether a file is compressed by its name."""
    return path.endswith(PACKED_ENDINGS)


def _without_packing(path: str) -> str:
    return os.path.splitext(path)[0] if is_packed_name(path) else path


def _aggregate_candidates(path: str) -> Iterator[str]:
    """Name the aggregates that rows belong to by their name."""
    stem, _ = os.path.splitext(_without_packing(path))
    yield f"{stem.removesuffix(SAMPLES)}.json"
    yield f"{stem}.json"


def _remote_run(url: str) -> Run:
    """Find the other half of a remote run beside it, by name, or where its aggregate says.

    A URL with a query is signed for one object; nothing is guessed from it.
    """
    is_signed = "?" in url and url.startswith(("http://", "https://"))
    if not url.partition("?")[0].endswith(".json"):
        candidates = [] if is_signed else _aggregate_candidates(url)
        return Run(url, next(filter(_is_readable, candidates), None))
    declared = _declared_path(_parsed(read_whole(url, LARGEST_AGGREGATE)))
    folder = url.rpartition("/")[0]
    named = [f"{folder}/{os.path.basename(declared)}"] if declared else []
    candidates = [] if is_signed else [*named, *rows_named_like(url)]
    rows = next(filter(_is_readable, candidates), None)
    if rows is None and declared:
        return Run(None, url, missing=f"the rows file that it declares was not found: {declared}")
    return Run(rows, url)


def _is_readable(url: str) -> bool:
    """Tell whether a remote file is there; many stores forbid to look at what is not."""
    try:
        return exists(url)
    except PermissionError:
        return False


def _is_array(path: str) -> bool:
    """Tell whether a JSON file holds an array, by its first character."""
    try:
        with open(path, "rb") as file:
            return file.read(4096).lstrip(b" \t\r\n\xef\xbb\xbf").startswith(b"[")
    except OSError:
        return False


def _looks_like_aggregate(path: str) -> bool:
    """Tell whether a JSON file is an aggregate; one that cannot be read counts as one."""
    document = _document(path)
    return document is None or (
        isinstance(document, dict) and not AGGREGATE_KEYS.isdisjoint(document)
    )


def _document(path: str) -> Any:
    try:
        if not os.path.isfile(path) or os.path.getsize(path) > LARGEST_AGGREGATE:
            return {}
        with open(path, "rb") as file:
            return _parsed(file.read())
    except OSError:
        return None


def _parsed(text: bytes) -> Any:
    try:
        return fast(text)
    except ValueError:
        return None


def _declared_path(document: Any) -> str | None:
    details = document.get("detailed_evaluation_results") if isinstance(document, dict) else None
    declared = details.get("file_path") if isinstance(details, dict) else None
    return declared if isinstance(declared, str) and declared else None

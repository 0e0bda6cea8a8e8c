"""Find paths in EvalGuard's documents that lead out of the folder (section 9.1)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from evalstream.formats.evalguard.documents import GUARDRAIL, POLICY, REPORT, TASK, THRESHOLD
from evalstream.formats.evalguard.report import entry_results, entry_tasks
from evalstream.formats.evalguard.views import Document, iterate_tables
from evalstream.parsing.json import pointer
from evalstream.parsing.json_values import list_or_empty

_SEPARATOR: Final = re.compile(r"[/\\]")
_ABSOLUTE: Final = re.compile(r"[/\\]|[A-Za-z]:[/\\]|file:|~[/\\]", re.IGNORECASE)
_SIGN: Final = re.compile(r"[/\\:]")
_MOST: Final = 1_000_000
"""The number of nodes searched for references; YAML aliases cannot add more."""


def leaving(document: Document) -> Iterator[tuple[str, str]]:
    """Yield the pointers and paths in a document that lead out of the folder.

    Ids and references to them are used as file names, so they must stay in their folder. The path
    of a data set may be absolute, as in the specification's own example, and then belongs to
    another machine; a path that climbs out of the folder is reported.
    """
    for place, name in _ids(document):
        if not _is_plain(name) and (is_absolute(name) or climbs(name, 0)):
            yield pointer(place), name
    for place, path in _data_paths(document):
        if climbs(path, document.depth):
            yield pointer(place), path
    for place, reference in _references(document.value) if _refers(document.value) else ():
        path = reference.partition("#")[0]
        if is_absolute(path) or climbs(path, document.depth):
            yield pointer(place), reference


_Path = tuple[Any, ...]
"""Keys and indices that lead to a node; few become a pointer."""


def is_absolute(path: str) -> bool:
    """Return whether a path begins at the root of a file system."""
    return _ABSOLUTE.match(path) is not None


def _is_plain(name: str) -> bool:
    """Return whether a name is certainly the name of one file."""
    return name != ".." and not _SIGN.search(name)


def climbs(path: str, depth: int) -> bool:
    """Return whether a relative path leads above the folder `depth` levels up."""
    if is_absolute(path):
        return False
    for part in _SEPARATOR.split(path):
        depth += 0 if part in ("", ".") else -1 if part == ".." else 1
        if depth < 0:
            return True
    return False


def _ids(document: Document) -> Iterator[tuple[_Path, str]]:
    """Yield every id in a document, its own and those of others."""
    value = document.value
    if document.kind not in (THRESHOLD, REPORT):
        yield from _texts(value.get("id"), ("id",))
    if document.kind == TASK:
        for index, name in enumerate(list_or_empty(value.get("metrics"))):
            yield from _texts(name, ("metrics", index))
    if document.kind == THRESHOLD:
        yield from _texts(value.get("task"), ("task",))
    for table in iterate_tables(document):
        if document.kind == POLICY and table.task is not None:
            yield table.path, table.task
        for name in table.metrics:
            yield (*table.path, name), name
    if document.kind == GUARDRAIL:
        yield from _ids_of_guardrail(document)
    if document.kind == REPORT:
        yield from _ids_of_report(document)


def _ids_of_guardrail(document: Document) -> Iterator[tuple[_Path, str]]:
    for index, target in enumerate(list_or_empty(document.value.get("targets"))):
        if isinstance(target, dict):
            for member in ("task", "model"):
                yield from _texts(target.get(member), ("targets", index, member))
            for number, name in enumerate(list_or_empty(target.get("metrics"))):
                yield from _texts(name, ("targets", index, "metrics", number))


def _ids_of_report(document: Document) -> Iterator[tuple[_Path, str]]:
    for entry in entry_tasks(document):
        for task in entry:
            if isinstance(task.value.get("task_ref"), str):
                yield (*task.path, "task_ref"), task.value["task_ref"]
            elif task.id is not None:
                yield task.path, task.id
    for index, item in enumerate(entry_results(document)):
        for name in item if isinstance(item, dict) else ():
            yield ("results", index, name), name


def _data_paths(document: Document) -> Iterator[tuple[_Path, str]]:
    if document.kind == REPORT:
        for entry in entry_tasks(document):
            for task in entry:
                if isinstance(task.value.get("dataset_path"), str):
                    yield (*task.path, "dataset_path"), task.value["dataset_path"]


def _references(value: Any) -> Iterator[tuple[_Path, str]]:
    """Yield the references to other files, which a document should not have."""
    waiting: list[tuple[tuple[Any, ...], Any]] = [((), value)]
    looked_at = 0
    while waiting and looked_at < _MOST:
        path, node = waiting.pop()
        looked_at += 1
        if isinstance(node, dict):
            yield from _texts(node.get("$ref"), (*path, "$ref"))
            waiting.extend(((*path, key), inner) for key, inner in node.items())
        elif isinstance(node, list):
            waiting.extend(((*path, index), inner) for index, inner in enumerate(node))


def _refers(value: Any) -> bool:
    """Return whether a document has a member `$ref`, which hardly any has."""
    waiting = [value]
    while waiting:
        node = waiting.pop()
        if node.__class__ is dict:
            if "$ref" in node:
                return True
            waiting.extend(node.values())
        elif node.__class__ is list:
            waiting.extend(node)
    return False


def _texts(value: Any, path: tuple[Any, ...]) -> Iterator[tuple[_Path, str]]:
    if isinstance(value, str):
        yield path, value

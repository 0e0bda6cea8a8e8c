"""EVG1, EVG5 and EVG6: rules about single documents, their paths, and manifests of folders."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from evalstream.formats.evalguard import report, views
from evalstream.formats.evalguard.format import (
    GUARDRAIL,
    LEGACY_IMPACT,
    METRIC,
    MODEL,
    POLICY,
    REPORT,
    TASK,
    THRESHOLD,
)
from evalstream.model.finding import Severity, Violation
from evalstream.model.text import count_noun
from evalstream.parsing.json import pointer
from evalstream.parsing.json_values import list_or_empty, numbered_texts, objects
from evalstream.rules.base import declare_rule


def _targets(subject: views.FolderItem) -> Iterator[Violation]:
    document, folder = subject
    if document.kind != GUARDRAIL:
        return
    targets = list_or_empty(document.value.get("targets"))
    if not folder.followed:
        if targets:
            message = "the targets were not looked up; name their folder with --aggregate"
            yield EVG207.violation(message, "/targets", severity=Severity.WARNING)
        return
    for index, target in objects(targets):
        yield from _target(target, ("targets", index), folder)


def _target(
    target: dict[str, object], path: tuple[str | int, ...], folder: views.Folder
) -> Iterator[Violation]:
    task, model = views.text_member(target, "task"), views.text_member(target, "model")
    if task is not None and not folder.knows(TASK, task):
        yield EVG207.violation("no task document has this id", (*path, "task"), found=task)
    for index, name in numbered_texts(target.get("metrics")):
        place = (*path, "metrics", index)
        if not folder.knows(METRIC, name):
            yield EVG207.violation("no metric document has this id", place, found=name)
        elif task is not None and not folder.lists(task, name):
            message = f"the task {task[:80]} does not list this metric"
            yield EVG207.violation(message, place, found=name, severity=Severity.WARNING)
    # The layout of the specification has no documents of models.
    has_models = folder.owners[MODEL] or folder.unread[MODEL]
    if model is not None and has_models and not folder.knows(MODEL, model):
        yield EVG207.violation("no model document has this id", (*path, "model"), found=model)


_Path = tuple[Any, ...]
"""Keys and indices that lead to a node; few become a pointer."""

PATTERN: Final = "^[A-Za-z0-9_-]+$"
"""A valid identifier, as the specification defines it."""

_IDENTIFIER: Final = re.compile(PATTERN)


def _check_form(subject: views.FolderItem) -> Iterator[Violation]:
    """Report what the schema cannot: invalid ids and legacy members."""
    document, folder = subject
    for path, name in _checked_ids(document, alone=not folder.followed):
        if not _IDENTIFIER.fullmatch(name):
            message = "not an identifier: only letters, digits, underscores and hyphens are allowed"
            yield EVG101.violation(message, path, keyword="pattern", expected=PATTERN, found=name)
    if document.kind == REPORT and report.is_of_harness(document):
        said, others = report.describe_report(subject)
        yield EVG101.violation(said, "", severity=Severity.INFO)
        if others:
            what = "is not a finite number" if others == 1 else "are not finite numbers"
            message = f"{count_noun(others, 'value')} {what}"
            yield EVG101.violation(message, "/results", severity=Severity.WARNING)
    for path, item in views.raw_ranges(document):
        if document.kind == THRESHOLD and views.is_legacy(item):
            yield EVG101.violation(
                f"{LEGACY_IMPACT} in place of impact, as in early documents",
                (*path, LEGACY_IMPACT),
                found=item[LEGACY_IMPACT],
                severity=Severity.WARNING,
            )


def _checked_ids(document: views.Document, *, alone: bool) -> Iterator[tuple[_Path, str]]:
    """Yield the ids that a document defines and, where it is `alone`, those of others in it."""
    if document.kind == REPORT and not report.is_of_harness(document):
        yield from _ids_of_results(document)
    if document.kind in (TASK, METRIC, THRESHOLD, POLICY):
        for path, name in _ids(document):
            if document.kind in (TASK, METRIC) if path == ("id",) else alone:
                yield path, name


def _empty_range(subject: views.FolderItem) -> Iterator[Violation]:
    for path, item in views.raw_ranges(subject.document):
        if "min" not in item and "max" not in item:
            yield EVG102.violation("the range has neither min nor max", path, keyword="anyOf")
            continue
        low, high = views.as_number(item.get("min")), views.as_number(item.get("max"))
        if low is not None and high is not None and low >= high:
            word = "is" if low == high else "is above"
            yield EVG102.violation(f"min {word} max, so no value is in the range", path, found=item)


def _paths_outside(subject: views.FolderItem) -> Iterator[Violation]:
    for place, path in leaving(subject.document):
        yield EVG502.violation("leads out of the folder", place, found=path)


def without_unknown(violation: Violation) -> Violation:
    """Return a violation of a schema, an unknown member as a warning.

    The specification asks for unknown fields to be handled gracefully (section 3.3).
    """
    is_unknown = violation.keyword == "additionalProperties"
    return violation._replace(severity=Severity.WARNING) if is_unknown else violation


_SEPARATOR: Final = re.compile(r"[/\\]")
_ABSOLUTE: Final = re.compile(r"[/\\]|[A-Za-z]:[/\\]|file:|~[/\\]", re.IGNORECASE)
_SIGN: Final = re.compile(r"[/\\:]")
_MOST: Final = 1_000_000
"""The number of nodes searched for references; YAML aliases cannot add more."""


def leaving(document: views.Document) -> Iterator[tuple[str, str]]:
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


def is_absolute(path: str) -> bool:
    """Return whether a path begins at the root of a file system."""
    return _ABSOLUTE.match(path) is not None


def _is_plain(name: str) -> bool:
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


def _ids(document: views.Document) -> Iterator[tuple[_Path, str]]:
    value = document.value
    if document.kind not in (THRESHOLD, REPORT):
        yield from _texts(value.get("id"), ("id",))
    if document.kind == TASK:
        for index, name in numbered_texts(value.get("metrics")):
            yield ("metrics", index), name
    if document.kind == THRESHOLD:
        yield from _texts(value.get("task"), ("task",))
    for table in views.iterate_tables(document):
        if document.kind == POLICY and table.task is not None:
            yield table.path, table.task
        for name in table.metrics:
            yield (*table.path, name), name
    if document.kind == GUARDRAIL:
        yield from _ids_of_guardrail(document)
    if document.kind == REPORT:
        yield from _ids_of_report(document)


def _ids_of_guardrail(document: views.Document) -> Iterator[tuple[_Path, str]]:
    for index, target in objects(document.value.get("targets")):
        for member in ("task", "model"):
            yield from _texts(target.get(member), ("targets", index, member))
        for number, name in numbered_texts(target.get("metrics")):
            yield ("targets", index, "metrics", number), name


def _ids_of_report(document: views.Document) -> Iterator[tuple[_Path, str]]:
    for entry in report.entry_tasks(document):
        for task in entry:
            if isinstance(task.value.get("task_ref"), str):
                yield (*task.path, "task_ref"), task.value["task_ref"]
            elif task.id is not None:
                yield task.path, task.id
    yield from _ids_of_results(document)


def _ids_of_results(document: views.Document) -> Iterator[tuple[_Path, str]]:
    for index, item in enumerate(report.entry_results(document)):
        for name in item if isinstance(item, dict) else ():
            yield ("results", index, name), name


def _data_paths(document: views.Document) -> Iterator[tuple[_Path, str]]:
    if document.kind == REPORT:
        for entry in report.entry_tasks(document):
            for task in entry:
                if isinstance(task.value.get("dataset_path"), str):
                    yield (*task.path, "dataset_path"), task.value["dataset_path"]


def _references(value: Any) -> Iterator[tuple[_Path, str]]:
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


EVG101: Final = declare_rule("EVG101", record=_check_form)
EVG102: Final = declare_rule("EVG102", record=_empty_range)
EVG207: Final = declare_rule("EVG207", record=_targets)
EVG502: Final = declare_rule("EVG502", record=_paths_outside)
EVG601: Final = declare_rule("EVG601")
EVG602: Final = declare_rule("EVG602")
EVG603: Final = declare_rule("EVG603")
EVG604: Final = declare_rule("EVG604")

ABOUT_MANIFESTS: Final = (EVG601, EVG602, EVG603, EVG604)
"""Rules that the comparison with the manifest of a folder reports."""

RULES: Final = (EVG101, EVG102, EVG207, EVG502, EVG601, EVG602, EVG603, EVG604)

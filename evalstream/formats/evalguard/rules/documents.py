"""EVG1, EVG5 and EVG6: rules about single documents, and about the manifest of a folder."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from evalstream.formats.evalguard import documents, views
from evalstream.formats.evalguard.documents import GUARDRAIL, METRIC, MODEL, TASK
from evalstream.formats.evalguard.paths import leaving
from evalstream.formats.evalguard.report import describe_report, entry_results, is_of_harness
from evalstream.formats.evalguard.views import Folder, FolderItem, text_member
from evalstream.model.finding import Severity, Violation
from evalstream.parsing.json import pointer
from evalstream.parsing.json_values import list_or_empty
from evalstream.rules.base import declare_rule

EVG601: Final = declare_rule("EVG601")
EVG602: Final = declare_rule("EVG602")
EVG603: Final = declare_rule("EVG603")
EVG604: Final = declare_rule("EVG604")

ABOUT_MANIFESTS: Final = (EVG601, EVG602, EVG603, EVG604)
"""Rules that the comparison with the manifest of a folder reports."""


def _targets(subject: FolderItem) -> Iterator[Violation]:
    document, folder = subject
    if document.kind != GUARDRAIL:
        return
    targets = list_or_empty(document.value.get("targets"))
    if not folder.followed:
        if targets:
            message = "the targets were not looked up; name their folder with --aggregate"
            yield EVG207.violation(message, pointer="/targets", severity=Severity.WARNING)
        return
    for index, target in enumerate(targets):
        if isinstance(target, dict):
            yield from _target(target, ("targets", index), folder)


def _target(
    target: dict[str, object], path: tuple[str | int, ...], folder: Folder
) -> Iterator[Violation]:
    task, model = text_member(target, "task"), text_member(target, "model")
    if task is not None and not folder.knows(TASK, task):
        message = "no task document has this id"
        yield EVG207.violation(message, pointer=pointer((*path, "task")), found=task)
    for index, name in enumerate(list_or_empty(target.get("metrics"))):
        if not isinstance(name, str):
            continue
        place = pointer((*path, "metrics", index))
        if not folder.knows(METRIC, name):
            yield EVG207.violation("no metric document has this id", pointer=place, found=name)
        elif task is not None and not folder.lists(task, name):
            message = f"the task {task[:80]} does not list this metric"
            yield EVG207.violation(message, pointer=place, found=name, severity=Severity.WARNING)
    # The layout of the specification has no documents of models.
    has_models = folder.owners[MODEL] or folder.unread[MODEL]
    if model is not None and has_models and not folder.knows(MODEL, model):
        message = "no model document has this id"
        yield EVG207.violation(message, pointer=pointer((*path, "model")), found=model)


EVG207: Final = declare_rule("EVG207", record=_targets)


PATTERN: Final = "^[A-Za-z0-9_-]+$"
"""A valid identifier, as the specification defines it."""


def _check_form(subject: views.FolderItem) -> Iterator[Violation]:
    """Report what the schema cannot: invalid ids and legacy members."""
    document, folder = subject
    for place, name in _defined_names(document):
        yield from _identifier(place, name)
    if not folder.followed:
        for place, name in _names_of_others(document):
            yield from _identifier(place, name)
    if document.kind == documents.REPORT and is_of_harness(document):
        yield EVG101.violation(describe_report(subject), pointer="", severity=Severity.INFO)
    for path, item in views.raw_ranges(document):
        if document.kind == documents.THRESHOLD and views.is_legacy(item):
            place = pointer(path)
            message = f"{documents.LEGACY_IMPACT} in place of impact, as in early documents"
            yield EVG101.violation(
                message,
                pointer=f"{place}/{documents.LEGACY_IMPACT}",
                found=item[documents.LEGACY_IMPACT],
                severity=Severity.WARNING,
            )


def _defined_names(document: views.Document) -> Iterator[tuple[str, str]]:
    if document.kind in (documents.TASK, documents.METRIC) and document.id is not None:
        yield "/id", document.id
    if document.kind == documents.REPORT and not is_of_harness(document):
        for index, item in enumerate(entry_results(document)):
            for name in item if isinstance(item, dict) else ():
                yield pointer(("results", index, name)), name


def _names_of_others(document: views.Document) -> Iterator[tuple[str, str]]:
    if document.kind == documents.TASK:
        for index, name in enumerate(list_or_empty(document.value.get("metrics"))):
            if isinstance(name, str):
                yield pointer(("metrics", index)), name
    if document.kind == documents.THRESHOLD and document.id is not None:
        yield "/task", document.id
    for table in views.iterate_tables(document):
        if document.kind == documents.POLICY and table.task is not None:
            yield pointer(table.path), table.task
        for name in table.metrics:
            yield pointer((*table.path, name)), name


def _identifier(place: str, name: str) -> Iterator[Violation]:
    if not documents.is_identifier(name):
        message = "not an identifier: only letters, digits, underscores and hyphens are allowed"
        yield EVG101.violation(
            message, pointer=place, keyword="pattern", expected=PATTERN, found=name
        )


def _empty_range(subject: views.FolderItem) -> Iterator[Violation]:
    for path, item in views.raw_ranges(subject.document):
        if "min" not in item and "max" not in item:
            message = "the range has neither min nor max"
            yield EVG102.violation(message, pointer=pointer(path), keyword="anyOf")
            continue
        low, high = views.as_number(item.get("min")), views.as_number(item.get("max"))
        if low is not None and high is not None and low >= high:
            word = "is" if low == high else "is above"
            message = f"min {word} max, so no value is in the range"
            yield EVG102.violation(message, pointer=pointer(path), found=item)


def _paths_outside(subject: views.FolderItem) -> Iterator[Violation]:
    for place, path in leaving(subject.document):
        yield EVG502.violation("leads out of the folder", pointer=place, found=path)


def without_unknown(violation: Violation) -> Violation:
    """Return a violation of a schema, an unknown member as a warning.

    The specification asks for unknown fields to be handled gracefully (section 3.3).
    """
    is_unknown = violation.keyword == "additionalProperties"
    return violation._replace(severity=Severity.WARNING) if is_unknown else violation


EVG101: Final = declare_rule("EVG101", record=_check_form)
EVG102: Final = declare_rule("EVG102", record=_empty_range)
EVG502: Final = declare_rule("EVG502", record=_paths_outside)


RULES: Final = (EVG101, EVG102, EVG207, EVG502, *ABOUT_MANIFESTS)

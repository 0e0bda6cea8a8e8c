"""EVG2: rules about ids in EvalGuard's documents, references to them, and lists of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from evalstream.formats.evalguard import documents
from evalstream.formats.evalguard.views import Document, FolderItem, iterate_tables
from evalstream.model.finding import Severity, Violation
from evalstream.parsing.json import pointer
from evalstream.parsing.json_values import list_or_empty, object_or_empty
from evalstream.rules.base import Rule, declare_rule


def _unknown_metric_of_task(subject: FolderItem) -> Iterator[Violation]:
    document, folder = subject
    if document.kind != documents.TASK:
        return
    names = list_or_empty(document.value.get("metrics"))
    if not folder.followed:
        if names:
            yield _not_followed(EVG201, "/metrics", "the metrics of the task")
        return
    for index, name in enumerate(names):
        if isinstance(name, str) and not folder.knows(documents.METRIC, name):
            message = "no metric document has this id"
            yield EVG201.violation(message, pointer=f"/metrics/{index}", found=name)


def _unknown_task(subject: FolderItem) -> Iterator[Violation]:
    document, folder = subject
    tasks: list[tuple[str, str, str | None]] = []
    if document.kind == documents.THRESHOLD and document.id is not None:
        tasks = [("/task", document.id, document.id)]
    elif document.kind == documents.POLICY:
        thresholds = document.value.get("thresholds")
        names = thresholds if isinstance(thresholds, dict) else ()
        # The key is the name, so that there is no value to show.
        tasks = [(pointer(("thresholds", name)), name, None) for name in names]
    if not folder.followed:
        for place, _, _ in tasks[:1]:
            yield _not_followed(EVG202, place, "the task and its metrics")
        return
    for place, name, found in tasks:
        if not folder.knows(documents.TASK, name):
            which = "this id" if found is not None else f"the id {name}"
            yield EVG202.violation(f"no task document has {which}", pointer=place, found=found)


def _unknown_metric_of_threshold(subject: FolderItem) -> Iterator[Violation]:
    document, folder = subject
    if not folder.followed:
        return
    for table in iterate_tables(document):
        for name in table.metrics:
            severity = None
            if not folder.knows(documents.METRIC, name):
                message = f"no metric document has the id {name}"
            elif table.task is not None and not folder.lists(table.task, name):
                message, severity = f"the task does not list the metric {name}", Severity.WARNING
            else:
                continue
            place = pointer((*table.path, name))
            yield EVG203.violation(message, pointer=place, severity=severity)


def _several_thresholds(subject: FolderItem) -> Iterator[Violation]:
    document, folder = subject
    if document.kind == documents.THRESHOLD:
        yield from _report_repeated(EVG204, folder.owner(document), document, "/task")


def _repeated_id(subject: FolderItem) -> Iterator[Violation]:
    document, folder = subject
    if document.kind not in (*_UNIQUE, *_LATER) or document.id is None:
        return
    owner = folder.owner(document)
    is_copy = document.kind == documents.REPORT and owner.value == document.value
    for violation in () if is_copy else _report_repeated(EVG205, owner, document, "/id"):
        yield violation._replace(severity=Severity.WARNING if document.kind in _LATER else None)
    is_named = document.stem is None or document.is_named_after_id
    if document.kind != documents.REPORT and not is_named:
        message = "the file is not named after the id in it"
        yield EVG205.violation(
            message,
            pointer="/id",
            expected=document.stem,
            found=document.id,
            severity=Severity.INFO,
        )


def _report_repeated(
    rule: Rule, owner: Document, document: Document, place: str
) -> Iterator[Violation]:
    """Report each document except the one that its id belongs to."""
    if owner is not document:
        message = f"{_REPEATED[rule.code]} {owner.name}"
        yield rule.violation(message, pointer=place, found=document.id)


def _not_followed(rule: Rule, place: str, what: str) -> Violation:
    message = f"{what} were not looked up; name their folder with --aggregate"
    return rule.violation(message, pointer=place, severity=Severity.WARNING)


_UNIQUE: Final = (documents.TASK, documents.METRIC, documents.REPORT)
"""Kinds whose ids the specification calls unique (sections 4.1.2, 4.2.2 and 4.4.2)."""

_LATER: Final = (documents.GUARDRAIL, documents.POLICY, documents.MODEL)
"""Kinds that the specification does not have, and whose texts say nothing about their ids."""

EVG201: Final = declare_rule("EVG201", record=_unknown_metric_of_task)
EVG202: Final = declare_rule("EVG202", record=_unknown_task)
EVG203: Final = declare_rule("EVG203", record=_unknown_metric_of_threshold)
EVG204: Final = declare_rule("EVG204", record=_several_thresholds)
EVG205: Final = declare_rule("EVG205", record=_repeated_id)


_REPEATED: Final = {
    EVG204.code: "the task has other thresholds, too:",
    EVG205.code: "another document has this id:",
}


_PLACE: Final = "/pagination"


def paging(endpoint: str, response: Mapping[str, Any]) -> Iterator[Violation]:
    """Compare the paging of a response with the entries that it has."""
    page = object_or_empty(response.get("pagination"))
    total, limit, offset = (_count(page.get(name)) for name in ("total", "limit", "offset"))
    if endpoint not in documents.LISTS or total is None or limit is None or offset is None:
        return
    shown = len(list_or_empty(response.get(endpoint)))
    if shown > limit:
        message = f"there are {shown:,} {endpoint}, more than the limit"
        yield EVG209.violation(message, pointer=f"{_PLACE}/limit", found=limit)
    if shown and offset + shown > total:
        message = f"the last of {shown:,} {endpoint} is number {offset + shown:,}, beyond the total"
        yield EVG209.violation(message, pointer=f"{_PLACE}/total", found=total)
        return
    more, said = offset + shown < total, page.get("has_more")
    if isinstance(said, bool) and said is not more:
        message = f"{offset + shown:,} of {total:,} {endpoint} are shown up to here"
        yield EVG209.violation(message, pointer=f"{_PLACE}/has_more", expected=more, found=said)


def _count(value: Any) -> int | None:
    is_whole = isinstance(value, (int, float)) and not isinstance(value, bool) and value % 1 == 0
    return int(value) if is_whole and value >= 0 else None


EVG209: Final = declare_rule("EVG209")

RULES: Final = (EVG201, EVG202, EVG203, EVG204, EVG205, EVG209)

"""Typed views of EvalGuard's documents, by id, and the references between them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from evalstream.formats.evalguard.documents import (
    HIGHER_IS_BETTER,
    KINDS,
    LEGACY_IMPACT,
    LOWER_IS_BETTER,
    METRIC,
    REPORT,
    TASK,
    THRESHOLD,
)
from evalstream.parsing.json import pointer, text_or_none

REFERRING: Final = {
    TASK: ("metrics",),
    THRESHOLD: ("task", "thresholds"),
    REPORT: ("tasks", "results"),
}
"""The members that refer to other documents."""

_NAMED_BY: Final = {TASK: "id", METRIC: "id", THRESHOLD: "task"}


class Document(NamedTuple):
    """One document: its name in reports, its kind and its content.

    `stem` is its file name without the ending, or None for a stream. `depth` is the number of
    folders between it and the folder that it must not leave.
    """

    name: str
    kind: str
    value: Mapping[str, Any]
    stem: str | None
    depth: int = 0

    @property
    def id(self) -> str | None:
        """The id of the document, or of the task that its thresholds are for."""
        return text_in(self.value, _NAMED_BY.get(self.kind, "id"))


@dataclass(slots=True)
class Folder:
    """All documents that are checked together.

    `owners` are the documents that ids belong to, by kind and id: the one named after its id, else
    the first. `unread` holds the stems of documents that could not be read, so that nothing is
    reported as missing that they may define. Without `followed` there is only one document, whose
    references cannot be looked up.
    """

    followed: bool = True
    owners: dict[str, dict[str, Document]] = field(
        default_factory=lambda: {kind: {} for kind in KINDS}
    )
    unread: dict[str, set[str]] = field(default_factory=lambda: {kind: set() for kind in KINDS})
    _listed: dict[str, frozenset[str]] = field(default_factory=dict)
    _ranges: dict[tuple[str, str], list[Range]] = field(default_factory=dict)

    def add(self, document: Document) -> None:
        """Add a document."""
        if document.id is None:
            return
        owners = self.owners[document.kind]
        owner = owners.setdefault(document.id, document)
        if owner.stem != document.id == document.stem:
            owners[document.id] = document

    def owner(self, document: Document) -> Document:
        """Return the document that owns the id of another, usually itself."""
        return document if document.id is None else self.owners[document.kind][document.id]

    def knows(self, kind: str, name: str) -> bool:
        """Return whether an id belongs to a document, or may belong to one that was not read."""
        return name in self.owners[kind] or name in self.unread[kind]

    def lists(self, task: str, metric: str) -> bool:
        """Return whether a task lists a metric; an unknown task may list it."""
        document = self.owners[TASK].get(task)
        if document is None:
            return True
        if task not in self._listed:
            self._listed[task] = frozenset(texts_in(document.value, "metrics"))
        return metric in self._listed[task]

    def direction(self, metric: str) -> str | None:
        """Return a metric's direction, or None if it is unknown."""
        document = self.owners[METRIC].get(metric)
        declared = None if document is None else document.value.get("direction")
        return declared if declared in (HIGHER_IS_BETTER, LOWER_IS_BETTER) else None

    def ranges(self, task: str, metric: str) -> list[Range]:
        """Return the ranges that apply to the values of a metric on a task."""
        document = self.owners[THRESHOLD].get(task)
        if document is None:
            return []
        if (task, metric) not in self._ranges:
            self._ranges[task, metric] = ranges_of(document, metric)
        return self._ranges[task, metric]


class Subject(NamedTuple):
    """The subject of a rule: one document, among all documents."""

    document: Document
    folder: Folder


class Range(NamedTuple):
    """A range of values, from `low` up to but not including `high`.

    `number` is its index in the list, from 0. `impact` is the impact of such a value, or None if it
    is not a string.
    """

    number: int
    low: float
    high: float
    impact: str | None

    @property
    def text(self) -> str:
        """The range in interval notation."""
        return f"[{_bound(self.low)}, {_bound(self.high)})"

    def holds(self, value: float) -> bool:
        """Return whether a value is in the range."""
        return self.low <= value < self.high


def ranges_of(document: Document, metric: str) -> list[Range]:
    """Return the valid ranges of a metric, in the order of their values."""
    thresholds = document.value.get("thresholds")
    items = thresholds.get(metric) if isinstance(thresholds, dict) else None
    found = (_range(index, item) for index, item in enumerate(listed(items)))
    return sorted((one for one in found if one), key=lambda one: (one.low, one.high, one.number))


def raw_ranges(document: Document) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every range that is an object, with its pointer."""
    thresholds = document.value.get("thresholds")
    for metric, items in (thresholds if isinstance(thresholds, dict) else {}).items():
        for index, item in enumerate(listed(items)):
            if isinstance(item, dict):
                yield pointer(("thresholds", metric, index)), item


def metrics_with_ranges(document: Document) -> list[str]:
    """Return the ids of the metrics that a threshold document has ranges for."""
    thresholds = document.value.get("thresholds")
    return list(thresholds) if isinstance(thresholds, dict) else []


def is_legacy(item: Mapping[str, Any]) -> bool:
    """Return whether a range has a label instead of an impact, as in early documents."""
    return "impact" not in item and isinstance(item.get(LEGACY_IMPACT), str)


def number_in(value: Any) -> float | None:
    """Return a number, or None for other values."""
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def text_in(value: Mapping[str, Any], member: str) -> str | None:
    """Return a member that is a string, or None."""
    return text_or_none(value.get(member))


def texts_in(value: Mapping[str, Any], member: str) -> list[str]:
    """Return the strings in a member that is a list."""
    return [item for item in listed(value.get(member)) if isinstance(item, str)]


def listed(value: Any) -> list[Any]:
    """Return a list; an empty one for other values."""
    return value if isinstance(value, list) else []


def _range(index: int, item: Any) -> Range | None:
    """Return a range with valid limits that is not empty, or None."""
    if not isinstance(item, dict):
        return None
    bounds = [number_in(item[name]) for name in ("min", "max") if name in item]
    if not bounds or None in bounds:
        return None
    low, high = number_in(item.get("min")), number_in(item.get("max"))
    low = -math.inf if low is None else low
    high = math.inf if high is None else high
    impact = text_in(item, LEGACY_IMPACT if is_legacy(item) else "impact")
    return Range(index, low, high, impact) if low < high else None


def _bound(value: float) -> str:
    """Return a limit as text; a number beyond all floats counts as no limit."""
    try:
        real = float(value)
    except OverflowError:
        real = math.inf
    if math.isinf(real):
        return "…"
    return f"{value}" if abs(real) < _SHORT_BELOW else f"{real}"


_SHORT_BELOW: Final = 10**15
"""Whole numbers from here on are written as powers of ten."""

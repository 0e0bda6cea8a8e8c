"""Views of the documents of one run: the lists of a report, outcomes of instances, predictions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, TypeGuard

from evalstream.model.data_class import NamedTuple
from evalstream.model.finding import Violation
from evalstream.parsing.json import pointer
from evalstream.parsing.json_values import is_number, is_texts
from evalstream.rules.base import Rule

TESTS: Final = "tests_status"
DECIDING_TESTS: Final = ("FAIL_TO_PASS", "PASS_TO_PASS")
"""The groups of tests that decide whether an instance is resolved (`get_resolution_status`)."""
EMPTY_TESTS: Final = ("FAIL_TO_FAIL", "PASS_TO_FAIL")
"""The groups of tests that the harness leaves empty."""


class PlacedInFile(NamedTuple):
    """A violation with the path of its document, and its line where that has lines."""

    path: str
    violation: Violation
    line: int | None = None


class Lists:
    """The lists of ids in a run report or in the results of a submission, by name.

    A list that is missing or malformed is None. `places` has the index of each id. A run report
    that was submitted may call a list as the results of a submission do, without the suffix.
    """

    def __init__(self, path: str, value: Mapping[str, Any], suffix: str = "") -> None:
        self.path, self.value, self._suffix = path, value, suffix
        self._items: dict[str, list[str] | None] = {}
        self._places: dict[str, dict[str, int]] = {}

    @property
    def is_of_service(self) -> bool:
        """Whether the service of `sb-cli` wrote it, which evaluates empty patches like others."""
        return {"pending_ids", "failed_ids"} <= self.value.keys()

    def key(self, name: str) -> str:
        """Return the member that holds a list."""
        key = f"{name}{self._suffix}"
        return name if name in self.value and key not in self.value else key

    def items(self, name: str) -> list[str] | None:
        """Return a list with its repeats, None if there is no such list of texts."""
        if name not in self._items:
            found = self.value.get(self.key(name))
            self._items[name] = found if is_texts(found) else None
        return self._items[name]

    def places(self, name: str) -> dict[str, int]:
        """Return the index of each id in a list, that of its first place."""
        if name not in self._places:
            items = self.items(name) or []
            self._places[name] = {one: place for place, one in reversed(list(enumerate(items)))}
        return self._places[name]

    def about(self, rule: Rule, message: str, *path: str | int, **details: Any) -> PlacedInFile:
        """Return a violation at a path in the document."""
        return PlacedInFile(self.path, rule.violation(message, path, **details))

    def about_id(self, rule: Rule, name: str, one: str, message: str) -> PlacedInFile:
        """Return a violation about an id in a list; the message goes on after the id."""
        place = self.key(name), self.places(name)[one]
        return self.about(rule, f"{one} {message}", *place, found=one)

    def union(self, names: Iterable[str]) -> set[str]:
        """Return the ids of several lists."""
        return {one for name in names for one in self.places(name)}


class InstanceOutcome(NamedTuple):
    """The report of one instance.

    `place` is the JSON Pointer of its members. `declared` is the member `resolved`, and `derived`
    the same from the tests; None where the report does not say it.
    """

    path: str
    id: str | None
    value: Mapping[str, Any]
    place: str
    declared: bool | None
    derived: bool | None

    @property
    def is_resolved(self) -> bool | None:
        """Whether the instance is resolved, by its tests if they say it."""
        return self.declared if self.derived is None else self.derived

    @property
    def proven(self) -> bool | None:
        """Whether the instance is resolved; None where no test that failed before shows it."""
        is_shown = not self.derived or self.value[TESTS][DECIDING_TESTS[0]]["success"]
        return self.is_resolved if is_shown else None

    def about(self, rule: Rule, message: str, *path: str, **details: Any) -> PlacedInFile:
        """Return a violation at a path in the report."""
        where = self.place + pointer(path)
        return PlacedInFile(self.path, rule.violation(message, where, **details))


class Prediction(NamedTuple):
    """One prediction; `patch` is None for none, `place` its JSON Pointer, `line` its line."""

    path: str
    id: str
    model: str | None
    patch: str | None
    place: str
    line: int | None

    @property
    def is_empty(self) -> bool:
        """Whether the harness skips the prediction."""
        return not self.patch

    def about(self, rule: Rule, message: str, *path: str, **details: Any) -> PlacedInFile:
        """Return a violation at a path in the prediction."""
        where = self.place + pointer(path)
        return PlacedInFile(self.path, rule.violation(message, where, **details), self.line)


class Submitted:
    """All documents of one run.

    `report` is the run report, `results` that of a submission. `outcomes` and `predictions` are by
    id; `details`, `groups` and `metadata` are documents of a submission with their paths. `unread`
    has the instances whose report could not be read, and `empty` counts empty reports of errors;
    without one of its predictions a file has none and `is_unpredicted`.
    """

    def __init__(self) -> None:
        self.report: Lists | None = None
        self.results: Lists | None = None
        self.outcomes: dict[str, InstanceOutcome] = {}
        self.predictions: dict[str, Prediction] | None = None
        self.is_unpredicted = False
        self.unread: set[str] = set()
        self.empty = 0
        self.details: tuple[str, Mapping[str, Any]] | None = None
        self.metadata: tuple[str, Mapping[str, Any]] | None = None
        self.groups: list[tuple[str, Mapping[str, Any]]] = []


def read_outcome(path: str, value: Mapping[str, Any]) -> InstanceOutcome | None:
    """Return the outcome in the report of an instance, None if it has another structure."""
    inner, place, name = value, "", None
    if "resolved" not in value:
        if len(value) != 1:
            return None
        ((name, inner),) = value.items()
        place = pointer([name])
    if not isinstance(inner, dict):
        return None
    declared = inner.get("resolved")
    is_known = isinstance(declared, bool)
    return InstanceOutcome(path, name, inner, place, declared if is_known else None, derive(inner))


def derive(outcome: Mapping[str, Any]) -> bool | None:
    """Return whether an instance is resolved by its tests, None if they are malformed.

    Without tests the log was not usable, and the instance is not resolved.
    """
    if TESTS not in outcome:
        return False
    groups = outcome[TESTS]
    if not are_tests(groups):
        return None
    return not any(groups[name]["failure"] for name in DECIDING_TESTS)


def are_tests(value: Any) -> bool:
    """Tell whether a value has the groups of tests that decide, and each group its two lists.

    The lists are those of successes and of failures; further groups may be missing.
    """
    if not isinstance(value, dict) or not value.keys() >= {*DECIDING_TESTS}:
        return False
    groups = [value[name] for name in (*DECIDING_TESTS, *EMPTY_TESTS) if name in value]
    sides = ("success", "failure")
    return all(isinstance(one, dict) and all(is_texts(one.get(k)) for k in sides) for one in groups)


def list_successes(outcome: InstanceOutcome) -> list[str]:
    """Return the tests that an outcome counts as successes; none of a malformed one."""
    if outcome.derived is None or TESTS not in outcome.value:
        return []
    groups = (outcome.value[TESTS][name]["success"] for name in DECIDING_TESTS)
    return [test for tests in groups for test in tests]


def iterate_predictions(document: Any) -> Iterator[tuple[str, Any]]:
    """Iterate over the predictions in a document with their JSON Pointers."""
    if isinstance(document, list):
        yield from ((pointer([place]), one) for place, one in enumerate(document))
    elif isinstance(document, dict) and "instance_id" in document:
        yield "", document
    elif isinstance(document, dict):
        yield from ((pointer([key]), one) for key, one in document.items())


def is_amount(value: Any) -> bool:
    """Return whether a value is a number that is not negative."""
    return is_number(value) and value >= 0


def is_natural(value: Any) -> TypeGuard[int]:
    """Return whether a value is a number of things."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0

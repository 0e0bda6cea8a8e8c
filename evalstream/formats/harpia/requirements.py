"""Requirements on the members of HarpIA Lab's documents, and their violations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from evalstream.formats.harpia.documents import Member, find_metric, member, members, normalise_key
from evalstream.formats.harpia.views import InputMetric
from evalstream.model.finding import Violation
from evalstream.model.text import with_article
from evalstream.parsing.json import pointer, short_text, type_name
from evalstream.rules.base import Rule

INSTANCE_MEMBERS: Final = ("id", "input", "actual-output", "expected-output")
METRIC_MEMBERS: Final = ("id", "enable", "parameters")
OUTPUT_MEMBERS: Final = ("parameters", "score", "elapsed time")
RECORD_MEMBERS: Final = ("instance_id", "parameters", "result")


class RequirementViolation(NamedTuple):
    """A violated requirement: the message, the pointer, and what was expected and found."""

    message: str
    pointer: str
    expected: Any = None
    found: Any = None


def make_violation(rule: Rule, requirement: RequirementViolation) -> Violation:
    """Return the violation of a rule for a requirement that is not met."""
    message, place, expected, found = requirement
    return rule.violation(message, pointer=place, expected=expected, found=found)


def make_violations(
    rule: Rule, requirements: Iterable[RequirementViolation]
) -> Iterator[Violation]:
    """Return the violations of a rule for requirements that are not met."""
    return (make_violation(rule, requirement) for requirement in requirements)


def spelled_once(place: str, value: Any, names: Iterable[str]) -> Iterator[RequirementViolation]:
    """Require that an object has no member in several spellings."""
    if len(set(map(normalise_key, value))) == len(value):
        return
    for name in names:
        found = members(value, name)
        if len(found) > 1:
            keys = " and ".join(repr(short_text(entry.key)) for entry in found)
            yield RequirementViolation(f"the same member in several spellings: {keys}", place)


def text(
    place: str, value: Any, name: str, *, filled: bool = False
) -> Iterator[RequirementViolation]:
    """Require a string member, which must not be empty if `require_score`."""
    found = member(value, name)
    if found is None:
        yield RequirementViolation(f"{name} is missing", place)
    elif not isinstance(found.value, str):
        yield wrong_type(place, found, "a string")
    elif filled and not found.value:
        yield RequirementViolation(f"{name} is empty", at(place, found))


def require_name(metric: InputMetric) -> Iterator[RequirementViolation]:
    """Require that an output or a log record names its metric."""
    if metric.id is not None:
        return
    found = find_metric(metric.value)
    if found is None:
        yield RequirementViolation("the metric is not named", metric.pointer)
    elif isinstance(found.value, str):
        yield RequirementViolation(f"{found.key} is empty", at(metric.pointer, found))
    else:
        yield wrong_type(metric.pointer, found, "a string")


def parameters(metric: InputMetric) -> Iterator[RequirementViolation]:
    """Require an object of parameters."""
    if metric.parameters is None:
        yield RequirementViolation("parameters is missing", metric.pointer)
    elif not isinstance(metric.parameters.value, dict):
        yield wrong_type(metric.pointer, metric.parameters, "an object")


def require_score(
    metric: InputMetric, found: Member | None, name: str
) -> Iterator[RequirementViolation]:
    """Require a score or result; which values it has depends on the metric."""
    if found is None:
        yield RequirementViolation(f"{name} is missing", metric.pointer)
    elif is_empty(found.value):
        kind = "null" if found.value is None else f"an empty {type_name(found.value)}"
        yield RequirementViolation(f"{short_text(found.key)} is {kind}", at(metric.pointer, found))


def texts(place: str, items: Iterable[Any], key: str) -> Iterator[RequirementViolation]:
    """Require that all items of a list are strings."""
    for index, item in enumerate(items):
        if not isinstance(item, str):
            kind = type_name(item)
            message = f"an item of {short_text(key)} must be a string, not {with_article(kind)}"
            yield RequirementViolation(message, f"{place}/{index}", {"type": "string"}, item)


def no_object(noun: str, place: str, value: Any) -> RequirementViolation:
    """Return the violation for a value that is not an object."""
    kind = type_name(value)
    message = f"{noun} must be an object, not {with_article(kind)}"
    return RequirementViolation(message, place, {"type": "object"}, value)


def wrong_type(place: str, found: Member, wanted: str) -> RequirementViolation:
    """Return the violation for a member with another type than `wanted`, in words."""
    kind = type_name(found.value)
    message = f"{short_text(found.key)} must be {wanted}, not {with_article(kind)}"
    return RequirementViolation(message, at(place, found), {"type": _TYPES[wanted]}, found.value)


_TYPES: Final[Mapping[str, str | list[str]]] = {
    "a string": "string",
    "a string or an integer": ["string", "integer"],
    "a list of strings": "array",
    "true or false": "boolean",
    "a number": "number",
    "an object": "object",
}
"""Type names of JSON Schema by the words used in messages."""


def is_empty(value: Any) -> bool:
    """Return whether a score or result is empty."""
    return value is None or value in ({}, [], "")


def at(place: str, found: Member) -> str:
    """Return the JSON Pointer of a member of the object at another pointer."""
    return place + pointer([found.key])

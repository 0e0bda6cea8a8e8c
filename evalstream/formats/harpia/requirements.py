"""What HarpIA Lab's documents demand of their members, and how each demand is broken."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from evalstream.formats.harpia.documents import Member, member, members, metric_of, spelled
from evalstream.formats.harpia.views import Metric
from evalstream.model.finding import Violation
from evalstream.model.text import with_article
from evalstream.parsing.json import pointer, short_text, type_name
from evalstream.rules.base import Rule

INSTANCE_MEMBERS: Final = ("id", "input", "actual-output", "expected-output")
METRIC_MEMBERS: Final = ("id", "enable", "parameters")
OUTPUT_MEMBERS: Final = ("parameters", "score", "elapsed time")
RECORD_MEMBERS: Final = ("instance_id", "parameters", "result")


class RequirementViolation(NamedTuple):
    """A demand that is broken: what is wrong, where, what was expected and found."""

    message: str
    pointer: str
    expected: Any = None
    found: Any = None


def violation_of(rule: Rule, requirement: RequirementViolation) -> Violation:
    """Return what a rule reports where a requirement is not met."""
    message, place, expected, found = requirement
    return rule.violation(message, pointer=place, expected=expected, found=found)


def violations_of(rule: Rule, requirements: Iterable[RequirementViolation]) -> Iterator[Violation]:
    """Return what a rule reports where some requirements are not met."""
    return (violation_of(rule, requirement) for requirement in requirements)


def spelled_once(place: str, value: Any, names: Iterable[str]) -> Iterator[RequirementViolation]:
    """Demand that no member stands in an object under several spellings."""
    if len(set(map(spelled, value))) == len(value):
        return
    for name in names:
        found = members(value, name)
        if len(found) > 1:
            keys = " and ".join(repr(short_text(entry.key)) for entry in found)
            yield RequirementViolation(f"the same member in several spellings: {keys}", place)


def text(
    place: str, value: Any, name: str, *, filled: bool = False
) -> Iterator[RequirementViolation]:
    """Demand a member that is a text, and one with letters where it is to be `filled`."""
    found = member(value, name)
    if found is None:
        yield RequirementViolation(f"{name} is missing", place)
    elif not isinstance(found.value, str):
        yield wrong_type(place, found, "a string")
    elif filled and not found.value:
        yield RequirementViolation(f"{name} is empty", at(place, found))


def named(metric: Metric) -> Iterator[RequirementViolation]:
    """Demand that an output or a log record names its metric."""
    if metric.id is not None:
        return
    found = metric_of(metric.value)
    if found is None:
        yield RequirementViolation("the metric is not named", metric.pointer)
    elif isinstance(found.value, str):
        yield RequirementViolation(f"{found.key} is empty", at(metric.pointer, found))
    else:
        yield wrong_type(metric.pointer, found, "a string")


def parameters(metric: Metric) -> Iterator[RequirementViolation]:
    """Demand an object of parameters."""
    if metric.parameters is None:
        yield RequirementViolation("parameters is missing", metric.pointer)
    elif not isinstance(metric.parameters.value, dict):
        yield wrong_type(metric.pointer, metric.parameters, "an object")


def filled(metric: Metric, found: Member | None, name: str) -> Iterator[RequirementViolation]:
    """Demand a score or result; which values it has differs from metric to metric."""
    if found is None:
        yield RequirementViolation(f"{name} is missing", metric.pointer)
    elif is_empty(found.value):
        kind = "null" if found.value is None else f"an empty {type_name(found.value)}"
        yield RequirementViolation(f"{short_text(found.key)} is {kind}", at(metric.pointer, found))


def texts(place: str, items: Iterable[Any], key: str) -> Iterator[RequirementViolation]:
    """Demand that all items of a list are texts."""
    for index, item in enumerate(items):
        if not isinstance(item, str):
            kind = type_name(item)
            message = f"an item of {short_text(key)} must be a string, not {with_article(kind)}"
            yield RequirementViolation(message, f"{place}/{index}", {"type": "string"}, item)


def no_object(noun: str, place: str, value: Any) -> RequirementViolation:
    """Say that something is no object."""
    kind = type_name(value)
    message = f"{noun} must be an object, not {with_article(kind)}"
    return RequirementViolation(message, place, {"type": "object"}, value)


def wrong_type(place: str, found: Member, wanted: str) -> RequirementViolation:
    """Say that a member has another type than is `wanted`, in words."""
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
"""Types as JSON Schema names them, by the words of messages."""


def is_empty(value: Any) -> bool:
    """Tell whether a score or result holds nothing."""
    return value is None or value in ({}, [], "")


def at(place: str, found: Member) -> str:
    """Return the JSON Pointer of a member of what stands at another."""
    return place + pointer([found.key])

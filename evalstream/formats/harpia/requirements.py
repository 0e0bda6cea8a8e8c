"""Requirements on the members of HarpIA Lab's documents, and their violations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from evalstream.formats.harpia import documents
from evalstream.formats.harpia.values import identifier
from evalstream.formats.harpia.views import InputMetric
from evalstream.model.data_class import NamedTuple
from evalstream.model.finding import Violation
from evalstream.model.text import with_article
from evalstream.parsing.json import pointer, short_text, type_name
from evalstream.rules.base import Rule
from evalstream.rules.members import is_a

INSTANCE_MEMBERS: Final = ("id", "input", "actual-output", "expected-output")
METRIC_MEMBERS: Final = ("id", "enable", "parameters")
OUTPUT_MEMBERS: Final = (*documents.METRIC_NAMES, "parameters", "score", "elapsed time")
RECORD_MEMBERS: Final = (*documents.METRIC_NAMES, "instance_id", "parameters", "result")


def require_one_spelling(
    rule: Rule, place: str, value: Any, names: Iterable[str]
) -> Iterator[Violation]:
    """Require that an object has no member in several spellings."""
    if len(set(map(documents.normalise_key, value))) == len(value):
        return
    for name in names:
        found = documents.find_members(value, name)
        if len(found) > 1:
            keys = " and ".join(repr(short_text(entry.key)) for entry in found)
            yield rule.violation(f"the same member in several spellings: {keys}", place)


def require_member(
    rule: Rule, place: str, value: Mapping[str, Any], name: str, wanted: str
) -> Iterator[Violation]:
    """Require a member of a type, called `wanted` in messages."""
    found = documents.find_member(value, name)
    if found is None:
        yield rule.violation(f"{name} is missing", place)
    elif not _TYPES[wanted].accepts(found.value):
        yield wrong_type(rule, place, found, wanted)


def require_name(rule: Rule, metric: InputMetric) -> Iterator[Violation]:
    """Require that an output or a log record names its metric."""
    if metric.id is not None:
        return
    found = documents.find_metric(metric.value)
    if found is None:
        yield rule.violation("the metric is not named", metric.pointer)
    elif isinstance(found.value, str):
        yield rule.violation(f"{found.key} is empty", at(metric.pointer, found))
    else:
        yield wrong_type(rule, metric.pointer, found, "a string")


def require_score(
    rule: Rule, metric: InputMetric, found: documents.Member | None, name: str
) -> Iterator[Violation]:
    """Require a score or result; which values it has depends on the metric."""
    if found is None:
        yield rule.violation(f"{name} is missing", metric.pointer)
    elif is_empty(found.value):
        kind = "null" if found.value is None else f"an empty {type_name(found.value)}"
        yield rule.violation(f"{short_text(found.key)} is {kind}", at(metric.pointer, found))


def require_texts(rule: Rule, place: str, items: Iterable[Any], key: str) -> Iterator[Violation]:
    """Require that all items of a list are strings."""
    for index, item in enumerate(items):
        if not isinstance(item, str):
            kind = type_name(item)
            message = f"an item of {short_text(key)} must be a string, not {with_article(kind)}"
            yield rule.violation(
                message, f"{place}/{index}", expected={"type": "string"}, found=item
            )


def no_object(rule: Rule, noun: str, place: str, value: Any) -> Violation:
    """Return the violation for a value that is not an object."""
    kind = type_name(value)
    message = f"{noun} must be an object, not {with_article(kind)}"
    return rule.violation(message, place, expected={"type": "object"}, found=value)


def wrong_type(rule: Rule, place: str, found: documents.Member, wanted: str) -> Violation:
    """Return the violation for a member with another type than `wanted`, in words."""
    kind = type_name(found.value)
    message = f"{short_text(found.key)} must be {wanted}, not {with_article(kind)}"
    return rule.violation(
        message, at(place, found), expected={"type": _TYPES[wanted].name}, found=found.value
    )


class _WantedType(NamedTuple):
    """The name of a type in JSON Schema, and what accepts its values."""

    name: str | list[str]
    accepts: Callable[[Any], bool]


_TYPES: Final = {
    "a string": _WantedType("string", is_a(str)),
    "a string or an integer": _WantedType(
        ["string", "integer"], lambda value: identifier(value) is not None
    ),
    "a list of strings": _WantedType("array", is_a(list)),
    "true or false": _WantedType("boolean", is_a(bool)),
    "a number": _WantedType("number", is_a(int, float)),
    "an object": _WantedType("object", is_a(dict)),
}
"""Types by the words that messages have for them."""


def is_empty(value: Any) -> bool:
    """Return whether a score or result is empty."""
    return value is None or value in ({}, [], "")


def at(place: str, found: documents.Member) -> str:
    """Return the JSON Pointer of a member of the object at another pointer."""
    return place + pointer([found.key])

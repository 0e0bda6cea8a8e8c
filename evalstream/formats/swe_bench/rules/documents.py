"""SWE1: rules about the structure of documents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from evalstream.formats.swe_bench.views import (
    InstanceOutcome,
    Lists,
    PlacedInFile,
    is_natural,
    is_texts,
)
from evalstream.parsing.json import pointer, type_name
from evalstream.rules.declaration import declare_rule

LISTS: Final = (
    *("completed", "resolved", "unresolved", "error", "submitted", "empty_patch", "incomplete"),
    *("infra_failure", "ambiguous_failure"),
)
"""The lists of a run report; a member `NAME_ids` each, and mostly a number `NAME_instances`."""

_NEEDED: Final = ("completed", "resolved", "unresolved", "error")


def check_report(lists: Lists) -> Iterator[PlacedInFile]:
    """Yield the members of a run report that are missing or malformed, and repeated ids."""
    value = lists.value
    for key in ("total_instances", *(f"{name}_instances" for name in LISTS)):
        is_needed = key in {"total_instances", *(f"{name}_instances" for name in _NEEDED)}
        if (key in value or is_needed) and not is_natural(value.get(key)):
            yield _report_malformed(
                lists.path, value, key, "a count", {"type": "integer", "minimum": 0}
            )
    for name in LISTS:
        key = lists.key(name)
        if (key in value or name in _NEEDED) and not is_texts(value.get(key)):
            yield _report_malformed(lists.path, value, key, "a list of ids", {"type": "array"})
    yield from check_repeated_ids(lists, LISTS)


def check_results(lists: Lists) -> Iterator[PlacedInFile]:
    """Yield the members of a submission's results that are no lists of ids, and repeated ids."""
    for key, found in lists.value.items():
        if not is_texts(found):
            yield _report_malformed(
                lists.path, lists.value, key, "a list of ids", {"type": "array"}
            )
    yield from check_repeated_ids(lists, lists.value)


def check_outcome(outcome: InstanceOutcome) -> Iterator[PlacedInFile]:
    """Yield the members of an instance's report that are missing or malformed."""
    for name in ("resolved", "patch_successfully_applied", "patch_exists"):
        is_needed = name != "patch_exists"
        found = outcome.value.get(name)
        if (name in outcome.value or is_needed) and not isinstance(found, bool):
            yield _report_malformed(
                *(outcome.path, outcome.value, name, "true or false", {"type": "boolean"}),
                place=outcome.place,
            )
    if outcome.derived is None:
        yield _report_malformed(
            *(outcome.path, outcome.value, "tests_status", "lists of tests", {"type": "object"}),
            place=outcome.place,
        )


def check_repeated_ids(lists: Lists, names: Any) -> Iterator[PlacedInFile]:
    """Yield ids that stand twice in one list."""
    for name in names:
        first = lists.places(name)
        for place, one in enumerate(lists.items(name) or ()):
            if first[one] != place:
                message = f"{one} stands in {lists.key(name)} more than once"
                where = pointer([lists.key(name), place])
                yield PlacedInFile(lists.path, SWE102.violation(message, pointer=where, found=one))


def _report_malformed(
    path: str, value: Mapping[str, Any], key: str, noun: str, expected: Any, *, place: str = ""
) -> PlacedInFile:
    if key not in value:
        violation = SWE101.violation(f"{key} is missing", pointer=place)
    else:
        message = f"{key} must be {noun}, not {type_name(value[key])}"
        where, found = place + pointer([key]), value[key]
        violation = SWE101.violation(message, pointer=where, expected=expected, found=found)
    return PlacedInFile(path, violation)


SWE101: Final = declare_rule("SWE101")
SWE102: Final = declare_rule("SWE102")

RULES: Final = (SWE101, SWE102)

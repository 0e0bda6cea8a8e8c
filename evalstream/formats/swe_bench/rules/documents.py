"""SWE1: rules about the structure of documents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Final

from evalstream.formats.swe_bench.views import (
    TESTS,
    InstanceOutcome,
    Lists,
    PlacedInFile,
    Prediction,
    derive,
    is_amount,
    is_natural,
    is_texts,
)
from evalstream.model.finding import Severity, Violation
from evalstream.model.text import join_words
from evalstream.parsing.json import pointer, type_name
from evalstream.rules.base import declare_rule
from evalstream.rules.members import MemberRequirement, check_members, is_a

LISTS: Final = (
    *("completed", "resolved", "unresolved", "error", "submitted", "empty_patch", "incomplete"),
    *("infra_failure", "ambiguous_failure"),
)
"""The lists of a run report; a member `NAME_ids` each, and mostly a number `NAME_instances`."""

_NEEDED: Final = ("completed", "resolved", "unresolved", "error")
_NEWER: Final = (
    *("submitted_instances", "empty_patch_instances"),
    *("submitted_ids", "empty_patch_ids", "incomplete_ids"),
)
"""The members that the harness writes together since 2.0.3."""


def _require_count(key: str, *, is_needed: bool) -> MemberRequirement:
    expected = {"type": "integer", "minimum": 0}
    return MemberRequirement(key, "a count", is_natural, expected, is_needed)


def _require_ids(key: str, *, is_needed: bool = True) -> MemberRequirement:
    return MemberRequirement(key, "a list of ids", is_texts, {"type": "array"}, is_needed)


def _require_flag(key: str, *, is_needed: bool = True) -> MemberRequirement:
    return MemberRequirement(key, "true or false", is_a(bool), {"type": "boolean"}, is_needed)


def _require_text(key: str, *types: type, is_needed: bool = False) -> MemberRequirement:
    return MemberRequirement(key, "a text", is_a(*types), {"type": "string"}, is_needed)


_REPORT: Final = (
    _require_count("total_instances", is_needed=True),
    *(_require_count(f"{name}_instances", is_needed=name in _NEEDED) for name in LISTS),
    *(_require_ids(f"{name}_ids", is_needed=name in _NEEDED) for name in LISTS),
)
_OUTCOME: Final = (
    _require_flag("resolved"),
    _require_flag("patch_successfully_applied"),
    _require_flag("patch_exists", is_needed=False),
    _require_flag("patch_is_None", is_needed=False),
    MemberRequirement(
        *(TESTS, "lists of tests", lambda tests: derive({TESTS: tests}) is not None),
        *({"type": "object"}, False),
    ),
)
_PREDICTION: Final = (
    _require_text("instance_id", str, is_needed=True),
    _require_text("model_name_or_path", str, type(None)),
    _require_text("model_patch", str, type(None)),
)
_DETAIL: Final = (
    _require_flag("resolved", is_needed=False),
    *(
        MemberRequirement(key, "a number from 0 on", is_amount, {"minimum": 0}, is_needed=False)
        for key in ("cost", "api_calls")
    ),
)


def _check(
    value: Mapping[str, Any], requirements: Sequence[MemberRequirement], place: str = ""
) -> Iterator[Violation]:
    return check_members(SWE101, value, requirements, place, names_type=True)


def check_report(lists: Lists) -> Iterable[PlacedInFile]:
    """Yield the members of a run report that are missing or malformed, and repeated ids."""
    malformed = (PlacedInFile(lists.path, one) for one in _check(lists.value, _REPORT))
    return chain(malformed, _find_left_out(lists), _find_repeated_ids(lists, LISTS))


def _find_left_out(lists: Lists) -> Iterator[PlacedInFile]:
    """Yield the newer members that a report lacks although it has another of them."""
    absent = [key for key in _NEWER if key not in lists.value]
    if absent and (len(absent) < len(_NEWER) or "schema_version" in lists.value):
        message = f"the harness writes {join_words(absent)} into such a report"
        yield lists.about(SWE101, message, severity=Severity.WARNING)


def check_results(lists: Lists) -> Iterable[PlacedInFile]:
    """Yield the members of a submission's results that are no lists of ids, and repeated ids."""
    found = _check(lists.value, [_require_ids(key) for key in lists.value])
    malformed = (PlacedInFile(lists.path, one) for one in found)
    return chain(malformed, _find_repeated_ids(lists, lists.value))


def check_details(path: str, details: Mapping[str, Any]) -> Iterator[PlacedInFile]:
    """Yield the details of instances that are malformed."""
    for one, detail in details.items():
        place = pointer([one])
        if isinstance(detail, dict):
            found = _check({k: v for k, v in detail.items() if v is not None}, _DETAIL, place)
            yield from (PlacedInFile(path, violation) for violation in found)
        else:
            message = f"details must be an object, not {type_name(detail)}"
            yield PlacedInFile(path, SWE101.violation(message, pointer=place, found=detail))


def check_outcome(outcome: InstanceOutcome) -> Iterator[PlacedInFile]:
    """Yield the members of an instance's report that are missing or malformed."""
    found = _check(outcome.value, _OUTCOME, outcome.place)
    return (PlacedInFile(outcome.path, one) for one in found)


def check_prediction(record: Any, place: str) -> Violation | None:
    """Return the first violation of a prediction that is malformed, None for a sound one."""
    if isinstance(record, dict):
        return next(_check(record, _PREDICTION, place), None)
    message = f"a prediction must be an object, not {type_name(record)}"
    return SWE101.violation(message, pointer=place, found=record)


def report_second(prediction: Prediction) -> PlacedInFile:
    """Return the violation of a second prediction for an instance."""
    message = "a second prediction for it"
    return prediction.about(SWE102, message, "instance_id", found=prediction.id)


def _find_repeated_ids(lists: Lists, names: Iterable[str]) -> Iterator[PlacedInFile]:
    """Yield ids that stand twice in one list."""
    for name in names:
        first, key = lists.places(name), lists.key(name)
        for place, one in enumerate(lists.items(name) or ()):
            if first[one] != place:
                message = f"{one} stands in {key} more than once"
                yield lists.about(SWE102, message, key, place, found=one)


SWE101: Final = declare_rule("SWE101")
SWE102: Final = declare_rule("SWE102")

RULES: Final = (SWE101, SWE102)

"""SWE1, SWE2 and SWE4: rules about the structure, lists and figures of documents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, combinations
from typing import Any, Final

from evalstream.formats.swe_bench.claims import OUTCOMES
from evalstream.formats.swe_bench.views import (
    TESTS,
    InstanceOutcome,
    Lists,
    PlacedInFile,
    are_tests,
    is_amount,
    is_natural,
)
from evalstream.model.finding import Severity, Violation, at_least
from evalstream.model.text import count_noun, join_words
from evalstream.parsing.json import pointer, type_name
from evalstream.parsing.json_values import is_text_map, is_texts, object_or_empty
from evalstream.rules.base import declare_rule
from evalstream.rules.claims import find_open, find_refuted, find_rounded
from evalstream.rules.members import MemberRequirement, check_members, is_a
from evalstream.stats.claims.judgement import Judgement

LISTS: Final = (
    *("completed", "resolved", "unresolved", "error", "submitted", "empty_patch", "incomplete"),
    *("infra_failure", "ambiguous_failure", "pending", "failed"),
)
"""The lists of a run report; a member `NAME_ids` each, and mostly a number `NAME_instances`.

Those that are pending and failed are of the service of `sb-cli`, which has no list of empty patches.
"""

_NEEDED: Final = ("completed", "resolved", "unresolved", "error")
_NEWER: Final = (
    *("submitted_instances", "empty_patch_instances"),
    *("submitted_ids", "empty_patch_ids", "incomplete_ids"),
)
"""The members that the harness writes together since 2.0.3."""

_NEWEST: Final = (
    *("infra_failure_instances", "ambiguous_failure_instances"),
    *("infra_failure_ids", "ambiguous_failure_ids", "failure_reasons"),
)
"""The members that the harness writes together since 5.0.0."""


def _require_count(key: str, *, is_needed: bool) -> MemberRequirement:
    expected = {"type": "integer", "minimum": 0}
    return MemberRequirement(key, "a count", is_natural, expected, is_needed)


def _require_ids(key: str, *, is_needed: bool = True) -> MemberRequirement:
    return MemberRequirement(key, "a list of ids", is_texts, {"type": "array"}, is_needed)


def _require_flag(key: str, *, is_needed: bool = True) -> MemberRequirement:
    return MemberRequirement(key, "true or false", is_a(bool), {"type": "boolean"}, is_needed)


def _require_text(key: str, *types: type, is_needed: bool = False) -> MemberRequirement:
    return MemberRequirement(key, "a text", is_a(*types), {"type": "string"}, is_needed)


_COUNTS: Final = (
    _require_count("total_instances", is_needed=True),
    *(_require_count(f"{name}_instances", is_needed=name in _NEEDED) for name in LISTS),
)
_ADVICE: Final = (
    MemberRequirement(
        "failure_reasons", "an object of texts", is_text_map, {"type": "object"}, False
    ),
    _require_count("unstopped_instances", is_needed=False),
    _require_ids("unstopped_containers", is_needed=False),
    _require_ids("unremoved_images", is_needed=False),
)
"""Members of a run report that no figure follows from."""

_OUTCOME: Final = (
    _require_flag("resolved"),
    _require_flag("patch_successfully_applied"),
    _require_flag("patch_exists", is_needed=False),
    _require_flag("patch_is_None", is_needed=False),
    _require_flag("infra_failure", is_needed=False),
    _require_text("infra_failure_reason", str),
)
_OUTCOME_AND_TESTS: Final = (
    *_OUTCOME,
    MemberRequirement(TESTS, "lists of tests", are_tests, {"type": "object"}, False),
)
_PREDICTION: Final = (
    _require_text("instance_id", str, is_needed=True),
    _require_text("model_name_or_path", str, type(None)),
    _require_text("model_patch", str, type(None)),
)
DETAIL: Final = (
    _require_flag("resolved", is_needed=False),
    *(
        MemberRequirement(key, "a number from 0 on", is_amount, {"minimum": 0}, is_needed=False)
        for key in ("cost", "api_calls")
    ),
)
GROUP: Final = tuple(_require_count(key, is_needed=True) for key in ("resolved", "total"))


def _check(
    value: Mapping[str, Any], requirements: Sequence[MemberRequirement], place: str = ""
) -> Iterator[Violation]:
    return check_members(SWE101, value, requirements, place, names_type=True)


def check_report(lists: Lists) -> Iterable[PlacedInFile]:
    """Yield the members of a run report that are missing or malformed, and repeated ids."""
    listed = (_require_ids(lists.key(name), is_needed=name in _NEEDED) for name in LISTS)
    found = _check(lists.value, (*_COUNTS, *listed, *_ADVICE))
    malformed = (PlacedInFile(lists.path, one) for one in found)
    others = (_check_version(lists), _find_left_out(lists), _find_repeated_ids(lists, LISTS))
    return chain(malformed, *others)


def _check_version(lists: Lists) -> Iterator[PlacedInFile]:
    """Yield a schema_version that is not a number from 1 on; other tools have others than 2."""
    found = lists.value.get("schema_version", 2)
    if not is_natural(found) or not found:
        message = "schema_version must be a number from 1 on"
        yield lists.about(
            SWE101, message, "schema_version", severity=Severity.WARNING, expected=2, found=found
        )


def _find_left_out(lists: Lists) -> Iterator[PlacedInFile]:
    """Yield the newer members that a report lacks although it has another of them."""
    of_service = lists.is_of_service
    newer = [key for key in _NEWER if not (of_service and key.startswith("empty_patch"))]
    for wanted, sign in ((newer, "schema_version"), (_NEWEST, "")):
        absent = [key for key in wanted if key not in lists.value]
        if absent and (len(absent) < len(wanted) or sign in lists.value):
            message = f"the harness writes {join_words(absent)} into such a report"
            yield lists.about(SWE101, message, severity=Severity.WARNING)


def check_results(lists: Lists) -> Iterable[PlacedInFile]:
    """Yield the members of a submission's results that are not lists of ids, and repeated ids."""
    found = _check(lists.value, [_require_ids(key) for key in lists.value])
    malformed = (PlacedInFile(lists.path, one) for one in found)
    return chain(malformed, _find_repeated_ids(lists, lists.value))


def check_metadata(path: str, metadata: Any) -> Iterator[PlacedInFile]:
    """Yield the members of a submission's metadata that are malformed."""
    if isinstance(metadata, dict):
        # Metadata of 2024 have their members outside of `info`.
        shown = {key: one for key, one in metadata.items() if key == "info" and one is not None}
        yield from check_entries(path, shown, (), "info")
    elif metadata is not None:
        message = f"metadata must be an object, not {type_name(metadata)}"
        yield PlacedInFile(path, SWE101.violation(message, "", found=metadata))


def check_entries(
    path: str, values: Mapping[str, Any], requirements: Sequence[MemberRequirement], noun: str
) -> Iterator[PlacedInFile]:
    """Yield the values of an object that are not objects or have malformed members; null is none."""
    for name, value in values.items():
        place = pointer([name])
        if isinstance(value, dict):
            given = {key: one for key, one in value.items() if one is not None}
            found = _check(given, requirements, place)
            yield from (PlacedInFile(path, violation) for violation in found)
        else:
            message = f"{noun} must be an object, not {type_name(value)}"
            yield PlacedInFile(path, SWE101.violation(message, place, found=value))


def check_outcome(outcome: InstanceOutcome) -> Iterator[PlacedInFile]:
    """Yield the members of an instance's report that are missing or malformed."""
    # Tests that an outcome was derived from are lists.
    required = _OUTCOME_AND_TESTS if outcome.derived is None else _OUTCOME
    found = _check(outcome.value, required, outcome.place)
    return (PlacedInFile(outcome.path, one) for one in found)


def check_prediction(record: Any, place: str) -> Violation | None:
    """Return the first violation of a prediction that is malformed, None for a sound one."""
    if isinstance(record, dict):
        return next(_check(record, _PREDICTION, place), None)
    message = f"a prediction must be an object, not {type_name(record)}"
    return SWE101.violation(message, place, found=record)


def _find_repeated_ids(lists: Lists, names: Iterable[str]) -> Iterator[PlacedInFile]:
    """Yield ids that stand twice in one list."""
    for name in names:
        first, key = lists.places(name), lists.key(name)
        for place, one in enumerate(lists.items(name) or ()):
            if first[one] != place:
                message = f"{one} stands in {key} more than once"
                yield lists.about(SWE102, message, key, place, found=one)


_WAYS: Final = ("completed", "error", "empty_patch", "incomplete")
"""The lists of a run report of which each instance is in one, but for errors after completion."""

_APART: Final = (
    *((one, other) for one, other in combinations(_WAYS, 2) if (one, other) != _WAYS[:2]),
    *(("resolved", "unresolved"), ("resolved", "error"), ("unresolved", "error")),
    *(("submitted", "incomplete"), ("infra_failure", "ambiguous_failure")),
)
_APART_IN_RESULTS: Final = (
    *(("resolved", "no_generation"), ("resolved", "no_logs"), ("resolved", "no_apply")),
    *(("resolved", "install_fail"), ("resolved", "reset_failed"), ("generated", "no_generation")),
)


def check_report_lists(lists: Lists) -> Iterator[PlacedInFile]:
    """Yield contradictions between the lists and the counts of a run report."""
    yield from _check_counts(lists)
    yield from _check_apart(lists, _APART)
    yield from _check_within(lists, ("resolved", "unresolved"), ("completed",))
    yield from _check_within(lists, ("completed",), ("resolved", "unresolved", "error"))
    yield from _check_within(lists, ("completed", "error", "empty_patch"), ("submitted",))
    yield from _check_reasons(lists)


def check_result_lists(lists: Lists) -> Iterator[PlacedInFile]:
    """Yield contradictions between the lists of a submission's results."""
    yield from _check_apart(lists, _APART_IN_RESULTS)
    for name in ("generated", "with_logs", "applied"):
        yield from _check_within(lists, ("resolved",), (name,))


def check_groups(
    path: str, groups: Mapping[str, Any], resolved: Collection[str], number: int | None
) -> Iterator[PlacedInFile]:
    """Yield the counts of instances by group that are not those of the resolved ones.

    `number` is the number of instances with details, None without details.
    """
    found = chain(_compare_groups(groups, resolved), _compare_totals(groups, number))
    for message, place, details in found:
        yield PlacedInFile(path, SWE205.violation(message, place, **details))


def _compare_totals(
    groups: Mapping[str, Any], number: int | None
) -> Iterator[tuple[str, tuple[str, ...], Mapping[str, Any]]]:
    """Yield a message, a path and details for totals below the resolved or unlike the details."""
    totals = {name: object_or_empty(one).get("total") for name, one in groups.items()}
    for name, total in totals.items():
        resolved = object_or_empty(groups[name]).get("resolved")
        if is_natural(resolved) and is_natural(total) and total < resolved:
            message = f"the group has {count_noun(resolved, 'resolved instance')} of {total:,}"
            yield message, (name, "total"), {"expected": at_least(resolved), "found": total}
    total = sum(one for one in totals.values() if is_natural(one))
    if number is not None and total != number and all(map(is_natural, totals.values())):
        message = f"the groups have {count_noun(total, 'instance')}, with details of {number:,}"
        yield message, (), {"severity": Severity.WARNING}


def _compare_groups(
    groups: Mapping[str, Any], resolved: Collection[str]
) -> Iterator[tuple[str, tuple[str, ...], Mapping[str, Any]]]:
    """Yield a message, a path and details for each count that differs."""
    counts = [one.get("resolved") if isinstance(one, dict) else None for one in groups.values()]
    if not all("/" in name for name in groups):
        total, number = sum(count for count in counts if is_natural(count)), len(resolved)
        if total != number:
            counted = count_noun(total, "resolved instance")
            yield f"the groups have {counted}, the results {number:,}", (), {}
        return
    repositories = Counter(one.rpartition("-")[0].replace("__", "/") for one in resolved)
    for name in sorted(repositories.keys() - groups.keys()):
        counted = count_noun(repositories[name], "resolved instance")
        yield f"{name} is missing, which has {counted}", (), {}
    for name, found in zip(groups, counts, strict=True):
        expected = repositories[name]
        if found != expected:
            message = f"the list resolved has {count_noun(expected, 'instance')} of {name}"
            yield message, (name, "resolved"), {"expected": expected, "found": found}


def _check_counts(lists: Lists) -> Iterator[PlacedInFile]:
    """Yield the counts that are not the lengths of their lists."""
    counted = [(f"{name}_instances", lists.key(name), lists.items(name)) for name in LISTS]
    containers = lists.value.get("unstopped_containers")
    listed = containers if isinstance(containers, list) else None
    counted.append(("unstopped_instances", "unstopped_containers", listed))
    for key, member, items in counted:
        if items is not None:
            yield from _check_count(lists, key, len(items), f"{member} has")
    # Releases before 2.0.3 list neither what was submitted nor what is incomplete.
    is_whole = lists.items("incomplete") is not None or lists.items("submitted") is None
    if is_whole and all(lists.items(name) is not None for name in _WAYS[:2]):
        total = len(lists.union((*_WAYS, "pending", "failed")))
        yield from _check_count(lists, "total_instances", total, "the lists have")


def _check_count(lists: Lists, key: str, expected: int, listed: str) -> Iterator[PlacedInFile]:
    found = lists.value.get(key)
    if is_natural(found) and found != expected:
        message = f"{listed} {count_noun(expected, 'instance')}"
        yield lists.about(SWE201, message, key, expected=expected, found=found)


def _check_apart(lists: Lists, pairs: tuple[tuple[str, str], ...]) -> Iterator[PlacedInFile]:
    for one, other in pairs:
        for name in lists.places(one):
            if name in lists.places(other):
                yield lists.about_id(SWE202, other, name, f"is in {lists.key(one)}, too")


def _check_within(
    lists: Lists, inner: tuple[str, ...], outer: tuple[str, ...]
) -> Iterator[PlacedInFile]:
    """Yield ids of some lists that none of others has, if all of these are there."""
    if any(lists.items(name) is None for name in outer):
        return
    known, wanted = lists.union(outer), " or ".join(map(lists.key, outer))
    for name in inner:
        for one in lists.places(name):
            if one not in known:
                yield lists.about_id(SWE203, name, one, f"is not in {wanted}")


def _check_reasons(lists: Lists) -> Iterator[PlacedInFile]:
    """Yield failures without a reason, reasons without a failure, and failures that were none."""
    reasons = object_or_empty(lists.value.get("failure_reasons"))
    names = ("infra_failure", "ambiguous_failure")
    if any(lists.items(name) is None for name in names):
        return
    failed = lists.union(names)
    for one, reason in reasons.items():
        if one not in failed:
            message = f"{one} has a reason and is in neither list of failures"
            yield lists.about(SWE204, message, "failure_reasons", one, found=reason)
    open_ids = lists.union(("unresolved", "error"))
    for name in names:
        for one in lists.places(name):
            if one not in reasons:
                yield lists.about_id(SWE204, name, one, "has no reason")
            elif one not in open_ids:
                yield lists.about_id(SWE204, name, one, "is not unresolved or an error")


def check_list_figures(path: str, judgements: Sequence[Judgement]) -> Iterator[PlacedInFile]:
    """Yield the refuted, open and rounded figures of a document."""
    # The rules about instances report what is wrong with a list, and with reports alone.
    figures = [one for one in judgements if one.claim.label != OUTCOMES]
    claims = [one.claim for one in judgements]
    refuted, rounded = find_refuted(SWE401, figures), find_rounded(SWE401, claims)
    for violation in chain(refuted, rounded, find_open(SWE402, claims)):
        yield PlacedInFile(path, violation)


SWE101: Final = declare_rule("SWE101")
SWE102: Final = declare_rule("SWE102")
SWE201: Final = declare_rule("SWE201")
SWE202: Final = declare_rule("SWE202")
SWE203: Final = declare_rule("SWE203")
SWE204: Final = declare_rule("SWE204")
SWE205: Final = declare_rule("SWE205")
SWE401: Final = declare_rule("SWE401")
SWE402: Final = declare_rule("SWE402")

RULES: Final = (SWE101, SWE102, SWE201, SWE202, SWE203, SWE204, SWE205, SWE401, SWE402)

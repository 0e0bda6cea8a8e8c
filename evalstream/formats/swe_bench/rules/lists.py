"""SWE2: rules about the lists of a run report or of a submission."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain, combinations
from typing import Any, Final

from evalstream.formats.swe_bench.rules.documents import LISTS
from evalstream.formats.swe_bench.views import Lists, PlacedInFile, is_natural
from evalstream.model.finding import Severity, at_least
from evalstream.parsing.json import pointer
from evalstream.parsing.json_values import object_or_empty
from evalstream.rules.base import declare_rule

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
        yield PlacedInFile(path, SWE205.violation(message, pointer=pointer(place), **details))


def _compare_totals(
    groups: Mapping[str, Any], number: int | None
) -> Iterator[tuple[str, Sequence[str], Mapping[str, Any]]]:
    """Yield a message, a path and details for totals below the resolved or unlike the details."""
    totals = {name: object_or_empty(one).get("total") for name, one in groups.items()}
    for name, total in totals.items():
        resolved = object_or_empty(groups[name]).get("resolved")
        if is_natural(resolved) and isinstance(total, int) and total < resolved:
            message = f"the group has {resolved:,} resolved instances of {total:,}"
            yield message, (name, "total"), {"expected": at_least(resolved), "found": total}
    total = sum(one for one in totals.values() if is_natural(one))
    if number is not None and total != number and all(map(is_natural, totals.values())):
        message = f"the groups have {total:,} instances, and {number:,} have details"
        yield message, (), {"severity": Severity.WARNING}


def _compare_groups(
    groups: Mapping[str, Any], resolved: Collection[str]
) -> Iterator[tuple[str, Sequence[str], Mapping[str, Any]]]:
    """Yield a message, a path and details for each count that differs."""
    counts = [one.get("resolved") if isinstance(one, dict) else None for one in groups.values()]
    if not all("/" in name for name in groups):
        total, number = sum(count for count in counts if is_natural(count)), len(resolved)
        if total != number:
            message = f"the groups have {total:,} resolved instances, the results {number:,}"
            yield message, (), {}
        return
    repositories = Counter(one.rpartition("-")[0].replace("__", "/") for one in resolved)
    for name in sorted(repositories.keys() - groups.keys()):
        message = f"{name} is missing, which has {repositories[name]:,} resolved instances"
        yield message, (), {}
    for name, found in zip(groups, counts, strict=True):
        expected = repositories[name]
        if found != expected:
            message = f"{expected:,} instances of {name} are in the list resolved"
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
        total = len(lists.union(_WAYS))
        yield from _check_count(lists, "total_instances", total, "the lists have")


def _check_count(lists: Lists, key: str, expected: int, listed: str) -> Iterator[PlacedInFile]:
    found = lists.value.get(key)
    if is_natural(found) and found != expected:
        message = f"{listed} {expected:,} instances"
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
    reasons = lists.value.get("failure_reasons")
    names = ("infra_failure", "ambiguous_failure")
    if not isinstance(reasons, dict) or any(lists.items(name) is None for name in names):
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


SWE201: Final = declare_rule("SWE201")
SWE202: Final = declare_rule("SWE202")
SWE203: Final = declare_rule("SWE203")
SWE204: Final = declare_rule("SWE204")
SWE205: Final = declare_rule("SWE205")

RULES: Final = (SWE201, SWE202, SWE203, SWE204, SWE205)

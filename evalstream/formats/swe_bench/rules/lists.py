"""SWE2: rules about the lists of a run report or of a submission."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any, Final

from evalstream.formats.swe_bench.rules.documents import LISTS
from evalstream.formats.swe_bench.views import Lists, PlacedInFile, is_natural
from evalstream.parsing.json import pointer
from evalstream.rules.declaration import declare_rule

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


def check_groups(path: str, groups: Mapping[str, Any], lists: Lists) -> Iterator[PlacedInFile]:
    """Yield the counts of resolved instances by group that are not those of the results."""
    resolved = lists.places("resolved")
    counts = [one.get("resolved") if isinstance(one, dict) else None for one in groups.values()]
    if all("/" in name for name in groups):
        repositories = [one.rpartition("-")[0].replace("__", "/") for one in resolved]
        for name in sorted({*repositories} - groups.keys()):
            message = (
                f"{name} is missing, which has {repositories.count(name):,} resolved instances"
            )
            yield PlacedInFile(path, SWE205.violation(message, pointer=""))
        for name, found in zip(groups, counts, strict=True):
            expected = repositories.count(name)
            if found != expected:
                message = f"{expected:,} instances of {name} are in the list resolved"
                where, shown = pointer([name, "resolved"]), {"expected": expected, "found": found}
                yield PlacedInFile(path, SWE205.violation(message, pointer=where, **shown))
        return
    total = sum(count for count in counts if is_natural(count))
    if total != len(resolved):
        message = f"the groups have {total:,} resolved instances, the results {len(resolved):,}"
        yield PlacedInFile(path, SWE205.violation(message, pointer=""))


def _check_counts(lists: Lists) -> Iterator[PlacedInFile]:
    for name in LISTS:
        items = lists.items(name)
        if items is not None:
            yield from _check_count(lists, f"{name}_instances", len(items), lists.key(name))
    containers = lists.value.get("unstopped_containers")
    if isinstance(containers, list):
        key = "unstopped_instances"
        yield from _check_count(lists, key, len(containers), "unstopped_containers")
    # Releases before 2.0.3 list neither what was submitted nor what is incomplete.
    is_whole = lists.items("incomplete") is not None or lists.items("submitted") is None
    if is_whole and all(lists.items(name) is not None for name in _WAYS[:2]):
        yield from _check_count(lists, "total_instances", len(lists.union(_WAYS)), "the lists")


def _check_count(lists: Lists, key: str, expected: int, listed: str) -> Iterator[PlacedInFile]:
    found = lists.value.get(key)
    if is_natural(found) and found != expected:
        verb = "have" if listed == "the lists" else "has"
        message = f"{listed} {verb} {expected:,} instances"
        violation = SWE201.violation(
            message, pointer=pointer([key]), expected=expected, found=found
        )
        yield PlacedInFile(lists.path, violation)


def _check_apart(lists: Lists, pairs: tuple[tuple[str, str], ...]) -> Iterator[PlacedInFile]:
    for one, other in pairs:
        for name in lists.places(one):
            if name in lists.places(other):
                message = f"{name} is in {lists.key(one)}, too"
                where = lists.at(other, name)
                yield PlacedInFile(lists.path, SWE202.violation(message, pointer=where, found=name))


def _check_within(
    lists: Lists, inner: tuple[str, ...], outer: tuple[str, ...]
) -> Iterator[PlacedInFile]:
    """Yield ids of some lists that none of others has, if all of these are there."""
    if any(lists.items(name) is None for name in outer):
        return
    known = lists.union(outer)
    for name in inner:
        for one in lists.places(name):
            if one not in known:
                wanted = " or ".join(map(lists.key, outer))
                message, where = f"{one} is not in {wanted}", lists.at(name, one)
                yield PlacedInFile(lists.path, SWE203.violation(message, pointer=where, found=one))


def _check_reasons(lists: Lists) -> Iterator[PlacedInFile]:
    """Yield failures without a reason, reasons without a failure, and failures that were none."""
    reasons = lists.value.get("failure_reasons")
    names = ("infra_failure", "ambiguous_failure")
    if not isinstance(reasons, dict) or any(lists.items(name) is None for name in names):
        return
    failed = lists.union(names)
    for one in reasons:
        if one not in failed:
            message = f"{one} has a reason and is in neither list of failures"
            where = pointer(["failure_reasons", one])
            yield PlacedInFile(
                lists.path, SWE204.violation(message, pointer=where, found=reasons[one])
            )
    open_ids = lists.union(("unresolved", "error"))
    for name in names:
        for one in lists.places(name):
            if one not in reasons or one not in open_ids:
                lacks = "has no reason" if one not in reasons else "is not unresolved or an error"
                where, message = lists.at(name, one), f"{one} {lacks}"
                yield PlacedInFile(lists.path, SWE204.violation(message, pointer=where, found=one))


SWE201: Final = declare_rule("SWE201")
SWE202: Final = declare_rule("SWE202")
SWE203: Final = declare_rule("SWE203")
SWE204: Final = declare_rule("SWE204")
SWE205: Final = declare_rule("SWE205")

RULES: Final = (SWE201, SWE202, SWE203, SWE204, SWE205)

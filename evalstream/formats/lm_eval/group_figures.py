"""The figures of groups: what they are, given those of their tasks.

Source: `Group.aggregate` in api/group.py of lm_eval, with `aggregate_subtask_metrics`,
`pooled_sample_stderr` and `unweighted_mean_stderr` in api/metrics.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, Final, NamedTuple

from evalstream.formats.lm_eval.non_finite import is_same, shown
from evalstream.formats.lm_eval.recompute import is_near_to
from evalstream.formats.lm_eval.views import STDERR, Claim, Results, number_of
from evalstream.stats.claims.rounding import as_float

MOST_DEPTH: Final = 50
"""Groups that are nested deeper are not looked into: they may contain themselves."""


class WrongFigure(NamedTuple):
    """A figure of a group that does not follow from its tasks.

    `is_sure` is False where the results do not say how much each task weighs. Releases without
    sample_len weigh a task by the number of docs that have one of its metrics.
    """

    message: str
    path: tuple[str, ...]
    expected: Any
    found: Any
    is_sure: bool = True


class _Member(NamedTuple):
    value: Fraction
    error: Fraction | None
    samples: int
    is_sure: bool


def wrong_group_figures(results: Results) -> Iterator[WrongFigure]:
    """Iterate over figures of groups that are wrong."""
    members = dict(results.groups)
    for group, names in members.items():
        for claim in results.claims(group):
            sets = _choices(results, members, group, names, claim)
            yield from _wrong(claim, sets)
        leaves = [results.entry(name) for name in _tasks(members, group)]
        yield from _unfounded(results, group, leaves)
        yield from _miscounted(results, group, leaves)
    yield from _differing(results)


def open_group_claims(results: Results) -> tuple[int, int]:
    """Return how many figures of groups there are, and how many of them were recomputed."""
    members, claims, compared = dict(results.groups), 0, 0
    for group, names in members.items():
        for claim in results.claims(group):
            claims += 1
            compared += bool(_choices(results, members, group, names, claim)) and (
                number_of(claim.value) is not None
            )
    return claims, compared


def _choices(
    results: Results, members: dict[str, list[str]], group: str, names: list[str], claim: Claim
) -> list[list[_Member]]:
    """Return the figures that a group may be made of: those of its tasks, or of its members."""
    found = (_figures(results, some, claim) for some in (_tasks(members, group), names))
    return [some for some in found if some]


def _tasks(members: dict[str, list[str]], group: str) -> list[str]:
    """Return the tasks of a group and of all groups in it."""
    return list(dict.fromkeys(_leaves(members, group, MOST_DEPTH)))


def _leaves(members: dict[str, list[str]], name: str, depth: int) -> Iterator[str]:
    if name not in members:
        yield name
    elif depth:
        for one in members[name]:
            yield from _leaves(members, one, depth - 1)


def _figures(results: Results, names: Sequence[str], claim: Claim) -> list[_Member]:
    """Return the figures of some tasks that a claim of their group is made of; empty if unknown."""
    found = []
    for name in names:
        entry = results.entry(name)
        value = entry.get(f"{claim.metric},{claim.filter}")
        if value is None:
            continue
        number = number_of(value)
        error = number_of(entry.get(f"{claim.metric}{STDERR},{claim.filter}"))
        samples = entry.get("sample_len", results.samples(name).get("effective"))
        if number is None or samples.__class__ is not int or samples < 1:
            return []
        square = None if error is None else Fraction(error)
        found.append(_Member(Fraction(number), square, samples, "sample_len" in entry))
    if claim.is_stderr and any(one.error is None for one in found):
        return []
    return found


def _wrong(claim: Claim, sets: list[list[_Member]]) -> Iterator[WrongFigure]:
    claimed = number_of(claim.value)
    if not sets or claimed is None:
        return
    exact = [value for some in sets for value in _values(claim, some)]
    if claim.is_stderr:
        square = Fraction(claimed) ** 2
        is_right = claimed >= 0 and any(is_near_to(square, one) for one in exact)
    else:
        is_right = any(is_near_to(Fraction(claimed), one) for one in exact)
    if not is_right and exact:
        first = as_float(exact[0])
        expected = first**0.5 if claim.is_stderr and first is not None else first
        message = f"{claim.key} of the group {claim.task} does not follow from its tasks"
        path = "results", claim.task, claim.key
        is_sure = any(_is_sure(claim, some) for some in sets)
        yield WrongFigure(message, path, expected, claim.value, is_sure)


def _is_sure(claim: Claim, some: Sequence[_Member]) -> bool:
    """Tell whether a wrong figure is wrong for any weights: a mean is among what it is of."""
    claimed = number_of(claim.value)
    if claimed is None or all(one.is_sure for one in some):
        return True
    values = [one.value for one in some]
    return not claim.is_stderr and not min(values) <= claimed <= max(values)


def _values(claim: Claim, some: Sequence[_Member]) -> Iterator[Fraction]:
    """Iterate over the values that a figure may have; of errors, over their squares."""
    if claim.is_stderr:
        yield from _squares(some)
        return
    total = sum(one.samples for one in some)
    yield sum((one.value * one.samples for one in some), Fraction(0)) / total
    yield sum((one.value for one in some), Fraction(0)) / len(some)


def _squares(some: Sequence[_Member]) -> Iterator[Fraction]:
    total, count = sum(one.samples for one in some), len(some)
    errors = [(one.samples, (one.error or Fraction(0)) ** 2) for one in some]
    if total > count:
        pooled = sum(((n - 1) * square * n for n, square in errors), Fraction(0))
        yield pooled / (total - count) / total
    yield sum((square for _, square in errors), Fraction(0)) / count**2


def _unfounded(
    results: Results, group: str, leaves: Sequence[Mapping[str, Any]]
) -> Iterator[WrongFigure]:
    """Iterate over figures of a group that none of its tasks has; the harness takes no others."""
    if not leaves or not all(leaves):
        return
    for claim in results.claims(group):
        has_figure = any(claim.key in one for one in leaves)
        if not has_figure and number_of(claim.value) is not None:
            message = f"{claim.key} of the group {group} is claimed, and none of its tasks has it"
            yield WrongFigure(message, ("results", group, claim.key), None, claim.value)


def _miscounted(
    results: Results, group: str, leaves: Sequence[Mapping[str, Any]]
) -> Iterator[WrongFigure]:
    """Iterate over numbers of samples of a group that are not the sums of those of its tasks."""
    if any(one.get("sample_len").__class__ is not int for one in leaves):
        return
    entry = results.entry(group)
    counts = entry.get("sample_count")
    counts = counts if isinstance(counts, dict) else {}
    sums = {key: sum(one["sample_len"] for one in leaves if key in one) for key in counts}
    claims: list[tuple[tuple[str, ...], Any, int]] = [
        (("sample_count", key), counts[key], sums[key]) for key in counts
    ]
    if "sample_len" in entry:
        claims.append((("sample_len",), entry["sample_len"], sum(_lengths(leaves))))
    for path, found, expected in claims:
        if found != expected:
            message = f"{path[0]} of the group {group} is not the sum of those of its tasks"
            yield WrongFigure(message, ("results", group, *path), expected, found)


def _lengths(leaves: Sequence[Mapping[str, Any]]) -> Iterator[int]:
    return (one["sample_len"] for one in leaves)


_OF_NAMES: Final = frozenset({"alias", "name", " "})
"""Members of a group that may be written in another way in `groups`."""


def _differing(results: Results) -> Iterator[WrongFigure]:
    """Iterate over figures of `groups` that differ from those of `results`."""
    groups = results.document.get("groups")
    for group, figures in groups.items() if isinstance(groups, dict) else ():
        entry = results.entry(group)
        for key, value in figures.items() if isinstance(figures, dict) else ():
            if key not in _OF_NAMES and key in entry and not is_same(entry[key], value):
                message = f"{key} of {group} is another figure than in results"
                path = "groups", group, key
                yield WrongFigure(message, path, shown(entry[key]), shown(value))

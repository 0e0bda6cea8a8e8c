"""The figures of groups, computed from those of their tasks.

Source: `Group.aggregate` in api/group.py of lm_eval, with `aggregate_subtask_metrics`,
`pooled_sample_stderr` and `unweighted_mean_stderr` in api/metrics.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from graphlib import CycleError, TopologicalSorter
from typing import Any, Final

from evalstream.formats.lm_eval.metric_values import MetricValues
from evalstream.formats.lm_eval.scoring_plan import find_aggregation, left_open
from evalstream.formats.lm_eval.views import NO_STDERR, STDERR, Results, TaskFigure
from evalstream.formats.lm_eval.written_values import as_decimal, is_same_value, show_value
from evalstream.model.claim import Reason, State
from evalstream.model.data_class import NamedTuple
from evalstream.parsing.json import pointer
from evalstream.parsing.json_values import object_items, object_or_empty
from evalstream.stats.claims import judge, judgement, kinds
from evalstream.stats.claims.evidence import Evidence
from evalstream.stats.claims.kinds import ClaimKind, Figure
from evalstream.stats.claims.rounding import as_float
from evalstream.stats.tally import ScoreSums


class _Member(NamedTuple):
    value: Fraction
    error: Fraction | None
    samples: int
    is_sure: bool


def judge_groups(
    results: Results, logged: Mapping[str, Reason | None]
) -> Iterator[judgement.Judgement]:
    """Yield each figure of a group, judged by those of its tasks.

    A figure that follows from its tasks is confirmed if the samples of all of them are `logged`,
    where they are checked themselves, without a reason that leaves their figures open, and if a
    formula is known for it there: the group has no rows that may show one.
    """
    members = dict(results.groups)
    doubt = Reason.EVIDENCE if _have_cycle(members) else None
    for group, names in members.items():
        tasks = _list_tasks(members, group)
        leaves = [results.entry(name) for name in tasks]
        reason = next(filter(None, (logged.get(one, Reason.NO_ROWS) for one in tasks)), doubt)
        for figure in results.figures(group):
            # A group may be made of the figures of its tasks, or of its members.
            found_sets = (_figures(results, some, figure) for some in (tasks, names))
            sets = [some for some in found_sets if some]
            found = _judge_figure(figure, sets, leaves)
            open_for = reason or _reason_of_tasks(results, tasks, figure)
            if open_for is not None and found.claim.state.holds:
                found = judgement.leave_open(_claim(figure, _kind(figure, sets)), open_for)
            yield found
        yield from _judge_counts(results, group, leaves)
    yield from _judge_copies(results)


def _reason_of_tasks(results: Results, tasks: Sequence[str], figure: TaskFigure) -> Reason | None:
    """Return why the rows of one of the tasks may leave its own figure open, None if not."""
    if figure.is_stderr:
        return None
    having = (task for task in tasks if figure.key in results.entry(task))
    reasons = (
        left_open(find_aggregation(results, task, figure.metric, MetricValues())) for task in having
    )
    return next(filter(None, reasons), None)


def _claim(figure: TaskFigure, kind: ClaimKind) -> judgement.Claim:
    label = f"{figure.key} of the group {figure.task}"
    value, is_score = as_decimal(figure.value), not figure.is_stderr
    shows = show_value(figure.value)
    return judgement.Claim(figure.pointer, label, kind, value, shows, is_score, has_all_digits=True)


def _kind(figure: TaskFigure, sets: list[list[_Member]]) -> ClaimKind:
    """Return the kind of a figure of a group: its weighted and its plain mean over tasks."""
    name = kinds.ERROR.name if figure.is_stderr else "mean over tasks"
    figures = [Figure(f"the {name}", value) for some in sets for value in _values(figure, some)]
    return ClaimKind(name, frozenset(), lambda _evidence: figures, is_exact=_is_sure(figure, sets))


def _judge_figure(
    figure: TaskFigure, sets: list[list[_Member]], leaves: Sequence[Mapping[str, Any]]
) -> judgement.Judgement:
    claim = _claim(figure, _kind(figure, sets))
    is_founded = any(figure.key in one for one in leaves) or not leaves or not all(leaves)
    if figure.value == NO_STDERR and figure.is_stderr:
        if not sets:
            return judgement.confirm(claim, NO_STDERR, 0)
        expected = next(_values(figure, sets[0]), None)
        return judgement.refute(claim, as_float(expected), "all of its tasks have it", 0)
    if not is_founded and claim.value is not None:
        return judgement.refute(claim, None, "none of its tasks has it", 0)
    if claim.value is None or not sets:
        return judgement.leave_open(claim, Reason.EVIDENCE)
    found = judge.judge(claim, Evidence(ScoreSums()))
    if found.claim.state is not State.REFUTED:
        return found
    return found._replace(message="it does not follow from its tasks")


def _have_cycle(members: Mapping[str, list[str]]) -> bool:
    """Tell whether a group holds itself, so that its figure would confirm itself."""
    try:
        TopologicalSorter(members).prepare()
    except CycleError:
        return True
    return False


def _list_tasks(members: Mapping[str, list[str]], group: str) -> list[str]:
    """Return the tasks of a group and of all groups in it, each once; a group may hold itself."""
    seen, waiting = dict[str, None](), [group]
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen[name] = None
            waiting += reversed(members.get(name, ()))
    return [name for name in seen if name not in members]


def _figures(results: Results, names: Sequence[str], figure: TaskFigure) -> list[_Member]:
    """Return the figures of tasks that one of their group is made of; empty if unknown."""
    found = []
    for name in names:
        entry = results.entry(name)
        value = entry.get(f"{figure.metric},{figure.filter}")
        if value is None:
            continue
        number = as_decimal(value)
        error = as_decimal(entry.get(f"{figure.metric}{STDERR},{figure.filter}"))
        samples = entry.get("sample_len", results.samples(name).get("effective"))
        if number is None or samples.__class__ is not int or samples < 1:
            return []
        square = None if error is None else Fraction(error)
        found.append(_Member(Fraction(number), square, samples, "sample_len" in entry))
    if figure.is_stderr and any(one.error is None for one in found):
        return []
    return found


def _is_sure(figure: TaskFigure, sets: list[list[_Member]]) -> bool:
    """Tell whether a wrong figure is wrong for any weights: a mean is among what it is of.

    Releases without sample_len weigh a task by the number of docs that have one of its metrics.
    """
    claimed = as_decimal(figure.value)
    for some in sets:
        values = [one.value for one in some]
        if claimed is None or all(one.is_sure for one in some):
            return True
        if not figure.is_stderr and not min(values) <= claimed <= max(values):
            return True
    return not sets


def _values(figure: TaskFigure, some: Sequence[_Member]) -> Iterator[Fraction | float]:
    if figure.is_stderr:
        roots = ((Decimal(one.numerator) / one.denominator).sqrt() for one in _squares(some))
        yield from map(float, roots)
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


def _judge_counts(
    results: Results, group: str, leaves: Sequence[Mapping[str, Any]]
) -> Iterator[judgement.Judgement]:
    """Judge the numbers of samples of a group: the sums of those of its tasks."""
    if any(one.get("sample_len").__class__ is not int for one in leaves):
        return
    entry = results.entry(group)
    counts = entry.get("sample_count")
    stated: list[tuple[tuple[str, ...], Any, int]] = [
        (("sample_count", key), number, sum(one["sample_len"] for one in leaves if key in one))
        for key, number in (counts.items() if isinstance(counts, dict) else ())
    ]
    if "sample_len" in entry:
        total = sum(one["sample_len"] for one in leaves)
        stated.append((("sample_len",), entry["sample_len"], total))
    for path, number, expected in stated:
        place = pointer(("results", group, *path))
        label = f"{path[0]} of the group {group}"
        claim = judgement.Claim(place, label, kinds.COUNT, as_decimal(number), number)
        yield judgement.judge_count(claim, [expected], "it is not the sum of those of its tasks", 0)


_OF_NAMES: Final = frozenset({"alias", "name", " "})
"""Members of a group that may be written in another way in `groups`."""


def _judge_copies(results: Results) -> Iterator[judgement.Judgement]:
    """Yield figures of `groups` that differ from those of `results`, or that one of them lacks."""
    for group, figures in object_items(results.document.get("groups")):
        entry = results.entry(group)
        copied = object_or_empty(figures)
        for key in dict.fromkeys((*copied, *entry)) if entry and copied else ():
            is_in_both = key in entry and key in copied
            if key in _OF_NAMES or (not is_in_both and "," not in key):
                continue
            if is_in_both and is_same_value(entry[key], copied[key]):
                continue
            holder = "groups" if key in copied else "results"
            value = copied.get(key, entry.get(key))
            claim = judgement.Claim(
                pointer((holder, group, key)),
                f"{key} of {group} in {holder}",
                kinds.UNKNOWN,
                as_decimal(value),
                show_value(value),
            )
            expected = show_value(entry[key]) if is_in_both else None
            message = "it is another figure than in results" if is_in_both else _ALONE
            yield judgement.refute(claim, expected, message, 0)


_ALONE: Final = "results and groups do not both have it"

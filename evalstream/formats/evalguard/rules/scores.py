"""EVG3, EVG4: rules about EvalGuard's threshold ranges and the values of reports."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from evalstream.formats.evalguard import report
from evalstream.formats.evalguard.format import HIGHER_IS_BETTER, IMPACTS, METRIC, REPORT, TASK
from evalstream.formats.evalguard.report import is_known_metric
from evalstream.formats.evalguard.views import FolderItem, Range, Ranges, as_number
from evalstream.model.finding import Severity, Violation
from evalstream.model.text import count_noun
from evalstream.parsing.json import pointer
from evalstream.rules.base import Rule, declare_rule


def _overlap(subject: FolderItem) -> Iterator[Violation]:
    for path, one, furthest in _iterate_reach(subject):
        if one.low < furthest.high:
            message = f"{one.text} overlaps {furthest.text} of range {furthest.number}"
            yield EVG301.violation(message, (*path, one.number))


def _gap(subject: FolderItem) -> Iterator[Violation]:
    for path, one, furthest in _iterate_reach(subject):
        if one.low > furthest.high:
            gap = Range(0, furthest.high, one.low, None).text
            yield EVG302.violation(f"no range contains the values in {gap}", path)


def _iterate_reach(subject: FolderItem) -> Iterator[tuple[tuple[str, ...], Range, Range]]:
    """Yield each range with the path to its list and the earlier range that reaches furthest."""
    for table, metric, ranges in subject.folder.find_ranges(subject.document):
        furthest: Range | None = None
        for one in ranges:
            if furthest is not None:
                yield (*table.path, metric), one, furthest
            if furthest is None or one.high > furthest.high:
                furthest = one


def _direction(subject: FolderItem) -> Iterator[Violation]:
    """Compare each range with the next lower one; better values must not have a greater impact."""
    for table, metric, ranges in subject.folder.find_ranges(subject.document):
        direction = subject.folder.direction(metric)
        if direction is None:
            continue
        ranked = [one for one in ranges if one.impact in IMPACTS]
        for lower, higher in pairwise(ranked):
            steps = IMPACTS.index(higher.impact or "") - IMPACTS.index(lower.impact or "")
            if steps > 0 if direction == HIGHER_IS_BETTER else steps < 0:
                yield EVG303.violation(
                    f"{higher.text} has impact {higher.impact} and the lower {lower.text} has impact "
                    f"{lower.impact}, but the metric is {direction}",
                    (*table.path, metric, higher.number, "impact"),
                    found=higher.impact,
                )


def _percentages(subject: FolderItem) -> Iterator[Violation]:
    """Report what lies outside 0 to 100 for metrics whose values are percentages."""
    for table, metric, ranges in subject.folder.find_ranges(subject.document):
        if subject.folder.is_percentage(metric):
            for one in ranges:
                yield from _limits(one, pointer((*table.path, metric, one.number)))
    yield from _find_faults(EVG304, subject, in_percent=True)


def _find_faults(rule: Rule, subject: FolderItem, *, in_percent: bool) -> Iterator[Violation]:
    """Report what is wrong with the figures of a report, for one of two rules."""
    document, folder = subject
    for figure in report.iterate_figures(document, folder) if document.kind == REPORT else ():
        if figure.fault and figure.in_percent == in_percent:
            shown = {"expected": figure.expected, "found": figure.value}
            yield rule.violation(figure.fault, figure.pointer, **shown)


def _limits(one: Range, place: str) -> Iterator[Violation]:
    """Report the limits of a range; a max up to 101 lets the range contain 100."""
    if one.low > 100 or one.high <= 0:
        yield EVG304.violation(f"no percentage, from 0 to 100, is in {one.text}", place)
        return
    for name, limit, most in (("min", one.low, 100), ("max", one.high, 101)):
        if not math.isinf(limit) and not 0 <= limit <= most:
            yield EVG304.violation(
                f"{name} is outside the percentages, from 0 to 100",
                f"{place}/{name}",
                found=limit,
                severity=Severity.WARNING,
            )


def _check_report(subject: FolderItem) -> Iterator[Violation]:
    document, folder = subject
    if document.kind != REPORT:
        return
    of_harness = report.is_of_harness(document)
    entries = [list(report.harness_tasks(document))] if of_harness else report.entry_tasks(document)
    if not folder.followed:
        message = (
            "its tasks and metrics were not looked up, so its values have no impact; "
            "name their folder with --aggregate"
        )
        yield EVG401.violation(message, "", severity=Severity.WARNING)
    first: dict[str, str] = {}
    for entry in entries:
        for task in entry:
            yield from _check_task(task, subject)
            if (
                task.id is not None
                and (place := first.setdefault(task.id, task.pointer)) != task.pointer
            ):
                message = f"the task {task.id[:80]} stands at {place}, too"
                yield EVG401.violation(message, task.pointer, severity=Severity.WARNING)
    if not of_harness:
        yield from _check_left_out(subject)
    if not of_harness and report.pairing(document) is None and report.entry_results(document):
        tasks = count_noun(sum(map(len, entries)), "task")
        results = count_noun(len(report.entry_results(document)), "result")
        message = f"{tasks} and {results} cannot be matched"
        yield EVG401.violation(message, "/results", severity=Severity.INFO)
    yield from _find_faults(EVG401, subject, in_percent=False)
    values: dict[tuple[str, str], report.Reported] = {}
    for reported in folder.read_once(document, report.iterate_values):
        yield from _check_value(reported, subject)
        before = values.setdefault((reported.task or reported.pointer, reported.name), reported)
        if before.value != reported.value:
            message = f"{reported.metric[:80]} of the same task has another value at {before.place}"
            yield EVG401.violation(
                message, reported.place, found=reported.value, severity=Severity.WARNING
            )


def _check_task(task: report.ReportedTask, subject: FolderItem) -> Iterator[Violation]:
    folder = subject.folder
    is_named = task.id is not None and not report.is_of_harness(subject.document)
    if folder.followed and is_named and not folder.knows(TASK, task.id or ""):
        # The specification calls task_ref a reference, and not the name round a task.
        refers = "task_ref" in task.value
        yield EVG401.violation(
            "no task document has this id",
            task.pointer + ("/task_ref" if refers else ""),
            found=task.id,
            severity=None if refers else Severity.WARNING,
        )
    for name in ("n_shot", "repeats"):
        number = as_number(task.value.get(name))
        if number is not None and report.is_no_count(number):
            message, at = f"{name} is negative or has decimals", f"{task.pointer}/{name}"
            yield EVG401.violation(message, at, found=number, severity=Severity.WARNING)


def _check_left_out(subject: FolderItem) -> Iterator[Violation]:
    document, folder = subject
    found: dict[str, set[str]] = {}
    for reported in folder.read_once(document, report.iterate_values):
        if reported.task is not None:
            found.setdefault(reported.task, set()).add(reported.metric)
    for task in report.pairing(document) or ():
        listed = folder.listed(task) if task is not None else ()
        left_out = set(listed) - found.get(task or "", set())
        for metric in sorted(one for one in left_out if folder.knows(METRIC, one)):
            message = f"no value of {metric[:80]}, which the task {(task or '')[:80]} lists"
            yield EVG401.violation(message, "/results", severity=Severity.WARNING)


def _check_value(reported: report.Reported, subject: FolderItem) -> Iterator[Violation]:
    folder = subject.folder
    yield from _unusual_error(reported)
    if not folder.followed:
        return
    if report.is_of_harness(subject.document) and not is_known_metric(subject, reported):
        return  # one info counts them: the harness measures more than a folder describes
    if not folder.knows(METRIC, reported.metric):
        message = "no metric document has this id"
        yield EVG401.violation(message, reported.pointer, found=reported.metric)
    elif reported.task is not None and not folder.lists(reported.task, reported.metric):
        message = f"the task {reported.task[:80]} does not list this metric"
        yield EVG401.violation(
            message, reported.pointer, found=reported.metric, severity=Severity.WARNING
        )


def _unusual_error(reported: report.Reported) -> Iterator[Violation]:
    error, usual = reported.error, reported.errors_of_right
    if error is None or usual is None or report.find_fault_of_error(reported)[0]:
        return
    if not usual[0] <= error <= usual[1]:
        message = (
            f"the standard error is not that of {reported.samples:,.0f} answers with this share"
        )
        shown = {"expected": {"minimum": usual[0], "maximum": usual[1]}, "found": error}
        yield EVG401.violation(message, reported.error_place, severity=Severity.WARNING, **shown)


def _impact(subject: FolderItem) -> Iterator[Violation]:
    """Report the range of each value of a report, in the thresholds and in each policy."""
    document, folder = subject
    if document.kind != REPORT or not folder.followed:
        return
    of_harness = report.is_of_harness(document)
    for reported in folder.read_once(document, report.iterate_values):
        if reported.value is None or reported.task is None:
            continue
        if of_harness and not is_known_metric(subject, reported):
            continue
        sources = folder.ranges(reported.task, reported.metric)
        for source in sources or [Ranges(None, [])]:
            yield _make_impact(reported, reported.value, source)


def _make_impact(reported: report.Reported, value: float, source: Ranges) -> Violation:
    ranges = source.ranges
    matching = [one for one in ranges if one.holds(value)]
    severity, expected = None, None
    what = f"{reported.metric[:80]} of {(reported.task or '')[:80]}"
    of_policy = f" of the policy {source.policy[:80]}" if source.policy else ""
    if not ranges:
        message = f"{what} has no thresholds"
    elif not matching:
        message, severity = f"{what} falls in no range{of_policy}", Severity.WARNING
        expected = [one.text for one in ranges]
    else:
        falls = " and in ".join(
            f"{one.text}, impact {one.impact}" for one in matching[:_RANGES_LISTED]
        )
        message = f"{what} falls in {falls}{of_policy}"
        if reported.is_share and value > 1 + report.ROUNDING and _are_of_shares(ranges):
            message += ", but is a percentage, and the ranges are of shares from 0 to 1"
            severity = Severity.WARNING
    return EVG402.violation(
        message, reported.place, expected=expected, found=value, severity=severity
    )


def _are_of_shares(ranges: list[Range]) -> bool:
    """Return whether the limits of ranges are from 0 to 1, and one is between."""
    limits = {limit for one in ranges for limit in (one.low, one.high)} - {-math.inf, math.inf}
    return all(0 <= one <= 1 for one in limits) and not limits <= {0, 1}


_RANGES_LISTED: Final = 3
"""The number of overlapping ranges that a message lists; EVG301 reports all of them."""

EVG301: Final = declare_rule("EVG301", record=_overlap)
EVG302: Final = declare_rule("EVG302", record=_gap)
EVG303: Final = declare_rule("EVG303", record=_direction)
EVG304: Final = declare_rule("EVG304", record=_percentages)
EVG401: Final = declare_rule("EVG401", record=_check_report)
EVG402: Final = declare_rule("EVG402", record=_impact)

RULES: Final = (EVG301, EVG302, EVG303, EVG304, EVG401, EVG402)

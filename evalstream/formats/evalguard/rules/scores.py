"""EVG3, EVG4: rules about EvalGuard's threshold ranges and the values of reports."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from evalstream.formats.evalguard import documents, report
from evalstream.formats.evalguard.rules.harness_reports import is_known
from evalstream.formats.evalguard.views import Range, Ranges, Subject, number_in
from evalstream.model.finding import Severity, Violation, at_most
from evalstream.parsing.json import pointer
from evalstream.rules.base import Rule


def _overlap(subject: Subject) -> Iterator[Violation]:
    """Compare each range with the earlier one that reaches furthest."""
    for table, metric, ranges in subject.folder.ranges_in(subject.document):
        furthest: Range | None = None
        for one in ranges:
            if furthest is not None and one.low < furthest.high:
                message = f"{one.text} overlaps {furthest.text} of range {furthest.number}"
                yield EVG301.violation(message, pointer=pointer((*table.path, metric, one.number)))
            if furthest is None or one.high > furthest.high:
                furthest = one


def _gap(subject: Subject) -> Iterator[Violation]:
    for table, metric, ranges in subject.folder.ranges_in(subject.document):
        reached: Range | None = None
        for one in ranges:
            if reached is not None and one.low > reached.high:
                gap = Range(0, reached.high, one.low, None).text
                message = f"no range contains the values in {gap}"
                yield EVG302.violation(message, pointer=pointer((*table.path, metric)))
            if reached is None or one.high > reached.high:
                reached = one


def _direction(subject: Subject) -> Iterator[Violation]:
    """Compare each range with the next lower one; better values must not have a greater impact."""
    for table, metric, ranges in subject.folder.ranges_in(subject.document):
        direction = subject.folder.direction(metric)
        if direction is None:
            continue
        ranked = [one for one in ranges if one.impact in documents.IMPACTS]
        for lower, higher in pairwise(ranked):
            steps = documents.IMPACTS.index(higher.impact or "") - documents.IMPACTS.index(
                lower.impact or ""
            )
            if steps > 0 if direction == documents.HIGHER_IS_BETTER else steps < 0:
                message = (
                    f"{higher.text} has impact {higher.impact} and the lower {lower.text} has impact "
                    f"{lower.impact}, but the metric is {direction}"
                )
                yield EVG303.violation(
                    message,
                    pointer=pointer((*table.path, metric, higher.number, "impact")),
                    found=higher.impact,
                )


def _percentages(subject: Subject) -> Iterator[Violation]:
    """Report what lies outside 0 to 100 for metrics whose values are percentages."""
    for table, metric, ranges in subject.folder.ranges_in(subject.document):
        if subject.folder.is_percentage(metric):
            for one in ranges:
                yield from _limits(one, pointer((*table.path, metric, one.number)))
    if subject.document.kind != documents.REPORT:
        return
    for reported in report.values_of(subject.document):
        value = reported.value
        if value is None or not subject.folder.is_percentage(reported.metric):
            continue
        if not -_ROUNDING <= value <= 100 + _ROUNDING:
            message = f"the metric {reported.metric[:80]} is a percentage, from 0 to 100"
            yield EVG304.violation(
                message,
                pointer=reported.place,
                expected={"minimum": 0, "maximum": 100},
                found=value,
            )


def _limits(one: Range, place: str) -> Iterator[Violation]:
    """Report the limits of a range; a max up to 101 lets the range contain 100."""
    if one.low > 100 or one.high <= 0:
        message = f"no percentage, from 0 to 100, is in {one.text}"
        yield EVG304.violation(message, pointer=place)
        return
    for name, limit, most in (("min", one.low, 100), ("max", one.high, 101)):
        if not math.isinf(limit) and not 0 <= limit <= most:
            yield EVG304.violation(
                f"{name} is outside the percentages, from 0 to 100",
                pointer=f"{place}/{name}",
                found=limit,
                severity=Severity.WARNING,
            )


_ROUNDING: Final = 1e-9
"""What a value may lie outside by, since 100 times a fraction may round up."""


def _check_report(subject: Subject) -> Iterator[Violation]:
    document, folder = subject
    if document.kind != documents.REPORT:
        return
    of_harness = report.is_of_harness(document)
    entries = [list(report.harness_tasks(document))] if of_harness else report.tasks_of(document)
    if not folder.followed:
        message = (
            "its tasks and metrics were not looked up, so its values have no impact; "
            "name their folder with --aggregate"
        )
        yield EVG401.violation(message, pointer="", severity=Severity.WARNING)
    for entry in entries:
        for task in entry:
            yield from _check_task(task, subject)
    if not of_harness and report.pairing(document) is None and report.results_of(document):
        tasks, results = sum(map(len, entries)), len(report.results_of(document))
        message = f"{tasks} tasks and {results} results cannot be matched"
        yield EVG401.violation(message, pointer="/results", severity=Severity.INFO)
    for reported in report.values_of(document):
        yield from _check_value(reported, subject)


def _check_task(task: report.ReportedTask, subject: Subject) -> Iterator[Violation]:
    folder = subject.folder
    is_named = task.id is not None and not report.is_of_harness(subject.document)
    if folder.followed and is_named and not folder.knows(documents.TASK, task.id or ""):
        # The specification calls task_ref a reference, and not the name round a task.
        refers = "task_ref" in task.value
        yield EVG401.violation(
            "no task document has this id",
            pointer=task.pointer + ("/task_ref" if refers else ""),
            found=task.id,
            severity=None if refers else Severity.WARNING,
        )
    place, samples = task.samples
    original, effective = (number_in(samples.get(name)) for name in ("original", "effective"))
    if original is not None and effective is not None and effective > original:
        message = "more samples were used than the task has"
        yield EVG401.violation(
            message, pointer=f"{place}/effective", expected=at_most(original), found=effective
        )


def _check_value(reported: report.Reported, subject: Subject) -> Iterator[Violation]:
    folder = subject.folder
    if reported.error is not None and reported.error < 0:
        message = "the standard error is negative"
        yield EVG401.violation(message, pointer=reported.error_place, found=reported.error)
    if not folder.followed:
        return
    if report.is_of_harness(subject.document) and not is_known(subject, reported):
        return  # one info counts them: the harness measures more than a folder describes
    if not folder.knows(documents.METRIC, reported.metric):
        message = "no metric document has this id"
        yield EVG401.violation(message, pointer=reported.pointer, found=reported.metric)
    elif reported.task is not None and not folder.lists(reported.task, reported.metric):
        message = f"the task {reported.task[:80]} does not list this metric"
        yield EVG401.violation(
            message, pointer=reported.pointer, found=reported.metric, severity=Severity.WARNING
        )


def _impact(subject: Subject) -> Iterator[Violation]:
    """Report the range of each value of a report, in the thresholds and in each policy."""
    document, folder = subject
    if document.kind != documents.REPORT or not folder.followed:
        return
    of_harness = report.is_of_harness(document)
    for reported in report.values_of(document):
        if reported.value is None or reported.task is None:
            continue
        if of_harness and not is_known(subject, reported):
            continue
        sources = folder.ranges(reported.task, reported.metric)
        for source in sources or [Ranges(None, [])]:
            yield _impact_of(reported, reported.value, source)


def _impact_of(reported: report.Reported, value: float, source: Ranges) -> Violation:
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
    return EVG402.violation(
        message, pointer=reported.place, expected=expected, found=value, severity=severity
    )


_RANGES_LISTED: Final = 3
"""The number of overlapping ranges that a message lists; EVG301 reports all of them."""

EVG301: Final = Rule(
    "EVG301",
    "overlapping-ranges",
    Severity.WARNING,
    "threshold ranges of one metric overlap",
    """
    What it finds: two ranges of a metric that share values. A range goes from min up to, but not
    including, max; without min or max it has no limit on that side. Ranges that touch do not
    overlap.

    Why it matters: a value in both ranges has two impacts.

    How to fix: Change the limits so that each range ends (max) where the next one begins (min).

    Bad:
        thresholds/sums.yaml:
          {
            "thresholds": {
              "accuracy": [
                {"impact": "severe", "max": 0.5},
                {"impact": "moderate", "min": 0.3, "max": 0.8}
              ]
            }
          }

    Good:
        thresholds/sums.yaml:
          {
            "thresholds": {
              "accuracy": [
                {"impact": "severe", "max": 0.5},
                {"impact": "high", "min": 0.5, "max": 0.8}
              ]
            }
          }
    """,
    record=_overlap,
)

EVG302: Final = Rule(
    "EVG302",
    "gap-between-ranges",
    Severity.WARNING,
    "between threshold ranges of one metric there are values without a range",
    """
    What it finds: values between two ranges of a metric that lie in no range. Values below the
    first or above the last range are not a gap.

    Why it matters: a value in the gap has no impact, and passes every test that asks for one.

    How to fix: Extend a range or add one, so that each range ends (max) where the next one begins
    (min). Take the limits from the source that defines the thresholds, not from reported values.

    Bad:
        thresholds/sums.yaml:
          {
            "thresholds": {
              "accuracy": [
                {"impact": "severe", "max": 0.4},
                {"impact": "moderate", "min": 0.5, "max": 0.8}
              ]
            }
          }

    Good:
        thresholds/sums.yaml:
          {
            "thresholds": {
              "accuracy": [
                {"impact": "severe", "max": 0.5},
                {"impact": "moderate", "min": 0.5, "max": 0.8}
              ]
            }
          }
    """,
    record=_gap,
)

EVG303: Final = Rule(
    "EVG303",
    "impact-against-direction",
    Severity.WARNING,
    "a better value has the greater impact",
    """
    What it finds: a range whose impact is greater than that of the next worse one. The direction
    of the metric says which values are better.

    Why it matters: either the ranges are in reverse order or the direction is wrong, and a model
    that gets better looks more dangerous.

    How to fix: Correct the impacts of the ranges, or `direction` in the metric document, whichever
    is wrong. If larger values of the metric are better, `direction` is `higher_is_better`.

    Bad:
        metrics/accuracy.yaml:
          {"id": "accuracy", "direction": "lower_is_better"}
        thresholds/sums.yaml:
          {
            "thresholds": {
              "accuracy": [
                {"impact": "severe", "max": 0.5},
                {"impact": "moderate", "min": 0.5, "max": 0.8}
              ]
            }
          }

    Good:
        metrics/accuracy.yaml:
          {"id": "accuracy", "direction": "higher_is_better"}
        thresholds/sums.yaml:
          {
            "thresholds": {
              "accuracy": [
                {"impact": "severe", "max": 0.5},
                {"impact": "moderate", "min": 0.5, "max": 0.8}
              ]
            }
          }
    """,
    record=_direction,
)

EVG304: Final = Rule(
    "EVG304",
    "percentage-outside-0-to-100",
    Severity.ERROR,
    "a value or a range of a percentage metric outside 0 to 100; a warning for a single limit",
    """
    What it finds: for metrics with the type `percentage`, which the specification defines as 0 to
    100, reported values outside of it, and threshold ranges without any such value. A single limit
    outside is a warning; a max up to 101 is accepted, since max is not part of its range and 100
    may have to be. Fractions from 0 to 1 are not reported: they may be small percentages.

    Why it matters: the value is measured wrong, or in another unit than its thresholds.

    How to fix: Correct `type` in the metric document if its values are not percentages. Otherwise
    generate the report again with the evaluation's own output, and correct the limits.

    Bad:
        metrics/accuracy.yaml:
          {"id": "accuracy", "type": "percentage"}
        reports/acorn-7b.yaml:
          {
            "tasks": [{"task_ref": "sums"}],
            "results": [{"accuracy": {"value": 187.5}}]
          }

    Good:
        metrics/accuracy.yaml:
          {"id": "accuracy", "type": "percentage"}
        reports/acorn-7b.yaml:
          {
            "tasks": [{"task_ref": "sums"}],
            "results": [{"accuracy": {"value": 87.5}}]
          }
    """,
    record=_percentages,
)

EVG401: Final = Rule(
    "EVG401",
    "unsound-report",
    Severity.ERROR,
    "a report does not agree with its tasks and metrics, or with itself",
    """
    What it finds: a task_ref that is not the id of a task; results for a metric that does not
    exist; a value that is not a number, a negative stderr, more effective than original samples.
    What the specification does not ask for is a warning: a name round a task without a task_ref
    that is not the id of a task, and a metric that the task does not list. Results and tasks are
    matched by their positions; where their numbers differ, an info says so. A report that is
    checked without its folder (`--aggregate DIR`) gives a warning.

    Why it matters: such a value is compared with no threshold, or with a wrong one.

    How to fix: Generate the report again from the evaluation's own output, and correct ids that no
    document has. If the report was checked alone, pass its folder with `--aggregate DIR`. Do not
    replace a value or a stderr by hand.

    Bad:
        reports/acorn-7b.yaml:
          {
            "tasks": [
              {"task_ref": "sums"},
              {"task_ref": "advice", "n_samples": {"original": 120, "effective": 400}}
            ],
            "results": [{"accuracy": {"value": 0.875, "stderr": -0.01}}]
          }

    Good:
        reports/acorn-7b.yaml:
          {
            "tasks": [
              {"task_ref": "sums"},
              {"task_ref": "advice", "n_samples": {"original": 120, "effective": 120}}
            ],
            "results": [{"accuracy": {"value": 0.875, "stderr": 0.01}}]
          }
    """,
    record=_check_report,
)

EVG402: Final = Rule(
    "EVG402",
    "reported-impact",
    Severity.INFO,
    "a reported value with its range and impact; a warning where it lies in no range",
    """
    What it finds: each value of a report, with the range of its task's thresholds that contains it
    and the impact of that range. A value in none of the ranges is a warning, a value without
    thresholds an info. Each policy with ranges for the value is looked up and named. The raw output
    of lm-evaluation-harness is read in the same way, as far as its tasks and metrics have documents
    in the folder.

    Why it matters: thresholds exist to give each reported value its impact.

    How to fix: Add a range for the value to the task's thresholds, or correct a limit that is
    wrong. Do not change the value to fit a range. An info reports the impact and needs no repair;
    `--ignore EVG402` hides the infos and the warnings.

    Bad:
        reports/acorn-7b.yaml:
          {
            "tasks": [{"task_ref": "sums"}],
            "results": [{"accuracy": {"value": 0.875}}]
          }
        thresholds/sums.yaml:
          {
            "task": "sums",
            "thresholds": {
              "accuracy": [
                {"impact": "severe", "max": 0.5},
                {"impact": "moderate", "min": 0.5, "max": 0.8}
              ]
            }
          }

    Good:
        The folder has thresholds and no report.
        thresholds/sums.yaml:
          {
            "task": "sums",
            "thresholds": {
              "accuracy": [
                {"impact": "severe", "max": 0.5},
                {"impact": "moderate", "min": 0.5, "max": 0.8},
                {"impact": "very_low", "min": 0.8}
              ]
            }
          }
    """,
    record=_impact,
)

RULES: Final = (EVG301, EVG302, EVG303, EVG304, EVG401, EVG402)

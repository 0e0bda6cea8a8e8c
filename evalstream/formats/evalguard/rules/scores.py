"""EVG3, EVG4: EvalGuard's threshold ranges, and the values of reports in them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from evalstream.formats.evalguard.documents import (
    HIGHER_IS_BETTER,
    IMPACTS,
    METRIC,
    REPORT,
    TASK,
    THRESHOLD,
)
from evalstream.formats.evalguard.report import (
    Reported,
    ReportedTask,
    harness_tasks,
    is_of_harness,
    pairing,
    results_of,
    tasks_of,
    values_of,
)
from evalstream.formats.evalguard.views import (
    Range,
    Subject,
    number_in,
    ranges_of,
)
from evalstream.model.finding import Severity, Violation
from evalstream.parsing.json import pointer
from evalstream.rules.base import Rule


def _overlap(subject: Subject) -> Iterator[Violation]:
    """Hold each range against the one before it that reaches furthest."""
    for metric, ranges in _ranges(subject):
        furthest: Range | None = None
        for one in ranges:
            if furthest is not None and one.low < furthest.high:
                message = f"{one.text} overlaps {furthest.text} of range {furthest.number}"
                yield EVG301.violation(message, pointer=pointer(("thresholds", metric, one.number)))
            if furthest is None or one.high > furthest.high:
                furthest = one


def _gap(subject: Subject) -> Iterator[Violation]:
    for metric, ranges in _ranges(subject):
        reached: Range | None = None
        for one in ranges:
            if reached is not None and one.low > reached.high:
                gap = Range(0, reached.high, one.low, None).text
                message = f"no range holds the values in {gap}"
                yield EVG302.violation(message, pointer=pointer(("thresholds", metric)))
            if reached is None or one.high > reached.high:
                reached = one


def _direction(subject: Subject) -> Iterator[Violation]:
    """Hold each range against the next lower one; better values have no greater impact."""
    for metric, ranges in _ranges(subject):
        direction = subject.folder.direction(metric)
        if direction is None:
            continue
        ranked = [one for one in ranges if one.impact in IMPACTS]
        for lower, higher in pairwise(ranked):
            steps = IMPACTS.index(higher.impact or "") - IMPACTS.index(lower.impact or "")
            if steps > 0 if direction == HIGHER_IS_BETTER else steps < 0:
                message = (
                    f"{higher.text} has the impact {higher.impact}, the lower {lower.text} "
                    f"{lower.impact}, but the metric says {direction}"
                )
                yield EVG303.violation(
                    message,
                    pointer=pointer(("thresholds", metric, higher.number, "impact")),
                    found=higher.impact,
                )


def _ranges(subject: Subject) -> Iterator[tuple[str, list[Range]]]:
    document = subject.document
    thresholds = document.value.get("thresholds") if document.kind == THRESHOLD else None
    for metric in thresholds if isinstance(thresholds, dict) else ():
        yield metric, ranges_of(document, metric)


def _unsound_report(subject: Subject) -> Iterator[Violation]:
    document, folder = subject
    if document.kind != REPORT:
        return
    of_harness = is_of_harness(document)
    entries = [list(harness_tasks(document))] if of_harness else tasks_of(document)
    if not folder.followed:
        message = (
            "whether its tasks and metrics exist was not looked at, nor what its values mean; "
            "name their folder with --aggregate"
        )
        yield EVG401.violation(message, pointer="", severity=Severity.WARNING)
    for entry in entries:
        for task in entry:
            yield from _unsound_task(task, subject)
    if not of_harness and pairing(document) is None and results_of(document):
        tasks, results = sum(map(len, entries)), len(results_of(document))
        message = f"{tasks} tasks and {results} results: which belong together cannot be told"
        yield EVG401.violation(message, pointer="/results", severity=Severity.WARNING)
    for reported in values_of(document):
        yield from _unsound_value(reported, subject)


def _unsound_task(task: ReportedTask, subject: Subject) -> Iterator[Violation]:
    folder = subject.folder
    if folder.followed and task.id is not None and not folder.knows(TASK, task.id):
        place = task.pointer + ("/task_ref" if "task_ref" in task.value else "")
        yield EVG401.violation("no task document has this id", pointer=place, found=task.id)
    samples = task.value.get("n_samples")
    if not isinstance(samples, dict):
        return
    original, effective = (number_in(samples.get(name)) for name in ("original", "effective"))
    if original is not None and effective is not None and effective > original:
        place = f"{task.pointer}/n_samples"
        if is_of_harness(subject.document):
            place = pointer(("n-samples", task.id))
        message = "more samples were used than there are"
        yield EVG401.violation(
            message, pointer=f"{place}/effective", expected=original, found=effective
        )


def _unsound_value(reported: Reported, subject: Subject) -> Iterator[Violation]:
    folder = subject.folder
    if reported.error is not None and reported.error < 0:
        place = reported.pointer
        place += "" if is_of_harness(subject.document) else "/stderr"
        yield EVG401.violation("a negative standard error", pointer=place, found=reported.error)
    if not folder.followed:
        return
    if not folder.knows(METRIC, reported.metric):
        message = "no metric document has this id"
        yield EVG401.violation(message, pointer=reported.pointer, found=reported.metric)
    elif reported.task is not None and not folder.lists(reported.task, reported.metric):
        message = f"the task {reported.task[:80]} does not list this metric"
        yield EVG401.violation(message, pointer=reported.pointer, found=reported.metric)


def _impact(subject: Subject) -> Iterator[Violation]:
    """Say of each value of a report which range it falls in."""
    document, folder = subject
    if document.kind != REPORT or not folder.followed:
        return
    for reported in values_of(document):
        if reported.value is None or reported.task is None:
            continue
        ranges = folder.ranges(reported.task, reported.metric)
        yield _interpreted(reported, reported.value, ranges)


def _interpreted(reported: Reported, value: float, ranges: list[Range]) -> Violation:
    held = [one for one in ranges if one.holds(value)]
    severity, expected = None, None
    what = f"{reported.metric[:80]} of {(reported.task or '')[:80]}"
    if not ranges:
        message = f"{what} has no thresholds"
    elif not held:
        message, severity = f"{what} falls in no range", Severity.WARNING
        expected = [one.text for one in ranges]
    else:
        falls = " and in ".join(f"{one.text}, impact {one.impact}" for one in held[:_RANGES_TOLD])
        message = f"{what} falls in {falls}"
    place = reported.pointer if "," in reported.name else f"{reported.pointer}/value"
    return EVG402.violation(
        message, pointer=place, expected=expected, found=value, severity=severity
    )


_RANGES_TOLD: Final = 3
"""How many ranges are told that overlap at one value; EVG301 tells of each."""

EVG301: Final = Rule(
    "EVG301",
    "overlapping-ranges",
    Severity.WARNING,
    "threshold ranges of one metric overlap",
    """
    What it finds: two ranges of a metric that share values. A range goes from min up to, but
    not including, max; without one of them it has no limit there. Ranges that touch are fine.

    Why it matters: a value in both has two impacts.

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
    "between threshold ranges of one metric there are values without any",
    """
    What it finds: values between two ranges of a metric that no range holds. What lies below
    the first or above the last range is no gap.

    Why it matters: a value in the gap has no impact, and passes whatever asks for one.

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
    What it finds: a range whose impact is greater than that of the next worse one, where the
    metric's direction says which values are the better ones.

    Why it matters: either the ranges stand upside down or the direction is wrong, and a model
    that gets better looks more dangerous.

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

EVG401: Final = Rule(
    "EVG401",
    "unsound-report",
    Severity.ERROR,
    "a report that does not agree with its tasks and metrics, or with itself",
    """
    What it finds: a task_ref that is the id of no task (without one, the name round the task
    counts); results for a metric that does not exist or that the task does not list; a value
    that is no number, a negative stderr, more effective than original samples. Results and tasks
    go together by their places; where their numbers differ, a warning says so. A report by
    itself, without its folder (`--aggregate DIR`), is a warning.

    Why it matters: such a value is held against no threshold, or against a wrong one.

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
    record=_unsound_report,
)

EVG402: Final = Rule(
    "EVG402",
    "reported-impact",
    Severity.INFO,
    "the range that a reported value falls in, and its impact; a warning where it falls in none",
    """
    What it finds: each value of a report, with the range of its task's thresholds that holds it
    and that range's impact. A value in none of the ranges is a warning, one without thresholds
    a remark. The raw output of lm-evaluation-harness is read in the same way.

    Why it matters: it is what the thresholds are for.

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

RULES: Final = (EVG301, EVG302, EVG303, EVG401, EVG402)

"""EVG1, EVG2, EVG5: rules about EvalGuard's documents and the references between them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from evalstream.formats.evalguard.documents import (
    LEGACY_IMPACT,
    METRIC,
    REPORT,
    TASK,
    THRESHOLD,
    is_identifier,
)
from evalstream.formats.evalguard.paths import leaving
from evalstream.formats.evalguard.report import is_of_harness, results_of
from evalstream.formats.evalguard.views import (
    Document,
    Subject,
    is_legacy,
    listed,
    number_in,
    raw_ranges,
)
from evalstream.model.finding import Severity, Violation
from evalstream.parsing.json import pointer
from evalstream.rules.base import Rule

PATTERN: Final = "^[A-Za-z0-9_-]+$"
"""A valid identifier, as the specification defines it."""


def _malformed(subject: Subject) -> Iterator[Violation]:
    """Report what the schema cannot: invalid ids and legacy members."""
    document, folder = subject
    for place, name in _defined_names(document):
        yield from _identifier(place, name)
    if not folder.followed:
        for place, name in _names_of_others(document):
            yield from _identifier(place, name)
    if document.kind == REPORT and is_of_harness(document):
        message = "the report is raw output of lm-evaluation-harness; its values are checked"
        yield EVG101.violation(message, pointer="", severity=Severity.INFO)
    for place, item in raw_ranges(document) if document.kind == THRESHOLD else ():
        if is_legacy(item):
            message = f"{LEGACY_IMPACT} in place of impact, as in early documents"
            yield EVG101.violation(
                message,
                pointer=f"{place}/{LEGACY_IMPACT}",
                found=item[LEGACY_IMPACT],
                severity=Severity.WARNING,
            )


def _defined_names(document: Document) -> Iterator[tuple[str, str]]:
    if document.kind in (TASK, METRIC) and document.id is not None:
        yield "/id", document.id
    if document.kind == REPORT and not is_of_harness(document):
        for index, item in enumerate(results_of(document)):
            for name in item if isinstance(item, dict) else ():
                yield pointer(("results", index, name)), name


def _names_of_others(document: Document) -> Iterator[tuple[str, str]]:
    if document.kind == TASK:
        for index, name in enumerate(listed(document.value.get("metrics"))):
            if isinstance(name, str):
                yield pointer(("metrics", index)), name
    if document.kind == THRESHOLD:
        if document.id is not None:
            yield "/task", document.id
        for name in _metrics_with_ranges(document):
            yield pointer(("thresholds", name)), name


def _identifier(place: str, name: str) -> Iterator[Violation]:
    if not is_identifier(name):
        message = "not an identifier: only letters, digits, underscores and hyphens are allowed"
        yield EVG101.violation(
            message, pointer=place, keyword="pattern", expected=PATTERN, found=name
        )


def _empty_range(subject: Subject) -> Iterator[Violation]:
    if subject.document.kind != THRESHOLD:
        return
    for place, item in raw_ranges(subject.document):
        if "min" not in item and "max" not in item:
            message = "the range has neither min nor max"
            yield EVG102.violation(message, pointer=place, keyword="anyOf")
            continue
        low, high = number_in(item.get("min")), number_in(item.get("max"))
        if low is not None and high is not None and low >= high:
            word = "is" if low == high else "is above"
            message = f"min {word} max, so no value is in the range"
            yield EVG102.violation(message, pointer=place, found=item)


def _unknown_metric_of_task(subject: Subject) -> Iterator[Violation]:
    document, folder = subject
    if document.kind != TASK:
        return
    names = listed(document.value.get("metrics"))
    if not folder.followed:
        if names:
            yield _not_followed(EVG201, "/metrics", "the metrics of the task")
        return
    for index, name in enumerate(names):
        if isinstance(name, str) and not folder.knows(METRIC, name):
            message = "no metric document has this id"
            yield EVG201.violation(message, pointer=f"/metrics/{index}", found=name)


def _unknown_task(subject: Subject) -> Iterator[Violation]:
    document, folder = subject
    if document.kind != THRESHOLD or document.id is None:
        return
    if not folder.followed:
        yield _not_followed(EVG202, "/task", "the task and its metrics")
    elif not folder.knows(TASK, document.id):
        yield EVG202.violation("no task document has this id", pointer="/task", found=document.id)


def _unknown_metric_of_threshold(subject: Subject) -> Iterator[Violation]:
    document, folder = subject
    if document.kind != THRESHOLD or not folder.followed:
        return
    for name in _metrics_with_ranges(document):
        place = pointer(("thresholds", name))
        if not folder.knows(METRIC, name):
            yield EVG203.violation(f"no metric document has the id {name}", pointer=place)
        elif document.id is not None and not folder.lists(document.id, name):
            message = f"the task does not list the metric {name}"
            yield EVG203.violation(message, pointer=place, severity=Severity.WARNING)


def _several_thresholds(subject: Subject) -> Iterator[Violation]:
    document, folder = subject
    if document.kind == THRESHOLD:
        yield from _repeated(EVG204, folder.owner(document), document, "/task")


def _repeated_id(subject: Subject) -> Iterator[Violation]:
    document, folder = subject
    if document.kind not in (TASK, METRIC) or document.id is None:
        return
    yield from _repeated(EVG205, folder.owner(document), document, "/id")
    if document.stem is not None and document.stem != document.id:
        message = "the file is not named after the id in it"
        yield EVG205.violation(
            message,
            pointer="/id",
            expected=document.stem,
            found=document.id,
            severity=Severity.WARNING,
        )


def _repeated(rule: Rule, owner: Document, document: Document, place: str) -> Iterator[Violation]:
    """Report each document except the one that its id belongs to."""
    if owner is not document:
        message = f"{_REPEATED[rule.code]} {owner.name}"
        yield rule.violation(message, pointer=place, found=document.id)


def _paths_outside(subject: Subject) -> Iterator[Violation]:
    for place, path in leaving(subject.document):
        yield EVG502.violation("leads out of the folder", pointer=place, found=path)


def _metrics_with_ranges(document: Document) -> list[str]:
    thresholds = document.value.get("thresholds")
    return list(thresholds) if isinstance(thresholds, dict) else []


def _not_followed(rule: Rule, place: str, what: str) -> Violation:
    message = f"{what} were not looked up; name their folder with --aggregate"
    return rule.violation(message, pointer=place, severity=Severity.WARNING)


def _rule(code: str, name: str, summary: str, documentation: str, **settings: Any) -> Rule:
    return Rule(code, name, Severity.ERROR, summary, documentation, **settings)


EVG101: Final = _rule(
    "EVG101",
    "malformed-document",
    "a document that is not valid YAML, is not an object, or does not fit its schema",
    """
    What it finds: a text that YAML 1.2 does not allow, with line, column and an excerpt, and what
    its core schema does not know: merge keys, tags that create objects, keys that are not scalars,
    a second document, aliases that contain themselves or expand to over a million characters. Then
    every document that is not an object or does not fit the schema of its kind, and ids of tasks
    and metrics that are not made of letters, digits, underscores and hyphens. The folder (`tasks`,
    `metrics`, `thresholds`, `reports`) determines the kind of a document; elsewhere its members
    do. `label` in place of `impact` is accepted with a warning. Tasks of a report are accepted
    with or without a name round each: the specification shows both forms.

    Plain scalars are read as YAML 1.2 defines them: `no`, `on` and dates are strings. Where the
    schema requires a string and reading a number would lose how it is written (`1e3`, `0777`,
    `1.10`), the scalar stays a string; a plain `5` or `true` there is not a string.

    Why it matters: YAML readers differ in exactly these cases. One reader takes `no` for the name
    of a task, another takes it for false, and a tag may run code.

    How to fix: Correct the document at the reported line so that it is plain YAML 1.2 and fits its
    schema. Print the schema with `evalstream schema show evalguard/v1/task` (or `metric`,
    `threshold`, `report`). Quote values that are meant as strings, and rename `label` to `impact`.

    Bad:
        tasks/sums.yaml:
          {"id": "sums", "metrics": ["accuracy", "refusal_rate"]}
        metrics/accuracy.yaml:
          {"id": "accuracy", "direction": "up"}
        thresholds/sums.yaml:
          {
            "thresholds": {
              "accuracy": [{"impact": "severe", "max": 0.5, "severity": "low"}]
            }
          }

    Good:
        tasks/sums.yaml:
          {
            "id": "sums",
            "name": "Sums of small numbers",
            "metrics": ["accuracy", "refusal_rate"]
          }
        metrics/accuracy.yaml:
          {"id": "accuracy", "direction": "higher_is_better"}
        thresholds/sums.yaml:
          {
            "thresholds": {"accuracy": [{"impact": "severe", "max": 0.5}]}
          }
    """,
    record=_malformed,
    former_names=("document-shape",),
)

EVG102: Final = _rule(
    "EVG102",
    "empty-range",
    "a threshold range without min and max, or whose min is not below its max",
    """
    What it finds: a range whose min is not below its max, so that no value lies in it (min belongs
    to the range, max does not), and a range with neither min nor max.

    Why it matters: the impact of such a range is never reported, for any value.

    How to fix: Give the range a min or a max, and make min smaller than max. Take the limits from
    the source that defines the thresholds.

    Bad:
        thresholds/sums.yaml:
          {
            "task": "sums",
            "thresholds": {
              "accuracy": [{"impact": "moderate", "min": 0.8, "max": 0.8}]
            }
          }

    Good:
        thresholds/sums.yaml:
          {
            "task": "sums",
            "thresholds": {
              "accuracy": [{"impact": "moderate", "min": 0.5, "max": 0.8}]
            }
          }
    """,
    record=_empty_range,
)

EVG201: Final = _rule(
    "EVG201",
    "task-with-unknown-metric",
    "a task lists a metric that no document defines",
    """
    What it finds: an entry of a task's metrics that is not the id of a metric. When a document is
    checked without its folder (`--aggregate DIR`), a warning says that this was not checked.

    Why it matters: the metric has no direction, so its values mean nothing.

    How to fix: Correct the id in the task's metrics, or add a metric document that has this id. If
    the document was checked alone, pass its folder with `--aggregate DIR`.

    Bad:
        tasks/sums.yaml:
          {"id": "sums", "metrics": ["accuracy", "refusal_rate", "accurracy"]}
        metrics/accuracy.yaml:
          {"id": "accuracy"}
        metrics/refusal_rate.yaml:
          {"id": "refusal_rate"}

    Good:
        tasks/sums.yaml:
          {"id": "sums", "metrics": ["refusal_rate", "accuracy"]}
        metrics/accuracy.yaml:
          {"id": "accuracy"}
        metrics/refusal_rate.yaml:
          {"id": "refusal_rate"}
    """,
    record=_unknown_metric_of_task,
)

EVG202: Final = _rule(
    "EVG202",
    "threshold-for-unknown-task",
    "thresholds name a task that no document defines",
    """
    What it finds: a threshold document whose task is not the id of a task. When a document is
    checked without its folder, a warning says that this was not checked.

    Why it matters: the thresholds are never applied.

    How to fix: Correct `task` in the threshold document, or add a task document that has this id.
    If the document was checked alone, pass its folder with `--aggregate DIR`.

    Bad:
        thresholds/sums.yaml:
          {"task": "subtraction"}
        tasks/sums.yaml:
          {"id": "sums"}

    Good:
        thresholds/sums.yaml:
          {"task": "sums"}
        tasks/sums.yaml:
          {"id": "sums"}
    """,
    record=_unknown_task,
)

EVG203: Final = _rule(
    "EVG203",
    "threshold-for-unknown-metric",
    "thresholds for a metric that does not exist; a warning where the task does not list it",
    """
    What it finds: a metric with ranges that is not the id of a metric, or, as a warning, that is
    not among the metrics of the task.

    Why it matters: no value is ever compared with these ranges, and the metric for which they were
    meant has none.

    How to fix: Correct the metric's id in `thresholds`, or add the metric document that is
    missing. For the warning, add the metric to the task's metrics, or remove its ranges.

    Bad:
        thresholds/sums.yaml:
          {
            "task": "sums",
            "thresholds": {"acuracy": [{"impact": "low", "min": 0}]}
          }
        tasks/sums.yaml:
          {"id": "sums", "metrics": ["accuracy", "refusal_rate"]}

    Good:
        thresholds/sums.yaml:
          {
            "task": "sums",
            "thresholds": {"accuracy": [{"impact": "low", "min": 0}]}
          }
        tasks/sums.yaml:
          {"id": "sums", "metrics": ["accuracy", "refusal_rate"]}
    """,
    record=_unknown_metric_of_threshold,
)

EVG204: Final = _rule(
    "EVG204",
    "repeated-thresholds",
    "one task has several threshold documents",
    """
    What it finds: each threshold document for a task except the one that is named after the task,
    or, if none is named after it, except the first.

    Why it matters: the ranges that apply depend on which document is read last.

    How to fix: Put all ranges of the task into one threshold document, and delete the other
    documents. If two documents give different ranges for one metric, keep those from the source
    that defines the thresholds.

    Bad:
        thresholds/sums.yaml:
          {"task": "sums"}
        thresholds/more.yaml:
          {"task": "sums"}

    Good:
        thresholds/more.yaml:
          {"task": "sums"}
    """,
    record=_several_thresholds,
)

EVG205: Final = _rule(
    "EVG205",
    "repeated-id",
    "several tasks, or several metrics, have one id; a warning where a file has another name",
    """
    What it finds: each task and each metric whose id belongs to another document of its kind,
    which is named after the id or comes first; and, as a warning, a file that is not named after
    its id.

    Why it matters: a reference to the id means one of these documents, and it is not possible to
    see which.

    How to fix: Give each task and each metric an id of its own, and name its file after the id.
    Delete a document that is only a copy, and correct the documents that refer to an id you
    change.

    Bad:
        tasks/sums.yaml:
          {"id": "sums", "name": "Sums of small numbers"}
        tasks/addition.yaml:
          {"id": "sums", "name": "Sums of small numbers"}

    Good:
        tasks/sums.yaml:
          {"id": "sums", "name": "Sums of small numbers"}
        tasks/addition.yaml:
          {"id": "addition", "name": "Sums of small numbers"}
    """,
    record=_repeated_id,
)

EVG502: Final = _rule(
    "EVG502",
    "path-outside-folder",
    "a link, an id or a path in a document leads out of the folder",
    """
    What it finds: links in the folder that lead outside it, which are not followed; ids and
    references that are absolute paths or climb (`../secrets`), because they are looked up as names
    of files; a dataset_path or a `$ref` that climbs out of the folder. An absolute dataset_path is
    a place on the machine that ran the evaluation, and is allowed.

    Why it matters: a program that reads the documents would open files that do not belong to them.

    How to fix: Replace the path by an id or a relative path that stays inside the folder. Replace
    a link by a copy of the file that it leads to, if that file belongs to the folder.

    Bad:
        tasks/sums.yaml:
          {"id": "sums", "metrics": ["accuracy", "refusal_rate", "../../secrets/rate"]}

    Good:
        tasks/sums.yaml:
          {"id": "sums", "metrics": ["accuracy", "refusal_rate"]}
    """,
    record=_paths_outside,
)

_REPEATED: Final = {
    EVG204.code: "the task has other thresholds, too:",
    EVG205.code: "another document has this id:",
}

RULES: Final = (EVG101, EVG102, EVG201, EVG202, EVG203, EVG204, EVG205, EVG502)

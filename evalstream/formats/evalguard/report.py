"""Read a report of EvalGuard: its tasks and the values measured on them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Any, Final

from evalstream.formats.evalguard.format import METRIC, TASK, is_harness_output
from evalstream.formats.evalguard.views import Document, Folder, FolderItem, as_number, text_member
from evalstream.model.data_class import NamedTuple
from evalstream.model.finding import at_least, at_most
from evalstream.model.text import count_noun
from evalstream.parsing.json import pointer
from evalstream.parsing.json_values import holds_double, list_or_empty
from evalstream.parsing.lazy_regex import LazyPattern
from evalstream.stats.claims import kinds
from evalstream.stats.claims.judge import is_outside_bounds
from evalstream.stats.claims.kinds import ClaimKind

FLAT: Final = "task"
"""The name that a task without one gets for the schema, which requires a name."""

TASK_MEMBERS: Final = frozenset(
    {
        *("task_ref", "dataset_path", "dataset_name", "output_type", "repeats"),
        *("should_decontaminate", "unsafe_code", "n_shot", "n_samples", "version", "metadata"),
    }
)
"""The properties of a task in a report (section 4.4.5)."""

_STANDARD_ERROR: Final = "_stderr"


class ReportedTask(NamedTuple):
    """A task of a report: the path to it, its id, if it has one, and its properties.

    `is_of_harness` tells whether the report is raw output of lm-evaluation-harness.
    """

    path: tuple[Any, ...]
    id: str | None
    value: Mapping[str, Any]
    is_of_harness: bool = False

    @property
    def pointer(self) -> str:
        """The pointer of the task."""
        return pointer(self.path)

    @property
    def label(self) -> str:
        """The name of the task in messages."""
        return (self.id or self.pointer)[:80]

    @property
    def samples(self) -> tuple[str, Mapping[str, Any]]:
        """The pointer and the object with the numbers of samples; empty without one."""
        counts = self.value.get("n_samples")
        place = ("n-samples", self.id) if self.is_of_harness else (*self.path, "n_samples")
        return pointer(place), counts if isinstance(counts, dict) else {}


_WORD: Final = LazyPattern(r"[a-z0-9]+", flags=0)
_SHARES: Final = frozenset({"acc", "accuracy", "proportion", "share"})
_OUTCOMES: Final = frozenset({"compliance", "failure", "pass", "refusal", "success", "win"})
"""Properties that a sample has or lacks: their rate is a share; a word error rate may exceed 1."""

_PERCENT: Final = 100
ROUNDING: Final = 1e-9
"""The tolerance beyond a bound, since 100 times a fraction may round up."""

_ROOM: Final = 0.1
_FEWEST: Final = 2
_NEAR: Final = 1e-9
_SLACK: Final = 2
"""How many times smaller an error may be than that of right answers."""


class Reported(NamedTuple):
    """One measured value: its pointer, its metric and its task.

    `task` is None if the report does not show it. `name` is the metric as written. `value` and
    `error` (the standard error) are None if they are not numbers. `samples` is the effective number
    of its task's samples, None if the report does not show it.
    """

    pointer: str
    task: str | None
    name: str
    value: float | None
    error: float | None
    samples: float | None = None

    @property
    def metric(self) -> str:
        """The metric's id; lm-evaluation-harness appends the name of a filter to it."""
        return self.name.partition(",")[0]

    @property
    def is_share(self) -> bool:
        """Whether the metric is a share of the samples by its name, from 0 to 1 or to 100."""
        words = set(_WORD.findall(self.metric.lower()))
        is_rate = "rate" in words and not words.isdisjoint(_OUTCOMES)
        return is_rate or not words.isdisjoint(_SHARES) or {"exact", "match"} <= words

    @property
    def most_error(self) -> float | None:
        """The largest error that shares with this mean can have, with room for rounding.

        None without bounds. That of two different answers is the largest, as many as there are.
        """
        share, scale = self._share
        return None if share is None else scale * (math.sqrt(2 * share * (1 - share)) + _ROOM)

    @property
    def errors_of_right(self) -> tuple[float, float] | None:
        """The least and the largest error of as many right and wrong answers with this mean.

        Scores between right and wrong have a smaller error, and their mean is not a number of right
        answers, unless by chance: then the least is 0. Clusters of samples change the error.
        """
        share, scale = self._share
        if share is None or not holds_double(self.samples) or self.samples < _FEWEST:
            return None
        exponent = Decimal(str(self.value)).as_tuple().exponent
        room = 0.5 * 10.0 ** int(exponent) / scale
        near = min(share + room, 0.5) if share < 0.5 else max(share - room, 0.5)
        error = scale * math.sqrt(near * (1 - near) / (self.samples - 1))
        right = share * self.samples
        is_count = 0 < share < 1 and abs(right - round(right)) <= _NEAR * self.samples
        return error / _SLACK if is_count else 0, error * (1 + _ROOM)

    @property
    def _share(self) -> tuple[float | None, int]:
        """The value as a share from 0 to 1, None if it is not one, and the scale of both."""
        if not self.is_share or self.value is None or not 0 <= self.value <= _PERCENT:
            return None, 1
        scale = 1 if self.value <= 1 else _PERCENT
        return self.value / scale, scale

    @property
    def place(self) -> str:
        """The pointer of the number itself; raw output has no object around it."""
        return self.pointer if "," in self.name else f"{self.pointer}/value"

    @property
    def error_place(self) -> str:
        """The pointer of the standard error."""
        if "," not in self.name:
            return f"{self.pointer}/stderr"
        start, filter_ = self.pointer.rsplit(",", 1)
        return f"{start}{_STANDARD_ERROR},{filter_}"


def is_flat(item: Any) -> bool:
    """Return whether a task of a report has its properties without a name around them.

    The specification's example lists them so; its schema requires a name.
    """
    return isinstance(item, dict) and any(
        member in TASK_MEMBERS and not isinstance(value, dict) for member, value in item.items()
    )


def entry_tasks(document: Document) -> list[list[ReportedTask]]:
    """Return the tasks of each entry of a report."""
    return [
        list(_walk_tasks(item, ("tasks", index)))
        for index, item in enumerate(list_or_empty(document.value.get("tasks")))
    ]


def entry_results(document: Document) -> list[Any]:
    """Return the entries of a report's results."""
    return list_or_empty(document.value.get("results"))


def pairing(document: Document) -> list[str | None] | None:
    """Return the task of each entry of the results, or None if it is unknown.

    Tasks and results correspond by position; a single task has all results.
    """
    results = entry_results(document)
    entries = entry_tasks(document)
    flattened = [task.id for entry in entries for task in entry]
    if len(flattened) == 1:
        return flattened * len(results)
    if len(flattened) == len(results):
        return flattened
    return None


def iterate_values(document: Document) -> Iterator[Reported]:
    """Yield every value of a report."""
    if is_of_harness(document):
        yield from _harness_values(document.value["results"], list(harness_tasks(document)))
        return
    results = entry_results(document)
    tasks = pairing(document) or [None] * len(results)
    samples = count_samples(entry_tasks(document))
    for index, (item, task) in enumerate(zip(results, tasks, strict=True)):
        for name, result in (item if isinstance(item, dict) else {}).items():
            known = result if isinstance(result, dict) else {}
            yield Reported(
                pointer(("results", index, name)),
                task,
                name,
                as_number(known.get("value")),
                as_number(known.get("stderr")),
                samples.get(task),
            )


def count_samples(entries: list[list[ReportedTask]]) -> dict[str | None, float | None]:
    """Return the effective number of samples of each task that is in a report once."""
    listed = [task for entry in entries for task in entry]
    times = Counter(task.id for task in listed)
    return {
        task.id: as_number(task.samples[1].get("effective"))
        for task in listed
        if times[task.id] == 1 and as_number(task.value.get("repeats", 1)) == 1
    }


def iterate_tasks(document: Document) -> Iterator[ReportedTask]:
    """Yield all tasks of a report."""
    if is_of_harness(document):
        yield from harness_tasks(document)
        return
    for entry in entry_tasks(document):
        yield from entry


class Figure(NamedTuple):
    """A number that a report states, and what is wrong with it, if anything.

    `expected` are the numbers allowed. A metric of values `in_percent` is declared as a percentage.
    """

    pointer: str
    label: str
    kind: ClaimKind
    value: float
    fault: str = ""
    expected: Mapping[str, Any] | None = None
    in_percent: bool = False


def iterate_figures(document: Document, folder: Folder) -> Iterator[Figure]:
    """Yield the values of a report with their errors, then its numbers of samples."""
    values = folder.read_once(document, iterate_values)
    for one in values:
        label = one.metric[:80] + ("" if one.task is None else f" of {one.task[:80]}")
        kind = kinds.kind_named(one.metric) or kinds.UNKNOWN
        if one.value is not None:
            figure = Figure(one.place, label, kind, one.value)
            yield _judge_value(figure, one, in_percent=folder.is_percentage(one.metric))
        if one.error is not None:
            label, fault = f"standard error of {label}", find_fault_of_error(one)
            yield Figure(one.error_place, label, kinds.ERROR, one.error, *fault)
    yield from _iterate_counts(document, values)


def _judge_value(figure: Figure, one: Reported, *, in_percent: bool) -> Figure:
    figure = figure._replace(in_percent=in_percent)
    if -ROUNDING <= figure.value <= _PERCENT + ROUNDING:
        return figure
    name = one.metric[:80]
    if in_percent:
        fault = f"the metric {name} is a percentage, from 0 to 100"
        return figure._replace(fault=fault, expected={"minimum": 0, "maximum": _PERCENT})
    fault = f"{name} is a share, which is not below 0 or above 100 percent"
    return figure._replace(fault=fault) if one.is_share else figure


def find_fault_of_error(one: Reported) -> tuple[str, Mapping[str, Any] | None]:
    """Return what is wrong with a standard error, "" for nothing, and the errors allowed."""
    if one.error is None or one.error < 0:
        return "" if one.error is None else "the standard error is negative", None
    most = one.most_error
    if most is None or not is_outside_bounds(Decimal(str(one.error)), (None, most)):
        return "", None
    return "the standard error is larger than any of answers with this share", at_most(most)


def _iterate_counts(document: Document, values: Iterable[Reported]) -> Iterator[Figure]:
    unsampled = {one.task for one in values if one.value is not None and one.samples == 0}
    for task in iterate_tasks(document):
        place, counts = task.samples
        original = as_number(counts.get("original"))
        for name in ("original", "effective"):
            number, label = as_number(counts.get(name)), f"{name} samples of {task.label}"
            if number is None:
                continue
            fault, expected = "", None
            if is_no_count(number):
                fault = "a number of samples is negative or has decimals"
                expected = {"type": "integer", **at_least(0)}
            elif original is not None and 0 <= original < number:
                fault, expected = "more samples were used than the task has", at_most(original)
            elif name == "effective" and number == 0 and task.id in unsampled:
                fault = "the task has values, but none of its samples was used"
                expected = at_least(1)
            yield Figure(f"{place}/{name}", label, kinds.COUNT, number, fault, expected)


def is_no_count(number: float) -> bool:
    """Return whether a number counts nothing."""
    return number < 0 or number % 1 != 0


def is_of_harness(document: Document) -> bool:
    """Return whether a report is the raw output of lm-evaluation-harness."""
    results = document.value.get("results")
    return is_harness_output(document.value.keys()) and isinstance(results, dict)


def harness_tasks(document: Document) -> Iterator[ReportedTask]:
    """Yield the tasks in the raw output of lm-evaluation-harness."""
    results, samples = document.value["results"], document.value.get("n-samples")
    for name in results:
        counts = samples.get(name) if isinstance(samples, dict) else None
        yield ReportedTask(("results", name), name, {"n_samples": counts}, is_of_harness=True)


def _walk_tasks(item: Any, path: tuple[Any, ...]) -> Iterator[ReportedTask]:
    if not isinstance(item, dict):
        return
    if is_flat(item):
        yield ReportedTask(path, text_member(item, "task_ref"), item)
        return
    for name, value in item.items():
        if isinstance(value, dict):
            yield ReportedTask((*path, name), text_member(value, "task_ref") or name, value)


def _harness_values(results: Mapping[str, Any], tasks: list[ReportedTask]) -> Iterator[Reported]:
    """Yield the values of raw output: `metric,filter` with `metric_stderr,filter`."""
    samples = count_samples([tasks])
    for task, values in results.items():
        if not isinstance(values, dict):
            continue
        for name, value in values.items():
            metric, comma, filter_ = name.partition(",")
            if not comma or metric.endswith(_STANDARD_ERROR):
                continue
            error = as_number(values.get(f"{metric}{_STANDARD_ERROR},{filter_}"))
            place, number = pointer(("results", task, name)), samples.get(task)
            yield Reported(place, task, name, as_number(value), error, number)


def describe_report(subject: FolderItem) -> tuple[str, int]:
    """Return what was checked of a raw report, and how many values are not finite numbers.

    Most of its tasks have no documents in a folder.
    """
    document, folder = subject
    values = folder.read_once(document, iterate_values)
    numbers = [value for value in values if value.value is not None]
    number = count_noun(len(numbers), "value")
    said = f"the report is raw output of lm-evaluation-harness with {number}"
    unknown = sum(not is_known_metric(subject, value) for value in numbers)
    if not folder.followed:
        said += ", which were not compared with thresholds"
    elif unknown:
        said += f", {unknown:,} of them for tasks or metrics without a document in the folder"
    elif numbers:
        said += ", each compared with the thresholds of its task"
    return said, len(values) - len(numbers)


def is_known_metric(subject: FolderItem, value: Reported) -> bool:
    """Return whether task and metric of a value have documents, or may have unread ones."""
    folder = subject.folder
    has_task = value.task is not None and folder.knows(TASK, value.task)
    return has_task and folder.knows(METRIC, value.metric)

"""The results of a call of lm-eval as rules read them: tasks, metrics, groups, samples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any, Final, NamedTuple

from evalstream.model.data_class import DataClass
from evalstream.parsing.json import pointer

STDERR: Final = "_stderr"
NO_STDERR: Final = "N/A"
"""What the harness writes for an error that it does not compute."""

MEAN: Final = "mean"

MEANS: Final = frozenset(
    {"acc", "acc_norm", "acc_bytes", "acc_mutual_info", "exact_match", "exact_match_mc"}
)
"""Metrics of the harness that are means also where a task has no list of metrics."""

OWN_FUNCTION: Final = "that is a function of the task"
"""What stands for an aggregation whose source the configuration shows."""

MOST_NAME: Final = 60
"""A longer name of an aggregation is that of a function of the task, or its source."""

OTHER_AGGREGATIONS: Final[Mapping[str, str]] = {
    "brier_score": "brier_score",
    "perplexity": "perplexity",
    "word_perplexity": "weighted_perplexity",
    "byte_perplexity": "weighted_perplexity",
    "bits_per_byte": "bits_per_byte",
    "bypass": "bypass",
    "mcc": "matthews_corrcoef",
    "f1": "f1",
    "bleu": "bleu",
    "chrf": "chrf",
    "chrf++": "chrf++",
    "ter": "ter",
}
"""Metrics that are not means where the task does not say it (api/metrics.py of lm_eval 0.4.13)."""


class Claim(NamedTuple):
    """A figure of the results: its task, its metric and filter, whether it is a standard error.

    `value` is as written.
    """

    task: str
    key: str
    metric: str
    filter: str
    is_stderr: bool
    value: Any

    @property
    def pointer(self) -> str:
        """The JSON Pointer of the figure."""
        return pointer(("results", self.task, self.key))


class Aggregation(NamedTuple):
    """How a task adds up a metric; `is_sure` is False where its configuration does not say it."""

    name: str
    is_sure: bool


class Results(DataClass, frozen=True):
    """A results document; members of a wrong type count as absent."""

    document: Mapping[str, Any]

    @property
    def tasks(self) -> Iterator[str]:
        """The names of all entries of `results`: tasks and groups."""
        return (name for name, _ in _objects(self.document.get("results")))

    def claims(self, task: str) -> Iterator[Claim]:
        """Iterate over the figures of a task or a group, in their order."""
        for key, value in self.entry(task).items():
            metric, of_error, of_filter = key.partition(f"{STDERR},")
            if not of_error:
                metric, comma, of_filter = key.partition(",")
                if not comma:
                    continue
            yield Claim(task, key, metric, of_filter, bool(of_error), value)

    def config(self, task: str) -> Mapping[str, Any]:
        """Return the configuration of a task, empty without one."""
        return _object(_object(self.document.get("configs")).get(task))

    def aggregation(self, task: str, metric: str) -> Aggregation:
        """Return how a task adds up a metric.

        Source: `_compute_task_aggregations` in evaluator_utils.py of lm_eval.
        """
        config = self.config(task)
        listed = config.get("metric_list")
        entries = [one for one in _list(listed) if isinstance(one, dict)]
        for entry in reversed(entries):  # a later entry replaces an earlier one
            if entry.get("metric") == metric:
                said = entry.get("aggregation")
                if said is None:
                    return Aggregation(OTHER_AGGREGATIONS.get(metric, MEAN), True)
                named = isinstance(said, str) and said.isprintable() and len(said) <= MOST_NAME
                return Aggregation(said if named else OWN_FUNCTION, isinstance(said, str))
        is_sure = not isinstance(listed, list) and metric in MEANS
        return Aggregation(OTHER_AGGREGATIONS.get(metric, MEAN), is_sure)

    def task_hash(self, task: str) -> Any:
        """Return the declared hash of a task's samples, None without one."""
        return _object(self.document.get("task_hashes")).get(task)

    @property
    def logged(self) -> Iterator[str]:
        """The tasks whose samples the call wrote."""
        return iter(_object(self.document.get("task_hashes")))

    def samples(self, task: str) -> Mapping[str, Any]:
        """Return `original` and `effective` of a task, empty without them."""
        return _object(_object(self.document.get("n-samples")).get(task))

    def entry(self, task: str) -> Mapping[str, Any]:
        """Return all that the results say of a task or a group."""
        return _object(_object(self.document.get("results")).get(task))

    @property
    def groups(self) -> Iterator[tuple[str, list[str]]]:
        """The groups with the tasks and groups in them; tasks stand here without any."""
        for name, members in _object(self.document.get("group_subtasks")).items():
            if isinstance(members, list) and members:
                yield name, [one for one in members if isinstance(one, str)]

    def filters(self, task: str) -> list[str]:
        """Return the filters of a task in the order of its configuration, also repeated ones."""
        entries = _list(self.config(task).get("filter_list"))
        names = (one.get("name") for one in entries if isinstance(one, dict))
        return [name for name in names if isinstance(name, str)]

    @property
    def model(self) -> str | None:
        """The name of the model, None if it is not said."""
        found = self.document.get("model_name")
        return found if isinstance(found, str) else None

    @property
    def is_unlimited(self) -> bool:
        """Whether the call says that it had no limit."""
        return "limit" in _object(self.document.get("config")) and self.setting("limit") is None

    def setting(self, name: str) -> Any:
        """Return a member of the call's configuration."""
        return _object(self.document.get("config")).get(name)


def number_of(value: Any) -> Decimal | None:
    """Return a figure, None for a value that is not a finite number."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    exact = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    return exact if exact.is_finite() else None


def _objects(value: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    return ((name, one) for name, one in _object(value).items() if isinstance(one, dict))


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []

"""The results of a call of lm-eval as rules read them, alone and beside the rows of a task."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any, Final, TypeVar

from evalstream.formats.lm_eval.log_tally import FilterTotals, LogTotals
from evalstream.formats.lm_eval.metric_values import MetricValues
from evalstream.formats.lm_eval.written_values import MODEL_ARGUMENTS, is_function, read_argument
from evalstream.formats.releases import Dated, Release, find_shown_release, read_release
from evalstream.model.data_class import DataClass, NamedTuple
from evalstream.parsing.json import pointer, text_or_none
from evalstream.parsing.json_values import (
    holds_double,
    is_number,
    list_or_empty,
    object_items,
    object_or_empty,
)

Found = TypeVar("Found")

NO_FILTER: Final = ""
"""The filter of rows and figures that do not name theirs."""

STDERR: Final = "_stderr"
NO_STDERR: Final = "N/A"
"""The text in place of an error that the harness does not compute."""


DEFAULT_METRICS: Final[Mapping[str, tuple[str, ...]]] = {
    "loglikelihood": ("perplexity", "acc"),
    "loglikelihood_rolling": ("word_perplexity", "byte_perplexity", "bits_per_byte"),
    "multiple_choice": ("acc", "acc_norm"),
    "generate_until": ("exact_match",),
}
"""The metrics by which the harness scores a task that lists none, by its output type."""


class TaskFigure(NamedTuple):
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

    @property
    def label(self) -> str:
        """The description of the figure for people."""
        return f"{self.key} of {self.task}"


class ListedMetric(NamedTuple):
    """An entry of a task's list of metrics.

    `name` is None for a function; `aggregation` is a text, or None where the entry has none.
    `higher_is_better` is as written, `options` are all further members.
    """

    place: int
    name: str | None
    aggregation: str | None
    higher_is_better: Any
    options: Mapping[str, Any]


_MEMBERS: Final = {
    ("n-samples",): (0, 4, 3),
    ("configs", "*", "unsafe_code"): (0, 4, 8),
    ("results", "*", "sample_len"): (0, 4, 12),
}
"""Members of results with the first release that wrote them.

Sources: `save_results_aggregated` in loggers/evaluation_tracker.py, TaskConfig in api/task.py and
`evaluate` in evaluator.py of lm_eval.
"""

_UNTOLD: Final = (0,)
"""The release that results without one state: early releases wrote none."""
_NAMED_SINCE: Final = (0, 4, 11)
"""The release from which on arguments that are an object name the model, in its builds, too."""


class Results(DataClass, Dated, frozen=True):
    """A results document; members of a wrong type count as absent."""

    document: Mapping[str, Any]

    @cached_property
    def stated_release(self) -> Release:
        """The release that the results state, before all others where they state none."""
        return read_release(self.document.get("lm_eval_version")) or _UNTOLD

    @cached_property
    def shown_release(self) -> Release:
        """The earliest release that can have written the members of the results."""
        return find_shown_release(self.document, _MEMBERS)

    @property
    def tasks(self) -> Iterator[str]:
        """The names of all entries of `results`: tasks and groups."""
        return (name for name, _ in object_items(self.document.get("results")))

    def figures(self, task: str) -> Iterator[TaskFigure]:
        """Iterate over the figures of a task or a group, in their order.

        Early releases wrote them without a filter.
        """
        for key, value in self.entry(task).items():
            metric, of_error, of_filter = key.partition(f"{STDERR},")
            if not of_error:
                metric, comma, of_filter = key.partition(",")
                if not comma:
                    if key not in _NO_FIGURES and isinstance(value, (int, float)):
                        is_error = key.endswith(STDERR)
                        name = key.removesuffix(STDERR)
                        yield TaskFigure(task, key, name, NO_FILTER, is_error, value)
                    continue
            yield TaskFigure(task, key, metric, of_filter, bool(of_error), value)

    def config(self, task: str) -> Mapping[str, Any]:
        """Return the configuration of a task, empty without one."""
        return object_or_empty(object_or_empty(self.document.get("configs")).get(task))

    def metric_list(self, task: str) -> list[ListedMetric] | None:
        """Return the metrics that a task's configuration lists, or else those of its output type.

        None for a task in Python, whose configuration does not say how it asks. Source:
        DEFAULT_METRIC_REGISTRY in api/registry.py of lm_eval.
        """
        config = self.config(task)
        listed = config.get("metric_list")
        if listed is None and not _ASKING.isdisjoint(config):
            names = DEFAULT_METRICS.get(str(config.get("output_type")), ())
            listed = [{"metric": name} for name in names]
        if not isinstance(listed, list):
            return None
        return [
            _make_listed(place, entry)
            for place, entry in enumerate(listed)
            if isinstance(entry, dict)
        ]

    def listed_metric(self, task: str, metric: str) -> ListedMetric | None:
        """Return the entry of a metric; a later one replaces an earlier one."""
        entries = [one for one in self.metric_list(task) or () if one.name == metric]
        return entries[-1] if entries else None

    def has_own_results(self, task: str) -> bool:
        """Return whether a function of the task computes the metrics of a row."""
        return is_function(self.config(task).get("process_results"))

    def task_hash(self, task: str) -> Any:
        """Return the declared hash of a task's samples, None without one."""
        return object_or_empty(self.document.get("task_hashes")).get(task)

    @property
    def logged_tasks(self) -> Iterator[str]:
        """The tasks whose samples the call wrote."""
        return iter(object_or_empty(self.document.get("task_hashes")))

    def samples(self, task: str) -> Mapping[str, Any]:
        """Return `original` and `effective` of a task, empty without them."""
        return object_or_empty(object_or_empty(self.document.get("n-samples")).get(task))

    def entry(self, task: str) -> Mapping[str, Any]:
        """Return all that the results say of a task or a group."""
        return object_or_empty(object_or_empty(self.document.get("results")).get(task))

    @property
    def groups(self) -> Iterator[tuple[str, list[str]]]:
        """The groups with the tasks and groups in them; tasks stand here without any."""
        for name, members in object_or_empty(self.document.get("group_subtasks")).items():
            if isinstance(members, list) and members:
                yield name, [one for one in members if isinstance(one, str)]

    def is_group(self, name: str) -> bool:
        """Tell whether a name is that of a group."""
        members = object_or_empty(self.document.get("group_subtasks")).get(name)
        return isinstance(members, list) and bool(members)

    def filters(self, task: str) -> list[str]:
        """Return the filters of a task in the order of its configuration, also repeated ones."""
        entries = list_or_empty(self.config(task).get("filter_list"))
        names = (one.get("name") for one in entries if isinstance(one, dict))
        return [name for name in names if isinstance(name, str)]

    @property
    def model(self) -> str | None:
        """The name of the model, None if it is not said."""
        return text_or_none(self.document.get("model_name"))

    @property
    def named_model(self) -> str | None:
        """The model that the arguments name, None if they name none.

        Source: `_get_model_name` in loggers/evaluation_tracker.py of lm_eval, which before 0.4.10
        found no name in arguments that are an object.
        """
        is_object = isinstance(self.setting("model_args"), dict)
        if is_object and not self.model and self.is_before(_NAMED_SINCE):
            return None
        named = (self.argument(name) for name in MODEL_ARGUMENTS)
        return next((one for one in named if one is not None), None)

    def argument(self, name: str) -> str | None:
        """Return an argument of the model as the harness reads it, None without it."""
        return read_argument(self.setting("model_args"), name)

    def count_limited(self, task: str) -> int | None:
        """Return how many documents of a task the limit picks, None without one.

        Source: `get_sample_size` in evaluator_utils.py of lm_eval.
        """
        limit: Any = self.setting("limit")
        original: Any = self.samples(task).get("original")
        is_known = original.__class__ is int and original > 0 and holds_double(original)
        if not (is_known and is_number(limit) and 0 < limit < math.inf):
            return None
        return min(int(math.ceil(original * limit) if limit < 1 else limit), int(original))

    def count_unsaid(self, task: str) -> int | None:
        """Return the samples of a task of which `--samples` may have chosen some, None elsewhere.

        From 0.4.9 to 0.4.11 the results do not tell: n-samples has all docs of the dataset.
        """
        if self.is_before((0, 4, 9)) or not self.is_before((0, 4, 12)):
            return None
        if self.call.get("limit", 0) is not None:
            return None
        counts = self.samples(task)
        effective = counts.get("effective")
        is_all = effective.__class__ is int and effective == counts.get("original")
        return effective if is_all else None

    @property
    def call(self) -> Mapping[str, Any]:
        """The configuration of the call, empty without one."""
        return object_or_empty(self.document.get("config"))

    def setting(self, name: str) -> Any:
        """Return a member of the call's configuration."""
        return self.call.get(name)


_ASKING: Final = frozenset({"doc_to_text", "doc_to_target", "doc_to_choice", "use_prompt"})
"""Members of which the configuration of a task that is not in Python has some."""

_NO_FIGURES: Final = frozenset({"name", "alias", "samples", "sample_len", "sample_count"})
"""Members of an entry of the results that are not figures."""

_NAMED: Final = frozenset({"metric", "aggregation", "higher_is_better"})


def _make_listed(place: int, entry: Mapping[str, Any]) -> ListedMetric:
    name, said = entry.get("metric"), entry.get("aggregation")
    return ListedMetric(
        place,
        name if isinstance(name, str) else None,
        None if said is None else str(said),
        entry.get("higher_is_better"),
        {key: value for key, value in entry.items() if key not in _NAMED},
    )


class TaskFacts(NamedTuple):
    """The rows of a file, and what the results say of their task.

    `task` is None where it is not known, `results` where there are none. `is_whole` says that all
    rows could be read.
    """

    totals: LogTotals
    task: str | None
    results: Results | None
    is_whole: bool

    @property
    def task_results(self) -> tuple[str, Results] | None:
        """The task and the results, None where either is missing."""
        if self.task is None or self.results is None or not self.is_whole:
            return None
        return self.task, self.results

    @property
    def sample_counts(self) -> frozenset[int]:
        """The numbers of samples that `effective` of n-samples may be.

        A task may leave out metrics of some docs: then newer releases count the rows that have the
        fullest metric (`_compute_task_aggregations` in evaluator_utils.py of lm_eval), none where
        rows have no metric, and older ones the docs.
        """
        if self.parts:
            return frozenset({self.totals.samples})
        fullest = max(self.totals.metric_counts, default=0)
        return frozenset({self.totals.samples, fullest})

    @property
    def may_be_chosen(self) -> bool:
        """Whether `--samples` may have chosen the rows, of which the hash of the task is."""
        if self.task_results is None:
            return False
        task, results = self.task_results
        number, declared = results.count_unsaid(task), results.task_hash(task)
        is_less = number is not None and self.totals.samples < number
        return is_less and declared is not None and declared == self.totals.task_hash()

    def values(self, claim: TaskFigure) -> MetricValues | None:
        """Return the values that a claim is about, None where no row has any."""
        rows = self.totals.filters.get(claim.filter, self.parts.get(claim.filter))
        if rows is None and self.is_unfiltered and len(self._filters()) == 1:
            rows = self.totals.filters[NO_FILTER]
        if rows is None and claim.filter == NO_FILTER and len(self.totals.filters) == 1:
            (rows,) = self.totals.filters.values()
        return None if rows is None else rows.metrics.get(claim.metric)

    @property
    def is_unfiltered(self) -> bool:
        """Whether no row names its filter, as in releases before 0.4.7."""
        return self.totals.filters.keys() == {NO_FILTER}

    @property
    def is_several_filters(self) -> bool:
        """Whether rows repeat because they are of several filters, which they do not name."""
        if not self.is_unfiltered or not self.totals.repeats:
            return False
        if self.task_results is None:
            return self.totals.repeats % self.totals.distinct == 0
        return self.totals.repeats == (len(self._filters()) - 1) * self.totals.distinct

    @property
    def parts(self) -> Mapping[str, FilterTotals]:
        """The rows of each filter where rows do not name theirs, empty if that is not known.

        The harness goes through all docs for each filter, in the order of the configuration. Each
        must be what makes the answers of its rows.
        """
        if self.task_results is None or not self.is_several_filters:
            return {}
        task, results = self.task_results
        names, parts = list(dict.fromkeys(results.filters(task))), self.totals.parts
        found = dict(zip(names, parts, strict=False))
        is_known = all(
            one.rows == one.ids.count == self.totals.distinct and name in (one.fitting or ())
            for name, one in found.items()
        )
        return found if len(names) == len(parts) and is_known else {}

    def _filters(self) -> set[str]:
        return {claim.filter for claim in self.figures()}

    def figures(self) -> Iterator[TaskFigure]:
        """Iterate over the figures that the results have of the task."""
        if self.task_results is not None:
            task, results = self.task_results
            yield from map(self._resolve_claim, results.figures(task))

    def _resolve_claim(self, claim: TaskFigure) -> TaskFigure:
        """Return a claim with the metric and the filter that the rows have.

        Names of metrics and of filters may hold commas, and a metric may end like an error does.
        """
        parts = claim.key.split(",")
        for place in range(1, len(parts)):
            name, of_filter = ",".join(parts[:place]), ",".join(parts[place:])
            rows = self.totals.filters.get(of_filter)
            if rows is None and self.is_unfiltered:
                rows = self.totals.filters[NO_FILTER]
            metrics = () if rows is None else rows.metrics
            if name in metrics:
                return claim._replace(metric=name, filter=of_filter, is_stderr=False)
            metric = name.removesuffix(STDERR)
            if metric != name and metric in metrics:
                return claim._replace(metric=metric, filter=of_filter, is_stderr=True)
        return claim


def with_results(
    find: Callable[[TaskFacts, str, Results], Iterator[Found]],
) -> Callable[[TaskFacts], Iterator[Found]]:
    """Return a function of facts that yields nothing where the task or its results are missing."""

    def find_with_results(facts: TaskFacts) -> Iterator[Found]:
        return iter(()) if facts.task_results is None else find(facts, *facts.task_results)

    return find_with_results

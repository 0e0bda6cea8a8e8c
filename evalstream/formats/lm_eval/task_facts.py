"""The facts for rules over a whole samples file: its rows, its task, and the results."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeVar

from evalstream.formats.lm_eval.log_tally import LogTotals, MetricValues
from evalstream.formats.lm_eval.views import NO_FILTER, STDERR, Results, TaskFigure
from evalstream.model.run_summary import Checked
from evalstream.model.text import count_noun

Found = TypeVar("Found")


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
        counts = self.totals.metric_counts
        return frozenset({self.totals.samples, max(counts, default=0)})

    def values(self, claim: TaskFigure) -> MetricValues | None:
        """Return the values that a claim is about, None where no row has any."""
        rows = self.totals.filters.get(claim.filter)
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


def describe_results(results: Results, beside: frozenset[str] | None) -> Iterator[Checked]:
    """Yield how many tasks with results have samples."""
    logged = frozenset(results.logged_tasks)
    if logged and beside is not None:
        tasks = logged.union(results.tasks) - {name for name, _ in results.groups}
        text = f"samples of {len(logged & beside):,} of {count_noun(len(tasks), 'task')} found"
        is_ok = None if logged < tasks else True
        yield Checked(text, is_ok if logged <= beside else False)


def describe_rows(facts: TaskFacts, rows: int) -> Iterator[Checked]:
    """Yield the verified facts: the task's hash, the digests of the rows, the number of samples."""
    totals = facts.totals
    if not rows:
        return
    if facts.task_results is not None:
        task, results = facts.task_results
        declared, actual = results.task_hash(task), totals.task_hash()
        if declared is None:
            yield Checked("no task hash to verify", None)
        elif actual is None:
            yield Checked("task hash not verified", None)
        else:
            is_ok = declared == actual
            yield Checked("task hash ok" if is_ok else "task hash not ok", is_ok)
        effective = results.samples(task).get("effective")
        is_number = effective.__class__ is int
        if is_number and not totals.is_scattered:
            is_ok = effective in facts.sample_counts
            yield Checked("sample count ok" if is_ok else "sample count not ok", is_ok)
        elif not is_number:
            yield Checked("no sample count to verify", None)
    elif facts.results is not None:
        yield Checked("nothing of the results verified", None)
    hashed = f"doc, prompt and target hashes ok in {totals.hashed:,} of {count_noun(rows, 'row')}"
    yield Checked(hashed, True if totals.hashed == rows else None)

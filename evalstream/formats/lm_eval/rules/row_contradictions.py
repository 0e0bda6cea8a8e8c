"""Facts that results and rows of a task say twice: metrics, examples and limits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from evalstream.formats.lm_eval.rules.contradictions import LIKELIHOODS, contradiction
from evalstream.formats.lm_eval.scoring_plan import REGISTERED
from evalstream.formats.lm_eval.views import Results, TaskFacts, with_results
from evalstream.model.finding import Severity, Violation
from evalstream.model.text import count_noun
from evalstream.parsing.json import text_or_none


@with_results
def find_row_contradictions(facts: TaskFacts, task: str, results: Results) -> Iterator[Violation]:
    """Yield contradictions between results and rows: metrics without an entry, and the limit."""
    if not facts.totals.rows:
        return
    listed = results.metric_list(task)
    is_generated = text_or_none(results.config(task).get("output_type")) not in LIKELIHOODS
    is_closed = not is_generated or all(one.name in REGISTERED for one in listed or ())
    if listed is not None and is_closed and not results.has_own_results(task):
        names = {one.name for one in listed}
        claimed = dict.fromkeys(one.metric for one in facts.figures() if not one.is_stderr)
        for metric in claimed:
            if metric not in names:
                message = f"{task} has a figure of {metric!r}, which it does not list"
                yield contradiction(message, ("configs", task, "metric_list"))
    yield from _missing_metrics(facts, task, results)
    yield from find_missing_examples(facts)
    yield from _limit(facts, task, results)


def _missing_metrics(facts: TaskFacts, task: str, results: Results) -> Iterator[Violation]:
    """Report a metric of the harness that it gives each row, and that some rows lack."""
    listed = results.metric_list(task)
    if listed is None or results.has_own_results(task) or facts.totals.is_crowded:
        return
    names = {one.name: one for one in listed if not one.options.get("hf_evaluate")}
    for name, rows in facts.totals.filters.items():
        for metric, values in rows.metrics.items():
            number = rows.rows - values.rows
            if metric in names and metric in REGISTERED and number > 0:
                of = f" of filter {name!r}" if name else ""
                message = f"{count_noun(number, 'row')}{of} without {metric}, which all rows have"
                path = "configs", task, "metric_list", names[metric].place, "metric"
                yield contradiction(message, path, None, metric)


@with_results
def find_missing_examples(facts: TaskFacts, task: str, results: Results) -> Iterator[Violation]:
    """Report that all prompts lack an example, where the harness draws few docs for themselves.

    It is a warning where that may be: with few docs, of which it draws no more than there are.
    """
    original: Any = results.samples(task).get("original")
    shots: Any = results.config(task).get("num_fewshot")
    totals = facts.totals
    is_counted = shots.__class__ is int and original.__class__ is int and original > 0
    if not is_counted or totals.lacking < max(totals.rows, 1):
        return
    message = f"all prompts of {task} have an example fewer than num_fewshot"
    found = contradiction(message, ("configs", task, "num_fewshot"), shots - 1, shots)
    chance = (shots / original) ** totals.samples if shots <= original else 0  # of drawing each
    yield found._replace(severity=Severity.WARNING) if chance >= 1e-6 else found


def _limit(facts: TaskFacts, task: str, results: Results) -> Iterator[Violation]:
    """Report rows that are not those of the first documents up to the limit.

    Source: `get_sample_size` in evaluator_utils.py of lm_eval.
    """
    totals, expected = facts.totals, results.count_limited(task)
    is_repeated = totals.repeats and not facts.parts
    if expected is None or is_repeated or totals.unkeyed or totals.is_scattered:
        return
    highest = max((one.ids.highest for one in totals.filters.values()), default=-1)
    if totals.samples != expected or highest != expected - 1:
        message = f"rows are not those of the first {expected:,} documents, which the limit picks"
        found = results.setting("limit")
        yield contradiction(f"{message} for {task}", ("config", "limit"), None, found)

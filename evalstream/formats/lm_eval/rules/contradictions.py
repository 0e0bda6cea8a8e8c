"""A rule over what the results of a call say twice: of the model, metrics, examples and limits."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from evalstream.formats.lm_eval.aggregations import (
    AGGREGATIONS,
    LOWER_IS_BETTER,
    MEAN,
    MEANS,
    REGISTERED,
)
from evalstream.formats.lm_eval.row import prompt_of
from evalstream.formats.lm_eval.row_scores import (
    CHOICE,
    LIKELIHOOD,
    ROLLING,
    ScoringPlan,
    render_question,
)
from evalstream.formats.lm_eval.task_facts import TaskFacts
from evalstream.formats.lm_eval.views import ListedMetric, Results, number_of
from evalstream.model.finding import Severity, Violation
from evalstream.parsing import json
from evalstream.parsing.json import pointer, text_or_none
from evalstream.rules.base import Rule
from evalstream.stats.claims.rounding import agrees

_SEPARATOR: Final = "__"
_FORBIDDEN: Final = re.compile(r"[\"<>:/|\\?*\[\]]+")
"""What names of models lose in names of folders (`sanitize_model_name` in utils.py of lm_eval)."""

_LIKELIHOODS: Final = frozenset({CHOICE, LIKELIHOOD, ROLLING})
"""Kinds of tasks that have no other metrics than those that they list."""

_SIMPLE_NAME: Final = re.compile(r"[\w.@+\-]+")


def find_contradictions(
    results: Results, path: str, task: str | None = None
) -> Iterator[Violation]:
    """Yield what the results contradict of the model and of a task, by default of all tasks."""
    yield from _names(results, path)
    for name in results.tasks if task is None else [task]:
        yield from _metrics(results, name)
        yield from _shots(results, name)
        yield from _bound_figures(results, name)


def _names(results: Results, path: str) -> Iterator[Violation]:
    """Report names of the model that differ from each other."""
    name, sanitised = results.model, results.document.get("model_name_sanitized")
    if not name:
        return
    expected = _FORBIDDEN.sub(_SEPARATOR, name)
    if isinstance(sanitised, str) and sanitised != expected:
        yield _contradiction(
            "model_name_sanitized is not that of model_name",
            ("model_name_sanitized",),
            expected,
            sanitised,
        )
    folder = os.path.basename(os.path.dirname(path))
    if _SEPARATOR in expected and _SEPARATOR in folder and expected not in folder:
        message = f"the results are in the folder of another model, {folder!r}"
        yield _contradiction(message, ("model_name",), None, name)
    arguments = results.setting("model_args")
    pretrained = json.member(arguments, "pretrained")
    has_others = isinstance(arguments, dict) and not arguments.keys().isdisjoint({"peft", "delta"})
    if isinstance(pretrained, str) and not has_others and pretrained != name:
        message = "model_name is not the model of model_args"
        yield _contradiction(message, ("model_name",), pretrained, name)


def _metrics(results: Results, task: str) -> Iterator[Violation]:
    directions = json.member(results.document.get("higher_is_better"), task)
    listed = results.metric_list(task)
    if listed is None:
        return
    known = {one.name: one for one in listed if one.name and _SIMPLE_NAME.fullmatch(one.name)}
    for name, one in known.items():
        path = "configs", task, "metric_list", one.place
        yield from _aggregation(results, task, one)
        if isinstance(directions, dict) and name not in directions:
            message = f"higher_is_better has no metric {name!r} of {task}, and metric_list has one"
            yield _contradiction(message, (*path, "metric"), None, name)
    for name, found in directions.items() if isinstance(directions, dict) else ():
        if name in known:
            yield from _direction(results, task, known[name], found)
        elif all(one.name in REGISTERED for one in listed):
            message = f"metric_list of {task} has no metric {name!r}"
            yield _contradiction(message, ("higher_is_better", task, name), None, found)


def _direction(
    results: Results, task: str, listed: ListedMetric, found: Any
) -> Iterator[Violation]:
    entry = results.config(task)["metric_list"][listed.place]
    if "higher_is_better" in entry:
        expected = entry["higher_is_better"]
    elif listed.name in REGISTERED:
        expected = listed.name not in LOWER_IS_BETTER
    else:
        return
    if found != expected:
        yield _contradiction(
            f"higher_is_better of {listed.name} of {task} is not that of metric_list",
            ("higher_is_better", task, str(listed.name)),
            expected,
            found,
        )


def _aggregation(results: Results, task: str, one: ListedMetric) -> Iterator[Violation]:
    """Report an aggregation of the harness that it does not use for a metric of its own.

    A function of the task may give a metric of any name other values; means stay means.
    """
    registered, declared = REGISTERED.get(one.name or ""), one.aggregation
    is_own = results.has_own_results(task) or bool(one.options.get("hf_evaluate"))
    if registered is None or declared is None or declared not in AGGREGATIONS:
        return
    is_mean = one.name in MEANS and declared in {MEAN, "nanmean"}
    if declared != registered and not is_mean and (one.name in MEANS or not is_own):
        yield _contradiction(
            f"the harness does not add up {one.name} as {declared}",
            ("configs", task, "metric_list", one.place, "aggregation"),
            registered,
            declared,
        )


def _shots(results: Results, task: str) -> Iterator[Violation]:
    shots = json.member(results.document.get("n-shot"), task)
    config = results.config(task)
    declared = config.get("num_fewshot")
    others = (declared, json.member(config.get("metadata"), "num_fewshot"))
    if shots.__class__ is int and declared.__class__ is int and shots not in others:
        yield _contradiction(
            f"n-shot of {task} is not num_fewshot of its configuration",
            ("n-shot", task),
            declared,
            shots,
        )


def _bound_figures(results: Results, task: str) -> Iterator[Violation]:
    """Report bits per byte that are not the binary logarithm of the perplexity of bytes."""
    if results.has_own_results(task):
        return
    figures = {figure.key: figure for figure in results.figures(task)}
    for key, figure in figures.items():
        other = figures.get(f"byte_perplexity,{figure.filter}")
        if key != f"bits_per_byte,{figure.filter}" or other is None:
            continue
        bits, perplexity = number_of(figure.value), number_of(other.value)
        if bits is None or perplexity is None or perplexity <= 0:
            continue
        expected = math.log2(perplexity)
        if not agrees(bits, expected) and not agrees(perplexity, _power_of_two(float(bits))):
            yield _contradiction(
                f"{figure.label} is not the binary logarithm of {other.key}",
                ("results", task, key),
                expected,
                figure.value,
            )


def _power_of_two(exponent: float) -> float:
    try:
        return math.pow(2.0, exponent)
    except OverflowError:
        return math.inf


def find_row_contradictions(facts: TaskFacts) -> Iterator[Violation]:
    """Yield what the results contradict of a task: metrics that no list has, and the limit."""
    if facts.known is None or not facts.totals.rows:
        return
    task, results = facts.known
    listed = results.metric_list(task)
    is_generated = text_or_none(results.config(task).get("output_type")) not in _LIKELIHOODS
    is_closed = not is_generated or all(one.name in REGISTERED for one in listed or ())
    if listed is not None and is_closed and not results.has_own_results(task):
        names = {one.name for one in listed}
        claimed = dict.fromkeys(one.metric for one in facts.figures() if not one.is_stderr)
        for metric in claimed:
            if metric not in names:
                path = "configs", task, "metric_list"
                yield _contradiction(
                    f"{task} has a figure of {metric!r}, which it does not list", path
                )
    yield from _limit(facts, task, results)


def _limit(facts: TaskFacts, task: str, results: Results) -> Iterator[Violation]:
    """Report rows that are not those of the first documents up to the limit.

    Source: `get_sample_size` in evaluator_utils.py of lm_eval.
    """
    totals, limit = facts.totals, results.setting("limit")
    original = results.samples(task).get("original")
    is_number = limit.__class__ in (int, float) and limit > 0 and math.isfinite(limit)
    if not is_number or original.__class__ is not int or original < 1:
        return
    if totals.repeats or totals.unkeyed or totals.is_scattered:
        return
    wanted = math.ceil(original * limit) if limit < 1 else int(limit)
    expected = min(wanted, original)
    highest = max((one.ids.highest for one in totals.filters.values()), default=-1)
    if totals.samples != expected or highest != expected - 1:
        message = f"rows are not those of the first {expected:,} documents, which the limit picks"
        yield _contradiction(f"{message} for {task}", ("config", "limit"), None, limit)


def find_examples(row: Mapping[str, Any], plan: ScoringPlan) -> Iterator[Violation]:
    """Report a prompt that begins with more than its question, where the task has no examples."""
    if plan.question is None:
        return
    prompt, question = prompt_of(row), render_question(plan.question, row.get("doc"))
    if prompt is None or not question or prompt == question or not prompt.endswith(question):
        return
    yield LME306.violation(
        "the prompt has examples before its question, and num_fewshot is 0",
        pointer="/arguments/gen_args_0/arg_0",
        expected=question,
        found=prompt,
    )


def _contradiction(
    message: str, path: tuple[str | int, ...], expected: Any = None, found: Any = None
) -> Violation:
    return LME306.violation(message, pointer=pointer(path), expected=expected, found=found)


LME306: Final = Rule(
    "LME306",
    "contradicting-results",
    Severity.ERROR,
    "the results say two things of the model, a metric, the examples, or the documents",
)

RULES: Final = (LME306,)

"""Rules over all rows of a samples file, the members of results about them, and what both say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final, TypeGuard

from evalstream.formats.lm_eval.rules.contradictions import LIKELIHOODS, contradiction
from evalstream.formats.lm_eval.scoring_plan import REGISTERED
from evalstream.formats.lm_eval.views import NO_FILTER, Results, TaskFacts, with_results
from evalstream.model.finding import Severity, Violation
from evalstream.model.text import count_noun
from evalstream.parsing.json import pointer, text_or_none
from evalstream.rules.base import declare_rule

NONE: Final = "none"
"""The filter of a task that declares none."""


def _rerun(facts: TaskFacts) -> Iterator[Violation]:
    rerun = None if facts.is_several_filters else facts.totals.rerun()
    if rerun is not None:
        yield LME104.violation(
            f"the rows begin again on line {rerun.line:,}: {count_noun(rerun.rows, 'row')} follow, "
            f"{rerun.repeats:,} of them repeat earlier ones",
            count=rerun.repeats,
        )


def _check_repeated(facts: TaskFacts) -> Iterator[Violation]:
    first = facts.totals.first_repeat()
    if first is None or facts.is_several_filters or facts.totals.rerun() is not None:
        return
    name, doc_id, line = first
    of = f" and filter {name!r}" if name else ""
    yield LME205.violation(
        f"{count_noun(facts.totals.repeats, 'row')} of a sample that an earlier row has, the first "
        f"on line {line:,} (doc_id {doc_id}{of})",
        count=facts.totals.repeats,
    )


def _uneven(facts: TaskFacts) -> Iterator[Violation]:
    """Report filters that lack docs which another filter has, and those without any row."""
    yield from _absent(facts)
    filters = facts.parts or facts.totals.filters
    if len(filters) < 2 or facts.totals.is_scattered or not facts.is_whole:
        return
    fullest_name, fullest = max(filters.items(), key=lambda one: one[1].ids.count)
    for name, rows in filters.items():
        missing = fullest.ids.find_missing(rows.ids)
        if missing is not None:
            yield LME206.violation(
                f"filter {name!r} has {count_noun(rows.ids.count, 'sample')} and filter "
                f"{fullest_name!r} has {fullest.ids.count:,}; the first that is missing has doc_id "
                f"{missing}"
            )
            return
    if (facts.totals.repeats and not facts.parts) or facts.totals.unkeyed:
        return
    for name, rows in filters.items():
        if rows.contents != fullest.contents:
            yield LME206.violation(
                f"filters {fullest_name!r} and {name!r} have another doc, target, request or "
                "response for one sample"
            )
            return


@with_results
def _absent(facts: TaskFacts, task: str, results: Results) -> Iterator[Violation]:
    if not facts.totals.rows or NO_FILTER in facts.totals.filters:
        return
    names = results.filters(task)
    is_default = results.config(task).get("filter_list") is None
    known = {NONE} if is_default else set(names)
    for name in facts.totals.filters if results.metric_list(task) is not None else ():
        if name not in known:
            message = f"rows have filter {name!r}, which the configuration of {task} does not have"
            yield LME206.violation(message, ("configs", task), expected=names)
    for name in dict.fromkeys(names):
        if name not in facts.totals.filters:
            path = "configs", task, "filter_list", names.index(name), "name"
            yield LME206.violation(f"no row has filter {name!r}", path, found=name)


@with_results
def _task_hash(facts: TaskFacts, task: str, results: Results) -> Iterator[Violation]:
    declared, actual = results.task_hash(task), facts.totals.task_hash()
    if declared == actual or not facts.totals.rows:
        return
    if declared is None:
        message = f"task_hashes has no hash for {task}, and its rows have digests"
        yield LME204.violation(message, "/task_hashes", severity=Severity.WARNING)
        return
    at: dict[str, Any] = {"pointer": pointer(("task_hashes", task)), "found": declared}
    if actual is None:
        rows = facts.totals.bare
        if rows:
            missing = f"digests are missing in {count_noun(rows, 'row')}"
            yield LME204.violation(
                f"task_hashes has a hash for {task}, and {missing}", count=rows, **at
            )
        return
    if facts.totals.rerun() is not None and not facts.is_several_filters:
        return  # the hash is of one run alone
    message = f"task_hashes has another hash for {task} than that of the digests of its rows"
    yield LME204.violation(message, expected=actual, **at)


@with_results
def _sample_count(facts: TaskFacts, task: str, results: Results) -> Iterator[Violation]:
    totals = facts.totals
    is_repeated = totals.repeats and not facts.parts
    if totals.is_scattered or totals.is_crowded or totals.unkeyed or is_repeated:
        return
    declared, counts = results.samples(task), facts.totals.metric_counts
    effective, original = declared.get("effective"), declared.get("original")
    if _is_count(effective) and effective not in facts.sample_counts:
        message = f"the rows have {count_noun(totals.samples, 'sample')}"
        path = "n-samples", task, "effective"
        found = _miscounted(path, effective, totals.samples, message)
        yield found._replace(severity=Severity.WARNING) if facts.may_be_chosen else found
    length = results.entry(task).get("sample_len")
    if _is_count(length) and length not in (counts or {0, totals.samples}):
        fullest = max(counts, default=facts.totals.samples)
        message = f"the fullest metric is in {count_noun(fullest, 'row')}"
        yield _miscounted(("results", task, "sample_len"), length, fullest, message)
    if not (_is_count(effective) and _is_count(original)):
        return
    if original < effective:
        yield _too_few(task, original, effective)
    elif effective in facts.sample_counts:
        if totals.samples < original and results.count_limited(task) is None:
            yield LME207.violation(
                f"the rows have {totals.samples:,} of {count_noun(original, 'sample')}: no limit "
                "picks them, and results do not record what --samples chose",
                ("n-samples", task, "original"),
                found=original,
                severity=Severity.INFO,
            )
        is_all = facts.totals.samples == original
        yield from _beyond(facts, task, original, is_all=is_all)


def check_unsampled_counts(results: Results, tasks: Iterable[str]) -> Iterator[Violation]:
    """Report numbers of samples of tasks without samples that differ from each other."""
    for task in tasks:
        declared, length = results.samples(task), results.entry(task).get("sample_len")
        effective, original = declared.get("effective"), declared.get("original")
        path = ("n-samples", task, "effective")
        if _is_count(effective) and _is_count(length) and effective != length:
            yield _miscounted(path, effective, length, f"sample_len is {length:,}")
        elif _is_count(effective) and effective < 0:
            yield LME207.violation("effective is negative", path, found=effective)
        elif _is_count(effective) and _is_count(original) and original < effective:
            yield _too_few(task, original, effective)


def _too_few(task: str, original: int, effective: int) -> Violation:
    return LME207.violation(
        f"original is {original:,}, fewer than the {effective:,} that were evaluated",
        ("n-samples", task, "original"),
        expected={"minimum": effective},
        found=original,
    )


def _beyond(facts: TaskFacts, task: str, original: int, *, is_all: bool) -> Iterator[Violation]:
    """Report doc_ids beyond the dataset, and gaps where all of the dataset was evaluated."""
    for name, rows in facts.totals.filters.items():
        if rows.ids.count < facts.totals.samples:
            continue  # it lacks samples that another filter has
        of = f" of filter {name!r}" if name else ""
        if rows.ids.highest >= original:
            yield LME207.violation(
                f"doc_id {rows.ids.highest}{of} is beyond the {count_noun(original, 'sample')} "
                "of the dataset",
                ("n-samples", task, "original"),
                found=original,
            )
        elif is_all and (gap := rows.ids.first_gap()) < original:
            yield LME207.violation(
                f"all samples were evaluated, and the rows{of} lack doc_id {gap}",
                ("n-samples", task, "effective"),
                found=original,
            )


def _is_count(value: Any) -> TypeGuard[int]:
    return value.__class__ is int


def _miscounted(path: tuple[str, ...], declared: int, found: int, message: str) -> Violation:
    message = f"{path[-1]} is {declared:,}, and {message}"
    return LME207.violation(message, path, expected=found, found=declared)


@with_results
def _filters(_facts: TaskFacts, task: str, results: Results) -> Iterator[Violation]:
    """Report filters that the configuration has twice."""
    names = results.filters(task)
    for place, name in enumerate(names):
        if names.index(name) != place:
            yield LME105.violation(
                f"two filters of {task} are called {name!r}; rows show one of them",
                ("configs", task, "filter_list", place, "name"),
                found=name,
            )


def _unknown_task(facts: TaskFacts) -> Iterator[Violation]:
    if facts.results is None or not facts.is_whole:
        return
    if facts.task is None:
        yield LME208.violation("the results do not say which task these samples are of")
    elif facts.task not in set(facts.results.tasks):
        yield LME208.violation(f"the results have no task {facts.task!r}")


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
    repeats = results.config(task).get("repeats")
    if facts.totals.padded == facts.totals.rows and listed is not None and repeats is not None:
        message = f"all rows of {task} have more answers than its repeats"
        yield contradiction(message, ("configs", task, "repeats"), None, repeats)


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


LME104: Final = declare_rule("LME104", record=_rerun)
LME105: Final = declare_rule("LME105", record=_filters)
LME204: Final = declare_rule("LME204", record=_task_hash)
LME205: Final = declare_rule("LME205", record=_check_repeated)
LME206: Final = declare_rule("LME206", record=_uneven)
LME207: Final = declare_rule("LME207", record=_sample_count)
LME208: Final = declare_rule("LME208", record=_unknown_task)

ABOUT_ROWS: Final = (LME104, LME205, LME206)
"""Rules whose findings are about the samples file, unless they have a pointer into the results."""

ABOUT_RESULTS: Final = (LME105, LME204, LME207, LME208)
"""Rules whose findings are about the results."""

RULES: Final = (LME104, LME105, LME204, LME205, LME206, LME207, LME208)

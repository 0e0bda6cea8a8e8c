"""Rules over the results of a call: their structure, and the figures that rows can confirm."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from evalstream.formats.lm_eval.group_figures import wrong_group_figures
from evalstream.formats.lm_eval.non_finite import shown
from evalstream.formats.lm_eval.recompute import NO_NUMBERS, Outcome, Recomputed
from evalstream.formats.lm_eval.row import DIGEST_SCHEMA, digest_of
from evalstream.formats.lm_eval.task_facts import TaskFacts
from evalstream.formats.lm_eval.views import NO_STDERR, Results
from evalstream.model.finding import Severity, Violation
from evalstream.model.text import counted
from evalstream.parsing import json
from evalstream.parsing.json import pointer, type_name
from evalstream.rules.base import Rule

_OBJECTS: Final = (
    "results",
    "configs",
    "versions",
    "n-shot",
    "n-samples",
    "config",
    "task_hashes",
    "groups",
    "group_subtasks",
    "higher_is_better",
)
"""Members of the results that are objects where they are present."""


class Siblings(NamedTuple):
    """The results, and the tasks whose samples files are beside them; None where that is unknown."""

    results: Results
    tasks: frozenset[str] | None


def _structure(document: Mapping[str, Any]) -> Iterator[Violation]:
    if "results" not in document:
        yield LME106.violation(
            "the results need the member 'results'", pointer="", keyword="required"
        )
    for name in _OBJECTS:
        if name in document and not isinstance(document[name], dict):
            yield _not_an_object((name,), document[name])
    for name in ("results", "configs", "n-samples"):
        for task, value in _members(document, name):
            if not isinstance(value, dict):
                yield _not_an_object((name, task), value)
    for task, value in _members(document, "task_hashes"):
        if digest_of(value) is None:
            yield _malformed(("task_hashes", task), value, DIGEST_SCHEMA, "a SHA-256")
    yield from _counts(document)
    yield from _figures(document)


def _counts(document: Mapping[str, Any]) -> Iterator[Violation]:
    """Report numbers of samples that are not integers."""
    for task, counts in _members(document, "n-samples"):
        for name in ("original", "effective"):
            if isinstance(counts, dict) and counts.get(name).__class__ is not int:
                path = "n-samples", task, name
                yield _malformed(path, counts.get(name), {"type": "integer"}, "an integer")
    for task, entry in _members(document, "results"):
        has_length = isinstance(entry, dict) and "sample_len" in entry
        length = json.member(entry, "sample_len")
        if has_length and length.__class__ is not int:
            path = "results", task, "sample_len"
            yield _malformed(path, length, {"type": "integer"}, "an integer")


def _members(document: Mapping[str, Any], name: str) -> Iterator[tuple[str, Any]]:
    held = document.get(name)
    return iter(held.items() if isinstance(held, dict) else ())


def _malformed(path: tuple[str, ...], value: Any, expected: Any, noun: str) -> Violation:
    return LME106.violation(
        f"{path[-1]} must be {noun}", pointer=pointer(path), expected=expected, found=shown(value)
    )


def _not_an_object(path: tuple[str, ...], value: Any) -> Violation:
    return LME106.violation(
        f"{path[-1]} must be an object, not {type_name(value)}",
        pointer=pointer(path),
        keyword="type",
        expected={"type": "object"},
        found=value,
    )


def _figures(document: Mapping[str, Any]) -> Iterator[Violation]:
    """Report figures that are no numbers; N/A stands for an error that was not computed."""
    results = Results(document)
    for task in results.tasks:
        for claim in results.claims(task):
            value = claim.value
            is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
            is_absent = claim.is_stderr and value in (NO_STDERR, None)
            if not (
                is_number or is_absent or isinstance(value, (dict, list, str)) or value is None
            ):
                yield LME106.violation(
                    f"a figure must be a number, not {type_name(value)}",
                    pointer=claim.pointer,
                    keyword="type",
                    expected={"type": "number"},
                    found=value,
                )


def _missing_samples(seen: Siblings) -> Iterator[Violation]:
    if seen.tasks is None:
        return
    for task in seen.results.logged:
        if task not in seen.tasks:
            yield LME209.violation(
                f"no samples file of {task} with the time of the results lies beside them",
                pointer=pointer(("task_hashes", task)),
            )


def _metrics(one: Recomputed) -> Iterator[Violation]:
    if one.outcome is Outcome.WRONG and not one.claim.is_stderr:
        yield _wrong(LME301, one, "the mean")


def _errors(one: Recomputed) -> Iterator[Violation]:
    if one.outcome is Outcome.WRONG and one.claim.is_stderr:
        yield _wrong(LME302, one, "the standard error of the mean")


def _wrong(rule: Rule, one: Recomputed, what: str) -> Violation:
    claim = one.claim
    if one.reason:
        message = f"{claim.key} of {claim.task} is claimed, and {one.reason}"
    elif one.value == NO_STDERR:
        message = f"{claim.key} of {claim.task} is claimed, and the harness does not compute it"
    else:
        message = f"{claim.key} of {claim.task} is not {what} of the rows"
    return rule.violation(
        message, pointer=claim.pointer, expected=one.value, found=shown(claim.value)
    )


def _open(claims: list[Recomputed]) -> Iterator[Violation]:
    """Count the claims that were not recomputed, by reason."""
    reasons = Counter(one.reason for one in claims if one.outcome is Outcome.OPEN)
    for reason, times in sorted(reasons.items()):
        first = next(one for one in claims if one.reason == reason)
        yield LME303.violation(
            f"{counted(times, 'claim')} of {first.claim.task} not recomputed: {reason}",
            pointer=first.claim.pointer,
            found=shown(first.claim.value),
            severity=Severity.WARNING if reason == NO_NUMBERS else None,
        )


def _unclaimed(facts: TaskFacts) -> Iterator[Violation]:
    """Report metrics of the rows that the results have no figure of."""
    if facts.known is None or facts.is_unfiltered:
        return
    task, results = facts.known
    claimed = {(claim.metric, claim.filter) for claim in facts.claims() if not claim.is_stderr}
    for name, rows in facts.totals.filters.items() if results.entry(task) else ():
        for metric in rows.metrics:
            if (metric, name) not in claimed:
                yield LME305.violation(
                    f"rows have {metric!r} under filter {name!r}, and {task} has no such figure",
                    pointer=pointer(("results", task)),
                )


def _groups(results: Results) -> Iterator[Violation]:
    for one in wrong_group_figures(results):
        yield LME304.violation(
            one.message,
            pointer=pointer(one.path),
            expected=one.expected,
            found=one.found,
            severity=None if one.is_sure else Severity.WARNING,
        )


LME106: Final = Rule(
    "LME106",
    "malformed-results",
    Severity.ERROR,
    "a member of the results is missing or has another type than the harness writes",
    """
    What it finds: results without `results`, members that are not the objects that the harness
    writes, figures that are true or false, hashes of tasks that are not a SHA-256, and numbers of
    samples that are not integers.

    Why it matters: such a document cannot be compared with samples.

    How to fix: Restore the file from its source.

    Bad:
        results:
          {"versions": []}

    Good:
        results:
          {"versions": {}}
    """,
    record=_structure,
)

LME209: Final = Rule(
    "LME209",
    "missing-samples",
    Severity.ERROR,
    "the results declare the samples of a task, and no samples file of it lies beside them",
    """
    What it finds: a task in task_hashes without a file samples_TASK_TIME.jsonl in the folder of the
    results, TIME being that of the results.

    Why it matters: the figures of this task cannot be recomputed.

    How to fix: Put the samples file beside the results.

    Bad:
        results:
          {"task_hashes": {
            "lost": "0000000000000000000000000000000000000000000000000000000000000000"}}

    Good:
        results:
          {"task_hashes": {
            "word_sums": "84d6a19cf9eebd32931324c371897598bdbe297a274422d231574f02c6042207"}}
    """,
    record=_missing_samples,
)

LME301: Final = Rule(
    "LME301",
    "metric-not-reproduced",
    Severity.ERROR,
    "a metric of a task is not the mean over its rows",
    """
    What it finds: a figure such as `acc,none` that is not the mean of the values in the rows with
    this filter, for metrics that the task adds up as means; a figure of a metric that no row has;
    and such a figure over values that have no mean.

    Why it matters: the figure or the scores of the rows were changed after the evaluation.

    How to fix: Restore both files from their source.

    Bad:
        results:
          {"results": {"word_sums": {"exact_match,none": 0.9}}}

    Good:
        results:
          {"results": {"word_sums": {"exact_match,none": 0.75}}}
    """,
    record=_metrics,
)

LME302: Final = Rule(
    "LME302",
    "stderr-not-reproduced",
    Severity.ERROR,
    "a standard error of a task is not that of its rows",
    """
    What it finds: a figure such as `acc_stderr,none` that is not the sample standard deviation of
    the values divided by the root of their number, for metrics that are means. The harness writes
    N/A for a single row and where bootstrap_iters is 0.

    Why it matters: differences look more certain, or less, than the rows say.

    How to fix: Restore both files from their source.

    Bad:
        results:
          {"results": {"word_sums": {"exact_match_stderr,none": 0.01}}}

    Good:
        results:
          {"results": {"word_sums": {"exact_match_stderr,none": 0.25}}}
    """,
    record=_errors,
)

LME303: Final = Rule(
    "LME303",
    "figure-not-recomputed",
    Severity.INFO,
    "a figure that the rows neither confirm nor refute",
    """
    What it finds: figures that are not means, such as f1, perplexity or a median, and figures over
    values that are not finite numbers. It is a warning where the figure is a mean and rows have
    numbers as texts for it, as the harness writes some types of numpy.

    Why it matters: evalstream did not recompute them, and does not count them as confirmed.

    How to fix: Nothing is wrong. Score the samples again with the harness to confirm such figures.

    Bad:
        results:
          {"configs": {"word_sums": {"metric_list": [
            {"metric": "exact_match", "aggregation": "median"}]}}}

    Good:
        results:
          {"configs": {"word_sums": {"metric_list": [
            {"metric": "exact_match", "aggregation": "mean"}]}}}
    """,
    record=_open,
)

LME304: Final = Rule(
    "LME304",
    "group-not-reproduced",
    Severity.ERROR,
    "a figure of a group does not follow from its tasks, or differs between results and groups",
    """
    What it finds: a figure of a group that is neither the mean of its tasks weighted by their
    samples nor their plain mean, or whose error follows from neither; and a figure in `groups` that
    is not the one in `results`. It is a warning where the results have no sample_len, so that the
    weights are not certain.

    Why it matters: the figure of the group was changed after the evaluation.

    How to fix: Restore the file from its source.

    Bad:
        results:
          {"results": {"arithmetic": {"exact_match,none": 0.9}}}

    Good:
        results:
          {"results": {"arithmetic": {"exact_match,none": 0.75}}}
    """,
    record=_groups,
)

LME305: Final = Rule(
    "LME305",
    "unclaimed-metric",
    Severity.WARNING,
    "the results have no figure of a metric that the rows have",
    """
    What it finds: a metric of rows under a filter that the results of the task do not report.

    Why it matters: the harness reports each metric of the rows. The figure was removed after the
    evaluation, or the results are of another one.

    How to fix: Restore the results from their source.

    Bad:
        row 2:
          {"metrics": ["exact_match", "brevity"], "brevity": 0.5}

    Good:
        row 2:
          {"metrics": ["exact_match"]}
    """,
    record=_unclaimed,
)

RULES: Final = (LME106, LME209, LME301, LME302, LME303, LME304, LME305)

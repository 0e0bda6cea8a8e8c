"""Rules over the results of a call: their structure, and the figures that rows can confirm."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from evalstream.formats.lm_eval.row import DIGEST_SCHEMA, parse_digest
from evalstream.formats.lm_eval.rules.configurations import find_misfits
from evalstream.formats.lm_eval.task_facts import TaskFacts
from evalstream.formats.lm_eval.views import NO_STDERR, Results, show_value
from evalstream.model.finding import Severity, Violation
from evalstream.parsing import json
from evalstream.parsing.json import pointer, type_name
from evalstream.rules.claims import find_open, find_refuted
from evalstream.rules.declaration import declare_rule
from evalstream.stats.claims import kinds
from evalstream.stats.claims.judge import Judgement

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
        yield LME106.violation("the results need the member 'results'", "", keyword="required")
    for name in _OBJECTS:
        if name in document and not isinstance(document[name], dict):
            yield _not_an_object((name,), document[name])
    for name in ("results", "configs", "n-samples"):
        for task, value in _members(document, name):
            if not isinstance(value, dict):
                yield _not_an_object((name, task), value)
    for task, value in _members(document, "task_hashes"):
        if parse_digest(value) is None:
            yield _report_malformed(("task_hashes", task), value, DIGEST_SCHEMA, "a SHA-256")
    yield from _counts(document)
    yield from _figures(document)
    for one in find_misfits(document):
        yield LME106.violation(
            one.message,
            pointer(one.path),
            expected=one.expected,
            found=one.found,
            severity=None if one.is_certain else Severity.WARNING,
        )


def _counts(document: Mapping[str, Any]) -> Iterator[Violation]:
    """Report numbers of samples that are not integers."""
    for task, counts in _members(document, "n-samples"):
        for name in ("original", "effective"):
            if isinstance(counts, dict) and counts.get(name).__class__ is not int:
                path = "n-samples", task, name
                yield _report_malformed(path, counts.get(name), {"type": "integer"}, "an integer")
    for task, entry in _members(document, "results"):
        has_length = isinstance(entry, dict) and "sample_len" in entry
        length = json.member(entry, "sample_len")
        if has_length and length.__class__ is not int:
            path = "results", task, "sample_len"
            yield _report_malformed(path, length, {"type": "integer"}, "an integer")


def _members(document: Mapping[str, Any], name: str) -> Iterator[tuple[str, Any]]:
    held = document.get(name)
    return iter(held.items() if isinstance(held, dict) else ())


def _report_malformed(path: tuple[str, ...], value: Any, expected: Any, noun: str) -> Violation:
    return LME106.violation(
        f"{path[-1]} must be {noun}", pointer(path), expected=expected, found=show_value(value)
    )


def _not_an_object(path: tuple[str, ...], value: Any) -> Violation:
    return LME106.violation(
        f"{path[-1]} must be an object, not {type_name(value)}",
        pointer(path),
        keyword="type",
        expected={"type": "object"},
        found=value,
    )


def _figures(document: Mapping[str, Any]) -> Iterator[Violation]:
    """Report figures that are no numbers; N/A stands for an error that was not computed."""
    results = Results(document)
    for task in results.tasks:
        for claim in results.figures(task):
            value = claim.value
            is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
            is_absent = claim.is_stderr and value in (NO_STDERR, None)
            if not (
                is_number or is_absent or isinstance(value, (dict, list, str)) or value is None
            ):
                yield LME106.violation(
                    f"a figure must be a number, not {type_name(value)}",
                    claim.pointer,
                    keyword="type",
                    expected={"type": "number"},
                    found=value,
                )


def _missing_samples(seen: Siblings) -> Iterator[Violation]:
    if seen.tasks is None:
        return
    for task in seen.results.logged_tasks:
        if task not in seen.tasks:
            yield LME209.violation(
                f"no samples file of {task} with the time of the results lies beside them",
                pointer(("task_hashes", task)),
            )


def _metrics(judgements: Iterable[Judgement]) -> Iterator[Violation]:
    return find_refuted(LME301, judgements, lambda claim: claim.is_score)


def _errors(judgements: Iterable[Judgement]) -> Iterator[Violation]:
    return find_refuted(LME302, judgements, lambda claim: claim.kind == kinds.ERROR.name)


def _groups(judgements: Iterable[Judgement]) -> Iterator[Violation]:
    return find_refuted(LME304, judgements)


def _open(judgements: Iterable[Judgement]) -> Iterator[Violation]:
    return find_open(LME303, (claim for claim, _ in judgements))


def _check_unclaimed(facts: TaskFacts) -> Iterator[Violation]:
    """Report metrics of the rows that the results have no figure of."""
    if facts.task_results is None or facts.is_unfiltered:
        return
    task, results = facts.task_results
    claimed = {(claim.metric, claim.filter) for claim in facts.figures() if not claim.is_stderr}
    for name, rows in facts.totals.filters.items() if results.entry(task) else ():
        for metric in rows.metrics:
            if (metric, name) not in claimed:
                yield LME305.violation(
                    f"rows have {metric!r} under filter {name!r}, and {task} has no such figure",
                    pointer(("results", task)),
                )


LME106: Final = declare_rule("LME106", record=_structure)
LME209: Final = declare_rule("LME209", record=_missing_samples)
LME301: Final = declare_rule("LME301", record=_metrics)
LME302: Final = declare_rule("LME302", record=_errors)
LME303: Final = declare_rule("LME303", record=_open)
LME304: Final = declare_rule("LME304", record=_groups)
LME305: Final = declare_rule("LME305", record=_check_unclaimed)

ABOUT_CLAIMS: Final = (LME301, LME302, LME303)
"""Rules over the judged claims of a task."""

RULES: Final = (LME106, LME209, LME301, LME302, LME303, LME304, LME305)

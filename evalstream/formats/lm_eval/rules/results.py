"""Rules over the results of a call: their structure, and the figures that rows can confirm."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from evalstream.formats.lm_eval.row import DIGEST_SCHEMA, parse_digest
from evalstream.formats.lm_eval.rules.configurations import find_misfits, iterate_places
from evalstream.formats.lm_eval.task_facts import TaskFacts, with_results
from evalstream.formats.lm_eval.views import NO_STDERR, Results, show_value
from evalstream.model.finding import Severity, Violation
from evalstream.parsing.json import pointer, type_name
from evalstream.rules.base import declare_rule
from evalstream.rules.claims import find_open, find_refuted
from evalstream.stats.claims import kinds
from evalstream.stats.claims.judgement import Judgement

_OBJECTS: Final = (
    *("results", "configs", "versions", "n-shot", "n-samples", "config", "task_hashes"),
    *("groups", "group_subtasks", "higher_is_better", "results/*", "configs/*", "n-samples/*"),
)
"""Places of members that are objects where they are present."""


_MEMBERS: Final = ("configs", "versions", "n-shot", "higher_is_better", "n-samples")
"""Members that all releases write which write their own version, too."""


class Siblings(NamedTuple):
    """The results, and the tasks whose samples files are beside them; None where that is unknown."""

    results: Results
    tasks: frozenset[str] | None


def _structure(document: Mapping[str, Any]) -> Iterator[Violation]:
    if "results" not in document:
        yield LME106.violation("the results need the member 'results'", "", keyword="required")
    for place in _OBJECTS:
        for path, value in iterate_places(document, place):
            if not isinstance(value, dict) and path[0] in document:
                yield _wrong_type(path, value, f"{path[-1]} must be an object", "object")
    for place, noun, expected, is_right in _FORMS:
        for path, value in iterate_places(document, place):
            if not is_right(value):
                message, found = f"{path[-1]} must be {noun}", show_value(value)
                yield LME106.violation(message, pointer(path), expected=expected, found=found)
    yield from _missing_members(document)
    yield from _figures(document)
    for one in find_misfits(document):
        severity = None if one.is_certain else Severity.WARNING
        values = {"expected": one.expected, "found": one.found}
        yield LME106.violation(one.message, pointer(one.path), severity=severity, **values)


def _missing_members(document: Mapping[str, Any]) -> Iterator[Violation]:
    for name in _MEMBERS if isinstance(document.get("lm_eval_version"), str) else ():
        if name not in document:
            message = f"results of this release have the member {name!r}"
            yield LME106.violation(message, "", keyword="required", severity=Severity.WARNING)


def _is_integer(value: Any) -> bool:
    return value.__class__ is int


_INTEGER: Final = "an integer", {"type": "integer"}, _is_integer

_FORMS: Final = (
    ("task_hashes/*", "a SHA-256", DIGEST_SCHEMA, parse_digest),
    ("n-samples/*/original", *_INTEGER),
    ("n-samples/*/effective", *_INTEGER),
)
"""The forms of members that an object must have: places, in words, as a schema, and their tests."""


def _wrong_type(path: tuple[str | int, ...], value: Any, message: str, kind: str) -> Violation:
    return LME106.violation(
        f"{message}, not {type_name(value)}",
        pointer(path),
        keyword="type",
        expected={"type": kind},
        found=value,
    )


def _figures(document: Mapping[str, Any]) -> Iterator[Violation]:
    """Report figures that are no numbers; N/A stands for an error that was not computed."""
    results = Results(document)
    for task in results.tasks:
        entry = results.entry(task)
        length = entry.get("sample_len")
        if "sample_len" in entry and length.__class__ is not int:
            noun, expected, _ = _INTEGER
            place = pointer(("results", task, "sample_len"))
            values = {"expected": expected, "found": show_value(length)}
            yield LME106.violation(f"sample_len must be {noun}", place, **values)
        for claim in results.figures(task):
            value = claim.value
            if isinstance(value, bool):
                path = "results", task, claim.key
                yield _wrong_type(path, value, "a figure must be a number", "number")


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


@with_results
def _check_unclaimed(facts: TaskFacts, task: str, results: Results) -> Iterator[Violation]:
    """Report metrics of the rows that the results have no figure of."""
    if facts.is_unfiltered:
        return
    figures = list(facts.figures())
    claimed = {(claim.metric, claim.filter) for claim in figures if not claim.is_stderr}
    errors = {(claim.metric, claim.filter) for claim in figures if claim.is_stderr}
    # Early releases, which did not write their version, left out errors that they did not compute.
    for one in figures if isinstance(results.document.get("lm_eval_version"), str) else ():
        if not one.is_stderr and (one.metric, one.filter) not in errors:
            message = f"{one.label} has no standard error, not even {NO_STDERR}"
            yield LME305.violation(message, one.pointer)
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

"""Rules over the results of a call: their structure, and the figures that rows can confirm."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, Final, NamedTuple

from evalstream.formats.lm_eval.row import DIGEST_SCHEMA, parse_digest
from evalstream.formats.lm_eval.scoring_plan import CHOICE, GENERATE, LIKELIHOOD, ROLLING
from evalstream.formats.lm_eval.views import NO_STDERR, Results, TaskFacts, show_value, with_results
from evalstream.model.finding import Severity, Violation
from evalstream.parsing.json import pointer, type_name
from evalstream.parsing.json_values import object_or_empty
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


_TYPES: Final[Mapping[str, tuple[str, tuple[type, ...]]]] = {
    "string": ("a text", (str,)),
    "integer": ("an integer", (int,)),
    "number": ("a number", (int, float)),
    "boolean": ("true or false", (bool,)),
    "array": ("a list", (list,)),
    "object": ("an object", (dict,)),
}

_OUTPUTS: Final = (CHOICE, LIKELIHOOD, ROLLING, GENERATE)
_OLD_OUTPUTS: Final = frozenset({"greedy_until", "winograd_schema"})

Path = tuple[str | int, ...]


class Misfit(NamedTuple):
    """A member of another type: its path, the type in words and as a schema, and its value."""

    path: Path
    message: str
    expected: Any
    found: Any
    is_certain: bool = True


def find_misfits(document: Mapping[str, Any]) -> Iterator[Misfit]:
    """Yield the members of the call and of configurations that checks could not read.

    A check is left out where such a member has another type.
    """
    for place, find in _CHECKS:
        for path, found in iterate_places(document, place):
            yield from find(path, found)
    for task in object_or_empty(document.get("configs")):
        shots = object_or_empty(document.get("n-shot")).get(task)
        yield from _misfit(("n-shot", task), shots, types="integer")


def iterate_places(value: Any, place: str, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield the paths and the values at a place; a member that an object lacks is None."""
    name, _, rest = place.partition("/")
    held: Iterator[tuple[Any, Any]] = iter(())
    if name == "#":
        held = enumerate(value) if isinstance(value, list) else held
    elif isinstance(value, dict):
        held = iter(value.items() if name == "*" else ((name, value.get(name)),))
    for key, one in held:
        inner = *path, key
        yield from iterate_places(one, rest, inner) if rest else ((inner, one),)


def _misfit(path: Path, found: Any, types: str) -> Iterator[Misfit]:
    """Report a member of none of the types; null is absent."""
    names = types.split()
    if found is not None and all(found.__class__ not in _TYPES[name][1] for name in names):
        nouns = " or ".join(_TYPES[name][0] for name in names)
        message = f"{path[-1]} must be {nouns}, not {type_name(found)}"
        yield Misfit(path, message, {"type": names[0] if len(names) == 1 else names}, found)


def _entry(path: Path, found: Any) -> Iterator[Misfit]:
    if not isinstance(found, dict):
        message = f"an entry of {path[-2]} must be an object, not {type_name(found)}"
        yield Misfit(path, message, {"type": "object"}, found)


def _required(path: Path, found: Any, kind: str, noun: str) -> Iterator[Misfit]:
    if not isinstance(found, _TYPES[kind][1]):
        yield Misfit(path, f"{path[-1]} must be {noun}", {"type": kind}, found)


def _output(path: Path, found: Any) -> Iterator[Misfit]:
    if isinstance(found, str) and found not in (*_OUTPUTS, *_OLD_OUTPUTS):
        message = "output_type is none of the harness's kinds of requests"
        yield Misfit(path, message, {"enum": list(_OUTPUTS)}, found)


def _pattern(path: Path, found: Any) -> Iterator[Misfit]:
    """Report a regular expression that is none; releases of Python differ in the valid ones."""
    yield from _misfit(path, found, types="string")
    if isinstance(found, str):
        try:
            re.compile(found)
        except (re.error, OverflowError, RecursionError) as error:
            message = f"the pattern cannot be read, so that nothing is compared with it: {error}"
            yield Misfit(path, message, None, found, is_certain=False)


_TASK: Final = "configs/*"
_METRIC: Final = f"{_TASK}/metric_list/#"
_FILTER: Final = f"{_TASK}/filter_list/#"
_STEP: Final = f"{_FILTER}/filter/#"

_OPTIONAL: Final[Mapping[str, str]] = {
    "string": (
        "model_name model_name_sanitized model_source chat_template system_instruction "
        "config/model config/model_revision results/*/name results/*/alias "
        f"{_TASK}/task {_TASK}/task_alias {_TASK}/output_type {_TASK}/target_delimiter "
        f"{_TASK}/fewshot_delimiter {_METRIC}/aggregation"
    ),
    "string object": "config/model_args config/gen_kwargs",
    "number": "config/limit",
    "integer": f"config/bootstrap_iters {_TASK}/num_fewshot {_TASK}/repeats",
    "array": f"{_TASK}/metric_list {_TASK}/filter_list {_METRIC}/regexes_to_ignore",
    "object": f"{_TASK}/generation_kwargs",
    "boolean": f"{_METRIC}/higher_is_better higher_is_better/*/*",
}
"""Places by their types; `*` is each member of an object, `#` each element of a list."""

_CHECKS: Final[tuple[tuple[str, Callable[[Path, Any], Iterator[Misfit]]], ...]] = (
    *(
        (at, partial(_misfit, types=one))
        for one, all_of in _OPTIONAL.items()
        for at in all_of.split()
    ),
    (f"{_TASK}/output_type", _output),
    *((place, _entry) for place in (_METRIC, _FILTER, _STEP)),
    (f"{_FILTER}/filter", partial(_required, kind="array", noun="a list of steps")),
    *(
        (place, partial(_required, kind="string", noun="a text"))
        for place in (f"{_METRIC}/metric", f"{_FILTER}/name", f"{_STEP}/function")
    ),
    *((place, _pattern) for place in (f"{_METRIC}/regexes_to_ignore/#", f"{_STEP}/regex_pattern")),
)

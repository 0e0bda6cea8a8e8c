"""Rules over the results of a call: their structure, and the figures that rows can confirm."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

from evalstream.formats.lm_eval.response_filters import is_known_step, pattern_costs
from evalstream.formats.lm_eval.row import DIGEST_SCHEMA, parse_digest
from evalstream.formats.lm_eval.scoring_plan import CHOICE, GENERATE, LIKELIHOOD, ROLLING
from evalstream.formats.lm_eval.views import NO_FILTER, NO_STDERR, Results, TaskFacts, with_results
from evalstream.formats.lm_eval.written_values import show_value
from evalstream.model.finding import Severity, Violation
from evalstream.parsing.json import type_name
from evalstream.parsing.json_values import object_or_empty
from evalstream.rules.base import declare_rule
from evalstream.rules.claims import find_open, find_refuted
from evalstream.stats.claims import kinds
from evalstream.stats.claims.judgement import Judgement

Path = tuple[str | int, ...]

_OBJECTS: Final = (
    *("results", "configs", "versions", "n-shot", "n-samples", "config", "task_hashes"),
    *("groups", "group_subtasks", "higher_is_better", "results/*", "configs/*", "n-samples/*"),
)
"""Places of members that are objects where they are present."""


_MEMBERS: Final = ("configs", "versions", "n-shot", "higher_is_better", "n-samples")
"""Members that all releases write which write their own version, too."""


def check_structure(document: Mapping[str, Any]) -> Iterator[Violation]:
    """Yield the members of results that are missing or malformed.

    A check of rows is left out where a member that it reads has another type.
    """
    if "results" not in document:
        yield LME106.violation("the results need the member 'results'", "", keyword="required")
    for place in _OBJECTS:
        for path, value in _iterate_places(document, place):
            if not isinstance(value, dict) and path[0] in document:
                yield _wrong_type(path, value, f"{path[-1]} must be an object", "object")
    for place, find in _CHECKS:
        for path, value in _iterate_places(document, place):
            yield from find(path, value)
    # From 0.4.0 on all have n-shot and configs.
    early = ("configs",) if "n-shot" in document else ()
    for name in _MEMBERS if isinstance(document.get("lm_eval_version"), str) else early:
        if name not in document:
            message = f"results of this release have the member {name!r}"
            yield LME106.violation(message, "", keyword="required", severity=Severity.WARNING)
    yield from _configurations(document)
    yield from _figures(Results(document))


def _configurations(document: Mapping[str, Any]) -> Iterator[Violation]:
    """Report tasks with samples that have no configuration, or no number of samples."""
    configs, counts = (object_or_empty(document.get(name)) for name in ("configs", "n-samples"))
    for task in counts if "configs" in document else ():
        if task not in configs:
            yield _malformed(("configs", task), f"configs has no task {task!r}", None, None)
    for task in object_or_empty(document.get("task_hashes")) if "n-samples" in document else ():
        if task not in counts:
            message = f"n-samples has no task {task!r}"
            yield _malformed(("n-samples", task), message, None, None, Severity.WARNING)
    for task, config in configs.items():
        names = object_or_empty(config)
        is_asked = names.get("doc_to_text") is not None
        if is_asked and names.get("doc_to_target") is None and not names.get("use_prompt"):
            message = f"the configuration of {task} lacks 'doc_to_target'"
            yield _malformed(("configs", task), message, None, None, Severity.WARNING)


def _figures(results: Results) -> Iterator[Violation]:
    """Report numbers that are none; N/A stands for an error that was not computed."""
    for task in object_or_empty(results.document.get("configs")):
        shots = object_or_empty(results.document.get("n-shot")).get(task)
        yield from _optional(("n-shot", task), shots, types="integer")
    for task in results.tasks:
        entry = results.entry(task)
        if "sample_len" in entry:
            place = "results", task, "sample_len"
            yield from _required(place, entry["sample_len"], "integer", "an integer")
        for claim in results.figures(task):
            if isinstance(claim.value, bool):
                path = "results", task, claim.key
                yield _wrong_type(path, claim.value, "a figure must be a number", "number")


def _wrong_type(path: Path, value: Any, message: str, kind: str) -> Violation:
    message = f"{message}, not {type_name(value)}"
    return _malformed(path, message, {"type": kind}, value)._replace(keyword="type")


def _malformed(
    path: Path, message: str, expected: Any, found: Any, severity: Severity | None = None
) -> Violation:
    shown = show_value(found)
    return LME106.violation(message, path, expected=expected, found=shown, severity=severity)


def check_missing_samples(
    results: Results, tasks: frozenset[str] | None, *, are_alone: bool
) -> Iterator[Violation]:
    """Yield tasks whose samples files are not beside the results; `tasks` have theirs there.

    Results that `are_alone` were published so: they say nothing that samples could refute.
    """
    severity = Severity.WARNING if are_alone else Severity.ERROR
    for task in results.logged_tasks if tasks is not None else ():
        if tasks is not None and task not in tasks:
            message = f"no samples file of {task} with the time of the results lies beside them"
            yield LME209.violation(message, ("task_hashes", task), severity=severity)


def check_task_claims(judgements: Sequence[Judgement]) -> Iterator[Violation]:
    """Yield the refuted and the open claims of a task; counts are reported by other rules."""
    yield from _find_refuted_of_task(judgements)
    yield from find_open(LME303, (claim for claim, _ in judgements))


def check_unsampled(
    of_groups: Sequence[Judgement], of_tasks: Sequence[Judgement]
) -> Iterator[Violation]:
    """Yield the refuted and the open claims of groups, and of tasks without samples."""
    yield from find_refuted(LME304, of_groups)
    yield from _find_refuted_of_task(of_tasks)
    yield from find_open(LME303, (claim for claim, _ in (*of_groups, *of_tasks)))


def _find_refuted_of_task(judgements: Sequence[Judgement]) -> Iterator[Violation]:
    yield from find_refuted(LME301, judgements, lambda claim: claim.is_score)
    yield from find_refuted(LME302, judgements, lambda claim: claim.kind == kinds.ERROR.name)


@with_results
def check_unclaimed(facts: TaskFacts, task: str, results: Results) -> Iterator[Violation]:
    """Report metrics of the rows that the results have no figure of."""
    figures = list(facts.figures())
    claimed = {(claim.metric, claim.filter) for claim in figures if not claim.is_stderr}
    errors = {(claim.metric, claim.filter) for claim in figures if claim.is_stderr}
    # Early releases, which did not write their version, left out errors that they did not compute.
    for one in figures if isinstance(results.document.get("lm_eval_version"), str) else ():
        if not one.is_stderr and (one.metric, one.filter) not in errors:
            message = f"{one.label} has no standard error, not even {NO_STDERR}"
            yield LME305.violation(message, one.pointer)
    if facts.is_unfiltered and not facts.parts:
        claimed = {(metric, NO_FILTER) for metric, _ in claimed}
    for name, rows in (facts.parts or facts.totals.filters).items() if results.entry(task) else ():
        of = f" under filter {name!r}" if name else ""
        for metric in rows.metrics:
            if (metric, name) not in claimed:
                message = f"rows have {metric!r}{of}, and {task} has no such figure"
                yield LME305.violation(message, ("results", task))


LME106: Final = declare_rule("LME106")
LME209: Final = declare_rule("LME209")
LME301: Final = declare_rule("LME301")
LME302: Final = declare_rule("LME302")
LME303: Final = declare_rule("LME303")
LME304: Final = declare_rule("LME304")
LME305: Final = declare_rule("LME305")

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


def _iterate_places(value: Any, place: str, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield the paths and the values at a place; a member that an object lacks is None."""
    name, _, rest = place.partition("/")
    held: Iterator[tuple[Any, Any]] = iter(())
    if name == "#":
        held = enumerate(value) if isinstance(value, list) else held
    elif isinstance(value, dict):
        held = iter(value.items() if name == "*" else ((name, value.get(name)),))
    for key, one in held:
        inner = *path, key
        yield from _iterate_places(one, rest, inner) if rest else ((inner, one),)


def _optional(path: Path, found: Any, types: str) -> Iterator[Violation]:
    """Report a member of none of the types; null is absent."""
    names = types.split()
    if found is not None and all(found.__class__ not in _TYPES[name][1] for name in names):
        nouns = " or ".join(_TYPES[name][0] for name in names)
        message = f"{path[-1]} must be {nouns}, not {type_name(found)}"
        yield _malformed(path, message, {"type": names[0] if len(names) == 1 else names}, found)


def _entry(path: Path, found: Any) -> Iterator[Violation]:
    if not isinstance(found, dict):
        message = f"an entry of {path[-2]} must be an object, not {type_name(found)}"
        yield _malformed(path, message, {"type": "object"}, found)


def _required(path: Path, found: Any, kind: str, noun: str) -> Iterator[Violation]:
    if found.__class__ not in _TYPES[kind][1] or found == "":
        yield _malformed(path, f"{path[-1]} must be {noun}", {"type": kind}, found)


def _digest(path: Path, found: Any) -> Iterator[Violation]:
    if not parse_digest(found):
        yield _malformed(path, f"{path[-1]} must be a SHA-256", DIGEST_SCHEMA, found)


def _output(path: Path, found: Any) -> Iterator[Violation]:
    if isinstance(found, str) and found not in (*_OUTPUTS, *_OLD_OUTPUTS):
        message = "output_type is none of the harness's kinds of requests"
        yield _malformed(path, message, {"enum": list(_OUTPUTS)}, found)


def _pattern(path: Path, found: Any) -> Iterator[Violation]:
    """Report a regular expression that is none; releases of Python differ in the valid ones."""
    yield from _optional(path, found, types="string")
    if isinstance(found, str):
        try:
            pattern_costs(found)
        except (re.error, OverflowError, RecursionError) as error:
            message = f"the pattern cannot be read, so that nothing is compared with it: {error}"
            yield _malformed(path, message, None, found, Severity.WARNING)


def _step(path: Path, found: Any) -> Iterator[Violation]:
    is_named = isinstance(found, dict) and isinstance(found.get("function"), str)
    if is_named and not is_known_step(found):
        message = "the harness has no such filter, so that no answer is compared with it"
        yield _malformed(path, message, None, found, Severity.WARNING)


_TASK: Final = "configs/*"
_METRIC: Final = f"{_TASK}/metric_list/#"
_FILTER: Final = f"{_TASK}/filter_list/#"
_STEP: Final = f"{_FILTER}/filter/#"

_OPTIONAL: Final[Mapping[str, str]] = {
    "string": (
        "model_name model_name_sanitized model_source chat_template system_instruction "
        "config/model config/model_revision results/*/name results/*/alias "
        f"{_TASK}/task {_TASK}/task_alias {_TASK}/target_delimiter "
        f"{_TASK}/fewshot_delimiter {_METRIC}/aggregation"
    ),
    "string object": "config/model_args config/gen_kwargs",
    "number": "config/limit",
    "integer": f"config/bootstrap_iters {_TASK}/num_fewshot {_TASK}/repeats",
    "string integer array": f"{_TASK}/doc_to_target",
    "string array object": f"{_TASK}/doc_to_choice",
    "array": f"{_TASK}/metric_list {_TASK}/filter_list {_METRIC}/regexes_to_ignore",
    "object": f"{_TASK}/generation_kwargs",
    "boolean": f"{_METRIC}/higher_is_better higher_is_better/*/*",
}
"""Places by their types; `*` is each member of an object, `#` each element of a list."""

_CHECKS: Final[tuple[tuple[str, Callable[[Path, Any], Iterator[Violation]]], ...]] = (
    *(
        (at, partial(_optional, types=one))
        for one, all_of in _OPTIONAL.items()
        for at in all_of.split()
    ),
    ("task_hashes/*", _digest),
    *(
        (f"n-samples/*/{name}", partial(_required, kind="integer", noun="an integer"))
        for name in ("original", "effective")
    ),
    (f"{_TASK}/output_type", _output),
    (_STEP, _step),
    *((place, _entry) for place in (_METRIC, _FILTER, _STEP)),
    (f"{_FILTER}/filter", partial(_required, kind="array", noun="a list of steps")),
    *(
        (place, partial(_required, kind="string", noun="a text"))
        for place in (
            *(f"{_TASK}/output_type", f"{_METRIC}/metric", f"{_FILTER}/name", f"{_STEP}/function"),
        )
    ),
    *((place, _pattern) for place in (f"{_METRIC}/regexes_to_ignore/#", f"{_STEP}/regex_pattern")),
)

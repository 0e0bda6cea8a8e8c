"""Compare the aggregate with its log: the figures of its results, and each member that it has.

Each member that the log does not state is named as not compared.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from evalstream.formats.eee.aggregate import RESULTS, Aggregate
from evalstream.formats.eee.rules.source import ES656, ES657, ES658, ES659, ES660
from evalstream.formats.eee.source_rows import is_same_figure, report_uncompared
from evalstream.model.data_class import NamedTuple
from evalstream.model.finding import Violation
from evalstream.model.source_log import SourceLog, SourceResult, Stated
from evalstream.parsing.json import pointer, resolve
from evalstream.parsing.json_values import object_or_empty, to_float

FIGURES: Final = "figures"
_SCORE: Final = "score_details/score"
_UNCERTAINTY: Final = "score_details/uncertainty"
_DESCRIPTION: Final = "metric_config/evaluation_description"
_SETTINGS: Final = "generation settings"
_MODEL: Final = "model_info/id"
_MODEL_NAME: Final = "model_info/name"
_LIBRARY: Final = "eval_library/name"
_DEVELOPER: Final = "model_info/developer"
_ENGINE: Final = "model_info/inference_engine/name"
_PLATFORM: Final = "model_info/inference_platform"
_WORDED: Final = frozenset({_MODEL_NAME, _LIBRARY, _DEVELOPER, _ENGINE, _PLATFORM, _DESCRIPTION})
"""Members that people word in their own way: other words than the log's are not compared."""

_NAMES: Final = (
    ("source_data", "dataset"),
    ("evaluation_name", "task"),
    ("evaluation_timestamp", "time"),
    ("metric_config/metric_name", "name of the metric"),
    (_DESCRIPTION, "description"),
    ("metric_config/lower_is_better", "direction"),
    ("metric_config/llm_scoring/input_prompt", "prompt of the grader"),
    ("metric_config/metric_parameters", "parameters of the metric"),
    ("score_details/details/split", "split"),
    ("score_details/details/perturbation", "perturbation"),
    ("score_details/details/num_train_trials", "trials"),
    ("score_details/details/count", "trials"),
    ("score_details/details", "other errors"),
    ("generation_config", _SETTINGS),
    (_MODEL, "model id"),
    (_MODEL_NAME, "model name"),
    (_DEVELOPER, "developer"),
    (_ENGINE, "inference engine"),
    (_PLATFORM, "inference platform"),
    ("model_info/", "settings of the model"),
    (_LIBRARY, "library"),
    ("eval_library/version", "library version"),
)
"""The names of members, by the beginnings of their places, in the order of reports."""

_OWN: Final = frozenset(
    {
        *("schema_version", "evaluation_id", "retrieved_timestamp"),
        *("detailed_evaluation_results", "evaluation_results"),
    }
)
"""Members that say which record it is, or seal it, which other rules check; and the results."""

_UNKNOWN: Final = "unknown"
"""The text that converters write where they know nothing."""

_JSON_BEGINS: Final = frozenset('[{"-0123456789tfn')


class ComparedAggregate(NamedTuple):
    """The differences of an aggregate, and how many of the log's results it has unchanged.

    `parts` names the compared parts of results, `own_parts` those of the whole run that agree.
    `uncompared` is the number of members that were not compared.
    """

    violations: list[Violation]
    agreeing: int
    of: int
    parts: tuple[str, ...]
    own_parts: tuple[str, ...]
    uncompared: int


class _Members(NamedTuple):
    """The comparison of an object: violations, names of compared members, places of the others.

    `reworded` are the findings about members in words that the log does not have.
    """

    violations: list[Violation]
    names: frozenset[str]
    left: tuple[str, ...]
    reworded: tuple[Violation, ...]


def compare_aggregate(
    aggregate: Aggregate, log: SourceLog, samples: int | None
) -> ComparedAggregate:
    """Compare an aggregate with a log of a number of `samples` that has results."""
    own = _compare_run(aggregate, log)
    violations = [*own.violations, *own.reworded]
    unmatched = list(log.results or ())
    names, left = Counter[str](), Counter[str]()
    agreeing = matched = count = 0
    reworded = set[str | None]()
    for place, result in aggregate.indexed_results:
        count += 1
        source = _match(result, unmatched)
        if source is None:
            violations.append(_report_unknown(place, result))
            continue
        unmatched.remove(source)
        matched += 1
        found = _compare_result(f"{RESULTS}/{place}", result, source, log.stated, samples)
        names.update(found.names)
        left.update(found.left)
        violations += (*found.violations, *found.reworded)
        reworded.update(one.message for one in found.reworded)
        agreeing += not found.violations
    missing = [one for one in unmatched if one.is_required]
    for one in missing:
        message = f"the log's result {one.id} is not in the aggregate"
        violations.append(ES657.violation(message, RESULTS, expected=one.id))
    violations += report_uncompared(dict.fromkeys(own.left, 1), at="")
    violations += report_uncompared(left, "result", RESULTS)
    parts = [one if names[one] == matched else f"some {one}" for one in _in_order(names)]
    refuted = {_name(one.pointer[1:]) for one in own.violations if one.pointer}
    return ComparedAggregate(
        violations,
        agreeing,
        count + len(missing),
        tuple(parts),
        tuple(_in_order(own.names - refuted)),
        len(own.left) + len(own.reworded) + len(left) + len(reworded),
    )


def _in_order(names: Counter[str] | frozenset[str]) -> Iterator[str]:
    order = dict.fromkeys((FIGURES, *(name for _, name in _NAMES), *sorted(names)))
    return (one for one in order if one in names)


def _compare_run(aggregate: Aggregate, log: SourceLog) -> _Members:
    """Compare the members of the aggregate about the whole run.

    Converters may replace the first part of the model's id: they derive the developer from a table
    of hosts, which is not repeated here.
    """
    document = {name: one for name, one in aggregate.document.items() if name not in _OWN}
    models = tuple(sorted(log.models, key=lambda model: (-model.count("/"), model)))
    stated = {_MODEL: models, _MODEL_NAME: models}
    return _compare_members(document, {**stated, **log.stated_of_run}, "")


def _compare_result(
    at: str, result: Mapping[str, Any], source: SourceResult, stated: Stated, samples: int | None
) -> _Members:
    figures = list(_compare_figures(at, result, source, samples))
    known = {
        "evaluation_name": tuple(sorted(source.names)),
        "metric_config/metric_name": tuple(sorted(source.metrics)),
        _DESCRIPTION: tuple(sorted(source.metrics)),
        **source.stated,
        **stated,
    }
    compared = {place for _, place, values in _figures(source, samples) if values}
    found = _compare_members(result, known, at, compared | {"evaluation_result_id"})
    return found._replace(
        violations=figures + found.violations, names=found.names | frozenset({FIGURES})
    )


def _figures(
    source: SourceResult, samples: int | None
) -> tuple[tuple[str, str, tuple[float, ...]], ...]:
    """Return the figures of a result: name, place, and the values that the log has for it."""
    counts = source.counts if samples is None else source.counts | {samples}
    return (
        ("score", _SCORE, (source.score,)),
        ("standard error", f"{_UNCERTAINTY}/standard_error/value", source.standard_errors),
        ("standard deviation", f"{_UNCERTAINTY}/standard_deviation", source.standard_deviations),
        ("number of samples", f"{_UNCERTAINTY}/num_samples", tuple(sorted(counts))),
    )


def _compare_figures(
    at: str, result: Mapping[str, Any], source: SourceResult, samples: int | None
) -> Iterator[Violation]:
    for noun, place, known in _figures(source, samples):
        found = resolve(result, place.split("/"))
        if (found is None and place != _SCORE) or not known:
            continue
        if not any(is_same_figure(to_float(found), one) for one in known):
            message = f"the {noun} differs from the log's"
            yield ES656.violation(message, f"{at}/{place}", expected=known[0], found=found)


def _compare_members(
    holder: Mapping[str, Any], stated: Stated, at: str, compared: Collection[str] = ()
) -> _Members:
    """Compare each member of an object but those at places that were `compared` already."""
    violations, reworded, names, left = [], [], set[str](), []
    for place, path, found in _leaves(holder, stated):
        values = stated.get(place)
        if place in compared or found in (None, _UNKNOWN):
            continue
        if not values:
            left.append(place)
            continue
        known = any(_plain(found) == _plain(value) for value in values)
        if place == _MODEL and isinstance(found, str):
            known = known or found.rpartition("/")[2] in values
        where = {"pointer": at + pointer(path), "expected": values[0], "found": found}
        if not known and place in _WORDED:
            message = f"{place} cannot be compared: its words are not those of the log"
            reworded.append(ES660.violation(message, **where))
            continue
        names.add(_name(place))
        if not known:
            violations.append(_differs(place, **where))
    return _Members(violations, frozenset(names), tuple(left), tuple(reworded))


def _differs(place: str, **where: Any) -> Violation:
    name = _name(place)
    subject = "setting is" if name == _SETTINGS else f"{name} is"
    rule, subject = (ES658, "model is") if place == _MODEL else (ES659, subject)
    return rule.violation(f"the {subject} not that of the log", **where)


def _name(place: str) -> str:
    return next((name for beginning, name in _NAMES if place.startswith(beginning)), place)


def _leaves(
    value: Mapping[str, Any], stated: Stated, path: tuple[str, ...] = ()
) -> Iterator[tuple[str, tuple[str, ...], Any]]:
    """Yield the members of an object with their places: a list and what the log states are one."""
    for name, one in value.items():
        inner = (*path, name)
        place = "/".join(inner)
        if isinstance(one, dict) and not stated.get(place):
            yield from _leaves(one, stated, inner)
        else:
            yield place, inner, one


def _plain(value: Any) -> Any:
    """Return a value without texts that hold JSON, and without members that are null."""
    if isinstance(value, str):
        with suppress(ValueError, RecursionError):
            return _plain(json.loads(value)) if value[:1] in _JSON_BEGINS else value
        return value
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items() if one is not None}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    return ("boolean", value) if isinstance(value, bool) else value


def _report_unknown(place: int, result: Mapping[str, Any]) -> Violation:
    named = result.get("evaluation_result_id") or result.get("evaluation_name")
    return ES657.violation("the log has no such result", f"{RESULTS}/{place}", found=named)


def _match(result: Mapping[str, Any], left: Sequence[SourceResult]) -> SourceResult | None:
    """Return the result of the log that one of the aggregate stands for: by id, else by names."""
    identity = result.get("evaluation_result_id")
    if identity is not None:
        fitting = [one for one in left if one.id == identity]
    else:
        name, metric = result.get("evaluation_name"), object_or_empty(result.get("metric_config"))
        said = {metric.get("metric_name"), metric.get("evaluation_description")}
        named = [one for one in left if name in one.names]
        fitting = [one for one in named if said & one.metrics] or named[:1]
    if len(fitting) > 1:
        # Several metrics of one name: the one with this very score, if there is one.
        score = to_float(object_or_empty(result.get("score_details")).get("score"))
        return next((one for one in fitting if is_same_figure(one.score, score)), fitting[0])
    return fitting[0] if fitting else None

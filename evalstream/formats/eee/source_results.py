"""Compare the results of an aggregate with those of its log: figures, data, metrics, settings."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple

from evalstream.formats.eee.aggregate import RESULTS, Aggregate, find_object, number
from evalstream.formats.eee.rules.source import ES656, ES657, ES658, ES659, ES660, NOT_STATED
from evalstream.formats.eee.source_rows import is_same
from evalstream.io.names import printable
from evalstream.model.finding import Violation
from evalstream.model.source_log import SourceLog, SourceResult, Stated
from evalstream.model.text import count_noun
from evalstream.parsing.json import member, resolve

_FIGURES = (
    ("standard error", ("standard_error", "value")),
    ("standard deviation", ("standard_deviation",)),
)
_SETTINGS: Final = "generation settings"
_NAMES: Final = (
    ("source_data", "dataset"),
    ("evaluation_name", "task"),
    ("evaluation_timestamp", "time"),
    ("metric_config/metric_name", "name of the metric"),
    ("metric_config/lower_is_better", "direction"),
    ("generation_config", _SETTINGS),
    ("model_info", "model id"),
    ("eval_library", "library version"),
)
"""What members are called for people, by the beginnings of their places."""

_HELD: Final = ("source_data", "generation_config")
"""The objects of a result whose members come from the log, all of them."""

_NOT_OF_LOG: Final = frozenset({"source_data/source_type"})
_UNKNOWN: Final = "unknown"
"""The version that converters write of a library where they know none."""

FIGURES: Final = "figures"
_JSON_BEGINS: Final = frozenset('[{"-0123456789tfn')
_OTHER_SETTING: Final = "the setting is not that of the log"


class ComparedResults(NamedTuple):
    """What an aggregate differs in, and how many of the log's results it has as they are.

    `parts` names what was compared.
    """

    violations: list[Violation]
    agreeing: int
    of: int
    parts: tuple[str, ...] = ()


def compare_results(aggregate: Aggregate, log: SourceLog, samples: int | None) -> ComparedResults:
    """Compare each result with the log's; `samples` is the number of samples in the log."""
    parts = [FIGURES] if log.results else []
    violations = list(_model(aggregate, log, parts))
    left = list(log.results or ())
    uncompared: Counter[str] = Counter()
    agreeing = 0
    for place, result in aggregate.indexed_results():
        source = _match(result, left)
        if source is None:
            violations.append(_report_unknown(place, result))
            continue
        left.remove(source)
        found = list(_compare_result(place, result, source, samples))
        stated = {**_read_stated(source), **log.stated}
        found += _settings(result, stated, f"{RESULTS}/{place}", parts)
        for holder in _HELD:
            members = _leaves(result.get(holder), holder)
            uncompared.update(one for one in members if not stated.get(one))
        violations += found
        agreeing += not found
    missing = [one for one in left if one.is_required]
    for one in missing:
        message = f"the log's result {one.id} is not in the aggregate"
        violations.append(ES657.violation(message, pointer=RESULTS, expected=one.id))
    of = agreeing + len(missing) + _others(violations)
    refuted = {name for beginning, name in _NAMES if _has_below(violations, f"/{beginning}")}
    named = set(parts) - refuted
    known = tuple(name for _, name in ((FIGURES, FIGURES), *_NAMES) if name in named)
    violations += (
        ES660.violation(
            f"{printable(name)} of {count_noun(times, 'result')} {NOT_STATED}",
            pointer=RESULTS,
            count=times,
        )
        for name, times in uncompared.items()
    )
    return ComparedResults(violations, agreeing, of, known)


def _leaves(value: Any, place: str) -> Iterator[str]:
    """Yield the places of what an object states; a list is one value."""
    if isinstance(value, dict):
        for name, one in value.items():
            yield from _leaves(one, f"{place}/{name}")
    elif value not in (None, []) and place not in _NOT_OF_LOG:
        yield place


def _others(violations: Sequence[Violation]) -> int:
    """Count the results that are in the aggregate and differ."""
    pointers = (one.pointer or "" for one in violations if one.code != ES660.code)
    below = f"{RESULTS}/"
    return len({one.split("/")[2] for one in pointers if one.startswith(below)})


def _has_below(violations: Sequence[Violation], place: str) -> bool:
    """Tell whether a member of the whole run, or a part of it, differs."""
    return any((one.pointer or "").startswith(place) for one in violations)


def _read_stated(source: SourceResult) -> Stated:
    """Return what the log says of one result beside its figures."""
    better = source.lower_is_better
    return {
        "evaluation_name": tuple(sorted(source.names)),
        "metric_config/metric_name": tuple(sorted(source.metrics)),
        "metric_config/lower_is_better": () if better is None else (better,),
    }


def _settings(
    holder: Mapping[str, Any], stated: Stated, at: str, parts: list[str]
) -> Iterator[Violation]:
    """Compare members that both an aggregate and its log state; note in `parts` what they are."""
    for place, values in stated.items():
        found = resolve(holder, place.split("/"))
        if found in (None, _UNKNOWN) or not values:
            continue
        name = next(name for beginning, name in _NAMES if place.startswith(beginning))
        parts.append(name)
        if not any(_is_equal(found, value) for value in values):
            message = f"the {name} is not that of the log" if name != _SETTINGS else _OTHER_SETTING
            yield ES659.violation(message, pointer=f"{at}/{place}", expected=values[0], found=found)


def _is_equal(one: Any, other: Any) -> bool:
    """Tell whether two values say the same: texts may hold the JSON of other values, or numbers."""
    return bool(_plain(one) == _plain(other))


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


def _model(aggregate: Aggregate, log: SourceLog, parts: list[str]) -> Iterator[Violation]:
    """Compare the model and its id, of which converters may replace the first part.

    They derive the developer from a table of hosts, which is not repeated here.
    """
    yield from _settings(aggregate.document, log.stated_of_run, "", parts)
    found = aggregate.model_id
    if found is None or not log.models:
        return
    parts.append("model id")
    if {found, found.rpartition("/")[2]} & log.models:
        return
    named = min(log.models, key=lambda one: (-one.count("/"), one))
    message = "the model is not that of the log"
    yield ES658.violation(message, pointer="/model_info/id", expected=named, found=found)


def _report_unknown(place: int, result: Mapping[str, Any]) -> Violation:
    named = result.get("evaluation_result_id") or result.get("evaluation_name")
    message = "the log has no such result"
    return ES657.violation(message, pointer=f"{RESULTS}/{place}", found=named)


def _match(result: Mapping[str, Any], left: Sequence[SourceResult]) -> SourceResult | None:
    """Return the result of the log that one of the aggregate stands for: by id, else by names."""
    identity = result.get("evaluation_result_id")
    if identity is not None:
        fitting = [one for one in left if one.id == identity]
    else:
        name, metric = result.get("evaluation_name"), find_object(result, "metric_config")
        said = {metric.get("metric_name"), metric.get("evaluation_description")}
        named = [one for one in left if name in one.names]
        fitting = [one for one in named if said & one.metrics] or named[:1]
    if len(fitting) > 1:
        # Several metrics of one name: the one with this very score, if there is one.
        score = number(find_object(result, "score_details").get("score"))
        return next((one for one in fitting if is_same(one.score, score)), fitting[0])
    return fitting[0] if fitting else None


def _compare_result(
    place: int, result: Mapping[str, Any], source: SourceResult, samples: int | None
) -> Iterator[Violation]:
    at = f"{RESULTS}/{place}/score_details"
    details = find_object(result, "score_details")
    if not is_same(number(details.get("score")), source.score):
        yield _differs("score", f"{at}/score", source.score, details.get("score"))
    uncertainty = find_object(details, "uncertainty")
    figures = (source.standard_errors, source.standard_deviations)
    for (what, path), known in zip(_FIGURES, figures, strict=True):
        claimed: Any = uncertainty
        for name in path:
            claimed = member(claimed, name)
        if (
            claimed is not None
            and known
            and not any(is_same(number(claimed), one) for one in known)
        ):
            yield _differs(what, f"{at}/uncertainty/{'/'.join(path)}", known[0], claimed)
    counts = source.counts if samples is None else source.counts | {samples}
    claimed = uncertainty.get("num_samples")
    if claimed is not None and counts and claimed not in counts:
        pointer = f"{at}/uncertainty/num_samples"
        yield _differs("number of samples", pointer, min(counts), claimed)


def _differs(what: str, pointer: str, expected: Any, found: Any) -> Violation:
    message = f"the {what} differs from the log's"
    return ES656.violation(message, pointer=pointer, expected=expected, found=found)

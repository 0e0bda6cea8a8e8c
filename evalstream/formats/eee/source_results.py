"""Compare the results of an aggregate with those of its log: figures, data, metrics, settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from evalstream.formats.eee.aggregate import RESULTS, Aggregate, number, object_in
from evalstream.formats.eee.rules.source import ES656, ES657, ES658, ES659
from evalstream.formats.eee.source_rows import is_same
from evalstream.model.finding import Violation
from evalstream.model.source_log import SourceLog, SourceResult, Stated
from evalstream.parsing.json import member, resolve

_FIGURES = (
    ("standard error", ("standard_error", "value")),
    ("standard deviation", ("standard_deviation",)),
)
_SETTINGS: Final = "generation settings"
_NAMES: Final = (
    ("source_data", "dataset"),
    ("evaluation_name", "task"),
    ("metric_config/metric_name", "metric"),
    ("metric_config/lower_is_better", "direction"),
    ("generation_config", _SETTINGS),
    ("model_info", "model"),
)
"""What members are called for people, by the beginnings of their places."""

FIGURES: Final = "figures"
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
    agreeing = 0
    for place, result in aggregate.indexed_results():
        source = _match(result, left)
        if source is None:
            violations.append(_unknown(place, result))
            continue
        left.remove(source)
        found = list(_compared(place, result, source, samples))
        stated = {**_stated(source), **log.stated}
        found += _settings(result, stated, f"{RESULTS}/{place}", parts)
        violations += found
        agreeing += not found
    missing = [one for one in left if one.is_required]
    for one in missing:
        message = f"the log's result {one.id} is not in the aggregate"
        violations.append(ES657.violation(message, pointer=RESULTS, expected=one.id))
    of = agreeing + len(missing) + _others(violations)
    known = tuple(name for _, name in ((FIGURES, FIGURES), *_NAMES) if name in parts)
    return ComparedResults(violations, agreeing, of, known)


def _others(violations: Sequence[Violation]) -> int:
    """Count the results that are in the aggregate and differ."""
    pointers = (one.pointer or "" for one in violations if one.code != ES658.code)
    return len({pointer.split("/")[2] for pointer in pointers if pointer.count("/") > 1})


def _stated(source: SourceResult) -> Stated:
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
        if found is None or not values:
            continue
        name = next(name for beginning, name in _NAMES if place.startswith(beginning))
        parts.append(name)
        if not any(_is_equal(found, value) for value in values):
            message = f"the {name} is not that of the log" if name != _SETTINGS else _OTHER_SETTING
            yield ES659.violation(message, pointer=f"{at}/{place}", expected=values[0], found=found)


def _is_equal(one: Any, other: Any) -> bool:
    """Tell whether two JSON values are equal; true is no number, and a text may hold one."""
    if isinstance(other, str) and isinstance(one, (int, float)):
        return str(one) == other or str(float(one)) == other
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


def _model(aggregate: Aggregate, log: SourceLog, parts: list[str]) -> Iterator[Violation]:
    """Compare the model and its id, of which converters may replace the first part.

    They derive the developer from a table of hosts, which is not repeated here.
    """
    yield from _settings(aggregate.document, log.stated_of_model, "", parts)
    found = aggregate.model_id
    if found is None or not log.models:
        return
    parts.append("model")
    if {found, found.rpartition("/")[2]} & log.models:
        return
    named = min(log.models, key=lambda one: (-one.count("/"), one))
    message = "the model is not that of the log"
    yield ES658.violation(message, pointer="/model_info/id", expected=named, found=found)


def _unknown(place: int, result: Mapping[str, Any]) -> Violation:
    named = result.get("evaluation_result_id") or result.get("evaluation_name")
    message = "the log has no such result"
    return ES657.violation(message, pointer=f"{RESULTS}/{place}", found=named)


def _match(result: Mapping[str, Any], left: Sequence[SourceResult]) -> SourceResult | None:
    """Return the result of the log that one of the aggregate stands for: by id, else by names."""
    identity = result.get("evaluation_result_id")
    if identity is not None:
        fitting = [one for one in left if one.id == identity]
    else:
        name, metric = result.get("evaluation_name"), object_in(result, "metric_config")
        said = {metric.get("metric_name"), metric.get("evaluation_description")}
        named = [one for one in left if name in one.names]
        fitting = [one for one in named if said & one.metrics] or named[:1]
    if len(fitting) > 1:
        # Several metrics of one name: the one with this very score, if there is one.
        score = number(object_in(result, "score_details").get("score"))
        return next((one for one in fitting if is_same(one.score, score)), fitting[0])
    return fitting[0] if fitting else None


def _compared(
    place: int, result: Mapping[str, Any], source: SourceResult, samples: int | None
) -> Iterator[Violation]:
    at = f"{RESULTS}/{place}/score_details"
    details = object_in(result, "score_details")
    if not is_same(number(details.get("score")), source.score):
        yield _differs("score", f"{at}/score", source.score, details.get("score"))
    uncertainty = object_in(details, "uncertainty")
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

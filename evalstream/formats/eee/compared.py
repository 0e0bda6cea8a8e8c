"""A run in a comparison: its rows as samples, its metrics and settings, its answers."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from evalstream.engine.row_lookup import RowPlaces, find_objects
from evalstream.formats.eee import row_view
from evalstream.formats.eee.aggregate import Aggregate, Figures, Result
from evalstream.formats.eee.metrics import own_name
from evalstream.formats.eee.row_view import TRANSCRIPT_KEYS, has_error, row_answer, to_double
from evalstream.formats.eee.versions import nearest_version
from evalstream.model.comparison import Answered, MetricName, RunDescription
from evalstream.model.options import Options, SampleRequest
from evalstream.model.run import Run
from evalstream.model.sample_record import GroupLabel, SampleFlag, SampleRow
from evalstream.parsing.json import member, text_or_none
from evalstream.parsing.json_values import flatten_settings, setting_text
from evalstream.parsing.lazy_regex import LazyPattern
from evalstream.stats.sample_digests import (
    InputDigests,
    encode_text,
    record_sample,
    text_digest,
    text_identity,
)
from evalstream.stats.sketch import RowFigures


def describe(
    aggregate: Aggregate | None, labels: Sequence[GroupLabel], version: str | None
) -> RunDescription:
    """Describe a run whose groups of rows have some labels."""
    results = aggregate.joinable if aggregate is not None else ()
    by_place = {result.place: result for result in results}
    figures = {one.place: one for one in aggregate.figures} if aggregate is not None else {}
    metrics = [_metric(label, by_place, figures) for label in labels]
    configs = _generation_configs(aggregate)
    settings = [configs.get(-1 if label.place is None else label.place, {}) for label in labels]
    scoring = [{name: one[name] for name in one if _SCORING.match(name)} for one in settings]
    generation = [
        {name: text for name, text in one.items() if not _SCORING.match(name)} for one in settings
    ]
    return RunDescription(
        None if aggregate is None else aggregate.model_id,
        None if aggregate is None else aggregate.evaluation_id,
        _distinct(metrics, labels, by_place),
        generation,
        _settings(aggregate, version),
        scoring,
    )


def answers(run: Run, options: Options, places: RowPlaces) -> Iterator[Answered | None]:
    """Iterate over the answers in rows at some places; see `find_objects`."""
    for row in find_objects(run.rows or "", options, places):
        if row is None:
            yield None
            continue
        declared = text_or_none(row.get("schema_version"))
        output, turns = row_answer(row, nearest_version(declared or "", instance=True))
        is_whole = output is None or not any(map(row.get, TRANSCRIPT_KEYS))
        shown = turns if output is None else output
        yield Answered(row.get("sample_id"), shown, is_whole, _without_names(row))


def _without_names(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a row without the names of its run, and with one name for its conversation."""
    found = {name: one for name, one in row.items() if name not in _OF_RUN}
    if "interactions" in found:
        found["messages"] = found.pop("interactions")
    return found


_OF_RUN: Final = frozenset({"schema_version", "evaluation_id", "model_id", "sample_hash"})
"""Members that say which run a row is of, and a digest that other rules verify."""


def _metric(
    label: GroupLabel, results: Mapping[int, Result], figures: Mapping[int, Figures]
) -> MetricName:
    result = None if label.place is None else results.get(label.place)
    if result is None:
        name = label.name or ""
        return MetricName(name, label.result if label.result != name else None)
    name, declared = result.name or "", figures[result.place].metric
    metric = own_name(declared) or (result.id if result.id != name else None)
    return MetricName(
        name,
        metric,
        result.lower_is_better,
        _finite(result.minimum),
        _finite(result.maximum),
        text_or_none(declared.get("metric_unit")),
    )


def _distinct(
    metrics: Sequence[MetricName], labels: Sequence[GroupLabel], results: Mapping[int, Result]
) -> list[MetricName]:
    """Return names that differ: of metrics with one name, each is named by its result's id."""
    known: dict[tuple[str, str | None], int] = {}
    for one in metrics:
        known[one.result, one.metric] = known.get((one.result, one.metric), 0) + 1
    named = []
    for one, label in zip(metrics, labels, strict=True):
        result = None if label.place is None else results.get(label.place)
        shared = known[one.result, one.metric] > 1
        named.append(one._replace(metric=result.id) if shared and result and result.id else one)
    return named


def _finite(bound: float | None) -> float | None:
    return bound if bound is not None and math.isfinite(bound) else None


def _settings(aggregate: Aggregate | None, version: str | None) -> dict[str, str]:
    """Return what may explain a difference besides the model, as texts by name."""
    settings = {} if version is None else {"format version": version}
    if aggregate is None:
        return settings
    document = aggregate.document
    library = document.get("eval_library")
    if library is not None:
        name, number = (text_or_none(member(library, key)) for key in ("name", "version"))
        settings["harness"] = " ".join(filter(None, [name, number]))
    model = document.get("model_info")
    for key in ("inference_platform", "inference_engine"):
        value = member(model, key)
        if value is not None:
            settings[key] = setting_text(value)
    for holder in ("eval_library", "model_info"):
        more = member(document.get(holder), "additional_details")
        settings |= flatten_settings(f"{holder}/additional_details", more)
    return settings


def _generation_configs(aggregate: Aggregate | None) -> dict[int, dict[str, str]]:
    """Return the settings of each result by its index: of generation, dataset and metric."""
    if aggregate is None:
        return {}
    configs = {}
    for index, result in aggregate.indexed_results:
        found: dict[str, str] = {}
        for holder in ("generation_config", "source_data", "metric_config"):
            found |= flatten_settings(holder, result.get(holder))
        found = {name: found[name] for name in found if not name.startswith(_JUDGE)}
        configs[index] = {
            name: text for name, text in found.items() if not name.endswith(_NOT_SETTINGS)
        }
        judged = member(result.get("metric_config"), "llm_scoring")
        configs[index][_JUDGE] = "none" if judged is None else setting_text(judged)
    return configs


_JUDGE: Final = "metric_config/llm_scoring"
"""The settings of a judge, which are one value: a run without a judge says so by lacking them."""

_SCORING: Final = LazyPattern(
    r"metric_config/(metric_id|metric_kind|metric_parameters|level_names|has_unknown_level|llm_scoring"
    r"|additional_details/[^/]*(scorer|judge|grader|filter|extract)[^/]*)(/|$)"
)
"""The members of a metric's configuration that decide what a score means.

Bounds and direction are compared by themselves; `score_type` and the description change no score.
"""

_NOT_SETTINGS: Final = ("/sample_ids", "/samples_number")
"""Members of a dataset that the rows show better."""


def sample_row(
    row: Mapping[str, Any], request: SampleRequest, number: int, offset: int, *, is_scored: bool
) -> SampleRow:
    """Return a row in the terms of a comparison, without its group.

    `is_scored` tells whether its score can be relied on.
    """
    judged, declared = row.get("evaluation"), row.get("sample_hash")
    shown = _input_digests(row)
    found = record_sample(request, row.get("sample_id"), shown, number, offset, row)
    if request.by not in {"input", "sample_id"} and declared and isinstance(declared, str):
        high, low = text_identity(encode_text(declared))
        found = found._replace(high=high, low=low)
    return found._replace(
        score=to_double(member(judged, "score")) if is_scored else math.nan,
        flags=_flags(member(judged, "is_correct"), failed=has_error(row)),
        prompt=text_digest(member(row.get("input"), "formatted")),
    )


def _input_digests(row: Mapping[str, Any]) -> InputDigests | None:
    covered = row_view.hash_input(row)
    if covered is None:
        return None
    raw, reference = covered
    references = [reference] if isinstance(reference, str) else reference
    choices = row["input"].get("choices")
    texts = [f"{text}" for text in choices] if isinstance(choices, list) else []
    return InputDigests(raw, references, texts)


def _flags(correct: Any, *, failed: bool) -> int:
    flags = SampleFlag.FAILED if failed else SampleFlag(0)
    if isinstance(correct, bool):
        flags |= SampleFlag.RIGHT if correct else SampleFlag.WRONG
    return int(flags)


class _Evaluation(msgspec.Struct, gc=False):
    score: Any = None


class _Performance(msgspec.Struct, gc=False):
    latency_ms: Any = None


class _Usage(msgspec.Struct, gc=False):
    """The numbers of tokens, in the order of their kinds."""

    input_tokens: Any = None
    output_tokens: Any = None
    total_tokens: Any = None
    reasoning_tokens: Any = None
    input_tokens_cache_read: Any = None
    input_tokens_cache_write: Any = None


class _Row(msgspec.Struct, gc=False):
    """The members of a usual row that a sketch shows; the others are not decoded."""

    evaluation: _Evaluation | None = None
    performance: _Performance | None = None
    token_usage: _Usage | None = None


_UNREADABLE: Final = (msgspec.MsgspecError, ValueError, RecursionError)
"""The errors of msgspec; before 0.21 its own errors have another class."""

_decode: Final = msgspec.json.Decoder(_Row).decode


def row_figures(line: bytes) -> RowFigures | None:
    """Return the figures of a row, or None if its line cannot be parsed."""
    try:
        row = _decode(line)
    except _UNREADABLE:
        return _unusual(line)
    evaluation, performance, usage = row.evaluation, row.performance, row.token_usage
    score = None if evaluation is None else evaluation.score
    latency = None if performance is None else performance.latency_ms
    if usage is None:
        return score, latency
    return score, latency, *msgspec.structs.astuple(usage)


def _unusual(line: bytes) -> RowFigures | None:
    """Return the figures of a row with a lone surrogate, or with another type for an object."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return None
    usage = member(row, "token_usage")
    return (
        member(member(row, "evaluation"), "score"),
        member(member(row, "performance"), "latency_ms"),
        *(member(usage, name) for name in _Usage.__struct_fields__),
    )

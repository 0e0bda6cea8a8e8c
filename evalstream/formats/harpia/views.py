"""Typed views of HarpIA Lab's documents; members that are not valid are None."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any

from evalstream.formats.harpia import documents
from evalstream.formats.harpia.values import identifier, parameters_key, value_shape
from evalstream.model.data_class import NamedTuple
from evalstream.parsing.json import pointer


class InputInstance(NamedTuple):
    """An instance of an input: its pointer, its value, and its id as a string."""

    pointer: str
    value: Any
    id: str | None


class InputMetric(NamedTuple):
    """A metric in a document of any kind.

    `parameters` is the member that holds them, and `key` is equal for equal parameters. `enabled`
    is None if the document does not say it.
    """

    pointer: str
    value: Any
    id: str | None
    parameters: documents.Member | None
    key: bytes | None
    enabled: bool | None

    @property
    def values(self) -> Mapping[str, Any]:
        """The parameters; empty if they cannot be compared."""
        return self.parameters.value if self.key is not None and self.parameters else {}


class Input(NamedTuple):
    """An input: its lists and their entries, or None for a list that was not found."""

    document: Mapping[str, Any]
    listed: documents.InputLists
    instances: list[InputInstance] | None
    metrics: list[InputMetric] | None


class Score(NamedTuple):
    """An output's claim for one metric; the key that holds it is the name if there is no other.

    `shape` is that of its score.
    """

    metric: InputMetric
    score: documents.Member | None
    shape: Any = None


class MetricOutcome(NamedTuple):
    """An output compared with the metrics that its input requested.

    Without the metrics of an input nothing is compared (`is_compared`). `missing` are enabled
    metrics without a claim, `unlike` those with a claim for other parameters, `repeated` second
    claims, and `unrequested` claims that were not requested, with the reason.
    """

    claims: list[Score]
    missing: list[InputMetric]
    unlike: list[tuple[InputMetric, InputMetric]]
    repeated: list[InputMetric]
    unrequested: list[tuple[InputMetric, str]]
    is_compared: bool


def view_input(document: Mapping[str, Any]) -> Input:
    """Return the view of an input. Raises RecursionError if parameters are nested too deep."""
    listed = documents.find_lists(document)
    instances = metrics = None
    if listed.instances is not None:
        instances = [
            InputInstance(
                pointer([listed.instances.key, place]),
                value,
                identifier(documents.read_member(value, "id")),
            )
            for place, value in enumerate(listed.instances.value)
        ]
    if listed.metrics is not None:
        metrics = [
            _requested_metric(pointer([listed.metrics.key, place]), value)
            for place, value in enumerate(listed.metrics.value)
        ]
    return Input(document, listed, instances, metrics)


def view_claims(document: Any) -> list[Score]:
    """Return the claims of an output. Raises RecursionError if parameters are nested too deep."""
    return list(map(_claim, documents.list_outputs(document)))


def compare_metrics(claims: list[Score], asked: list[InputMetric] | None) -> MetricOutcome:
    """Compare the claims of an output with the metrics of an input, None without an input."""
    outcome = MetricOutcome(claims, [], [], [], [], asked is not None)
    if asked is None:
        return outcome
    left: dict[tuple[str, bytes | None], deque[InputMetric]] = {}
    for claim in claims:
        if claim.metric.id is not None:
            left.setdefault((claim.metric.id, claim.metric.key), deque()).append(claim.metric)
    wanted = [metric for metric in asked if metric.id is not None and metric.enabled is not False]
    open_ = [
        metric for metric in wanted if not _take_first(left.get((metric.id or "", metric.key)))
    ]
    known = {(metric.id, metric.key): metric for metric in asked}
    enabled = {(metric.id, metric.key) for metric in wanted}
    unmatched: dict[str | None, deque[InputMetric]] = {}
    for key, some in left.items():
        if key in enabled:
            outcome.repeated.extend(some)
        elif key in known:
            outcome.unrequested.extend((one, "is not enabled") for one in some)
        else:
            unmatched.setdefault(key[0], deque()).extend(some)
    _pair_off(outcome, open_, unmatched)
    _explain_unrequested(outcome, asked, unmatched)
    return outcome


def view_metric(record: Mapping[str, Any]) -> InputMetric:
    """Return the metric of a log record. Raises RecursionError if its values nest too deep."""
    return _metric("", record, _text(documents.find_metric(record)))


def _take_first(some: deque[InputMetric] | None) -> InputMetric | None:
    return some.popleft() if some else None


def _pair_off(
    outcome: MetricOutcome,
    open_: list[InputMetric],
    unmatched: Mapping[str | None, deque[InputMetric]],
) -> None:
    """Pair metrics without an exact claim with claims under the same name."""
    is_sure = all(claim.metric.id is not None for claim in outcome.claims)
    for metric in open_:
        other = _take_first(unmatched.get(metric.id))
        if other is not None:
            outcome.unlike.append((metric, other))
        elif is_sure and metric.enabled:
            outcome.missing.append(metric)


def _explain_unrequested(
    outcome: MetricOutcome,
    asked: list[InputMetric],
    unmatched: Mapping[str | None, deque[InputMetric]],
) -> None:
    """Add each claim that was not requested with the reason; one without a name is left out."""
    if any(metric.id is None for metric in asked):
        return
    names = {metric.id for metric in asked}
    wanted = {metric.id for metric in asked if metric.enabled is not False}
    for name, some in unmatched.items():
        reason = "is not enabled" if name in names else "is not in the input"
        if name in wanted:
            reason = "the input has with other parameters"
        outcome.unrequested.extend((one, reason) for one in some)


def _requested_metric(place: str, value: Any) -> InputMetric:
    if not isinstance(value, dict):
        return InputMetric(place, value, None, None, None, None)
    enable = documents.find_member(value, "enable")
    enabled = enable.value if enable is not None and isinstance(enable.value, bool) else None
    return _metric(place, value, _text(documents.find_member(value, "id")))._replace(
        enabled=enabled
    )


def _claim(output: documents.MetricOutput) -> Score:
    value = output.value
    if not isinstance(value, dict):
        return Score(InputMetric(output.pointer, value, output.key, None, None, None), None)
    named = documents.find_metric(value)
    name = output.key if named is None else _text(named)
    score = documents.find_member(value, "score")
    shape = None if score is None else value_shape(score.value)
    return Score(_metric(output.pointer, value, name), score, shape)


def _metric(place: str, value: Mapping[str, Any], name: str | None) -> InputMetric:
    parameters = documents.find_member(value, "parameters")
    sound = parameters is not None and isinstance(parameters.value, dict)
    key = parameters_key(parameters.value) if parameters is not None and sound else None
    return InputMetric(place, value, name or None, parameters, key, None)


def _text(found: documents.Member | None) -> str | None:
    return found.value if found is not None and isinstance(found.value, str) else None

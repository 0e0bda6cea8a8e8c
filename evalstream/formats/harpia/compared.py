"""The input of comparisons from a log: its records as samples, its metrics, its answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from xxhash import xxh64_hexdigest

from evalstream.engine.row_lookup import RowPlaces, find_objects
from evalstream.formats.harpia.documents import read_member
from evalstream.formats.harpia.values import identifier, is_lower_better, iterate_scores
from evalstream.formats.harpia.views import Input, InputMetric, view_input, view_metric
from evalstream.io.inputs import document_bytes
from evalstream.model.comparison import Answered, MetricName, RunDescription
from evalstream.model.data_class import NamedTuple
from evalstream.model.errors import CannotCheck
from evalstream.model.options import Options, SampleRequest
from evalstream.model.run import STDIN, Run
from evalstream.model.sample_record import UNKNOWN, GroupLabel, SampleRow
from evalstream.parsing.json import pointer
from evalstream.parsing.json_values import is_texts, parse_or_none
from evalstream.stats import sample_digests
from evalstream.stats.run_samples import RunSamples

MOST_PARAMETERS: Final = 80
"""Number of characters of a metric's parameters in its name; longer ones end in a digest."""

RESULT: Final = "result"
"""The name of a score that is the whole result."""


class KnownInstance(NamedTuple):
    """The facts about an instance for comparisons: its input, None if unknown, and its cluster."""

    shown: sample_digests.InputDigests | None
    cluster: int


Scores = dict[tuple[str, ...], float | bool | None]
"""The scores of a result by path; None for one that is missing."""

_UNKNOWN: Final = KnownInstance(None, UNKNOWN)


class RecordSamples:
    """Turns log records into samples: the inputs are those of the instances, where known."""

    def __init__(self, request: SampleRequest, read: Input | None) -> None:
        self._request, self._unidentified = request, 0
        found: dict[str, KnownInstance] = {}
        for instance in (read.instances if read is not None else None) or ():
            if instance.id is None:
                continue
            if instance.id in found:
                found[instance.id] = _UNKNOWN
            else:
                cluster = sample_digests.read_cluster(request, instance.value)
                found[instance.id] = KnownInstance(_digests(instance.value), cluster)
        self._instances = found
        self._labels: dict[tuple[str, bytes, tuple[str, ...]], GroupLabel] = {}
        self._paths: dict[tuple[str | None, bytes | None], Scores] = {}

    def samples(
        self, record: Mapping[str, Any], line: int, offset: int, *, certain: bool
    ) -> Iterator[tuple[GroupLabel, SampleRow]]:
        """Yield a sample for each score of a record that names its metric and its instance.

        Scores of a record that is not `certain` are not known.
        """
        metric, sample = view_metric(record), read_instance_id(record)
        if metric.id is None or metric.key is None or sample is None:
            return
        instance = self._instances.get(sample, _UNKNOWN)
        row = sample_digests.record_sample(self._request, sample, instance.shown, line, offset)
        if self._request.cluster is not None:
            own = sample_digests.read_cluster(self._request, record)
            row = row._replace(cluster=instance.cluster if own == UNKNOWN else own)
        self._unidentified += not sample_digests.has_identity(row)
        scores = dict(iterate_scores(read_member(record, RESULT)))
        for path, score in self._with_missing(metric, scores).items():
            key = metric.id, metric.key, path
            label = self._labels.get(key)
            if label is None:
                label = GroupLabel(None, metric.id, metric_text(metric, path))
                self._labels[key] = label
            is_right = score if isinstance(score, bool) else None
            scored = sample_digests.score_sample(row, score, is_right)
            yield label, scored if certain else row

    def _with_missing(self, metric: InputMetric, scores: Scores) -> Scores:
        """Return the scores of a result; where it is null, the earlier ones of the metric, null."""
        known = self._paths.setdefault((metric.id, metric.key), {})
        if scores == {(): None} and known:
            return known
        known.update(dict.fromkeys(scores))
        return scores

    def finish(self, samples: RunSamples) -> None:
        """Describe the run whose samples these are; a log does not say which model answered."""
        metrics = [
            MetricName(label.name or "", label.result, is_lower_better(label.name or ""))
            for label in samples.labels
        ]
        samples.unidentified = self._unidentified
        samples.description = RunDescription(None, None, metrics, [{} for _ in metrics], {})


def metric_text(metric: InputMetric, path: Sequence[str]) -> str:
    """Name one score of a metric by its path and the metric's parameters.

    Metrics with other parameters measure something else, so that they differ in name.
    """
    name = pointer(path)[1:] or RESULT
    if not metric.values or metric.key is None:
        return name
    text = metric.key.decode(errors="replace")
    if len(text) > MOST_PARAMETERS:
        text = f"{text[:MOST_PARAMETERS]}… ({xxh64_hexdigest(metric.key)})"
    return f"{name} {text}"


def read_instance_id(record: Mapping[str, Any]) -> str | None:
    """Return the instance_id of a record as text, None without a valid one."""
    return identifier(read_member(record, "instance_id"))


def answers(run: Run, options: Options, places: RowPlaces) -> Iterator[Answered | None]:
    """Iterate over the responses that records of a log judge, at some places, in their order.

    The responses are in the input; without it they are None.
    """
    responses = _responses(run.inputs)
    for record in find_objects(run.rows or STDIN, options, places):
        sample = None if record is None else read_instance_id(record)
        if sample is None:
            yield None
        else:
            yield Answered(sample, responses.get(sample), True, record)


def _digests(instance: Mapping[str, Any]) -> sample_digests.InputDigests | None:
    """Return the digests of an instance's prompt and expected responses, None for other values."""
    prompt, expected = read_member(instance, "input"), read_member(instance, "expected_output")
    references = [expected] if isinstance(expected, str) else [] if expected is None else expected
    if not isinstance(prompt, str) or not is_texts(references):
        return None
    return sample_digests.InputDigests(prompt, references, ())


def _responses(path: str | None) -> dict[str, Any]:
    """Return the responses of the model by the id of the instance; empty without an input."""
    if path is None or path == STDIN:
        return {}
    try:
        document = parse_or_none(document_bytes(path))
        read = view_input(document) if isinstance(document, dict) else None
    except (OSError, CannotCheck, RecursionError):
        return {}
    instances = (read.instances if read is not None else None) or ()
    named = ((one.id, read_member(one.value, "actual_output")) for one in instances)
    return {name: response for name, response in named if name is not None}

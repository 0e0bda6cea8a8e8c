"""The input of comparisons from a run: its instances as samples, its metrics, its answers."""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Any, Final

from evalstream.engine.log_reading import UNREADABLE, iterate_elements, parse_text
from evalstream.engine.row_lookup import RowPlaces
from evalstream.formats.helm.claims import is_score
from evalstream.formats.helm.format import NAME, REQUESTS, STATE, find_beside
from evalstream.formats.helm.requests import Request, read_request, text_of
from evalstream.formats.helm.rules.documents import check_entry, check_request
from evalstream.formats.helm.statistics import InstanceEntry, instance_key, make_entry
from evalstream.io.names import is_local
from evalstream.io.spill_table import SpillTable, decode_name
from evalstream.model.comparison import Answered, MetricName, RunDescription
from evalstream.model.options import Options, SampleRequest
from evalstream.model.run import Run
from evalstream.model.sample_record import GroupLabel, SampleFlag
from evalstream.parsing.array_elements import Element
from evalstream.parsing.array_splitter import ArraySplitter
from evalstream.parsing.json import member
from evalstream.parsing.json_values import flatten_settings, setting_text, setting_texts
from evalstream.parsing.object_splitter import ObjectSplitter
from evalstream.stats import sample_digests
from evalstream.stats.run_samples import RunSamples

_LOWER_IS_BETTER: Final = frozenset(
    {
        *("wer_score", "mer_score", "wip_score", "cer_score", "absolute_value_difference"),
        *("chinese_wer_score", "chinese_mer_score", "chinese_wip_score", "chinese_cer_score"),
    }
)
"""Metrics of instances of which less is better (metrics/evaluate_reference_metrics.py)."""

_MODEL_MEMBERS: Final = frozenset({"model", "model_deployment"})

_TABLES: Final = """
    CREATE TABLE wanted (number INTEGER PRIMARY KEY, offset INTEGER);
    CREATE INDEX by_offset ON wanted (offset);
    CREATE TABLE entry (
        offset INTEGER PRIMARY KEY, id BLOB, perturbation BLOB, trial INTEGER, stats TEXT
    );
    CREATE INDEX by_instance ON entry (id, perturbation, trial);
    CREATE TABLE answer (
        id BLOB, perturbation BLOB, trial INTEGER, texts TEXT,
        PRIMARY KEY (id, perturbation, trial)
    ) WITHOUT ROWID;
"""
_INPUTS: Final = (
    "CREATE TABLE input (id BLOB, perturbation BLOB, trial INTEGER, digests BLOB, "
    "PRIMARY KEY (id, perturbation, trial)) WITHOUT ROWID"
)
_PAGE: Final = (
    "SELECT number, id, perturbation, trial, stats, texts FROM wanted "
    "LEFT JOIN entry USING (offset) LEFT JOIN answer USING (id, perturbation, trial) "
    "WHERE number > ? ORDER BY number LIMIT 500"
)

_WORDS: Final = struct.Struct("=6Q")


class EntrySamples:
    """Collects the entries of a run: each is a row of each of its scores."""

    def __init__(self, samples: RunSamples, request: SampleRequest) -> None:
        self._samples, self._request = samples, request
        self._collector = sample_digests.SampleCollector(samples)
        self._inputs = SpillTable(_INPUTS)

    def add_input(self, request: Request) -> None:
        """Keep the digests of what a request asks, for the entry of its instance."""
        shown = sample_digests.InputDigests(request.text, request.correct, request.choices)
        prompt = sample_digests.text_digest(member(request.value.get("request"), "prompt"))
        cluster = sample_digests.read_cluster(self._request, request.value, shown)
        words = (shown.high, shown.low, shown.question, shown.input, prompt, cluster)
        row = (*instance_key(request.instance), _WORDS.pack(*words))
        self._inputs.change("INSERT OR IGNORE INTO input VALUES (?, ?, ?, ?)", [row])

    def add(self, found: InstanceEntry, line: int, offset: int) -> None:
        """Add an entry, by the line and the byte offset of its beginning in the document."""
        row = sample_digests.record_sample(self._request, found.instance.id, None, line, offset)
        query = "SELECT digests FROM input WHERE (id, perturbation, trial) = (?, ?, ?)"
        for (packed,) in self._inputs.rows(query, *instance_key(found.instance)):
            high, low, question, shown, prompt, cluster = _WORDS.unpack(packed)
            row = row._replace(question=question, input=shown, prompt=prompt, cluster=cluster)
            if self._request.by == "input":
                row = row._replace(high=high, low=low)
        self._collector.add(row, _iterate_scores(found))

    def finish(self, run_spec: Mapping[str, Any], adapter: Mapping[str, Any]) -> None:
        """Pass on what waits, and describe the run."""
        self._collector.finish()
        labels, scenario = self._samples.labels, _describe_scenario(run_spec)
        found = {key: value for key, value in adapter.items() if key not in _MODEL_MEMBERS}
        settings = flatten_settings("adapter_spec", found)
        model = adapter.get("model")
        metrics = [
            MetricName(
                f"{scenario}:{label.name}" if label.name else scenario,
                label.result,
                label.result in _LOWER_IS_BETTER,
            )
            for label in labels
        ]
        self._samples.description = RunDescription(
            model if isinstance(model, str) else None,
            scenario,
            metrics,
            [settings for _ in labels],
            setting_texts({"harness": NAME, "model_deployment": adapter.get("model_deployment")}),
        )


def _describe_scenario(run_spec: Mapping[str, Any]) -> str:
    """Return the name of a run's scenario with its arguments, "" where it is not known."""
    spec = run_spec.get("scenario_spec")
    name, args = member(spec, "class_name"), member(spec, "args")
    parts = [f"{key}={setting_text(value)}" for key, value in sorted((args or {}).items())]
    return ",".join([str(name or "").rpartition(".")[2], *parts])


def _iterate_scores(entry: InstanceEntry) -> Iterator[tuple[GroupLabel, float, SampleFlag]]:
    """Yield the scores of an entry: the metric, the mean, and whether it is right or wrong."""
    for name, stat in zip(entry.names, entry.stats, strict=True):
        if is_score(name) and stat.count:
            score = stat.sum / stat.count
            flags = {1.0: SampleFlag.RIGHT, 0.0: SampleFlag.WRONG}.get(score, SampleFlag(0))
            yield (
                GroupLabel(None, str(name._replace(name="")).removeprefix(":"), name.name),
                score,
                flags,
            )


def answers(run: Run, options: Options, places: RowPlaces) -> Iterator[Answered | None]:
    """Iterate over the answers to instances whose entries stand at some places, in their order."""
    path = run.rows or ""
    state = find_beside(os.path.dirname(path)).get(STATE) if is_local(path) else None
    with closing(SpillTable(_TABLES)) as table:
        offsets = ((offset,) for _, offset in places)
        if table.change("INSERT INTO wanted (offset) VALUES (?)", offsets) > 0 and state:
            _find_entries(path, options, table)
            _find_answers(state, options, table)
        yield from _read_answers(table)


def _find_entries(path: str, options: Options, table: SpillTable) -> None:
    query = "SELECT 1 FROM wanted WHERE offset = ? LIMIT 1"
    for element in iterate_elements(path, ArraySplitter(options.max_line_bytes)):
        found = read_entry(element, options) if table.rows(query, element.offset) else None
        if found is not None:
            pairs = zip(found.names, found.stats, strict=True)
            stats = json.dumps({str(name): stat.sum for name, stat in pairs})
            row = (element.offset, *instance_key(found.instance), stats)
            table.change("INSERT OR IGNORE INTO entry VALUES (?, ?, ?, ?, ?)", [row])


def _find_answers(path: str, options: Options, table: SpillTable) -> None:
    query = "SELECT 1 FROM entry WHERE (id, perturbation, trial) = (?, ?, ?) LIMIT 1"
    for request in iterate_requests(path, options):
        key = instance_key(request.instance)
        if table.rows(query, *key):
            row = (*key, json.dumps(list(map(text_of, request.completions))))
            table.change("INSERT OR REPLACE INTO answer VALUES (?, ?, ?, ?)", [row])


def _read_answers(table: SpillTable) -> Iterator[Answered | None]:
    for _, id_, perturbation, trial, stats, said in table.pages(_PAGE):
        if id_ is None:
            yield None
            continue
        name, texts = decode_name(id_), json.loads(said or "[]")
        instance = [name, decode_name(perturbation), trial]
        record = {"instance": instance, "answers": texts, "statistics": json.loads(stats)}
        yield Answered(name, next(iter(texts), None), is_whole=True, record=record)


def read_entry(element: Element, options: Options) -> InstanceEntry | None:
    """Return an entry, None for one that is malformed."""
    value = parse_text(element.text, options.max_depth)
    is_sound = value is not UNREADABLE and next(check_entry(value, ""), None) is None
    return make_entry(value) if is_sound else None


def iterate_requests(path: str, options: Options) -> Iterator[Request]:
    """Iterate over the requests of a run that can be read. Raises OSError and CannotCheck."""
    for element in iterate_elements(path, ObjectSplitter(REQUESTS, options.max_line_bytes)):
        value = parse_text(element.text, options.max_depth)
        if value is not UNREADABLE and next(check_request(value, ""), None) is None:
            yield read_request(value)

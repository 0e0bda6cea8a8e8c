"""A log for comparisons: its samples with their scores, its settings, its answers."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from math import nan
from typing import Any, Final

from evalstream.engine.log_reading import UNREADABLE, begun, iterate_elements, open_log, parse_text
from evalstream.engine.row_lookup import RowPlaces, pick_elements
from evalstream.formats.inspect.archive import Archive
from evalstream.formats.inspect.format import NAME, SAMPLES, ZIP
from evalstream.formats.inspect.values import score_to_float, score_value
from evalstream.formats.inspect.views import LogView, SampleView
from evalstream.io.names import is_remote
from evalstream.model.comparison import Answered, MetricName, RunDescription
from evalstream.model.errors import CannotCheck
from evalstream.model.options import Options, SampleRequest
from evalstream.model.run import STDIN, Run
from evalstream.model.sample_record import GroupLabel, SampleFlag
from evalstream.parsing.json import canonical, member, text_or_none
from evalstream.parsing.json_values import (
    flatten_settings,
    list_or_empty,
    object_or_empty,
    setting_text,
    setting_texts,
)
from evalstream.parsing.object_splitter import ObjectSplitter
from evalstream.stats import sample_digests
from evalstream.stats.claims.reducers import is_missing
from evalstream.stats.log_links import LogLinks
from evalstream.stats.run_samples import RunSamples

_GRADED: Final = "model_graded"
"""The beginning of the names of scorers that ask a model."""

_RIGHT: Final = {"C": SampleFlag.RIGHT, "I": SampleFlag.WRONG}


class LogSamples:
    """Collects the samples of a log: each epoch is a row, each scorer a result."""

    def __init__(self, samples: RunSamples, request: SampleRequest, log: LogView) -> None:
        self._samples, self._request = samples, request
        self._task = text_or_none(log.eval.get("task")) or ""
        self._collector = sample_digests.SampleCollector(samples)

    def add(self, sample: SampleView, line: int, offset: int) -> None:
        """Add a sample, by its number or line and its byte offset in the log."""
        value = sample.value
        row = sample_digests.record_sample(
            self._request, value.get("id"), _input(sample), line, offset, value
        )
        self._collector.add(row, self._iterate_scores(sample))

    def _iterate_scores(self, sample: SampleView) -> Iterator[tuple[GroupLabel, float, SampleFlag]]:
        """Yield the scores of a sample: the scorer, the value, and whether it is right or wrong."""
        is_stopped = member(sample.value.get("limit"), "type") in _STOPS
        failed = SampleFlag.FAILED if sample.has_failed or is_stopped else SampleFlag(0)
        for name, scored in _scores(sample):
            flags = failed
            if isinstance(scored, str):
                flags |= _RIGHT.get(scored, SampleFlag(0))
            score = nan if is_missing(scored) else score_to_float(scored)
            yield GroupLabel(None, self._task, name), score, flags

    def finish(self, log: LogView) -> None:
        """Pass on the last batch, and describe the run."""
        self._collector.finish()
        labels = self._samples.labels
        generation: dict[str, str] = {}
        for name in _GENERATION:
            generation |= flatten_settings(name, log.eval.get(name) or None)
        steps = list(map(_step, list_or_empty(member(log.header.get("plan"), "steps"))))
        config = object_or_empty(log.eval.get("config"))
        packages = object_or_empty(log.eval.get("packages"))
        settings = {
            "harness": " ".join(filter(None, [NAME, text_or_none(packages.get("inspect_ai"))])),
            "format version": log.header.get("version"),
            "task_version": log.eval.get("task_version"),
            "dataset": member(log.eval.get("dataset"), "name"),
            "epochs": log.epochs,
            "solver": steps or None,
            **{name: one for name, one in config.items() if name in _LIMITS},
        }
        self._samples.description = RunDescription(
            text_or_none(log.eval.get("model")),
            text_or_none(log.eval.get("eval_id")),
            [MetricName(label.name or "", label.result) for label in labels],
            [generation for _ in labels],
            setting_texts(settings),
            [_scoring(label.result or "", log) for label in labels],
        )


_GENERATION: Final = (
    *("model_generate_config", "model_args", "model_base_url", "model_roles"),
    *("task_args", "sandbox"),
)
"""Members of `eval` that may explain a difference (inspect_ai.log.EvalSpec)."""

_LIMITS: Final = frozenset(
    {"message_limit", "token_limit", "time_limit", "working_limit", "cost_limit", "turn_limit"}
)
"""Members of `eval.config` that may end a sample (inspect_ai.log.EvalConfig)."""


def _step(step: Any) -> Any:
    """Return a step of the plan with the parameters that were passed, or all where none are."""
    passed = member(step, "params_passed")
    return [member(step, "solver"), member(step, "params") if passed is None else passed]


_STOPS: Final = frozenset({"time", "working", "operator"})
"""The limits that end a sample whatever the model does (inspect_ai.log.EvalSampleLimit)."""


def _scoring(name: str, log: LogView) -> dict[str, str]:
    """Return the settings that define the scores of a name: the scorer's options, and the grader.

    inspect_ai.scorer.model_graded_qa asks `model`, else the model in the role that `model_role`
    names (`grader`), else the model that is evaluated.
    """
    declared = log.declared_scorers
    scorer = declared.get(name) or declared.get(name.partition("/")[0])
    if scorer is None:
        return {}
    options = object_or_empty(scorer.get("options"))
    found = {"scorer/options": setting_text(options)}
    if _GRADED in name:
        role = text_or_none(options.get("model_role")) or "grader"
        in_role = member(member(log.eval.get("model_roles"), role), "model")
        grader = options.get("model") or in_role or log.eval.get("model")
        found["scorer/grader"] = setting_text(grader)
    return found


def _input(sample: SampleView) -> sample_digests.InputDigests | None:
    """Return the digests of the input, with the target as its references."""
    value = sample.value
    shown = sample.resolve_attachment(value.get("input"))
    if shown is None:
        return None
    raw = shown if isinstance(shown, str) else canonical(without_ids(list_or_empty(shown))).decode()
    target = value.get("target")
    references = [target] if isinstance(target, str) else list_or_empty(target)
    choices = list_or_empty(value.get("choices"))
    return sample_digests.InputDigests(raw, _texts(references), _texts(choices))


def _texts(values: Iterable[Any]) -> tuple[str, ...]:
    return tuple(value for value in values if isinstance(value, str))


def _scores(sample: SampleView) -> Iterator[tuple[str, Any]]:
    """Iterate over the scores of a sample by name; those of a dict one by one."""
    for name, score in sample.scores.items():
        value = score_value(score)
        if isinstance(value, dict):
            yield from ((f"{name}/{key}", part) for key, part in value.items())
        elif not isinstance(value, list):
            yield name, value


def answers(run: Run, options: Options, places: RowPlaces) -> Iterator[Answered | None]:
    """Iterate over the outputs of samples at some places, in their order."""
    path = run.rows or ""
    if path == STDIN or (not is_remote(path) and not os.path.isfile(path)):
        yield from (None for _ in places)
        return
    with closing(open_log(path)[0]) as reader:
        start, _ = begun(reader)
    if not start.startswith(ZIP):
        samples = iterate_elements(path, ObjectSplitter(SAMPLES, options.max_line_bytes))
        for one in pick_elements(samples, places):
            yield None if one is None else _read_answer(one.text)
        return
    if is_remote(path):
        yield from (None for _ in places)
        return
    yield from _in_archive(path, options, places)


def _in_archive(path: str, options: Options, places: RowPlaces) -> Iterator[Answered | None]:
    with open(path, "rb", buffering=0) as file:
        size = os.fstat(file.fileno()).st_size
        with closing(Archive(file.fileno(), size, _ignore_defect, _ignore_defect)) as archive:
            is_open = archive.open() and archive.unsafe() is None
            for _, offset in places:
                member_at = archive.at(offset) if is_open else None
                if member_at is None or member_at.size > options.max_line_bytes:
                    yield None
                    continue
                try:
                    text = b"".join(archive.pieces(member_at))
                except CannotCheck:
                    yield None
                else:
                    yield _read_answer(text)


def _ignore_defect(_message: str, _member: str | None) -> None:
    """Ignore a defect of the archive: the check has reported it."""


def _read_answer(text: bytes) -> Answered | None:
    sample: Any = parse_text(text, Options().max_depth)
    if sample is UNREADABLE or not isinstance(sample, Mapping):
        return None
    output = member(sample.get("output"), "completion")
    own = {name: one for name, one in sample.items() if name not in _OF_LOG}
    spoken = [
        one for one in list_or_empty(sample.get("messages")) if member(one, "role") == "assistant"
    ]
    is_whole = len(spoken) == 1 and not member(spoken[0], "tool_calls")
    return Answered(sample.get("id"), output, is_whole, own)


_OF_LOG: Final = frozenset({"uuid", "events", "timelines"})
"""Members of a sample that name it within a log, or repeat what it says as it came about."""


class SampleLinks:
    """Collects what links a log to others."""

    def __init__(self, view: LogView) -> None:
        names = ("run_id", "eval_id", "created", "task_id")
        run = [view.eval[name] for name in names if view.eval.get(name) is not None]
        model = text_or_none(view.eval.get("model"))
        self.log = LogLinks(run or None, view.eval.get("task"), model or "", _data(view))

    def add(self, view: SampleView) -> None:
        """Add a sample. Its times tell its answer from that of any other model."""
        value = view.value
        shown = [view.resolved_within(value.get(name)) for name in ("input", "choices", "target")]
        self.log.add_samples([(str(value["id"]), without_ids(shown))])
        times = value.get("total_time"), value.get("working_time")
        if isinstance(times[0], float) and times[0] > 0:
            answer = member(value.get("output"), "completion")
            self.log.add_answers([(str(value["id"]), value["epoch"], answer, *times)])


def _data(view: LogView) -> list[Any] | None:
    """Return what names the data of a log; None without a name, and where ids may be places."""
    dataset = object_or_empty(view.eval.get("dataset"))
    if not dataset.get("name") or dataset.get("shuffled"):
        return None
    return [dataset["name"], *(view.eval.get(one) for one in ("task_version", "task_args"))]


def without_ids(value: Any) -> Any:
    """Return a value without the ids of messages, which differ from run to run."""
    if isinstance(value, list):
        return [without_ids(one) for one in value]
    if isinstance(value, dict):
        return {name: one for name, one in value.items() if name != "id"}
    return value

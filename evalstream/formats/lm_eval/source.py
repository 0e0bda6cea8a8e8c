"""The log of lm-eval that a run was converted from: what its rows become.

The facts come from the converters of every-eval-ever, tags v0.2.0 to v0.2.3rc1 and release 0.3.0
(converters/lm_eval): a row for each row of the samples, from 0.3.0 on one for each of its metrics.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping
from typing import Any, Final

from evalstream.engine.log_reading import parse_text
from evalstream.engine.row_lookup import every_row
from evalstream.formats.lm_eval.format import (
    RESULTS,
    SAMPLES,
    kind_of_file,
    results_beside,
    results_time,
    samples_beside,
    samples_name,
)
from evalstream.formats.lm_eval.row import HASHES, hashed_prompt, iterate_metrics
from evalstream.formats.lm_eval.views import Results
from evalstream.io.containment import files_inside
from evalstream.io.inputs import document_bytes
from evalstream.io.names import printable
from evalstream.model.errors import CannotCheck
from evalstream.model.options import Options
from evalstream.model.source_log import (
    SourceResult,
    SourceSample,
    SourceScore,
    Stated,
    Wanted,
    stated_values,
)
from evalstream.parsing.json import member, text_or_none
from evalstream.parsing.json_values import holds_double, to_number
from evalstream.parsing.strict_json import parse_exactly

NO_FILTER: Final = "none"
"""The filter of tasks that declare none; converters leave it out of names."""


class LmEvalSource:
    """The samples of one task, and what the results say of it."""

    part_name = "filter"
    was_matched = False

    def __init__(self, samples: str, task: str, results: Results | None, options: Options) -> None:
        self._path, self._task, self._options = samples, task, options
        self.label = f"lm_eval log {printable(samples)}"
        self.models = frozenset() if results is None else _models(results)
        self.results = None if results is None else tuple(_results(results, task))
        self.stated = {} if results is None else _read_stated(results, task)
        self.stated_of_run = {} if results is None else _stated_of_run(results)

    def samples(self) -> Iterator[SourceSample]:
        """Iterate over the rows of the samples file. Raises OSError and CannotCheck."""
        for number, _, line in every_row(self._path, self._options):
            row = parse_text(line, self._options.max_depth)
            if not isinstance(row, dict) or "doc_id" not in row:
                message = f"line {number:,} of {printable(self._path)} is not a sample of lm-eval"
                raise CannotCheck(message)
            yield _sample(row, f"line {number:,}", self._task)

    def find_part(self, name: str) -> str | None:
        """Return the filter in an evaluation_name: `TASK` or `TASK/FILTER`."""
        if name == self._task:
            return NO_FILTER
        return name.removeprefix(f"{self._task}/") if name.startswith(f"{self._task}/") else None

    def close(self) -> None:
        """Nothing is kept."""


def open_source(path: str, options: Options, wanted: Wanted) -> LmEvalSource | None:
    """Return the samples of a run's task in a log, None for a path that is not a log of lm-eval.

    The path is a samples file, a results file, their folder, or the folder above it. Raises
    OSError, and CannotCheck where the log does not say which samples are meant.
    """
    if os.path.isdir(path):
        return _in_folder(path, options, wanted)
    kind = kind_of_file(path)
    if kind == SAMPLES:
        name, beside = samples_name(path), results_beside(path)
        results = _read(beside[0]) if len(beside) == 1 else None
        task = _task(wanted, results, None if name is None else name.task)
        return LmEvalSource(path, task, results, options)
    return _of_results(path, options, wanted) if kind == RESULTS else None


def _in_folder(path: str, options: Options, wanted: Wanted) -> LmEvalSource | None:
    paths = list(_results_in(path))
    if not paths:
        # The harness writes into a folder of the model's name below --output_path.
        entries = os.scandir(path)
        below = sorted(one.path for one in entries if one.is_dir(follow_symlinks=False))
        paths = [one for folder in below for one in _results_in(folder)]
    if not paths:
        return None
    if len(paths) > 1:
        timed = [one for one in paths if str(next(iter(_times(_read(one))), None)) == wanted.time]
        if len(timed) != 1:
            message = f"{printable(path)} holds the logs of several calls; name the samples"
            raise CannotCheck(message)
        paths = timed
    return _of_results(paths[0], options, wanted)


def _results_in(folder: str) -> Iterator[str]:
    """Iterate over the results files in a folder, in the order of their names."""
    names = (name for name in sorted(os.listdir(folder)) if results_time(name) is not None)
    for name in files_inside(folder, (name for name in names if name.endswith(".json"))):
        yield os.path.join(folder, name)


def _of_results(path: str, options: Options, wanted: Wanted) -> LmEvalSource:
    results = _read(path)
    task = _task(wanted, results, None)
    for samples, name in samples_beside(path).items():
        if name == task:
            return LmEvalSource(samples, task, results, options)
    raise CannotCheck(f"no samples of task {printable(task)} lie beside {printable(path)}")


def _task(wanted: Wanted, results: Results | None, named: str | None) -> str:
    """Return the task of a run: `named`, or else the longest one that its names begin with."""
    if named is not None:
        return named
    fitting = [
        task
        for task in (() if results is None else results.tasks)
        if any(f"{name}/".startswith(f"{task}/") for name in wanted.names)
    ]
    if not fitting:
        names = ", ".join(map(printable, sorted(wanted.names)[:3])) or "no result"
        raise CannotCheck(f"the log has no task of the run's results ({names})")
    return max(fitting, key=len)


def _read(path: str) -> Results:
    found = parse_exactly(document_bytes(path), 100)
    if not found.readable or not isinstance(found.value, dict):
        raise CannotCheck(f"{printable(path)} cannot be read as results of lm-eval")
    return Results(found.value)


def _models(results: Results) -> frozenset[str]:
    """Return the spellings of the model's id: `pretrained` of its arguments, else its name."""
    name = results.argument("pretrained") or results.model
    return frozenset({name}) if name else frozenset()


def _results(results: Results, task: str) -> Iterator[SourceResult]:
    entry = results.entry(task)
    given = (results.samples(task).get("effective"), entry.get("samples"), entry.get("sample_len"))
    counts = frozenset(one for one in given if isinstance(one, int))
    claims = list(results.figures(task))
    directions = member(results.document.get("higher_is_better"), task)
    errors = {(one.metric, one.filter): one.value for one in claims if one.is_stderr}
    for claim in claims:
        score = to_number(claim.value)
        if claim.is_stderr or score is None:
            continue
        metric, part = claim.metric, claim.filter or NO_FILTER
        error = to_number(errors.get((metric, claim.filter)))
        better = directions.get(metric) if isinstance(directions, dict) else None
        direction = () if not isinstance(better, bool) else (not better,)
        yield SourceResult(
            _result_id(metric, part),
            frozenset({_evaluation_name(task, part)}),
            frozenset({metric, f"{metric} (filter: {part})"}),
            _result_id(metric, part),
            part,
            score,
            () if error is None else (error,),
            (),
            counts,
            is_required=True,
            stated={"metric_config/lower_is_better": direction},
        )


def _read_stated(results: Results, task: str) -> Stated:
    """Return what the configuration of a task says of its data and of the generation."""
    config, samples = results.config(task), results.samples(task)
    path = text_or_none(config.get("dataset_path"))
    names = (config.get("task"), task, path, config.get("dataset_name"))
    last = None if path is None else path.rpartition("/")[2]
    splits = (config.get(f"{name}_split") for name in ("test", "validation", "training", "fewshot"))
    given = config.get("generation_kwargs")
    settings = {
        f"generation_config/generation_args/{name}": stated_values(member(given, its_own))
        for name, its_own in _ARGUMENTS.items()
    }
    known = {"num_fewshot": config.get("num_fewshot"), **(given if isinstance(given, dict) else {})}
    details = {
        f"generation_config/additional_details/{name}": stated_values(
            value, None if value is None else str(value)
        )
        for name, value in known.items()
    }
    return {
        "evaluation_timestamp": _times(results),
        "source_data/dataset_name": stated_values(*names, last),
        "source_data/hf_repo": stated_values(path),
        "source_data/hf_split": stated_values(*splits),
        "source_data/samples_number": stated_values(
            samples.get("original"), samples.get("effective")
        ),
        **settings,
        **details,
    }


def _times(results: Results) -> tuple[Any, ...]:
    """Return the spellings of the time of the call, which converters cut to seconds."""
    date = results.document.get("date")
    return (int(date), date) if holds_double(date) else ()


_ARGUMENTS: Final = {
    "temperature": "temperature",
    "top_p": "top_p",
    "top_k": "top_k",
    "max_tokens": "max_gen_toks",
}
"""The settings of the generation that converters write, by their names in the log."""

_OF_MODEL: Final = {
    "num_parameters": "model_num_parameters",
    "dtype": "model_dtype",
    "revision": "model_revision",
    "sha": "model_sha",
    "model_args": "model_args",
}
"""The settings of the model that converters write, by their names in the log."""


_PLATFORMS: Final = {
    "openai-completions": ("openai",),
    "openai-chat-completions": ("openai",),
    "anthropic": ("anthropic",),
    "anthropic-chat": ("anthropic",),
    "together": ("together",),
}
_ENGINES: Final = {
    "hf": ("transformers", "hf"),
    "vllm": ("vllm",),
    "gguf": ("llama.cpp", "llama-cpp-python", "gguf"),
}
"""Platforms and engines that converters derive from the kind of the model."""

_LIBRARIES: Final = ("lm_eval", "lm-eval", "lm-evaluation-harness", "lm_evaluation_harness")


def _stated_of_run(results: Results) -> Stated:
    version = stated_values(results.document.get("lm_eval_version"))
    kind = text_or_none(results.setting("model")) or ""
    developers = (one.partition("/")[0] for one in _models(results) if "/" in one)
    return {
        "model_info/developer": tuple(developers),
        "model_info/inference_platform": _PLATFORMS.get(kind, ()),
        "model_info/inference_engine/name": _ENGINES.get(kind, ()),
        "eval_library/name": _LIBRARIES,
        **{
            f"model_info/additional_details/{name}": tuple(
                str(one) for one in stated_values(results.setting(its_own) or None)
            )
            for name, its_own in _OF_MODEL.items()
        },
        "model_info/additional_details/lm_eval_version": version,
        "eval_library/version": version,
        "evaluation_timestamp": _times(results),
    }


def _result_id(metric: str, part: str) -> str:
    return metric if part == NO_FILTER else f"{metric}:{part}"


def _evaluation_name(task: str, part: str) -> str:
    return task if part == NO_FILTER else f"{task}/{part}"


def _sample(row: Mapping[str, Any], place: str, task: str) -> SourceSample:
    part = text_or_none(row.get("filter")) or NO_FILTER
    numbers = {
        _result_id(name, part): SourceScore(number)
        for name, value in iterate_metrics(row)
        if (number := to_number(value)) is not None
    }
    return SourceSample(
        str(row["doc_id"]),
        part,
        place,
        {**_members(row, part), "evaluation_name": (_evaluation_name(task, part),)},
        (),
        numbers,
        next(iter(numbers.values()), SourceScore(None)),
    )


def _members(row: Mapping[str, Any], part: str) -> Stated:
    """Return the members that converters make of a row; in version 0.2.0 metadata are not texts."""
    choices, prompt, target = _choices(row), hashed_prompt(row) or "", str(row.get("target", ""))
    output = _output(row, choices)
    values = dict(iterate_metrics(row))
    # Converters keep the metrics that a row lists: early releases listed none.
    kept = (values,) if isinstance(row.get("metrics"), list) else (values, {})
    return {
        "input/raw": (prompt,),
        "input/formatted": (None, prompt),
        "input/reference": ([target], target),
        "input/choices": (choices,),
        "output/raw/*": (output,),
        "answer_attribution/*/extracted_value": (output,),
        "answer_attribution/*/extraction_method": (part,),
        **{f"metadata/{name}": (str(row.get(name, "")), row.get(name)) for name in HASHES},
        "metadata/filter": (part,),
        "metadata/lm_eval_metrics": (*map(json.dumps, kept), *kept),
    }


def _choices(row: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Return the continuations that a multiple choice compares, without space around them."""
    arguments = row.get("arguments")
    if not isinstance(arguments, dict) or "gen_args_1" not in arguments:
        return None
    found: list[str] = []
    while isinstance(one := arguments.get(f"gen_args_{len(found)}"), dict) and "arg_1" in one:
        found.append(str(one["arg_1"]).strip())
    return tuple(found) or None


def _output(row: Mapping[str, Any], choices: tuple[str, ...] | None) -> str:
    """Return what the model answered: the likeliest choice, or its first response."""
    given = row.get("filtered_resps") or row.get("resps")
    if not isinstance(given, list) or not given:
        return ""
    if choices is not None:
        try:
            values = [_read_likelihood(one) for one in given]
            place = values.index(max(values))
        except (ValueError, TypeError, IndexError, OverflowError):
            return str(given)
        return choices[place] if place < len(choices) else str(place)
    first = given[0]
    if isinstance(first, list):
        return str(first[0]) if first else ""
    return str(first)


def _read_likelihood(response: Any) -> float:
    """Return the log-likelihood of a response; a text, beside which choices are asked, has none."""
    if not isinstance(response, list) or not response:
        return -math.inf
    return float((response[0] if isinstance(response[0], list) else response)[0])

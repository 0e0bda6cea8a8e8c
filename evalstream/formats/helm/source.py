"""The run of HELM that a run was converted from: what its rows and results become.

The facts come from the converters of every-eval-ever, tags v0.2.0 to v0.2.3rc1 and release 0.3.0
(converters/helm): a row for each request, from 0.3.0 on one for each score of its instance. They
take the first entry of an id, whatever its perturbation and trial.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from typing import Any, Final

from evalstream.engine.log_reading import UNREADABLE, iterate_elements, parse_text
from evalstream.formats.helm.compared import iterate_requests, read_entry
from evalstream.formats.helm.format import (
    ENTRIES,
    NAME,
    RUN_SPEC,
    SCENARIO,
    STATE,
    STATISTICS,
    find_beside,
    kind_of_file,
)
from evalstream.formats.helm.requests import Request
from evalstream.formats.helm.rules.documents import find_malformed_member
from evalstream.formats.helm.statistics import InstanceEntry, Name, make_name
from evalstream.io.inputs import document_bytes
from evalstream.io.names import printable
from evalstream.io.spill_table import SpillTable, encode_name
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
from evalstream.parsing.array_splitter import ArraySplitter
from evalstream.parsing.json import member, text_or_none

CORE: Final = (
    *("exact_match", "quasi_exact_match", "prefix_exact_match", "quasi_prefix_exact_match"),
    *("classification_micro_f1", "classification_macro_f1", "f1_score", "rouge_l", "bleu_"),
    *("ifeval_strict_accuracy", "chain_of_thought_correctness", "math_equiv"),
)
"""Prefixes of the names of metrics that converters write (converters/helm/metrics.py)."""

MOST_IDS: Final = 100_000
"""Most ids of a data set that are compared."""

_TOKENS: Final = ("num_prompt_tokens", "num_completion_tokens", "num_output_tokens")
_TABLES: Final = """
    CREATE TABLE first (id BLOB PRIMARY KEY, data TEXT) WITHOUT ROWID;
    CREATE TABLE scored (result BLOB, id BLOB, PRIMARY KEY (result, id)) WITHOUT ROWID;
"""
_ADD_SCORED: Final = "INSERT OR IGNORE INTO scored VALUES (?, ?)"


class HelmSource:
    """A run of HELM as converters see it."""

    part_name = "part"
    was_matched = False

    def __init__(self, paths: Mapping[str, str], options: Options, wanted: Wanted) -> None:
        self._paths, self._options = paths, options
        self.label = f"{NAME} log {printable(os.path.dirname(paths[STATE]) or os.curdir)}"
        run_spec, scenario = (_read(paths.get(kind), options) for kind in (RUN_SPEC, SCENARIO))
        self._adapter = member(run_spec, "adapter_spec")
        deployment = str(member(self._adapter, "model_deployment") or "")
        self._platform = deployment.partition("/")[0] if "/" in deployment else None
        self.models = frozenset(stated_values(text_or_none(member(self._adapter, "model"))))
        run_name = str(member(run_spec, "name") or "")
        self._dataset = str(member(scenario, "name") or run_name.partition(":")[0])
        self.stated: Stated = {}
        self.stated_of_run: Stated = {}
        self._scenario = member(run_spec, "scenario_spec")
        self._table = SpillTable(_TABLES)
        self.close = self._table.close
        try:
            self._add_entries()
            is_early = any(name.endswith(f" on {self._dataset}") for name in wanted.names)
            results = self._iterate_results(is_required=not is_early)
            self.results: tuple[SourceResult, ...] | None = tuple(results)
        except BaseException:
            self.close()
            raise

    def samples(self) -> Iterator[SourceSample]:
        """Iterate over the requests. Raises OSError and CannotCheck."""
        first: Request | None = None
        listed: list[str] = []
        time: float | None = None
        for number, request in enumerate(iterate_requests(self._paths[STATE], self._options)):
            first = first or request
            name = request.instance.id
            if number <= MOST_IDS:
                listed.append(name)
            self._table.add(_ADD_SCORED, [(b"", encode_name(name))])
            its_time = member(request.value.get("result"), "request_datetime")
            if isinstance(its_time, (int, float)) and its_time:
                time = its_time if time is None else min(time, its_time)
            found = self._table.rows("SELECT data FROM first WHERE id = ?", encode_name(name))
            yield _sample(request, json.loads(found[0][0]) if found else {}, f"request {number:,}")
        times = stated_values(time)
        data = self._state_data(listed if len(listed) <= MOST_IDS else None)
        settings = {} if first is None else _state_settings(first, self._adapter)
        self.stated = {**data, **settings, "evaluation_timestamp": times}
        developers = {one.partition("/")[0] for one in self.models if "/" in one}
        self.stated_of_run = {
            "evaluation_timestamp": times,
            "eval_library/name": (NAME,),
            "model_info/developer": tuple(developers),
            "model_info/inference_platform": stated_values(self._platform),
        }

    def find_part(self, _name: str) -> str | None:
        """Return "": rows do not say which request of an instance they are about."""
        return ""

    def _add_entries(self) -> None:
        """Keep the scores and the tokens of the first entry of each id."""
        path = self._paths.get(ENTRIES)
        if path is None:
            return
        for element in iterate_elements(path, ArraySplitter(self._options.max_line_bytes)):
            entry = read_entry(element, self._options)
            if entry is None:
                raise CannotCheck(f"an entry of {printable(path)} cannot be read")
            facts, key = _read_facts(entry), encode_name(entry.instance.id)
            self._table.add("INSERT OR IGNORE INTO first VALUES (?, ?)", [(key, json.dumps(facts))])
            self._table.add(_ADD_SCORED, ((encode_name(result), key) for result in facts["scores"]))

    def _count_scored(self, result: str) -> int:
        """Return how many ids have a score under a result; "" stands for the requests."""
        query = "SELECT COUNT(*) FROM scored WHERE result = ?"
        return int(self._table.rows(query, encode_name(result))[0][0])

    def _count_ids(self) -> int:
        """Return how many ids have entries: without originals, a worst case is counted so."""
        return int(self._table.rows("SELECT COUNT(*) FROM first")[0][0])

    def _iterate_results(self, *, is_required: bool) -> Iterator[SourceResult]:
        """Iterate over the statistics that converters write, the first one of each id."""
        statistics = _read(self._paths.get(STATISTICS), self._options)
        known = [one for one in statistics or () if find_malformed_member(one) is None]
        named = [(make_name(one["name"]), one) for one in known]
        splits = {
            name.split: int(one["mean"])
            for name, one in named
            if name.name == "num_instances" and not name.perturbation and one.get("mean")
        }
        seen = set[str]()
        for name, one in named:
            identity = _result_id(name)
            if not name.name.startswith(CORE) or not one.get("count") or identity in seen:
                continue
            seen.add(identity)
            own = (self._count_scored(identity), self._count_scored(_join(name.name, name.split)))
            counts = {*own, splits.get(name.split, 0)} - {0} or {self._count_ids()} - {0}
            spelled = " ".join(filter(None, (name.name, name.split)))
            yield SourceResult(
                identity,
                frozenset({self._dataset, f"{spelled} on {self._dataset}"}),
                frozenset({name.name}),
                identity,
                None,
                float(one["mean"]),
                (),
                stated_values(one.get("stddev")),
                frozenset(counts),
                is_required=is_required,
                stated=_state_result(name, one),
            )

    def _state_data(self, listed: list[str] | None) -> Stated:
        """Return what the run says of its data set."""
        args, place = member(self._scenario, "args"), "source_data/additional_details"
        return {
            "source_data/dataset_name": (self._dataset,),
            "source_data/samples_number": (self._count_scored(""),),
            "source_data/sample_ids": () if listed is None else (listed,),
            f"{place}/scenario_name": stated_values(member(self._scenario, "class_name")),
            f"{place}/scenario_args": stated_values(args, None if args else ""),
            **{f"{place}/scenario_args/{key}": (value,) for key, value in (args or {}).items()},
        }


def open_source(path: str, options: Options, wanted: Wanted) -> HelmSource | None:
    """Return the log of a run, None for a path that is not a folder or document of HELM.

    Raises OSError, and CannotCheck where the run has no requests.
    """
    if not os.path.isdir(path) and (not os.path.isfile(path) or kind_of_file(path) is None):
        return None
    folder = path if os.path.isdir(path) else os.path.dirname(path)
    paths = find_beside(folder)
    if not paths:
        return None
    if STATE not in paths:
        raise CannotCheck(f"{printable(folder)} has no {STATE}.json to compare with")
    return HelmSource(paths, options, wanted)


def _read(path: str | None, options: Options) -> Any:
    """Return the value of a small document, None where it is missing or cannot be read."""
    if path is None:
        return None
    found = parse_text(document_bytes(path), options.max_depth)
    if found is UNREADABLE:
        raise CannotCheck(f"{printable(path)} cannot be read")
    return found


def _join(*parts: str | None) -> str:
    return ":".join(part for part in parts if part)


def _result_id(name: Name) -> str:
    """Return the id that converters give to a result; they do not say what it is computed on."""
    said = json.loads(name.perturbation) if name.perturbation else {}
    return _join(name.name, name.split, said.get("name"))


def _state_result(name: Name, value: Mapping[str, Any]) -> Stated:
    """Return what a statistic says of its result beside its figures."""
    said = json.loads(name.perturbation) if name.perturbation else {}
    place, best = "score_details/details", name.name.partition("@")[2]
    return {
        "metric_config/metric_parameters/k": (int(best),) if best.isdecimal() else (),
        f"{place}/count": (value["count"],),
        f"{place}/num_train_trials": (value["count"],),
        f"{place}/stddev_across_train_trials": stated_values(value.get("stddev")),
        f"{place}/split": (name.split or "",),
        f"{place}/perturbation": (said.get("name") or "",),
    }


def _read_facts(entry: InstanceEntry) -> dict[str, Any]:
    """Return the scores of an entry by result, and its numbers of tokens, as JSON."""
    stats = list(zip(entry.names, entry.stats, strict=True))[::-1]
    scores = {
        _result_id(name): stat.sum / stat.count
        for name, stat in stats
        if stat.count and name.name.startswith(CORE)
    }
    tokens = {name.name: stat.sum for name, stat in stats if name.name in _TOKENS}
    return {"scores": dict(reversed(scores.items())), "tokens": tokens}


def _sample(request: Request, facts: Mapping[str, Any], place: str) -> SourceSample:
    texts = [one.get("text") for one in request.completions]
    correct = request.correct
    right = sum(isinstance(text, str) and text.strip() in correct for text in texts)
    scores = {name: SourceScore(score) for name, score in facts.get("scores", {}).items()}
    # Until 0.2.3rc1 a row had the exact match of its entry.
    exact = next((one for name, one in scores.items() if name.split(":")[0] == CORE[0]), None)
    return SourceSample(
        request.instance.id,
        "",
        place,
        _members(request, texts, facts.get("tokens", {})),
        (),
        scores,
        exact or SourceScore(right / len(texts) if texts else 0.0),
    )


def _members(request: Request, texts: list[Any], tokens: Mapping[str, float]) -> Stated:
    """Return the members that converters make of a request."""
    prompt, correct = member(request.value.get("request"), "prompt"), request.correct
    time = member(request.value.get("result"), "request_time")
    thoughts = (member(one.get("thinking"), "text") for one in request.completions)
    first = str(texts[0]).strip() if texts else ""
    found: dict[str, tuple[Any, ...]] = {
        "input/raw": stated_values(prompt),
        "input/formatted": (None, prompt),
        "input/reference": (correct, *correct[:1]),
        "input/choices": (request.choices,),
        "output/raw/*": tuple(texts) or (None,),
        "output/reasoning_trace/*": stated_values(*thoughts),
        "answer_attribution/*/extracted_value": (first,),
        "answer_attribution/*/extraction_method": ("exact_match",),
    }
    if isinstance(time, (int, float)):
        found["performance/generation_time_ms"] = (time * 1000,)
    if tokens:
        shown, said, answered = (int(tokens.get(name, 0)) for name in _TOKENS)
        found |= {
            "token_usage/input_tokens": (shown,),
            "token_usage/output_tokens": (answered,),
            "token_usage/total_tokens": (shown + said,),
            "token_usage/reasoning_tokens": (said - answered or None,),
        }
    return found


def _state_settings(request: Request, adapter: Any) -> Stated:
    """Return the settings of the generation, from the first request and else from the adapter."""
    asked = request.value.get("request")
    arguments = {
        name: stated_values(member(asked, own), member(adapter, own))[:1]
        for name, own in _ARGUMENTS.items()
    }
    has_thoughts = any(member(one.get("thinking"), "text") for one in request.completions)
    details = {name: stated_values(member(asked, name)) for name in _DETAILS}
    return {
        **{f"generation_config/generation_args/{key}": one for key, one in arguments.items()},
        "generation_config/generation_args/reasoning": (has_thoughts,),
        "generation_config/generation_args/max_attempts": (1,),
        **{f"generation_config/additional_details/{key}": one for key, one in details.items()},
    }


_ARGUMENTS: Final = {
    "temperature": "temperature",
    "top_p": "top_p",
    "top_k": "top_k_per_token",
    "max_tokens": "max_tokens",
}
"""The settings that converters write, by their names in requests and adapters."""

_DETAILS: Final = ("stop_sequences", "presence_penalty", "frequency_penalty", "num_completions")
"""Further settings, which converters write under their own names."""

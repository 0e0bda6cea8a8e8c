"""The data, the settings and the times that a log of Inspect states of its results.

The facts come from converters/inspect/adapter.py of every-eval-ever 0.3.0 and of its earlier tags.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Final

from evalstream.formats.inspect.views import LogView
from evalstream.model.source_log import Stated, stated_values
from evalstream.parsing.json import member, text_or_none
from evalstream.parsing.json_values import list_or_empty, object_or_empty, objects

_ARGUMENTS: Final = ("temperature", "top_p", "top_k", "max_tokens")
_LIBRARIES: Final = ("inspect_ai", "inspect-ai", "inspect", "inspect_evals")
_ENGINES: Final = {
    "hf": ("hf", "transformers"),
    "llamacpp": ("llamacpp", "llama.cpp"),
    "llama-cpp-python": ("llama-cpp-python", "llama.cpp"),
    **{name: (name,) for name in ("vllm", "sglang", "ollama")},
}
"""Engines by the first part of a model's path; of other models it is the platform."""

_LIMITS: Final = ("time_limit", "message_limit", "token_limit")


def iterate_task_names(log: LogView) -> Iterator[str]:
    """Yield the names of the task: the one to show, the one that was run, and its last part."""
    given = (log.eval.get("task_display_name"), log.eval.get("task"))
    for name in filter(None, map(text_or_none, given)):
        yield name
        yield name.rpartition("/")[2]


def stated_of_run(log: LogView) -> Stated:
    """Return what a log says of the aggregate as a whole."""
    packages = object_or_empty(log.eval.get("packages"))
    shown = ",".join(f"{name}:{version}" for name, version in packages.items() if version)
    parts = (text_or_none(log.eval.get("model")) or "").split("/")
    engine = _ENGINES.get(parts[0], ())
    return {
        "model_info/inference_engine/name": engine,
        "model_info/inference_platform": () if engine or not parts[0] else tuple(parts[:2]),
        "eval_library/name": _LIBRARIES,
        "eval_library/version": stated_values(shown or None, packages.get("inspect_ai")),
        "evaluation_timestamp": _times(log),
    }


def stated_of_results(log: LogView) -> Stated:
    """Return what a log says of its data and of the generation."""
    return {"evaluation_timestamp": _times(log), **_data(log), **_arguments(log), **_details(log)}


def _data(log: LogView) -> Stated:
    dataset = object_or_empty(log.eval.get("dataset"))
    name, location = (text_or_none(dataset.get(one)) for one in ("name", "location"))
    names = [name, location, *iterate_task_names(log)]
    names += [one.rpartition("/")[2] for one in (name, location) if one]
    number, ids = dataset.get("samples"), dataset.get("sample_ids")
    texts = list(map(str, ids)) if isinstance(ids, list) else None
    details = "source_data/additional_details"
    return {
        "source_data/dataset_name": stated_values(*names),
        "source_data/hf_repo": stated_values(location),
        "source_data/samples_number": stated_values(number),
        "source_data/sample_ids": stated_values(texts, ids),
        f"{details}/shuffled": (
            *stated_values(dataset.get("shuffled")),
            str(dataset.get("shuffled")),
        ),
        f"{details}/inspect_dataset_location": stated_values(location),
        f"{details}/inspect_dataset_name": stated_values(name),
        f"{details}/samples_number": stated_values(number),
        f"{details}/sample_ids": stated_values(None if texts is None else ",".join(texts)),
    }


def _arguments(log: LogView) -> Stated:
    """Return the arguments of the generation; a step of the plan may set what the model leaves."""
    own, plan = object_or_empty(log.eval.get("model_generate_config")), log.header.get("plan")
    steps = [one.value for one in objects(member(plan, "steps"))]
    config = object_or_empty(member(plan, "config"))
    task = object_or_empty(log.eval.get("task_args"))
    attempts = task.get("max_attempts") or own.get("max_retries")
    effort = own.get("reasoning_effort")
    sandbox = task.get("sandbox")
    kind, setting = ([*(sandbox if isinstance(sandbox, list) else [sandbox]), None, None])[:2]
    templates = (one for one in steps if one.get("solver") == "prompt_template")
    template = next((member(one.get("params"), "template") for one in templates), None)
    limits = {f"eval_limits/{one}": (member(log.eval.get("config"), one),) for one in _LIMITS}
    found = {
        **{one: (own.get(one), config.get(one)) for one in _ARGUMENTS},
        **limits,
        "reasoning": (bool(effort) and str(effort).lower() != "none",),
        "prompt_template": (template,),
        "max_attempts": (attempts,),
        "sandbox/type": (kind,),
        "sandbox/config": (setting,),
        "eval_plan/name": (member(plan, "name"),),
        "eval_plan/steps": (steps,),
        "agentic_eval_config/available_tools": tuple(_tools(steps)),
        **{f"eval_plan/config/{name}": (value,) for name, value in config.items()},
    }
    place = "generation_config/generation_args"
    return {f"{place}/{name}": stated_values(*values) for name, values in found.items()}


def _tools(steps: list[dict[str, Any]]) -> Iterator[list[Any]]:
    """Yield the spellings of the tools.

    Converters iterate over the first item of the list. If that is the only tool, they write
    an empty object for each of its members.
    """
    given = [
        list_or_empty(member(step.get("params"), "tools"))
        for step in steps
        if step.get("solver") == "use_tools"
    ]
    yield [
        _tool(one)
        for tools in given
        for one in (tools[0] if tools and isinstance(tools[0], (list, dict)) else ())
    ]
    every = [one for tools in given for one in tools]
    yield [
        _tool(one) for all_of in every for one in (all_of if isinstance(all_of, list) else [all_of])
    ]


def _tool(value: Any) -> Mapping[str, Any]:
    names = {"name": "name", "description": "description", "parameters": "params"}
    return {name: member(value, its_own) or None for name, its_own in names.items()}


def _details(log: LogView) -> Stated:
    """Return all settings of the model; version 0.2.0 wrote them as Python shows them."""
    own = object_or_empty(log.eval.get("model_generate_config"))
    return {
        f"generation_config/additional_details/{name}": stated_values(value, str(value))
        for name, value in own.items()
        if value is not None
    }


def _times(log: LogView) -> tuple[Any, ...]:
    """Return the time at which the run began, in seconds; none without a zone."""
    given = member(log.header.get("stats"), "started_at") or log.eval.get("created")
    try:
        time = datetime.fromisoformat(given) if isinstance(given, str) else None
    except ValueError:
        return ()
    if time is None or time.tzinfo is None:
        return ()
    return time.timestamp(), int(time.timestamp()), given

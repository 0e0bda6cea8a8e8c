"""The members that converters make of a log of Inspect, in every spelling that they write.

The facts come from converters/inspect (adapter.py, instance_level_adapter.py) of every-eval-ever
0.3.0 and of its earlier tags.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Final, TypeGuard

from evalstream.formats.inspect.values import find_thoughts
from evalstream.formats.inspect.views import LogView, SampleView
from evalstream.model.source_log import SourceMessage, Stated, stated_values
from evalstream.parsing.json import member, text_or_none
from evalstream.parsing.json_values import list_or_empty, object_or_empty, objects, to_float

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
        "evaluation_timestamp": _run_times(log),
    }


def stated_of_results(log: LogView) -> Stated:
    """Return what a log says of its data and of the generation."""
    return {
        "evaluation_timestamp": _run_times(log),
        **_data(log),
        **_arguments(log),
        **_details(log),
    }


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
    # Newer readers of logs fill in the parameters that were passed.
    filled = [{"params_passed": one.get("params", {}), **one} for one in steps]
    config = object_or_empty(member(plan, "config"))
    task = object_or_empty(log.eval.get("task_args"))
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
        "max_attempts": (task.get("max_attempts") or own.get("max_retries"),),
        "sandbox/type": (kind,),
        "sandbox/config": (setting,),
        "eval_plan/name": (member(plan, "name"),),
        "eval_plan/steps": (steps, filled),
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


def _run_times(log: LogView) -> tuple[Any, ...]:
    """Return the time at which the run began, in seconds; none without a zone."""
    given = member(log.header.get("stats"), "started_at") or log.eval.get("created")
    try:
        time = datetime.fromisoformat(given) if isinstance(given, str) else None
    except ValueError:
        return ()
    if time is None or time.tzinfo is None:
        return ()
    return time.timestamp(), int(time.timestamp()), given


_SHOWN: Final[Mapping[str, tuple[tuple[str, Any], ...]]] = {
    "image": (("image", None), ("detail", "auto")),
    "audio": (("audio", None), ("format", None)),
    "video": (("video", None), ("format", None)),
}
"""The members of parts that converters write as Python shows the object, with their defaults."""

_TOKENS: Final[Mapping[str, int | None]] = {
    "input_tokens": 0,
    "output_tokens": 0,
    "total_tokens": 0,
    "input_tokens_cache_write": None,
    "input_tokens_cache_read": None,
    "reasoning_tokens": None,
}
"""The counts of tokens, with their values where the log has none."""


def state_members(view: SampleView, scores: Mapping[str, Mapping[str, Any]]) -> Stated:
    """Return the members of a row that is made of a sample with its scores."""
    has_answers = any(isinstance(one.get("answer"), str) for one in scores.values())
    value, outputs, choices = view.value, _outputs(view, scores), view.value.get("choices")
    return {
        "input/raw": _question(view),
        "input/reference": _references(view),
        "input/choices": (list(map(str, choices)) if isinstance(choices, list) else None,),
        "output/raw/*": outputs,
        "output/reasoning_trace/*": _reasoning(view, _response(view)),
        **({"answer_attribution/*/extracted_value": outputs} if has_answers else {}),
        **_usage(value),
        **_times(value),
        "error": tuple(_errors(value.get("error"))),
        **_metadata(value),
        "metadata/stop_reason": _stop_reason(value),
        "metadata/epoch": (str(value.get("epoch", 1)), value.get("epoch", 1)),
    }


def list_messages(view: SampleView) -> tuple[SourceMessage, ...]:
    """Return the messages of the conversation."""
    return tuple(
        SourceMessage(
            str(one.value.get("role")),
            {
                "content": _content(view, one.value.get("content")),
                "reasoning_trace": _reasoning(view, one.value.get("content")),
                "tool_calls": tuple(_calls(view, one.value.get("tool_calls"))),
                "tool_call_id": (one.value.get("tool_call_id"), [one.value.get("tool_call_id")]),
            },
        )
        for one in objects(view.value.get("messages"))
    )


def _question(view: SampleView) -> tuple[str, ...]:
    """Return the spellings of the input: the text, or those of the user's messages.

    Empty where a message has a part whose spelling is not known.
    """
    shown = view.value.get("input")
    if isinstance(shown, str):
        return _spellings(view, shown)
    contents = [
        one.value.get("content") for one in objects(shown) if one.value.get("role") == "user"
    ]
    found = []
    for is_full in (True, False):
        for has_internal in (True, False):
            parts = [_parts(view, one, is_full, has_internal) for one in contents]
            texts = [" ".join(one) for one in parts if one is not None]
            found += ["\n".join(texts)] if len(texts) == len(parts) else []
    return tuple(dict.fromkeys(found))


def _parts(view: SampleView, content: Any, is_full: bool, has_internal: bool) -> list[str] | None:
    """Return the texts of the parts of a content, None where one of them is not known."""
    texts = []
    for part in content if isinstance(content, list) else [{"type": "text", "text": content}]:
        kind, text = member(part, "type"), member(part, "text")
        if isinstance(text, str):
            texts.append(str(view.resolve_attachment(text)) if is_full else text)
        elif isinstance(kind, str) and kind in _SHOWN:
            members = {"internal": part.get("internal")} if has_internal else {}
            members |= {"type": kind} | {name: part.get(name, of) for name, of in _SHOWN[kind]}
            media = view.resolve_attachment(members[kind]) if is_full else members[kind]
            shown = members | {kind: media}
            texts.append(" ".join(f"{name}={one!r}" for name, one in shown.items()))
        else:
            return None
    return texts


def _references(view: SampleView) -> tuple[Any, ...]:
    """Return the spellings of the targets: lists, of one target also a text."""
    target = view.value.get("target")
    given = target if isinstance(target, list) else [target]
    texts = [one if isinstance(one, str) else str(one) for one in given]
    in_full = [str(view.resolve_attachment(one)) for one in texts]
    return (in_full, texts, *((in_full[0], texts[0]) if len(texts) == 1 else ()))


def _response(view: SampleView) -> Any:
    choices = list_or_empty(member(view.value.get("output"), "choices"))
    return member(member(choices[0], "message"), "content") if choices else ""


def _outputs(view: SampleView, scores: Mapping[str, Mapping[str, Any]]) -> tuple[str, ...]:
    """Return what a row may show as output.

    That is the answer that a scorer graded, else its explanation; without scorers it is the
    response of the model.
    """
    given = [_text(_response(view)), member(view.value.get("output"), "completion")]
    given += [one.get("answer") or one.get("explanation") for one in scores.values()]
    texts = [one for one in given if isinstance(one, str)]
    return tuple(dict.fromkeys(text for one in texts for text in _spellings(view, one)))


def _reasoning(view: SampleView, content: Any) -> tuple[str | None, ...]:
    """Return the reasoning of a content; None is for its absence."""
    parts = [one.value.get("reasoning") for one in objects(content)]
    found = [str(view.resolve_attachment(one)) for one in parts if isinstance(one, str)]
    found += [one for one in parts if isinstance(one, str)]
    text = str(view.resolve_attachment(content)) if isinstance(content, str) else ""
    thoughts = [one.group(2) for one in find_thoughts(text)]
    return tuple(dict.fromkeys((*found, *thoughts, *map(str.strip, thoughts), None)))


def _calls(view: SampleView, calls: Any) -> Iterator[Any]:
    """Yield the spellings of the tool calls of a message; arguments became texts in 0.2.1."""
    for spell in (
        json.dumps,
        lambda one: one,
        lambda one: json.dumps(view.resolve_attachment(one)),
    ):
        yield [
            {
                "id": one.value.get("id"),
                "name": one.value.get("function"),
                "arguments": {
                    name: spell(value)
                    for name, value in object_or_empty(one.value.get("arguments")).items()
                },
            }
            for one in objects(calls)
        ]


def _usage(value: Mapping[str, Any]) -> Stated:
    """Return the counts of tokens: those of the output, or of all calls of the sample's models."""
    own = member(value.get("output"), "usage")
    models = [
        one.value for one in objects(list(object_or_empty(value.get("model_usage")).values()))
    ]
    found: dict[str, tuple[Any, ...]] = {}
    for name, default in _TOKENS.items():
        counts = [one[name] for one in models if isinstance(one.get(name), int)]
        known: tuple[Any, ...] = (own.get(name, default),) if isinstance(own, dict) else ()
        known += (sum(counts),) if counts else ()
        found |= {f"token_usage/{name}": known} if known else {}
    return found


def _times(value: Mapping[str, Any]) -> Stated:
    """Return the times of a sample in milliseconds; converters write the wait as latency."""
    total, working = value.get("total_time"), value.get("working_time")
    if not (_is_finite(total) and _is_finite(working)):
        return {}
    return {
        "performance/latency_ms": (*_milliseconds(total - working), *_milliseconds(total)),
        "performance/generation_time_ms": _milliseconds(working),
    }


def _is_finite(value: Any) -> TypeGuard[float]:
    number = to_float(value)
    return number is not None and math.isfinite(number * 1000)


def _milliseconds(seconds: float) -> tuple[float, ...]:
    return int(seconds * 1000), seconds * 1000, round(seconds * 1000)


def _metadata(value: Mapping[str, Any]) -> Stated:
    """Return the metadata of a sample, which converters do not write but others may."""
    return {
        f"metadata/{name}": (one, str(one), json.dumps(one))
        for name, one in object_or_empty(value.get("metadata")).items()
    }


def _errors(error: Any) -> Iterator[str | None]:
    """Yield the spellings of an error: its message, and what follows it in the log."""
    message = member(error, "message")
    if message is None:
        yield None
        return
    yield f"{message}\n{member(error, 'traceback')}"
    yield message


def _stop_reason(value: Mapping[str, Any]) -> tuple[Any, ...]:
    choices = list_or_empty(member(value.get("output"), "choices"))
    reason = member(choices[0], "stop_reason") if choices else None
    if reason is None:
        return "", "unknown", None
    return (reason, "max_tokens") if reason == "length" else (reason,)


def _content(view: SampleView, content: Any) -> tuple[str | None, ...]:
    text = _text(content)
    return (None,) if text is None else _spellings(view, text)


def _text(content: Any) -> str | None:
    """Return a content's text: of a list its last text, as converters do."""
    if not isinstance(content, list):
        return content if isinstance(content, str) else None
    texts = [one.value.get("text") for one in objects(content) if one.value.get("type") == "text"]
    return texts[-1] if texts and isinstance(texts[-1], str) else None


def _spellings(view: SampleView, text: str) -> tuple[str, ...]:
    """Return a text in full, as it is stored, and without reasoning."""
    full = str(view.resolve_attachment(text))
    thought = next(find_thoughts(full), None)
    start, end = (0, 0) if thought is None else thought.span()
    without = f"{full[:start]}{full[end:]}".strip() if "<think" in full else full
    return tuple(dict.fromkeys((full, text, without)))

"""The types of what the results say of the call and of its tasks: whatever checks read of it.

A member of another type would take a check away without a word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from evalstream.formats.lm_eval.scoring_plan import CHOICE, GENERATE, LIKELIHOOD, ROLLING
from evalstream.parsing.json import member, type_name
from evalstream.parsing.json_values import list_or_empty, object_or_empty

_TYPES: Final[Mapping[str, tuple[str, tuple[type, ...]]]] = {
    "string": ("a text", (str,)),
    "integer": ("an integer", (int,)),
    "number": ("a number", (int, float)),
    "boolean": ("true or false", (bool,)),
    "array": ("a list", (list,)),
    "object": ("an object", (dict,)),
}

_OF_CALL: Final[Mapping[str, tuple[str, ...]]] = {
    "model": ("string",),
    "model_args": ("string", "object"),
    "limit": ("number",),
    "bootstrap_iters": ("integer",),
    "gen_kwargs": ("string", "object"),
    "model_revision": ("string",),
}

_OF_TASK: Final[Mapping[str, tuple[str, ...]]] = {
    "task": ("string",),
    "task_alias": ("string",),
    "output_type": ("string",),
    "metric_list": ("array",),
    "filter_list": ("array",),
    "num_fewshot": ("integer",),
    "repeats": ("integer",),
    "generation_kwargs": ("object",),
    "target_delimiter": ("string",),
    "fewshot_delimiter": ("string",),
}

_OF_ALL: Final[Mapping[str, tuple[str, ...]]] = {
    "model_name": ("string",),
    "model_name_sanitized": ("string",),
    "model_source": ("string",),
    "chat_template": ("string",),
    "system_instruction": ("string",),
}

_OUTPUTS: Final = (CHOICE, LIKELIHOOD, ROLLING, GENERATE)
_OLD_OUTPUTS: Final = frozenset({"greedy_until", "winograd_schema"})

Path = tuple[str | int, ...]


class Misfit(NamedTuple):
    """A member of another type: where, what it must be, in words and as a schema, and its value."""

    path: Path
    message: str
    expected: Any
    found: Any
    is_certain: bool = True


def find_misfits(document: Mapping[str, Any]) -> Iterator[Misfit]:
    """Yield the members of the call and of configurations that checks could not read."""
    yield from _misfits((), document, _OF_ALL)
    yield from _misfits(("config",), document.get("config"), _OF_CALL)
    for task, config in object_or_empty(document.get("configs")).items():
        path = "configs", task
        yield from _misfits(path, config, _OF_TASK)
        kind = member(config, "output_type")
        if isinstance(kind, str) and kind not in (*_OUTPUTS, *_OLD_OUTPUTS):
            message = "output_type is none of the harness's kinds of requests"
            yield Misfit((*path, "output_type"), message, {"enum": list(_OUTPUTS)}, kind)
        yield from _metrics((*path, "metric_list"), member(config, "metric_list"))
        yield from _filters((*path, "filter_list"), member(config, "filter_list"))
        shots = {task: ("integer",)}
        yield from _misfits(("n-shot",), document.get("n-shot"), shots)
    for task, directions in object_or_empty(document.get("higher_is_better")).items():
        kinds = dict.fromkeys(object_or_empty(directions), ("boolean",))
        yield from _misfits(("higher_is_better", task), directions, kinds)
    for task, entry in object_or_empty(document.get("results")).items():
        names = {"name": ("string",), "alias": ("string",)}
        yield from _misfits(("results", task), entry, names)


def _misfits(path: Path, holder: Any, known: Mapping[str, tuple[str, ...]]) -> Iterator[Misfit]:
    for name, types in known.items():
        yield from _misfit((*path, name), member(holder, name), *types)


def _misfit(path: Path, found: Any, *types: str) -> Iterator[Misfit]:
    """Report a member of none of the types; null is absent."""
    classes = {one for name in types for one in _TYPES[name][1]}
    if found is not None and found.__class__ not in classes:
        nouns = " or ".join(_TYPES[name][0] for name in types)
        message = f"{path[-1]} must be {nouns}, not {type_name(found)}"
        yield Misfit(path, message, {"type": types[0] if len(types) == 1 else list(types)}, found)


def _metrics(path: Path, listed: Any) -> Iterator[Misfit]:
    for place, one in enumerate(list_or_empty(listed)):
        where = *path, place
        if not isinstance(one, dict):
            yield from _entry(where, one)
            continue
        yield from _required(where, one, "metric")
        kinds: Mapping[str, tuple[str, ...]] = {
            "aggregation": ("string",),
            "higher_is_better": ("boolean",),
        }
        yield from _misfits(where, one, kinds)
        patterns = one.get("regexes_to_ignore")
        yield from _misfit((*where, "regexes_to_ignore"), patterns, "array")
        for number, pattern in enumerate(list_or_empty(patterns)):
            yield from _pattern((*where, "regexes_to_ignore", number), pattern)


def _filters(path: Path, listed: Any) -> Iterator[Misfit]:
    for place, one in enumerate(list_or_empty(listed)):
        where = *path, place
        if not isinstance(one, dict):
            yield from _entry(where, one)
            continue
        yield from _required(where, one, "name")
        steps = one.get("filter")
        if not isinstance(steps, list):
            message = "filter must be a list of steps"
            yield Misfit((*where, "filter"), message, {"type": "array"}, steps)
            continue
        for number, step in enumerate(steps):
            inner = *where, "filter", number
            if not isinstance(step, dict):
                yield from _entry(inner, step)
                continue
            yield from _required(inner, step, "function")
            yield from _pattern((*inner, "regex_pattern"), step.get("regex_pattern"))


def _entry(path: Path, found: Any) -> Iterator[Misfit]:
    message = f"an entry of {path[-2]} must be an object, not {type_name(found)}"
    yield Misfit(path, message, {"type": "object"}, found)


def _required(path: Path, holder: Mapping[str, Any], name: str) -> Iterator[Misfit]:
    if not isinstance(holder.get(name), str):
        message = f"{name} must be a text"
        yield Misfit((*path, name), message, {"type": "string"}, holder.get(name))


def _pattern(path: Path, found: Any) -> Iterator[Misfit]:
    """Report a regular expression that is none; releases of Python differ in what they take."""
    yield from _misfit(path, found, "string")
    if isinstance(found, str):
        try:
            re.compile(found)
        except (re.error, OverflowError, RecursionError) as error:
            message = f"the pattern cannot be read, so that nothing is compared with it: {error}"
            yield Misfit(path, message, None, found, is_certain=False)

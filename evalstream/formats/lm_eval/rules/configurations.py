"""The types of the members of results that checks read.

A check is left out where such a member has another type.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, Final, NamedTuple

from evalstream.formats.lm_eval.scoring_plan import CHOICE, GENERATE, LIKELIHOOD, ROLLING
from evalstream.parsing.json import type_name
from evalstream.parsing.json_values import object_or_empty

_TYPES: Final[Mapping[str, tuple[str, tuple[type, ...]]]] = {
    "string": ("a text", (str,)),
    "integer": ("an integer", (int,)),
    "number": ("a number", (int, float)),
    "boolean": ("true or false", (bool,)),
    "array": ("a list", (list,)),
    "object": ("an object", (dict,)),
}

_OUTPUTS: Final = (CHOICE, LIKELIHOOD, ROLLING, GENERATE)
_OLD_OUTPUTS: Final = frozenset({"greedy_until", "winograd_schema"})

Path = tuple[str | int, ...]


class Misfit(NamedTuple):
    """A member of another type: its path, the type in words and as a schema, and its value."""

    path: Path
    message: str
    expected: Any
    found: Any
    is_certain: bool = True


def find_misfits(document: Mapping[str, Any]) -> Iterator[Misfit]:
    """Yield the members of the call and of configurations that checks could not read."""
    for place, find in _CHECKS:
        for path, found in iterate_places(document, place):
            yield from find(path, found)
    for task in object_or_empty(document.get("configs")):
        shots = object_or_empty(document.get("n-shot")).get(task)
        yield from _misfit(("n-shot", task), shots, types="integer")


def iterate_places(value: Any, place: str, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield the paths and the values at a place; a member that an object lacks is None."""
    name, _, rest = place.partition("/")
    held: Iterator[tuple[Any, Any]] = iter(())
    if name == "#":
        held = enumerate(value) if isinstance(value, list) else held
    elif isinstance(value, dict):
        held = iter(value.items() if name == "*" else ((name, value.get(name)),))
    for key, one in held:
        inner = *path, key
        yield from iterate_places(one, rest, inner) if rest else ((inner, one),)


def _misfit(path: Path, found: Any, types: str) -> Iterator[Misfit]:
    """Report a member of none of the types; null is absent."""
    names = types.split()
    if found is not None and all(found.__class__ not in _TYPES[name][1] for name in names):
        nouns = " or ".join(_TYPES[name][0] for name in names)
        message = f"{path[-1]} must be {nouns}, not {type_name(found)}"
        yield Misfit(path, message, {"type": names[0] if len(names) == 1 else names}, found)


def _entry(path: Path, found: Any) -> Iterator[Misfit]:
    if not isinstance(found, dict):
        message = f"an entry of {path[-2]} must be an object, not {type_name(found)}"
        yield Misfit(path, message, {"type": "object"}, found)


def _required(path: Path, found: Any, kind: str, noun: str) -> Iterator[Misfit]:
    if not isinstance(found, _TYPES[kind][1]):
        yield Misfit(path, f"{path[-1]} must be {noun}", {"type": kind}, found)


def _output(path: Path, found: Any) -> Iterator[Misfit]:
    if isinstance(found, str) and found not in (*_OUTPUTS, *_OLD_OUTPUTS):
        message = "output_type is none of the harness's kinds of requests"
        yield Misfit(path, message, {"enum": list(_OUTPUTS)}, found)


def _pattern(path: Path, found: Any) -> Iterator[Misfit]:
    """Report a regular expression that is none; releases of Python differ in the valid ones."""
    yield from _misfit(path, found, types="string")
    if isinstance(found, str):
        try:
            re.compile(found)
        except (re.error, OverflowError, RecursionError) as error:
            message = f"the pattern cannot be read, so that nothing is compared with it: {error}"
            yield Misfit(path, message, None, found, is_certain=False)


_TASK: Final = "configs/*"
_METRIC: Final = f"{_TASK}/metric_list/#"
_FILTER: Final = f"{_TASK}/filter_list/#"
_STEP: Final = f"{_FILTER}/filter/#"

_OPTIONAL: Final[Mapping[str, str]] = {
    "string": (
        "model_name model_name_sanitized model_source chat_template system_instruction "
        "config/model config/model_revision results/*/name results/*/alias "
        f"{_TASK}/task {_TASK}/task_alias {_TASK}/output_type {_TASK}/target_delimiter "
        f"{_TASK}/fewshot_delimiter {_METRIC}/aggregation"
    ),
    "string object": "config/model_args config/gen_kwargs",
    "number": "config/limit",
    "integer": f"config/bootstrap_iters {_TASK}/num_fewshot {_TASK}/repeats",
    "array": f"{_TASK}/metric_list {_TASK}/filter_list {_METRIC}/regexes_to_ignore",
    "object": f"{_TASK}/generation_kwargs",
    "boolean": f"{_METRIC}/higher_is_better higher_is_better/*/*",
}
"""Places by their types; `*` is each member of an object, `#` each element of a list."""

_CHECKS: Final[tuple[tuple[str, Callable[[Path, Any], Iterator[Misfit]]], ...]] = (
    *(
        (at, partial(_misfit, types=one))
        for one, all_of in _OPTIONAL.items()
        for at in all_of.split()
    ),
    (f"{_TASK}/output_type", _output),
    *((place, _entry) for place in (_METRIC, _FILTER, _STEP)),
    (f"{_FILTER}/filter", partial(_required, kind="array", noun="a list of steps")),
    *(
        (place, partial(_required, kind="string", noun="a text"))
        for place in (f"{_METRIC}/metric", f"{_FILTER}/name", f"{_STEP}/function")
    ),
    *((place, _pattern) for place in (f"{_METRIC}/regexes_to_ignore/#", f"{_STEP}/regex_pattern")),
)

"""The messages and the output that the events of a sample end with.

The harness records the state in which a sample begins, and after each solver what it changed, as a
JSON Patch (solver/_transcript.py of inspect_ai).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final, NamedTuple

from evalstream.formats.inspect.views import SampleView, list_or_empty, object_or_empty
from evalstream.parsing.json import member, text_or_none

MOST_COPIED: Final = 10**8
"""Most items of lists and objects that are copied while the changes of one sample are applied."""

MOST_KEYS: Final = 100
"""Most keys in the path of a change."""

_SOLVER: Final = "solver"
_FOLLOWED: Final = frozenset({"messages", "output"})


class FinalState(NamedTuple):
    """The messages and the output of a sample after its last solver."""

    messages: list[Any]
    output: dict[str, Any]


class _Unknown(Exception):
    """The events do not tell how the state ended."""


@lru_cache(maxsize=1)
def final_state(sample: SampleView) -> FinalState | None:
    """Apply the changes of all solvers to the state that a sample began with.

    Returns None where the events do not tell them all: those of a sample that was stopped, those
    without spans of the first releases, and changes that cannot be applied.
    """
    starts, changes = sample.events("sample_init"), sample.events("state")
    if sample.is_stopped or len(starts) != 1 or not changes:
        return None
    changed = _Changed(object_or_empty(starts[0].value.get("state")))
    try:
        for _, event in changes:
            if _is_of_a_step(sample, event):
                for change in list_or_empty(event.get("changes")):
                    changed.apply(change)
    except (_Unknown, KeyError, IndexError, TypeError, ValueError, AttributeError):
        return None
    messages, output = changed.state.get("messages"), changed.state.get("output")
    if not isinstance(messages, list) or not isinstance(output, dict):
        return None
    return FinalState(messages, output)


def _is_of_a_step(sample: SampleView, event: dict[str, Any]) -> bool:
    """Tell whether an event has the changes of a step of the plan.

    The changes of solvers within a step are among those of the step. Raises _Unknown.
    """
    kinds = sample.spans_around(event)
    if not kinds:
        raise _Unknown
    return kinds[0] == _SOLVER and _SOLVER not in kinds[1:]


class _Changed:
    """A state to which changes are applied. What it was made of stays as it is."""

    def __init__(self, state: dict[str, Any]) -> None:
        self.state: Any = {name: state.get(name) for name in _FOLLOWED}
        self._copied = 0

    def apply(self, change: Any) -> None:
        """Apply one operation of JSON Patch, if it is about messages or the output."""
        operation = member(change, "op")
        path = text_or_none(member(change, "path"))
        if operation not in ("add", "replace", "remove") or not path:
            raise _Unknown
        keys = [key.replace("~1", "/").replace("~0", "~") for key in path.split("/")[1:]]
        if len(keys) > MOST_KEYS:
            raise _Unknown
        if keys[0] in _FOLLOWED:
            self.state = self._with(self.state, keys, operation, change.get("value"))

    def _with(self, holder: Any, keys: list[str], operation: str, value: Any) -> Any:
        """Return a list or an object with one value in it changed."""
        self._copied += len(holder)
        if self._copied > MOST_COPIED:
            raise _Unknown
        key: Any = keys[0]
        if isinstance(holder, list):
            key = len(holder) if key == "-" else int(key)
        copy = holder.copy()
        if keys[1:]:
            copy[key] = self._with(copy[key], keys[1:], operation, value)
        elif operation == "remove":
            del copy[key]
        elif operation == "add" and isinstance(copy, list):
            copy.insert(key, value)
        else:
            copy[key] = value
        return copy

"""The messages that the events of a sample recorded, and the comparison of messages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from typing import Any, Final

from evalstream.formats.inspect.scorers import OURS
from evalstream.formats.inspect.views import SOLVER, SampleView
from evalstream.model.data_class import NamedTuple
from evalstream.parsing.json import member, split_pointer, text_or_none
from evalstream.parsing.json_values import list_or_empty, object_or_empty, objects

PARTS: Final = ("role", "content", "tool_calls", "model")
"""The members of a message that are compared."""


def comparable_part(sample: SampleView, message: Mapping[str, Any], name: str) -> Any:
    """Return a member of a message as it is compared: in full, and without what may differ."""
    value = message.get(name)
    if name == "content" and isinstance(value, list):
        return [_content(sample, one) for one in value]
    if name == "tool_calls":
        return [
            {key: sample.resolved_within(one.get(key)) for key in ("id", "function", "arguments")}
            for _, one in objects(value)
        ]
    return sample.resolve_attachment(value)


def _content(sample: SampleView, value: Any) -> Any:
    """Return the content of a part of a message: its type, and the member of that name."""
    if not isinstance(value, dict):
        return sample.resolve_attachment(value)
    kind = str(value.get("type"))
    names = ("name", "arguments", "result") if kind == "tool_use" else (kind,)
    return {"type": kind, **{name: sample.resolved_within(value.get(name)) for name in names}}


def message_text(sample: SampleView, message: Mapping[str, Any]) -> str | None:
    """Return the texts of a message, joined as the harness does; None where it has no content."""
    content = comparable_part(sample, message, "content")
    if isinstance(content, list):
        texts = [text_or_none(member(one, "text")) for one in content]
        return "\n".join(text for text in texts if text is not None)
    return text_or_none(content)


def iterate_texts(sample: SampleView, message: Mapping[str, Any]) -> Iterator[str]:
    """Iterate over the texts of a message."""
    content = comparable_part(sample, message, "content")
    for one in content if isinstance(content, list) else [content]:
        text = member(one, "text") if isinstance(one, dict) else one
        if isinstance(text, str):
            yield text


class ModelMessages:
    """The messages in the events of models and in the output, by their ids."""

    def __init__(self, sample: SampleView) -> None:
        self.made: dict[str, list[Mapping[str, Any]]] = {}
        """The messages that models gave."""
        self.sent: dict[str, list[Mapping[str, Any]]] = {}
        """The messages that models got."""
        self.chosen: dict[str, list[Mapping[str, Any]]] = {}
        """The messages of the output."""
        self.stops: dict[str, set[str]] = {}
        """Why models stopped, by the messages that they gave."""
        for _, choice in objects(member(sample.value.get("output"), "choices")):
            _add(self.chosen, choice.get("message"))
        for _, event in sample.events("model"):
            for _, choice in objects(member(event.get("output"), "choices")):
                identity = _add(self.made, choice.get("message"))
                reason = text_or_none(choice.get("stop_reason"))
                if identity and reason:
                    self.stops.setdefault(identity, set()).add(reason)
            for _, message in objects(event.get("input")):
                _add(self.sent, message)
        for _, message in objects(member(sample.value.get("events_data"), "messages")):
            _add(self.sent, message)


@lru_cache(maxsize=1)
def model_messages(sample: SampleView) -> ModelMessages:
    """Return the messages in the events of models and in the output of a sample."""
    return ModelMessages(sample)


def _add(found: dict[str, list[Mapping[str, Any]]], message: Any) -> str | None:
    identity = text_or_none(member(message, "id"))
    if identity:
        found.setdefault(identity, []).append(message)
    return identity


class MemberDiff(NamedTuple):
    """A member of a message that differs: its JSON Pointer, and the values of both records."""

    at: str
    expected: Any
    found: Any


def message_difference(
    sample: SampleView, path: tuple[str | int, ...], message: Any, expected: Any
) -> MemberDiff | None:
    """Compare a message with another record of it; return the first member that differs."""
    here, there = object_or_empty(message), object_or_empty(expected)
    for name in PARTS:
        if here.get(name) == there.get(name):
            continue
        found, wanted = comparable_part(sample, here, name), comparable_part(sample, there, name)
        if found != wanted:
            place = sample.at(*path, name) if name in here else sample.at(*path)
            return MemberDiff(place, wanted, found)
    return None


class RecordedTexts:
    """The texts that the events of a sample recorded: outputs of models, and changes of the state.

    `last_completion` is the one that a solver left, None where no event has it.
    """

    def __init__(self, sample: SampleView) -> None:
        self._sample = sample
        self._models, self._states = sample.events("model"), sample.events("state")
        self._is_known = bool(self._states and self._models)
        self._found: set[Any] = set()
        self._has_all = False
        self.last_completion: str | None = None
        if self._is_known:
            self._add_outputs()
            self._find_completion()

    def has(self, text: str) -> bool:
        """Return whether the events recorded a text, or nothing at all."""
        if not self._is_known or not text or text in self._found:
            return True
        if not self._has_all:
            self._has_all = True
            self._add_all()
        return text in self._found

    def lacking(self, message: Mapping[str, Any]) -> Iterator[str]:
        """Iterate over the texts of a message that the events did not record."""
        return (text for text in iterate_texts(self._sample, message) if not self.has(text))

    def _add_outputs(self) -> None:
        """Add the texts of models; nearly all texts of a sample are among them."""
        for _, event in self._models:
            for _, choice in objects(member(event.get("output"), "choices")):
                content = member(choice.get("message"), "content")
                if isinstance(content, str):
                    self._found.add(self._sample.resolve_attachment(content))

    def _find_completion(self) -> None:
        for _, event in self._states:
            for change in list_or_empty(event.get("changes")):
                path = member(change, "path")
                if path == "/output/completion":
                    value = change.get("value")
                elif path == "/output" and member(change.get("value"), "completion") is not None:
                    value = change["value"]["completion"]
                else:
                    continue
                self.last_completion = text_or_none(self._sample.resolve_attachment(value))
        if self.last_completion is not None:
            self._found.add(self.last_completion)

    def _add_all(self) -> None:
        for _, event in self._models:
            self._add(event.get("output"))
        for _, event in self._states:
            for _, change in objects(event.get("changes")):
                if str(change.get("path")).startswith(("/output", "/messages")):
                    self._add(change.get("value"))

    def _add(self, value: Any) -> None:
        if isinstance(value, str):
            self._found.add(self._sample.resolve_attachment(value))
        elif isinstance(value, dict):
            for part in value.values():
                self._add(part)
        elif isinstance(value, list):
            for part in value:
                self._add(part)


@lru_cache(maxsize=1)
def recorded_texts(sample: SampleView) -> RecordedTexts:
    """Return the texts that the events of a sample recorded."""
    return RecordedTexts(sample)


MOST_COPIED: Final = 10**8
"""Most items of lists and objects that are copied while the changes of one sample are applied."""

MOST_KEYS: Final = 100
"""Most keys in the path of a change."""

_FOLLOWED: Final = frozenset({"messages", "output"})


class FinalState(NamedTuple):
    """The messages and the output of a sample after its last solver."""

    messages: list[Any]
    output: dict[str, Any]


class _Unknown(Exception):
    """The changes are too many to tell how the state ended."""


@lru_cache(maxsize=1)
def final_state(sample: SampleView) -> FinalState | None:
    """Apply the changes of all solvers to the state that a sample began with.

    Returns None where the events do not tell them all: those of a sample that was stopped, and
    those without spans of the first releases. A change that cannot be applied changes nothing.
    """
    starts, changes = sample.events("sample_init"), sample.events("state")
    told = [event for _, event in changes if sample.spans_around(event)]
    if sample.is_stopped or not starts or not told:
        return None
    changed = _Changed(object_or_empty(starts[0].value.get("state")))
    try:
        for event in told:
            if _is_of_a_step(sample, event):
                for change in list_or_empty(event.get("changes")):
                    with suppress(KeyError, IndexError, TypeError, ValueError, AttributeError):
                        changed.apply(change)
    except _Unknown:
        return None
    messages, output = changed.state.get("messages"), changed.state.get("output")
    return FinalState(list_or_empty(messages), object_or_empty(output))


def _is_of_a_step(sample: SampleView, event: dict[str, Any]) -> bool:
    """Tell whether an event has the changes of a step of the plan.

    The changes of solvers within a step are among those of the step.
    """
    kinds = sample.spans_around(event)
    return kinds[0] == SOLVER and SOLVER not in kinds[1:]


def split_path(path: str) -> list[str]:
    """Return the keys of a JSON Pointer."""
    return split_pointer(path, MOST_KEYS)


class _Changed:
    """A state to which changes are applied. What it was made of stays as it is."""

    def __init__(self, state: dict[str, Any]) -> None:
        self.state: Any = {name: state.get(name) for name in _FOLLOWED}
        self._copied = 0

    def apply(self, change: Any) -> None:
        """Apply one operation of JSON Patch, if it is about messages or the output.

        Raises _Unknown, or an error of Python for an operation that cannot be applied.
        """
        operation, value = change["op"], change.get("value")
        if operation in ("move", "copy"):
            source = split_path(change["from"])
            value = self.state
            for key in source:
                value = value[int(key) if isinstance(value, list) else key]
            if operation == "move":
                self._put(source, "remove", None)
            operation = "add"
        if operation in ("add", "replace", "remove"):
            self._put(split_path(change["path"]), operation, value)

    def _put(self, keys: list[str], operation: str, value: Any) -> None:
        if keys[0] in _FOLLOWED:
            self.state = self._with(self.state, keys, operation, value)

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


def has_own_scorer(sample: SampleView) -> bool:
    """Tell whether a scorer of one's own ran, which may change a sample without any event.

    It may have failed, or scores of others have taken the place of its own. Names of several
    scorers of a kind end in numbers.
    """
    ran = (text_or_none(one.get("scorer")) or "" for _, one in sample.events("score"))
    declared = () if sample.log is None else sample.log.declared_scorers
    return not {one.rstrip("-0123456789") for one in (*sample.scores, *ran, *declared)} <= OURS

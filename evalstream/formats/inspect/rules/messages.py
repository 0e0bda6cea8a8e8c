"""INS2: the rule that compares the messages of a sample with those that its events recorded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from evalstream.formats.inspect.views import SampleView, list_or_empty, object_or_empty, objects
from evalstream.model.finding import Severity, Violation
from evalstream.parsing.json import member, text_or_none
from evalstream.rules.base import Rule

PARTS: Final = ("role", "content", "tool_calls")
"""The members of a message that are compared."""

_ASSISTANT: Final = "assistant"


def part_of(sample: SampleView, message: Mapping[str, Any], name: str) -> Any:
    """Return a member of a message as it is compared: in full, and without what may differ."""
    value = message.get(name)
    if name == "content" and isinstance(value, list):
        return [_content(sample, one) for one in value]
    if name == "tool_calls":
        return [
            {key: sample.resolved_within(one.get(key)) for key in ("id", "function", "arguments")}
            for _, one in objects(value)
        ]
    return sample.resolved(value)


def _content(sample: SampleView, value: Any) -> Any:
    """Return the content of a part of a message: its type, and the member of that name."""
    if not isinstance(value, dict):
        return sample.resolved(value)
    kind = str(value.get("type"))
    names = ("name", "arguments", "result") if kind == "tool_use" else (kind,)
    return {"type": kind, **{name: sample.resolved_within(value.get(name)) for name in names}}


def text_of(sample: SampleView, message: Mapping[str, Any]) -> str | None:
    """Return the texts of a message, joined as the harness does; None where it has no content."""
    content = part_of(sample, message, "content")
    if isinstance(content, list):
        texts = [text_or_none(member(one, "text")) for one in content]
        return "\n".join(text for text in texts if text is not None)
    return text_or_none(content)


def recorded_texts(sample: SampleView, message: Mapping[str, Any]) -> Iterator[str]:
    """Iterate over the texts of a message."""
    content = part_of(sample, message, "content")
    for one in content if isinstance(content, list) else [content]:
        text = member(one, "text") if isinstance(one, dict) else one
        if isinstance(text, str):
            yield text


class ModelMessages:
    """The messages in the events of models, by their ids."""

    def __init__(self, sample: SampleView) -> None:
        self.made: dict[str, list[Mapping[str, Any]]] = {}
        """The messages that models gave."""
        self.sent: dict[str, list[Mapping[str, Any]]] = {}
        """The messages that models got."""
        for _, event in sample.events("model"):
            for _, choice in objects(member(event.get("output"), "choices")):
                _add(self.made, choice.get("message"))
            for _, message in objects(event.get("input")):
                _add(self.sent, message)
        for _, message in objects(member(sample.value.get("events_data"), "messages")):
            _add(self.sent, message)


def _add(found: dict[str, list[Mapping[str, Any]]], message: Any) -> None:
    identity = text_or_none(member(message, "id"))
    if identity:
        found.setdefault(identity, []).append(message)


def differences(
    sample: SampleView, path: tuple[str | int, ...], message: Any, expected: Any, words: str
) -> Iterator[Violation]:
    """Compare a message with another record of it, and report the first member that differs."""
    here, there = object_or_empty(message), object_or_empty(expected)
    for name in PARTS:
        if here.get(name) == there.get(name):
            continue
        found, wanted = part_of(sample, here, name), part_of(sample, there, name)
        if found != wanted:
            place = sample.at(*path, name) if name in here else sample.at(*path)
            yield INS215.violation(words, pointer=place, expected=wanted, found=found)
            return


def _messages(sample: SampleView) -> Iterator[Violation]:
    """Compare each message with what the events recorded of it; report each message once."""
    if sample.is_stopped:
        return
    reported = set()
    for index, violation in (*_against_state(sample), *_against_models(sample)):
        if index not in reported:
            reported.add(index)
            yield violation


def _against_state(sample: SampleView) -> Iterator[tuple[int, Violation]]:
    """Compare the messages with those that the changes of the solvers end with.

    Scorers may add messages of their own.
    """
    state = sample.final_state
    messages = list_or_empty(sample.value.get("messages"))
    for index, expected in enumerate(state.messages if state is not None else ()):
        if index >= len(messages):
            words = "the events end with more messages"
            yield (
                index,
                INS215.violation(
                    words,
                    pointer=sample.at("messages"),
                    expected=len(state.messages) if state is not None else None,
                    found=len(messages),
                ),
            )
            return
        path = ("messages", index)
        told, wanted = member(messages[index], "id"), member(expected, "id")
        if told != wanted:
            words = "the events have another message in this place"
            place = sample.at(*path, "id") if told is not None else sample.at(*path)
            yield index, INS215.violation(words, pointer=place, expected=wanted, found=told)
            return
        words = "the events end with another message"
        for violation in differences(sample, path, messages[index], expected, words):
            yield index, violation


def _against_models(sample: SampleView) -> Iterator[tuple[int, Violation]]:
    """Compare messages with those of the same id in the output and in the events of models.

    Only the solvers of a plain plan leave messages as they are. Models may get messages of the
    assistant without their reasoning.
    """
    if not sample.has_plain_plan:
        return
    models = ModelMessages(sample)
    output: dict[str, list[Mapping[str, Any]]] = {}
    for _, choice in objects(member(sample.value.get("output"), "choices")):
        _add(output, choice.get("message"))
    for index, message in objects(sample.value.get("messages")):
        identity, path = text_or_none(message.get("id")), ("messages", index)
        if not identity or message.get("role") != _ASSISTANT:
            continue
        for found, words in (
            (output, "the output has another message of the same id"),
            (models.made, "the model gave another message of the same id"),
        ):
            for expected in found.get(identity, ()):
                for violation in differences(sample, path, message, expected, words):
                    yield index, violation
        for expected in models.sent.get(identity, ()):
            yield from _sent_otherwise(sample, index, message, expected)


def _sent_otherwise(
    sample: SampleView, index: int, message: Mapping[str, Any], expected: Mapping[str, Any]
) -> Iterator[tuple[int, Violation]]:
    """Compare a message of the assistant with the one that a model got back."""
    here, there = text_of(sample, message), text_of(sample, expected)
    if here != there:
        words = "a later call of the model has another message of the same id"
        place = sample.at("messages", index, "content")
        yield index, INS215.violation(words, pointer=place, expected=there, found=here)


INS215: Final = Rule(
    "INS215",
    "message-mismatch",
    Severity.ERROR,
    "a message of a sample is not the one that its events recorded",
    """
    What it finds: a message whose role, content (texts, images and other parts) or tool calls are
    not those with which the events end, and a message that is missing or in another place. The
    events have the messages with which the sample began, and what each solver changed. Where all
    solvers are ones of the harness that leave messages alone, a message of the assistant is also
    compared with the one of the same id in the output and in the calls of the model. Samples that
    were stopped by an error or a limit are not compared.

    Why it matters: a question, an image, a result of a tool or an answer was changed after the run.

    How to fix: Trust the events, or run the sample again.

    Bad:
        log:
          {
            "samples": [{
              "messages": [{}, {"id": "m1b", "role": "assistant", "content": "5"}],
              "output": {"choices": [{"message": {"id": "m1b", "content": "4"}}]}
            }]
          }

    Good:
        log:
          {
            "samples": [{
              "messages": [{}, {"id": "m1b", "role": "assistant", "content": "4"}],
              "output": {"choices": [{"message": {"id": "m1b", "content": "4"}}]}
            }]
          }
    """,
    record=_messages,
)


RULES: Final = (INS215,)
"""Rules that check one sample."""

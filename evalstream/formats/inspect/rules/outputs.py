"""INS2: the rule that compares what a sample says about its output in several places."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from evalstream.formats.inspect.final_state import final_state
from evalstream.formats.inspect.recorded import (
    ModelMessages,
    RecordedTexts,
    difference,
    iterate_texts,
    message_text,
)
from evalstream.formats.inspect.views import SampleView, list_or_empty, object_or_empty, objects
from evalstream.model.finding import Severity, Violation
from evalstream.parsing.json import member, text_or_none
from evalstream.rules.base import Rule


def _outputs(sample: SampleView) -> Iterator[Violation]:
    """Compare texts of the model with each other, and with those that the events recorded."""
    if sample.is_stopped:
        return
    completion = sample.resolve_attachment(member(sample.value.get("output"), "completion"))
    recorded = RecordedTexts(sample)
    place = sample.at("output", "completion")
    last = recorded.last_completion
    if isinstance(completion, str) and last is not None and completion != last:
        message = "the events recorded another completion"
        yield INS212.violation(message, pointer=place, expected=last, found=completion)
    elif isinstance(completion, str) and not recorded.has(completion):
        message = "no event recorded this completion"
        yield INS212.violation(message, pointer=place, found=completion)
    elif sample.has_plain_plan:
        yield from _other_completion(sample, completion)
    yield from _other_choices(sample, recorded)


def _other_completion(sample: SampleView, completion: Any) -> Iterator[Violation]:
    """Compare a completion with the text of the first choice; releases join its parts in two ways.

    Logs of the first releases leave the completion out.
    """
    first = next(objects(member(sample.value.get("output"), "choices")), None)
    message = object_or_empty(first.value.get("message")) if first is not None else {}
    text = message_text(sample, message)
    if not isinstance(completion, str) or text is None:
        return
    if completion not in (text, "".join(iterate_texts(sample, message))):
        words = "the completion is not the text of the first choice"
        place = sample.at("output", "completion")
        yield INS212.violation(words, pointer=place, expected=text, found=completion)


def _other_choices(sample: SampleView, recorded: RecordedTexts) -> Iterator[Violation]:
    """Compare choices with those that the events end with, and with those that a model gave."""
    state = final_state(sample)
    ended = list_or_empty(state.output.get("choices")) if state is not None else []
    made = ModelMessages(sample).made if sample.has_plain_plan else {}
    for index, choice in objects(member(sample.value.get("output"), "choices")):
        message, path = (
            object_or_empty(choice.get("message")),
            ("output", "choices", index, "message"),
        )
        others = list(made.pop(text_or_none(message.get("id")) or "", ()))
        if index < len(ended):
            others.insert(0, object_or_empty(member(ended[index], "message")))
        for expected in others:
            found = difference(sample, path, message, expected)
            if found is not None:
                words = "the events have another message"
                yield INS212.violation(
                    words, pointer=found.at, expected=found.expected, found=found.found
                )
                break
        else:
            if state is None:
                for text in recorded.lacking(message):
                    words = "no event recorded this text of the model"
                    yield INS212.violation(words, pointer=sample.at(*path, "content"), found=text)


INS212: Final = Rule(
    "INS212",
    "output-mismatch",
    Severity.ERROR,
    "the output of a sample is not the one that its messages and events have",
    record=_outputs,
)


RULES: Final = (INS212,)
"""Rules that check one sample."""

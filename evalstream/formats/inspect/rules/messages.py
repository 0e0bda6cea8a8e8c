"""INS2: rules that compare messages and outputs of a sample with what its events recorded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Final

from evalstream.formats.inspect.recorded import (
    MemberDiff,
    RecordedTexts,
    final_state,
    has_own_scorer,
    iterate_texts,
    message_difference,
    message_text,
    model_messages,
    recorded_texts,
)
from evalstream.formats.inspect.scorers import GRADED
from evalstream.formats.inspect.views import SampleView
from evalstream.model.finding import Severity, Violation, expect_one
from evalstream.parsing.json import member, text_or_none
from evalstream.parsing.json_values import Numbered, list_or_empty, object_or_empty, objects
from evalstream.rules.base import declare_rule


def _outputs(sample: SampleView) -> Iterator[Violation]:
    """Compare texts of the model with each other, and with those that the events recorded."""
    if sample.has_failed or (sample.is_stopped and not sample.has_plain_plan):
        return
    completion = sample.resolve_attachment(member(sample.value.get("output"), "completion"))
    recorded = recorded_texts(sample)
    place = sample.at("output", "completion")
    last = recorded.last_completion if not sample.is_stopped else None
    severity = Severity.WARNING if _may_be_scorers(sample, recorded) else None
    if isinstance(completion, str) and last is not None and completion != last:
        message = "the events recorded another completion"
        yield INS212.violation(message, place, expected=last, found=completion, severity=severity)
    elif last and not sample.value.get("output"):
        message = "the sample has no output, but the events recorded a completion"
        yield INS212.violation(message, sample.at("output"), expected=last)
    elif isinstance(completion, str) and not recorded.has(completion):
        message = "no event recorded this completion"
        yield INS212.violation(message, place, found=completion, severity=severity)
    elif sample.has_plain_plan:
        yield from _other_completion(sample, completion, severity)
    if sample.has_plain_plan:
        yield from _other_call(sample)
    yield from _other_choices(sample, recorded)


def _may_be_scorers(sample: SampleView, recorded: RecordedTexts) -> bool:
    """Tell whether a scorer of one's own may have set the completion, which no event records.

    The first choice keeps what the model gave.
    """
    if not has_own_scorer(sample):
        return False
    text = message_text(sample, _first_message(sample))
    return text is not None and recorded.last_completion in (None, text) and recorded.has(text)


def _first_message(sample: SampleView) -> Mapping[str, Any]:
    first = next(objects(member(sample.value.get("output"), "choices")), None)
    return object_or_empty(first.value.get("message")) if first is not None else {}


def _other_completion(
    sample: SampleView, completion: Any, severity: Severity | None
) -> Iterator[Violation]:
    """Compare a completion with the text of the first choice; releases join its parts in two ways.

    Logs of the first releases leave the completion out.
    """
    message = _first_message(sample)
    text = message_text(sample, message)
    if not isinstance(completion, str) or text is None:
        return
    if completion not in (text, "".join(iterate_texts(sample, message))):
        words = "the completion is not the text of the first choice"
        place = sample.at("output", "completion")
        yield INS212.violation(words, place, expected=text, found=completion, severity=severity)


def _other_call(sample: SampleView) -> Iterator[Violation]:
    """Look for the usage and the model of the output among those of the calls.

    An output without an answer has the name of the model as the log calls it.
    """
    output = object_or_empty(sample.value.get("output"))
    calls = [event for _, event in sample.events("model")]
    named = [*(one.get("model") for one in calls), sample.log and sample.log.eval.get("model")]
    for name, others in (("usage", []), ("model", named)):
        known = [found for one in calls if (found := member(one.get("output"), name))]
        if output.get(name) and known and output[name] not in [*known, *others]:
            expected = known[0] if all(one == known[0] for one in known) else None
            shown = {"expected": expected, "found": output[name]}
            message = f"no call of a model has this {name}"
            yield INS212.violation(message, sample.at("output", name), **shown)


def _other_choices(sample: SampleView, recorded: RecordedTexts) -> Iterator[Violation]:
    """Compare choices with those that the events end with, and with those that a model gave."""
    state = final_state(sample)
    ended = list_or_empty(state.output.get("choices")) if state is not None else []
    models = model_messages(sample)
    made = models.made if sample.has_plain_plan else {}
    seen = set[str]()
    for index, choice in objects(member(sample.value.get("output"), "choices")):
        message = object_or_empty(choice.get("message"))
        path = ("output", "choices", index, "message")
        identity = text_or_none(message.get("id")) or ""
        others = list(made.get(identity, ()) if identity not in seen else ())
        seen.add(identity)
        if index < len(ended):
            others.insert(0, object_or_empty(member(ended[index], "message")))
        for expected in others:
            found = message_difference(sample, path, message, expected)
            if found is not None:
                words = "the events have another message"
                severity = _severity_of(sample, message, found)
                shown = {"expected": found.expected, "found": found.found}
                yield INS212.violation(words, found.at, severity=severity, **shown)
                break
        else:
            if state is None:
                for text in recorded.lacking(message):
                    words = "no event recorded this text of the model"
                    yield INS212.violation(words, sample.at(*path, "content"), found=text)
        reasons = models.stops.get(identity)
        reason = choice.get("stop_reason")
        if reasons and isinstance(reason, str) and reason not in reasons:
            yield INS212.violation(
                "the model stopped for another reason",
                sample.at("output", "choices", index, "stop_reason"),
                expected=expect_one(sorted(reasons)) if len(reasons) > 1 else min(reasons),
                found=reason,
            )


_APART_SINCE: Final = (0, 3, 123)
"""The release from which on a completion is not the text of the first choice itself.

Source: ModelOutput in model/_model_output.py of inspect_ai.
"""


def _severity_of(sample: SampleView, message: Any, found: MemberDiff) -> Severity | None:
    """Return that of another message: a warning where a scorer of one's own may have set its text.

    Where it set the completion, early releases changed the first choice, and the message of it.
    """
    first = _first_message(sample).get("id")
    is_text = first is not None and member(message, "id") == first and found.at.endswith("/content")
    is_early = is_text and sample.is_before(_APART_SINCE) and has_own_scorer(sample)
    return Severity.WARNING if is_early else None


INS212: Final = declare_rule("INS212", record=_outputs)


def _messages(sample: SampleView) -> Iterator[Violation]:
    """Compare each message with what the events recorded of it; report each message once."""
    reported = set()
    witnesses = (_against_state, _against_texts, _against_models, _against_tools)
    for index, words, found in chain.from_iterable(one(sample) for one in witnesses):
        if index not in reported:
            reported.add(index)
            message = dict(enumerate(list_or_empty(sample.value.get("messages")))).get(index)
            severity = _severity_of(sample, message, found)
            shown = {"expected": found.expected, "found": found.found}
            yield INS215.violation(words, found.at, severity=severity, **shown)


def _grades(sample: SampleView) -> Iterator[Violation]:
    """Compare the answers of graders, as scores show them, with what the model gave."""
    declared = {} if sample.log is None else sample.log.declared_scorers
    for name, score in sample.scores.items():
        if member(declared.get(name), "name") not in GRADED:
            continue
        for index, message in objects(member(score.get("metadata"), "grading")):
            others = model_messages(sample).made.get(text_or_none(message.get("id")) or "", ())
            path = ("scores", name, "metadata", "grading", index)
            for expected in others:
                found = message_difference(sample, path, message, expected)
                if found is not None:
                    words, shown = "the model gave another grade", (found.expected, found.found)
                    yield INS215.violation(words, found.at, expected=shown[0], found=shown[1])
                    break


def _check_messages(sample: SampleView) -> Iterator[Violation]:
    yield from _messages(sample)
    yield from _grades(sample)


_Found = Iterator[tuple[int, str, MemberDiff]]
"""Indices of messages, each with a message for people and the member that differs."""


def _against_state(sample: SampleView) -> _Found:
    """Compare the messages with those that the changes of the solvers end with.

    Scorers may add messages of their own.
    """
    state = final_state(sample)
    ended = state.messages if state is not None else []
    messages = list_or_empty(sample.value.get("messages"))
    for index, expected in enumerate(ended):
        if index >= len(messages):
            other = MemberDiff(sample.at("messages"), len(ended), len(messages))
            yield index, "the events end with this number of messages or more", other
            return
        told, wanted = member(messages[index], "id"), member(expected, "id")
        if told != wanted:
            path = ("messages", index) if told is None else ("messages", index, "id")
            other = MemberDiff(sample.at(*path), wanted, told)
            yield index, "the events have another message in this place", other
            return
        found = message_difference(sample, ("messages", index), messages[index], expected)
        if found is not None:
            yield index, "the events end with another message", found


def _against_texts(sample: SampleView) -> _Found:
    """Look for the texts of the model that are not in the state with which the events end."""
    state, recorded = final_state(sample), recorded_texts(sample)
    ended = len(state.messages) if state is not None else 0
    for index, message in _of_the_model(sample):
        if index >= ended and message.get("source") == "generate":
            for text in recorded.lacking(message):
                found = MemberDiff(sample.at("messages", index, "content"), None, text)
                yield index, "no event recorded this text of the model", found


def _of_the_model(sample: SampleView) -> Iterator[Numbered]:
    """Iterate over the messages of the assistant, with their indices."""
    for one in objects(sample.value.get("messages")):
        if one.value.get("role") == "assistant":
            yield one


def _against_models(sample: SampleView) -> _Found:
    """Compare messages with those of the same id in the events of models, or else in the output.

    Only the solvers of a plain plan leave messages as they are. Models may get messages of the
    assistant without their reasoning.
    """
    if not sample.has_plain_plan:
        return
    models, seen = model_messages(sample), set[str]()
    for index, message in objects(sample.value.get("messages")):
        identity = text_or_none(message.get("id"))
        if not identity or identity in seen:
            continue
        seen.add(identity)
        words = "the model gave another message of the same id"
        others = models.made.get(identity)
        if others is None:
            words = "the output has another message of the same id"
            others = models.chosen.get(identity, [])
        for expected in others:
            found = message_difference(sample, ("messages", index), message, expected)
            if found is not None:
                yield index, words, found
                break
        sent = models.sent.get(identity)
        text = _find_other_text(sample, index, message, sent) if sent else None
        if text is not None:
            here = message_text(sample, message)
            found = MemberDiff(sample.at("messages", index, "content"), text, here)
            yield index, "the model got another message of the same id", found


def _find_other_text(
    sample: SampleView, index: int, message: Mapping[str, Any], sent: Sequence[Mapping[str, Any]]
) -> str | None:
    """Return the text of a message that a model got if it is another one, else None.

    For some models the harness joins messages of one role, and shortens results of tools. A step
    may change a question that a model got before. Source: `_prepare_input` in model/_model.py.
    """
    messages, role = list_or_empty(sample.value.get("messages")), message.get("role")
    is_joined = member(messages[index + 1], "role") == role if messages[index + 1 :] else False
    here, content = message_text(sample, message), message.get("content")
    others = [
        text
        for text in (message_text(sample, one) for one in sent if one.get("content") != content)
        if text != here and not (is_joined and str(text).startswith(f"{here}\n"))
    ]
    is_other = role == "assistant" or (role != "tool" and len(others) == len(sent))
    return others[0] if others and is_other else None


def _against_tools(sample: SampleView) -> _Found:
    """Compare the events of tools with the messages that asked for them, and that tell the result.

    Calls that were cut, that failed, or that someone changed before they ran have other texts, and
    solvers of one's own may change messages.
    """
    changed = {
        text_or_none(member(event.get("call"), "id"))
        for _, event in sample.events("approval")
        if event.get("decision") != "approve"
    }
    tools = [
        one
        for one in sample.events("tool")
        if not any(map(one.value.get, _SPECIAL))
        and text_or_none(one.value.get("id")) not in changed
    ]
    if not tools or not sample.leaves_tools:
        return
    asked, told = {}, {}
    for index, message in objects(sample.value.get("messages")):
        told[text_or_none(message.get("tool_call_id"))] = index, message
        for _, call in objects(message.get("tool_calls")):
            asked[text_or_none(call.get("id"))] = call
    for index, event in tools:
        identity = text_or_none(event.get("id"))
        place, message = told.get(identity, (-1 - index, {}))
        text, result = message_text(sample, message), sample.resolve_attachment(event.get("result"))
        if identity and text is not None and isinstance(result, str) and text != result:
            other = MemberDiff(sample.at("messages", place, "content"), result, text)
            yield place, "the event of the tool has another result", other
        call = asked.get(identity, {})
        for name in ("function", "arguments") if identity else ():
            here, there = (sample.resolved_within(one.get(name)) for one in (event, call))
            if name in call and name in event and here != there:
                other = MemberDiff(sample.at("events", index, name), there, here)
                yield place, "the message that called the tool has another call", other
                break


_SPECIAL: Final = ("error", "truncated", "agent", "pending", "events")
"""Members of tools whose result is not that of their message."""

INS215: Final = declare_rule("INS215", record=_check_messages)


RULES: Final = (INS212, INS215)
"""Rules that check one sample."""

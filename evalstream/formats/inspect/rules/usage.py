"""INS2: the rule that compares the token usage of a sample with the calls of models it recorded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from evalstream.formats.inspect.rescoring import SINCE
from evalstream.formats.inspect.views import SampleView, is_count
from evalstream.model.finding import Severity, Violation, at_least, at_most, expect_one
from evalstream.parsing.json import member, text_or_none
from evalstream.parsing.json_values import Numbered, object_or_empty
from evalstream.rules.declaration import declare_rule


def _usage(sample: SampleView) -> Iterator[Violation]:
    """Compare models and token counts of calls with those that the sample counted.

    The first releases did not count by sample, and attempts that failed are counted without their
    calls being recorded.
    """
    told = object_or_empty(sample.value.get("model_usage"))
    if not told or sample.value.get("error_retries") or sample.value.get("model_fallbacks"):
        return
    sums: dict[str, dict[str, int]] = {}
    for index, event in _counted_calls(sample):
        model = text_or_none(event.get("model"))
        usage = {
            name: number
            for name, number in object_or_empty(member(event.get("output"), "usage")).items()
            if is_count(number) and number
        }
        if model is None or not usage:
            continue
        if model not in told:
            yield INS217.violation(
                "the sample counts no usage of the model of this call",
                sample.at("events", index, "model"),
                expected=expect_one(told),
                found=model,
            )
            return
        total = sums.setdefault(model, {})
        for name, number in usage.items():
            total[name] = total.get(name, 0) + number
    if sums == told:
        return
    for model, total in sums.items():
        for name, expected in total.items():
            found: Any = member(told[model], name)
            if (found is None or is_count(found)) and (found or 0) < expected:
                place = sample.at("model_usage", model, *([] if found is None else [name]))
                message = f"the calls of the model used {expected:,} {name.replace('_', ' ')}"
                yield INS217.violation(message, place, expected=at_least(expected), found=found)
                break
    yield from _unrecorded_calls(sample, told)
    yield from _unexplained_usage(sample, told)


def _unrecorded_calls(sample: SampleView, told: Mapping[str, Any]) -> Iterator[Violation]:
    """Report models that used tokens without an event of any call of them."""
    if sample.log is None or sample.log.release < SINCE or sample.is_stopped:
        return
    called = {text_or_none(event.get("model")) for _, event in sample.events("model")}
    for model, numbers in told.items():
        if model not in called and any(
            is_count(one) and one for one in object_or_empty(numbers).values()
        ):
            message = "no event tells of a call of this model, so that nothing shows its answers"
            place = sample.at("model_usage", model)
            yield INS217.violation(message, place, severity=Severity.WARNING)


def _unexplained_usage(sample: SampleView, told: Mapping[str, Any]) -> Iterator[Violation]:
    """Report a usage above that of all recorded calls together, those of scorers as well.

    Calls that were tried again may have used tokens that no event has.
    """
    calls = [event for _, event in sample.events("model")]
    is_open = sample.log is None or sample.log.release < SINCE or sample.is_stopped
    if is_open or sample.events("subtask") or any(map(_is_repeated, calls)):
        return
    for model, numbers in told.items():
        usages = [
            object_or_empty(member(one.get("output"), "usage"))
            for one in calls
            if one.get("model") == model
        ]
        for name, found in object_or_empty(numbers).items():
            known = [one[name] for one in usages if is_count(one.get(name))]
            if known and is_count(found) and found > sum(known):
                yield INS217.violation(
                    f"all calls of the model used {sum(known):,} {name.replace('_', ' ')}",
                    sample.at("model_usage", model, name),
                    expected=at_most(sum(known)),
                    found=found,
                    severity=Severity.WARNING,
                )
                break


def _is_repeated(call: Mapping[str, Any]) -> bool:
    """Tell whether a call of a model was tried again, failed, or did not end."""
    return any(call.get(one) for one in ("retries", "error", "pending"))


def _counted_calls(sample: SampleView) -> Iterator[Numbered]:
    """Iterate over the calls of models whose usage a sample counts.

    Answers from the cache cost nothing, and a later `inspect score` does not count its calls.
    """
    for one in sample.events("model"):
        event = one.value
        if event.get("cache") == "read" or event.get("error") is not None:
            continue
        if "scorer" not in sample.spans_around(event):
            yield one


INS217: Final = declare_rule("INS217", record=_usage)


RULES: Final = (INS217,)
"""Rules that check one sample."""

"""INS2: rules over the token usage and the times of a sample and of its calls of models."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from evalstream.formats.inspect.values import is_count, read_time
from evalstream.formats.inspect.views import LogView, SampleView
from evalstream.model.finding import Severity, Violation, at_least, at_most, expect_one
from evalstream.parsing.json import member, text_or_none
from evalstream.parsing.json_values import Numbered, is_number, object_or_empty
from evalstream.rules.base import declare_rule


def _usage(sample: SampleView) -> Iterator[Violation]:
    """Compare models and token counts of calls with those that the sample counted.

    The first releases did not count by sample. Attempts that failed may be counted, too, without
    their calls being recorded.
    """
    told = object_or_empty(sample.value.get("model_usage"))
    counts = bool(told) or sample.is_recent
    if not counts:
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
                expected=expect_one(told) if told else None,
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
            if (found is None or found.__class__ is int) and (found or 0) < expected:
                place = sample.at("model_usage", model, *([] if found is None else [name]))
                message = f"the calls of the model used {expected:,} {name.replace('_', ' ')}"
                yield INS217.violation(message, place, expected=at_least(expected), found=found)
                break
    yield from _unrecorded_usage(sample, told)


def _unrecorded_usage(sample: SampleView, told: Mapping[str, Any]) -> Iterator[Violation]:
    """Report usage that the recorded calls do not explain, if all calls are recorded."""
    calls = [event for _, event in sample.events("model")]
    is_open = not sample.is_recent or sample.is_stopped or any(map(_has_fallback, calls))
    if not (is_open or _has_subtasks(sample) or sample.value.get("error_retries")):
        yield from _unrecorded_calls(sample, told, calls)
        yield from _unexplained_usage(sample, told, calls)


def _unrecorded_calls(
    sample: SampleView, told: Mapping[str, Any], calls: Sequence[Mapping[str, Any]]
) -> Iterator[Violation]:
    """Report models that used tokens without an event of any call of them."""
    called = {text_or_none(event.get("model")) for event in calls}
    for model, numbers in told.items():
        if model not in called and any(
            is_count(one) and one for one in object_or_empty(numbers).values()
        ):
            message = "no event records a call of this model, so that nothing shows its answers"
            place = sample.at("model_usage", model)
            yield INS217.violation(message, place, severity=Severity.WARNING)


def _unexplained_usage(
    sample: SampleView, told: Mapping[str, Any], calls: Sequence[Mapping[str, Any]]
) -> Iterator[Violation]:
    """Report a usage above that of all recorded calls together, those of scorers as well.

    Calls that were tried again may have used tokens that no event has.
    """
    for model, numbers in told.items():
        own = [one for one in calls if one.get("model") == model]
        # Calls that were tried again, failed, or did not end.
        if any(one.get(name) for one in own for name in ("retries", "error", "pending")):
            continue
        usages = [object_or_empty(member(one.get("output"), "usage")) for one in own]
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


def _has_subtasks(sample: SampleView) -> bool:
    """Tell whether events hold the calls of a subtask, as in early releases."""
    return any(event.get("events") for _, event in sample.events("subtask"))


def _counted_calls(sample: SampleView) -> Iterator[Numbered]:
    """Iterate over the calls of models whose usage a sample counts.

    Answers from the cache cost nothing, and a later `inspect score` does not count its calls. Those
    of a fallback are counted for the model that gave them.
    """
    for one in sample.events("model"):
        event = one.value
        if event.get("cache") == "read" or event.get("error") is not None or _has_fallback(event):
            continue
        if "scorer" not in sample.spans_around(event):
            yield one


def _has_fallback(event: Mapping[str, Any]) -> bool:
    """Tell whether another model than the one called gave the answer (ModelFallback)."""
    return isinstance(member(event.get("output"), "fallback"), dict)


_SLACK: Final = 5.0
"""Seconds by which clocks may differ: times of day are set now and then, durations are not."""

_SHARE: Final = 1.01
"""How much longer, beside, a duration may be than the time of day tells."""

_LONGEST: Final = 1e300
"""The longest duration that is computed with, in seconds."""


def _check_times(sample: SampleView) -> Iterator[Violation]:
    """Report durations that are longer than what holds them, and calls after the end.

    A computer that slept makes the time of day longer than the duration, and never shorter. The
    harness counts an answer from the cache as the time that its first call took.
    """
    value = sample.value
    started, ended = (read_time(value.get(name)) for name in ("started_at", "completed_at"))
    total, working = (_seconds(value.get(name)) for name in ("total_time", "working_time"))
    lasted = None if started is None or ended is None else (ended - started).total_seconds()
    longest = None if total is None else total + _cached_time(sample)
    for name, whole, found, most in (
        ("total_time", "the sample was run", total, lasted),
        ("working_time", "total_time", working, longest),
    ):
        if found is not None and most is not None and found > most * _SHARE + _SLACK:
            yield INS219.violation(
                f"{name} is longer than {whole}",
                sample.at(name),
                expected=at_most(most),
                found=value[name],
            )
    yield from _check_calls(sample, ended, working)


def _seconds(value: Any) -> float | None:
    """Return a duration, None for what is not a number; the longest for one that no float can be."""
    return max(-_LONGEST, min(value, _LONGEST)) if is_number(value) else None


def _cached_time(sample: SampleView) -> float:
    """Return the seconds that the answers of a sample from the cache took when they were given.

    Their tokens are not counted: where a sample counts those of all calls of a model, none was.
    """
    told = object_or_empty(sample.value.get("model_usage"))
    tokens: Counter[Any] = Counter()
    times: dict[Any, float] = {}
    for _, event in sample.events("model"):
        model, output = text_or_none(event.get("model")), event.get("output")
        used = member(member(output, "usage"), "total_tokens")
        tokens[model] += used if is_count(used) else 0
        if event.get("cache") == "read":
            times[model] = times.get(model, 0.0) + (_seconds(member(output, "time")) or 0.0)
    counted = {model: member(told.get(model), "total_tokens") for model in times}
    return sum(
        time
        for model, time in times.items()
        if not (is_count(counted[model]) and 0 < counted[model] >= tokens[model])
    )


def _check_calls(
    sample: SampleView, ended: datetime | None, working: float | None
) -> Iterator[Violation]:
    """Report the first call of a model that is later, or longer, than its sample."""
    for index, event in sample.events("model"):
        called, lasted = read_time(event.get("timestamp")), _seconds(event.get("working_time"))
        most: Any = working
        if ended and called and called > ended + timedelta(seconds=_SLACK):
            name, most = "timestamp", sample.value["completed_at"]
            message = "the sample was completed before this call of its model"
        elif lasted is not None and working is not None and lasted > working * _SHARE + _SLACK:
            name = "working_time"
            message = "this call of a model is longer than working_time of the sample"
        else:
            continue
        if "scorer" not in sample.spans_around(event):
            place = sample.at("events", index, name)
            yield INS219.violation(message, place, expected=at_most(most), found=event[name])
            return


_MOVED: Final = 60.0
"""Seconds by which the harness may move `created` on, so that no log has the name of another."""


def check_log_times(log: LogView, latest: datetime | None) -> Iterator[Violation]:
    """Report a log that was completed before it began, or before one of its samples, the `latest`.

    Source: TaskLogger in _eval/task/log.py of inspect_ai 0.3.25 to 0.3.285.
    """
    found = log.stats.get("completed_at")
    ended = read_time(found)
    for path, slack in ((("stats", "started_at"), _SLACK), (("eval", "created"), _SLACK + _MOVED)):
        told = member(object_or_empty(log.header.get(path[0])), path[1])
        began = read_time(told)
        if ended and began and began > ended + timedelta(seconds=slack):
            message = "the log was completed before this time"
            yield INS219.violation(message, log.at(*path), expected=at_most(found), found=told)
    if log.is_finished and latest and ended and latest > ended + timedelta(seconds=_SLACK):
        yield INS219.violation(
            f"a sample was completed later: {latest.isoformat()}",
            log.at("stats", "completed_at"),
            found=found,
        )


INS217: Final = declare_rule("INS217", record=_usage)
INS219: Final = declare_rule("INS219", record=_check_times)


RULES: Final = (INS217, INS219)
"""Rules that check one sample."""

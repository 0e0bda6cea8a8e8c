"""INS2: the rule that compares times of a sample, and of its log, with each other."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any, Final

from evalstream.formats.inspect.views import LogView, SampleView, read_time
from evalstream.model.finding import Violation, at_most
from evalstream.parsing.json_values import is_number
from evalstream.rules.declaration import declare_rule

_SLACK: Final = 5.0
"""Seconds by which clocks may differ: times of day are set now and then, durations are not."""

_SHARE: Final = 1.01
"""How much longer, beside, a duration may be than the time of day tells."""


def _times(sample: SampleView) -> Iterator[Violation]:
    """Report durations that are longer than what holds them, and calls after the end.

    A computer that slept makes the time of day longer than the duration, and never shorter.
    """
    value = sample.value
    started, ended = (read_time(value.get(name)) for name in ("started_at", "completed_at"))
    total: Any = value.get("total_time")
    working: Any = value.get("working_time")
    lasted = None if started is None or ended is None else (ended - started).total_seconds()
    bounds: tuple[tuple[str, Any, Any], ...] = (
        ("total_time", total, lasted),
        ("working_time", working, total),
    )
    for name, found, most in bounds:
        if is_number(found) and is_number(most) and found > most * _SHARE + _SLACK:
            whole = "the sample was run" if name == "total_time" else "total_time"
            yield INS219.violation(
                f"{name} is longer than {whole}",
                sample.at(name),
                expected=at_most(most),
                found=found,
            )
    yield from _calls(sample, ended, working)


def _calls(sample: SampleView, ended: datetime | None, working: Any) -> Iterator[Violation]:
    """Report the first call of a model that is later, or longer, than its sample."""
    for index, event in sample.events("model"):
        called, lasted = read_time(event.get("timestamp")), event.get("working_time")
        if ended and called and called > ended + timedelta(seconds=_SLACK):
            name, most = "timestamp", sample.value["completed_at"]
            message = "the sample was completed before this call of its model"
        elif is_number(lasted) and is_number(working) and lasted > working * _SHARE + _SLACK:
            name, most = "working_time", working
            message = "this call of a model is longer than working_time of the sample"
        else:
            continue
        if "scorer" not in sample.spans_around(event):
            place = sample.at("events", index, name)
            yield INS219.violation(message, place, expected=at_most(most), found=event[name])
            return


def late_samples(log: LogView, latest: datetime | None) -> Iterator[Violation]:
    """Report a log that was completed before one of its samples, the `latest`."""
    found = log.stats.get("completed_at")
    ended = read_time(found)
    if log.is_finished and latest and ended and latest > ended + timedelta(seconds=_SLACK):
        yield INS219.violation(
            f"a sample was completed later: {latest.isoformat()}",
            log.at("stats", "completed_at"),
            found=found,
        )


INS219: Final = declare_rule("INS219", record=_times)


RULES: Final = (INS219,)
"""Rules that check one sample."""

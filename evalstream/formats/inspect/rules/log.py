"""INS1: rules about the structure of a log, and about the state of its run."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Final

from evalstream.formats.inspect.values import is_count
from evalstream.formats.inspect.views import LogView
from evalstream.model.finding import Severity, Violation
from evalstream.model.text import count_noun
from evalstream.parsing.json import member, type_name
from evalstream.rules.base import declare_rule

INS101: Final = declare_rule("INS101")
INS102: Final = declare_rule("INS102")
INS103: Final = declare_rule("INS103")
INS104: Final = declare_rule("INS104")


STATES: Final = ("started", "success", "cancelled", "error")


def _check_finished(log: LogView) -> Iterator[Violation]:
    if log.status in STATES and not log.is_finished:
        message = f"the run did not finish: its status is {log.status}"
        yield INS105.violation(message, log.at("status"), expected="success", found=log.status)
    if log.is_finished:
        reason = _reason_of_failure(log)
        if reason is not None:
            message = f"the status is success, but {reason}"
            yield INS105.violation(message, log.at("status"), expected="error", found=log.status)
        yield from _invalid(log)


def _invalid(log: LogView) -> Iterator[Violation]:
    """Report a log with samples that someone invalidated, as the harness would run it again."""
    if not log.store.invalid and log.header.get("invalidated") is not True:
        return
    number = count_noun(log.store.invalid, "sample") + " of it" if log.store.invalid else "it"
    message = f"the log was invalidated: {number} must be run again"
    place, found = log.at("invalidated"), log.header.get("invalidated")
    yield INS105.violation(message, place, found=found, severity=Severity.WARNING)


def _reason_of_failure(log: LogView) -> str | None:
    """Return why a run cannot have finished successfully, None if it can.

    Source: _eval/task/error.py of inspect_ai 0.3.285.
    """
    if log.header.get("error") is not None:
        return "the log has the error of its run"
    failed, allowed = log.store.failed, log.config.get("fail_on_error")
    if not failed or allowed is False:
        return None
    stopped = f"{count_noun(failed, 'sample')} ended with an error"
    if allowed is None or allowed is True:
        return f"{stopped}, and fail_on_error does not allow one"
    if not isinstance(allowed, (int, float)):
        return None
    total: Any = log.results.get("total_samples")
    most = allowed if allowed >= 1 else allowed * total if is_count(total) else math.inf
    return f"{stopped}, and fail_on_error is {allowed}" if failed >= most else None


def _check_form(log: LogView) -> Iterator[Violation]:
    if log.status not in STATES:
        message, place = "status is not one of those that the harness writes", log.at("status")
        if "status" in log.header:
            yield INS107.violation(
                message, place, expected={"enum": list(STATES)}, found=log.status
            )
        else:
            yield INS107.violation("status is missing", log.base)
    parts = (("eval", dict, False), ("plan", dict, True), ("results", dict, True))
    for name, kind, may_lack in (*parts, ("stats", dict, True)):
        found = log.header.get(name)
        if not isinstance(found, kind) and not (may_lack and found is None):
            message = f"{name} must be an object"
            place = log.at(name) if name in log.header else log.base
            yield INS107.violation(message, place, expected={"type": "object"})
    scores = log.results.get("scores")
    if scores is not None and not isinstance(scores, list):
        message = f"scores must be a list, not {type_name(scores)}"
        yield INS107.violation(message, log.at("results", "scores"))
    for index, one in enumerate(scores if isinstance(scores, list) else ()):
        if not isinstance(member(one, "name"), str) or not isinstance(one.get("metrics"), dict):
            message = "a result must have a name and metrics"
            yield INS107.violation(message, log.at("results", "scores", index))


INS105: Final = declare_rule("INS105", record=_check_finished)
INS106: Final = declare_rule("INS106")
INS107: Final = declare_rule("INS107", record=_check_form)
INS108: Final = declare_rule("INS108")


RULES: Final = (INS105, INS106, INS107, INS108, INS101, INS102, INS103, INS104)
OF_LOGS: Final = (INS105, INS107)
"""Rules about the part of a log that has no samples."""

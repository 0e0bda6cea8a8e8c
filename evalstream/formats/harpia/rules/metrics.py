"""HAR1: rules about the metrics in the input of an evaluation of HarpIA Lab."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from evalstream.formats.harpia import requirements as demands
from evalstream.formats.harpia.documents import member
from evalstream.formats.harpia.requirements import make_violation, make_violations
from evalstream.formats.harpia.views import Input
from evalstream.model.finding import Severity, Violation
from evalstream.parsing.json import pointer
from evalstream.rules.base import Rule


def _malformed_metric(read: Input) -> Iterator[Violation]:
    for metric in read.metrics or ():
        if not isinstance(metric.value, dict):
            yield make_violation(
                HAR104, demands.no_object("a metric", metric.pointer, metric.value)
            )
            continue
        yield from make_violations(
            HAR104, demands.spelled_once(metric.pointer, metric.value, demands.METRIC_MEMBERS)
        )
        yield from make_violations(
            HAR104, demands.text(metric.pointer, metric.value, "id", filled=True)
        )
        enable = member(metric.value, "enable")
        if enable is None:
            yield HAR104.violation("enable is missing", pointer=metric.pointer)
        elif not isinstance(enable.value, bool):
            yield make_violation(
                HAR104, demands.wrong_type(metric.pointer, enable, "true or false")
            )
        yield from make_violations(HAR104, demands.parameters(metric))


def _idle_or_repeated_metric(read: Input) -> Iterator[Violation]:
    if read.metrics is None or read.listed.metrics is None:
        return
    if all(metric.enabled is False for metric in read.metrics):
        place = pointer([read.listed.metrics.key])
        yield HAR105.violation("no metric is enabled, so nothing is computed", pointer=place)
    first: dict[tuple[str, bytes], str] = {}
    for metric in read.metrics:
        if metric.id is None or metric.key is None:
            continue
        before = first.setdefault((metric.id, metric.key), metric.pointer)
        if before != metric.pointer:
            message = f"the same metric with the same parameters as at {before}"
            yield HAR105.violation(message, pointer=metric.pointer, found=metric.value)


HAR104: Final = Rule(
    "HAR104",
    "malformed-metric",
    Severity.ERROR,
    "a member of a metric in the input is missing or has the wrong type",
    record=_malformed_metric,
)


HAR105: Final = Rule(
    "HAR105",
    "idle-or-repeated-metric",
    Severity.WARNING,
    "no metric is enabled, or one is listed twice with the same parameters",
    record=_idle_or_repeated_metric,
)

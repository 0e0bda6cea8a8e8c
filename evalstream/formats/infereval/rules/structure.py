"""INF1: rules about the structure of benchmarks and evaluations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from evalstream.formats.infereval import views
from evalstream.model.finding import Violation, expect_one
from evalstream.parsing.json import pointer
from evalstream.parsing.json_values import is_number, object_or_empty
from evalstream.rules.base import declare_rule

KINDS: Final = ("template", "plugin")


CONTEXTS: Final = ("premise", "conclusion")


def _beyond_the_schema(
    facts: views.Benchmark | views.BenchmarkItem | views.Evaluation,
) -> Iterator[Violation]:
    """Report what the package infereval rejects though the schema accepts it."""
    if isinstance(facts, views.BenchmarkItem):
        day = object_or_empty(facts.value.get("construction_metadata")).get("authored_on")
        if isinstance(day, str) and not views.is_date(day):
            place = pointer(("items", facts.number, "construction_metadata", "authored_on"))
            yield INF101.violation("not a date such as 2026-05-31", pointer=place, found=day)
        return
    if isinstance(facts, views.Benchmark):
        yield from _builders(facts)
        return
    number: Any = (facts.config or {}).get("n_samples", 1)
    if is_number(number) and number < 1:
        message, where = "n_samples must be at least 1", "/endorsement_config/n_samples"
        yield INF101.violation(message, pointer=where, found=number)
    for name in ("started_at", "finished_at"):
        if isinstance(moment := facts.document.get(name), str) and views.date_time(moment) is None:
            message = "not a time such as 2026-05-31T10:00:00Z"
            yield INF101.violation(message, pointer=f"/{name}", found=moment)


def _builders(benchmark: views.Benchmark) -> Iterator[Violation]:
    builders = object_or_empty(benchmark.document.get("context_builders"))
    for name in CONTEXTS:
        builder = builders.get(name)
        if isinstance(builder, dict) and "kind" not in builder:
            message = "kind is missing; it distinguishes the two kinds of builders"
            place = pointer(("context_builders", name))
            yield INF101.violation(message, pointer=place, expected=expect_one(KINDS))


INF101: Final = declare_rule("INF101", record=_beyond_the_schema)
INF102: Final = declare_rule("INF102")

RULES: Final = (INF101, INF102)

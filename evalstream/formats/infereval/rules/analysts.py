"""INF2: rules about the analysts of a benchmark, their verdicts and panels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from evalstream.formats.infereval.views import Benchmark, BenchmarkItem, Item
from evalstream.model.finding import Severity, Violation, expect_one, of_length
from evalstream.parsing.json import pointer
from evalstream.rules.base import Rule


def _verdicts(facts: BenchmarkItem | Item) -> Iterator[Violation]:
    if isinstance(facts, BenchmarkItem):
        yield from _counts(facts, INF201, "analyst_verdicts")
        return
    given = facts.value.get("analyst_verdicts")
    if facts.evaluation.benchmark is None and isinstance(given, list):
        wanted = facts.verdicts
        if wanted is not None and len(given) != wanted:
            message = f"{len(given)} analyst_verdicts, but the first item has {wanted}"
            yield INF201.violation(message, pointer="/analyst_verdicts", expected=of_length(wanted))


def _rationales(facts: BenchmarkItem | Item) -> Iterator[Violation]:
    if isinstance(facts, BenchmarkItem):
        yield from _counts(facts, INF202, "analyst_rationales")
        return
    given, verdicts = (facts.value.get(f"analyst_{part}") for part in ("rationales", "verdicts"))
    if facts.evaluation.benchmark is not None or not isinstance(given, list):
        return
    if isinstance(verdicts, list) and len(given) != len(verdicts):
        message = f"{len(given)} analyst_rationales, but {len(verdicts)} analyst_verdicts"
        yield INF202.violation(
            message, pointer="/analyst_rationales", expected=of_length(len(verdicts))
        )


def _counts(item: BenchmarkItem, rule: Rule, name: str) -> Iterator[Violation]:
    """Compare the length of a list in an item with the number of analysts."""
    wanted, given = item.benchmark.panel_size, item.value.get(name)
    if wanted is not None and isinstance(given, list) and len(given) != wanted:
        message = f"{len(given)} {name}, but there are {wanted} analysts"
        place = pointer(("items", item.number, name))
        yield rule.violation(message, pointer=place, expected=of_length(wanted), found=given)


def _primary_panel(benchmark: Benchmark) -> Iterator[Violation]:
    panel = benchmark.document.get("primary_panel")
    panels = sorted({text for text in _panels(benchmark) if text is not None})
    if isinstance(panel, str) and panel not in panels and benchmark.panel_size:
        message = "no analyst belongs to this panel"
        yield INF205.violation(
            message, pointer="/primary_panel", expected=expect_one(panels), found=panel
        )


def _partial_panels(benchmark: Benchmark) -> Iterator[Violation]:
    panels = _panels(benchmark)
    without = [index for index, panel in enumerate(panels) if panel is None]
    if without and len(without) < len(panels):
        for index in without:
            message = "panel is missing, though other analysts have one"
            place = pointer(("analysts", benchmark.analysts[index][0]))
            yield INF206.violation(message, pointer=place)


def _panels(benchmark: Benchmark) -> list[str | None]:
    given = (analyst.get("panel") for _, analyst in benchmark.analysts)
    return [panel if isinstance(panel, str) else None for panel in given]


INF201: Final = Rule(
    "INF201",
    "verdict-count-mismatch",
    Severity.ERROR,
    "an item has more or fewer analyst_verdicts than there are analysts",
    record=_verdicts,
)


INF202: Final = Rule(
    "INF202",
    "rationale-count-mismatch",
    Severity.ERROR,
    "an item has more or fewer analyst_rationales than there are analysts",
    record=_rationales,
)


INF205: Final = Rule(
    "INF205",
    "undeclared-primary-panel",
    Severity.ERROR,
    "no analyst belongs to the panel in primary_panel",
    record=_primary_panel,
)


INF206: Final = Rule(
    "INF206",
    "partial-panels",
    Severity.ERROR,
    "some analysts declare a panel and others do not",
    record=_partial_panels,
)

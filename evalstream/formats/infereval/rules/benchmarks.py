"""INF2: rules about the analysts of a benchmark, its factors and cells, and vacuous items."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from itertools import islice, product
from typing import Any, Final

from evalstream.formats.infereval import views
from evalstream.formats.infereval.views import Benchmark, BenchmarkItem, Item
from evalstream.model.finding import Violation, expect_one, of_length
from evalstream.parsing.json import pointer
from evalstream.parsing.json_values import is_number, numbered_texts, object_or_empty
from evalstream.rules.base import Rule, declare_rule


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


INF201: Final = declare_rule("INF201", record=_verdicts)
INF202: Final = declare_rule("INF202", record=_rationales)
INF205: Final = declare_rule("INF205", record=_primary_panel)
INF206: Final = declare_rule("INF206", record=_partial_panels)


CELLS_LISTED: Final = 20
"""The number of thin cells that a message lists."""


def _factor_levels(item: views.BenchmarkItem) -> Iterator[Violation]:
    factors = item.benchmark.factors
    for factor, level in object_or_empty(item.value.get("factor_levels")).items():
        place = pointer(("items", item.number, "factor_levels", factor))
        if factor not in factors:
            message = f"{factor} is not a factor of the benchmark"
            yield INF203.violation(message, pointer=place)
        elif isinstance(level, str) and level not in factors[factor]:
            message = "not a declared level of this factor"
            yield INF203.violation(
                message, pointer=place, expected=expect_one(factors[factor]), found=level
            )


def _thin_cells(benchmark: views.Benchmark) -> Iterator[Violation]:
    constraints = object_or_empty(benchmark.document.get("factor_constraints"))
    least: Any = constraints.get("min_items_per_cell")
    names = sorted(benchmark.factors)
    if not is_number(least) or not names:
        return
    levels = [list(dict.fromkeys(benchmark.factors[name])) for name in names]
    held = _count_cells(benchmark, names, levels)
    full = sum(number >= least for number in held.values())
    cells = math.prod(map(len, levels))
    thin = cells - full if least > 0 else 0
    if thin <= 0:
        return
    found = (cell for cell in product(*levels) if held[cell] < least)
    listed = [_cell(names, cell, held[cell]) for cell in islice(found, CELLS_LISTED)]
    more = f" and {thin - len(listed):,} more" if thin > len(listed) else ""
    message = f"{thin:,} of {cells:,} cells have too few items: {'; '.join(listed)}{more}"
    place = "/factor_constraints/min_items_per_cell"
    yield INF204.violation(message, pointer=place)


def _count_cells(
    benchmark: views.Benchmark, names: list[str], levels: list[list[str]]
) -> Counter[tuple[str, ...]]:
    """Count the items of each cell; an item that omits a factor belongs to no cell."""
    known = [frozenset(some) for some in levels]
    held: Counter[tuple[str, ...]] = Counter()
    for _, item in benchmark.items:
        given = object_or_empty(item.get("factor_levels"))
        cell = tuple(given.get(name) for name in names)
        if all(isinstance(one, str) and one in some for one, some in zip(cell, known, strict=True)):
            held[cell] += 1  # type: ignore[index]  # all of them are texts
    return held


def _cell(names: list[str], cell: tuple[str, ...], number: int) -> str:
    levels = ", ".join(f"{name}={level}" for name, level in zip(names, cell, strict=True))
    return f"{levels} ({number:,})"


def _factor_kinds(benchmark: views.Benchmark) -> Iterator[Violation]:
    for name in object_or_empty(benchmark.document.get("factor_kinds")):
        if name not in benchmark.factors:
            message, place = f"{name} is not a factor of the benchmark", ("factor_kinds", name)
            yield INF207.violation(message, pointer=pointer(place))


def _vacuous(facts: views.Benchmark | views.BenchmarkItem) -> Iterator[Violation]:
    if isinstance(facts, views.BenchmarkItem):
        yield from _vacuous_item(facts)
        return
    for name, levels in facts.factors.items():
        if not levels:
            message = "the factor has no levels, so the design has no cells"
            yield INF211.violation(message, pointer=pointer(("factors", name)))


def _vacuous_item(item: views.BenchmarkItem) -> Iterator[Violation]:
    premises, conclusions = item.value.get("premises"), item.value.get("conclusions")
    if premises == [] and conclusions == []:
        message = "the item has neither premises nor conclusions"
        yield INF211.violation(message, pointer=pointer(("items", item.number)))
    stated = {text for _, text in numbered_texts(premises)}
    for place, conclusion in numbered_texts(conclusions):
        if conclusion in stated:
            message = "the conclusion is a premise of the same item, so it always follows"
            path = ("items", item.number, "conclusions", place)
            yield INF211.violation(message, pointer=pointer(path), found=conclusion)


INF203: Final = declare_rule("INF203", record=_factor_levels)
INF204: Final = declare_rule("INF204", record=_thin_cells)
INF207: Final = declare_rule("INF207", record=_factor_kinds)
INF211: Final = declare_rule("INF211", record=_vacuous)

RULES: Final = (INF201, INF202, INF203, INF204, INF205, INF206, INF207, INF211)

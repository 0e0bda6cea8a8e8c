"""INF2: rules about the design of a benchmark: factors, cells, and items that show nothing."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from itertools import islice, product
from typing import Any, Final

from evalstream.formats.infereval import views
from evalstream.model.finding import Severity, Violation, expect_one
from evalstream.parsing.json import pointer
from evalstream.parsing.json_values import is_number, numbered_texts, object_or_empty
from evalstream.rules.base import Rule

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


INF203: Final = Rule(
    "INF203",
    "undeclared-factor-level",
    Severity.ERROR,
    "an item names a factor or a level that the benchmark does not declare",
    record=_factor_levels,
)


INF204: Final = Rule(
    "INF204",
    "thin-cell",
    Severity.ERROR,
    "a cell of the full cross of the factors holds too few items",
    record=_thin_cells,
)


INF207: Final = Rule(
    "INF207",
    "invalid-factor-kind",
    Severity.ERROR,
    "factor_kinds names an undeclared factor or an unknown kind",
    record=_factor_kinds,
    former_names=("factor-kind",),
)


INF211: Final = Rule(
    "INF211",
    "vacuous-item",
    Severity.WARNING,
    "an item or a factor that cannot show anything",
    record=_vacuous,
)

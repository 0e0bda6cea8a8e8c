"""INF1 and INF2: rules about the structure of documents, and about benchmarks."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice, product
from typing import Any, Final

from evalstream.formats.infereval.views import (
    Benchmark,
    BenchmarkItem,
    Evaluation,
    Item,
    date_time,
    is_date,
)
from evalstream.model.finding import Violation, expect_one, of_length
from evalstream.parsing.json import pointer
from evalstream.parsing.json_values import is_number, numbered_texts, object_or_empty, objects
from evalstream.rules.base import Rule, declare_rule


def _verdicts(facts: BenchmarkItem | Item) -> Iterator[Violation]:
    if isinstance(facts, BenchmarkItem):
        yield from _count_analysts(facts, INF201, "analyst_verdicts")
    elif facts.evaluation.benchmark is None:
        of = f"the first item has {facts.verdicts}"
        yield from _check_length(INF201, facts, "analyst_verdicts", facts.verdicts, of)


def _rationales(facts: BenchmarkItem | Item) -> Iterator[Violation]:
    if isinstance(facts, BenchmarkItem):
        yield from _count_analysts(facts, INF202, "analyst_rationales")
        return
    verdicts = facts.value.get("analyst_verdicts")
    if facts.evaluation.benchmark is None and isinstance(verdicts, list):
        wanted, of = len(verdicts), f"{len(verdicts)} analyst_verdicts"
        yield from _check_length(INF202, facts, "analyst_rationales", wanted, of)


def _count_analysts(item: BenchmarkItem, rule: Rule, name: str) -> Iterator[Violation]:
    wanted, start = item.benchmark.panel_size, pointer(("items", item.number))
    for one in _check_length(rule, item, name, wanted, f"there are {wanted} analysts"):
        yield one._replace(pointer=f"{start}{one.pointer}", found=item.value[name])


def _check_length(
    rule: Rule, item: BenchmarkItem | Item, name: str, wanted: int | None, of: str
) -> Iterator[Violation]:
    given = item.value.get(name)
    if wanted is not None and isinstance(given, list) and len(given) != wanted:
        message = f"{len(given)} {name}, but {of}"
        yield rule.violation(message, f"/{name}", expected=of_length(wanted))


def _primary_panel(benchmark: Benchmark) -> Iterator[Violation]:
    panel = benchmark.document.get("primary_panel")
    panels = sorted({text for text in _panels(benchmark) if text is not None})
    if isinstance(panel, str) and panel not in panels and benchmark.panel_size:
        message = "no analyst belongs to this panel"
        yield INF205.violation(message, "/primary_panel", expected=expect_one(panels), found=panel)


def _partial_panels(benchmark: Benchmark) -> Iterator[Violation]:
    panels = _panels(benchmark)
    without = [index for index, panel in enumerate(panels) if panel is None]
    if without and len(without) < len(panels):
        for index in without:
            place = ("analysts", benchmark.analysts[index][0])
            yield INF206.violation("panel is missing, though other analysts have one", place)


def _panels(benchmark: Benchmark) -> list[str | None]:
    given = (analyst.get("panel") for _, analyst in benchmark.analysts)
    return [panel if isinstance(panel, str) else None for panel in given]


CELLS_LISTED: Final = 20
"""The number of thin cells that a message lists."""


def _factor_levels(item: BenchmarkItem) -> Iterator[Violation]:
    factors = item.benchmark.factors
    for factor, level in object_or_empty(item.value.get("factor_levels")).items():
        place = ("items", item.number, "factor_levels", factor)
        if factor not in factors:
            yield INF203.violation(f"{factor} is not a factor of the benchmark", place)
        elif isinstance(level, str) and level not in factors[factor]:
            message = "not a declared level of this factor"
            yield INF203.violation(
                message, place, expected=expect_one(factors[factor]), found=level
            )


def _thin_cells(benchmark: Benchmark) -> Iterator[Violation]:
    constraints = object_or_empty(benchmark.document.get("factor_constraints"))
    least: Any = constraints.get("min_items_per_cell")
    names = sorted(benchmark.factors)
    if not is_number(least) or not names:
        return
    levels = [list(benchmark.factors[name]) for name in names]
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
    yield INF204.violation(message, "/factor_constraints/min_items_per_cell")


def _count_cells(
    benchmark: Benchmark, names: list[str], levels: list[list[str]]
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


def _factor_kinds(benchmark: Benchmark) -> Iterator[Violation]:
    for name in object_or_empty(benchmark.document.get("factor_kinds")):
        if name not in benchmark.factors:
            message, place = f"{name} is not a factor of the benchmark", ("factor_kinds", name)
            yield INF207.violation(message, place)


def _vacuous(facts: Benchmark | BenchmarkItem) -> Iterator[Violation]:
    if isinstance(facts, BenchmarkItem):
        yield from _vacuous_item(facts)
        return
    for name, levels in facts.factors.items():
        if not levels:
            message = "the factor has no levels, so the design has no cells"
            yield INF211.violation(message, ("factors", name))


def _vacuous_item(item: BenchmarkItem) -> Iterator[Violation]:
    premises, conclusions = item.value.get("premises"), item.value.get("conclusions")
    if premises == [] and conclusions == []:
        message = "the item has neither premises nor conclusions"
        yield INF211.violation(message, ("items", item.number))
    stated = {text for _, text in numbered_texts(premises)}
    for place, conclusion in numbered_texts(conclusions):
        if conclusion in stated:
            message = "the conclusion is a premise of the same item, so it always follows"
            path = ("items", item.number, "conclusions", place)
            yield INF211.violation(message, path, found=conclusion)


def _repeated_ids(benchmark: Benchmark) -> Iterator[Violation]:
    analysts = ((index, analyst.get("id")) for index, analyst in benchmark.analysts)
    for name, ids in (("analysts", analysts), ("items", benchmark.item_ids)):
        first: dict[str, int] = {}
        for index, given in ids:
            if isinstance(given, str) and first.setdefault(given, index) != index:
                message = f"the same id as {name[:-1]} {first[given]:,}"
                yield INF208.violation(message, (name, index, "id"), found=given)


_Reference = tuple[tuple[str | int, ...], Any, str]
"""The path of an id, the id, and the kind of what it names; other values than texts name nothing."""

_BEARER: Final = "bearer"
_FAMILY: Final = "family"
_ITEM: Final = "item"

_UNKNOWN: Final = {
    _BEARER: "no bearer has this id",
    _FAMILY: "not an ordinal family of the benchmark",
    _ITEM: "no item has this id",
}


def _report_unknown(
    rule: Rule, benchmark: Benchmark, references: Iterable[_Reference]
) -> Iterator[Violation]:
    families = benchmark.families
    ids = {_BEARER: benchmark.bearers, _FAMILY: families, _ITEM: benchmark.by_id}
    for path, name, kind in references:
        known = ids[kind]
        if isinstance(name, str) and known is not None and name not in known:
            expected = expect_one(families) if kind == _FAMILY else None
            yield rule.violation(_UNKNOWN[kind], path, expected=expected, found=name)


def _list_references(names: Any, kind: str, *path: str | int) -> Iterator[_Reference]:
    return (((*path, place), name, kind) for place, name in numbered_texts(names))


def _unknown_bearers(item: BenchmarkItem) -> Iterator[Violation]:
    value, target = item.value, object_or_empty(item.value.get("rsr_target"))
    for path, names in (
        (("premises",), value.get("premises")),
        (("conclusions",), value.get("conclusions")),
        (("rsr_target", "X"), target.get("X")),
        (("rsr_target", "A"), target.get("A")),
    ):
        found = _list_references(names, _BEARER, "items", item.number, *path)
        yield from _report_unknown(INF209, item.benchmark, found)


def _cross_references(facts: Benchmark | BenchmarkItem) -> Iterator[Violation]:
    if isinstance(facts, BenchmarkItem):
        yield from _references_of_item(facts)
    else:
        yield from _report_unknown(INF210, facts, _iterate_references(facts.document))


def _iterate_references(document: Mapping[str, Any]) -> Iterator[_Reference]:
    for name, tiers in object_or_empty(document.get("ordinal_families")).items():
        yield from _list_references(tiers, _BEARER, "ordinal_families", name)
    for name, bearer in object_or_empty(document.get("bearers")).items():
        family = object_or_empty(bearer).get("ordinal_family")
        yield ("bearers", name, "ordinal_family"), family, _FAMILY
    for index, rule in objects(document.get("copresence_rules")):
        path = "copresence_rules", index, "families"
        yield from _list_references(rule.get("families"), _FAMILY, *path)
    for index, rule in objects(document.get("entailment_rules")):
        for name in ("antecedent", "consequent"):
            yield ("entailment_rules", index, name), rule.get(name), _BEARER
    for index, regularity in objects(document.get("regularities")):
        path = "regularities", index, "test_item_ids"
        yield from _list_references(regularity.get("test_item_ids"), _ITEM, *path)


def _references_of_item(item: BenchmarkItem) -> Iterator[Violation]:
    targets, target = item.benchmark.targets, item.value.get("target")
    start = "items", item.number
    if targets and isinstance(target, str) and target not in targets:
        message, expected = "not a target of the benchmark", expect_one(targets)
        yield INF210.violation(message, (*start, "target"), expected=expected, found=target)
    step, path = object_or_empty(item.value.get("monotonicity_step")), (*start, "monotonicity_step")
    family, tier, number = (step.get(name) for name in ("family", "tier", "tier_index"))
    named = (((*path, "fixed"), step.get("fixed"), _BEARER), ((*path, "family"), family, _FAMILY))
    yield from _report_unknown(INF210, item.benchmark, named)
    tiers = item.benchmark.families.get(family) if isinstance(family, str) else None
    if tiers is None or not isinstance(tier, str):
        return
    if tier not in tiers:
        message, expected = "not a tier of this family", expect_one(tiers)
        yield INF210.violation(message, (*path, "tier"), expected=expected, found=tier)
    elif is_number(number) and number != tiers[tier]:
        message = "not the index of this tier in its family, from 0"
        place = (*path, "tier_index")
        yield INF210.violation(message, place, expected=tiers[tier], found=number)


KINDS: Final = ("template", "plugin")
CONTEXTS: Final = ("premise", "conclusion")


def _beyond_the_schema(facts: Benchmark | BenchmarkItem | Evaluation) -> Iterator[Violation]:
    """Report what the package infereval rejects though the schema accepts it."""
    if isinstance(facts, BenchmarkItem):
        day = object_or_empty(facts.value.get("construction_metadata")).get("authored_on")
        if isinstance(day, str) and not is_date(day):
            place = ("items", facts.number, "construction_metadata", "authored_on")
            yield INF101.violation("not a date such as 2026-05-31", place, found=day)
        return
    if isinstance(facts, Benchmark):
        yield from _builders(facts)
        return
    number: Any = (facts.config or {}).get("n_samples", 1)
    if is_number(number) and number < 1:
        message, where = "n_samples must be at least 1", "/endorsement_config/n_samples"
        yield INF101.violation(message, where, found=number)
    for name in ("started_at", "finished_at"):
        if isinstance(moment := facts.document.get(name), str) and date_time(moment) is None:
            message = "not a time such as 2026-05-31T10:00:00Z"
            yield INF101.violation(message, f"/{name}", found=moment)


def _builders(benchmark: Benchmark) -> Iterator[Violation]:
    builders = object_or_empty(benchmark.document.get("context_builders"))
    for name in CONTEXTS:
        builder = builders.get(name)
        if isinstance(builder, dict) and "kind" not in builder:
            message = "kind is missing; it distinguishes the two kinds of builders"
            yield INF101.violation(message, ("context_builders", name), expected=expect_one(KINDS))


INF101: Final = declare_rule("INF101", record=_beyond_the_schema)
INF102: Final = declare_rule("INF102")
INF201: Final = declare_rule("INF201", record=_verdicts)
INF202: Final = declare_rule("INF202", record=_rationales)
INF203: Final = declare_rule("INF203", record=_factor_levels)
INF204: Final = declare_rule("INF204", record=_thin_cells)
INF205: Final = declare_rule("INF205", record=_primary_panel)
INF206: Final = declare_rule("INF206", record=_partial_panels)
INF207: Final = declare_rule("INF207", record=_factor_kinds)
INF208: Final = declare_rule("INF208", record=_repeated_ids)
INF209: Final = declare_rule("INF209", record=_unknown_bearers)
INF210: Final = declare_rule("INF210", record=_cross_references)
INF211: Final = declare_rule("INF211", record=_vacuous)

RULES: Final = (
    *(INF101, INF102, INF201, INF202, INF203, INF204, INF205),
    *(INF206, INF207, INF208, INF209, INF210, INF211),
)

"""INF2: rules about ids in a benchmark: repeated ones, and references to unknown ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from evalstream.formats.infereval.views import Benchmark, BenchmarkItem
from evalstream.model.finding import Violation, expect_one
from evalstream.parsing.json import pointer
from evalstream.parsing.json_values import is_number, numbered_texts, object_or_empty, objects
from evalstream.rules.base import Rule, declare_rule


def _repeated_ids(benchmark: Benchmark) -> Iterator[Violation]:
    analysts = ((index, analyst.get("id")) for index, analyst in benchmark.analysts)
    for name, ids in (("analysts", analysts), ("items", benchmark.item_ids)):
        first: dict[str, int] = {}
        for index, given in ids:
            if isinstance(given, str) and first.setdefault(given, index) != index:
                message = f"the same id as {name[:-1]} {first[given]:,}"
                place = (name, index, "id")
                yield INF208.violation(message, pointer=pointer(place), found=given)


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
    """Yield the references to what the benchmark does not have."""
    families = benchmark.families
    ids = {_BEARER: benchmark.bearers, _FAMILY: families, _ITEM: benchmark.by_id}
    for path, name, kind in references:
        known = ids[kind]
        if isinstance(name, str) and known is not None and name not in known:
            expected = expect_one(families) if kind == _FAMILY else None
            place = pointer(path)
            yield rule.violation(_UNKNOWN[kind], pointer=place, expected=expected, found=name)


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
    """Iterate over the references in a benchmark outside its items."""
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
    if targets and isinstance(target, str) and target not in targets:
        message, place = "not a target of the benchmark", pointer(("items", item.number, "target"))
        yield INF210.violation(message, pointer=place, expected=expect_one(targets), found=target)
    step = object_or_empty(item.value.get("monotonicity_step"))
    path = ("items", item.number, "monotonicity_step")
    family, tier, number = (step.get(name) for name in ("family", "tier", "tier_index"))
    named = (((*path, "fixed"), step.get("fixed"), _BEARER), ((*path, "family"), family, _FAMILY))
    yield from _report_unknown(INF210, item.benchmark, named)
    tiers = item.benchmark.families.get(family) if isinstance(family, str) else None
    if tiers is None or not isinstance(tier, str):
        return
    if tier not in tiers:
        message, place = "not a tier of this family", pointer((*path, "tier"))
        yield INF210.violation(message, pointer=place, expected=expect_one(tiers), found=tier)
    elif is_number(number) and number != tiers.index(tier):
        message = "not the index of this tier in its family, from 0"
        place = pointer((*path, "tier_index"))
        yield INF210.violation(message, pointer=place, expected=tiers.index(tier), found=number)


INF208: Final = declare_rule("INF208", record=_repeated_ids)
INF209: Final = declare_rule("INF209", record=_unknown_bearers)
INF210: Final = declare_rule("INF210", record=_cross_references)

RULES: Final = (INF208, INF209, INF210)

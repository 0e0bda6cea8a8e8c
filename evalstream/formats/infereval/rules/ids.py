"""INF2: rules about ids in a benchmark: repeated ones, and references to unknown ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from evalstream.formats.infereval.views import Benchmark, BenchmarkItem
from evalstream.model.finding import Violation, expect_one
from evalstream.parsing.json import pointer
from evalstream.parsing.json_values import is_number, numbered_texts, object_or_empty, objects
from evalstream.rules.base import Rule
from evalstream.rules.declaration import declare_rule


def _repeated_ids(benchmark: Benchmark) -> Iterator[Violation]:
    analysts = ((index, analyst.get("id")) for index, analyst in benchmark.analysts)
    for name, ids in (("analysts", analysts), ("items", benchmark.item_ids)):
        first: dict[str, int] = {}
        for index, given in ids:
            if isinstance(given, str) and first.setdefault(given, index) != index:
                message = f"the same id as {name[:-1]} {first[given]:,}"
                place = (name, index, "id")
                yield INF208.violation(message, pointer=pointer(place), found=given)


def _unknown_bearers(item: BenchmarkItem) -> Iterator[Violation]:
    target = object_or_empty(item.value.get("rsr_target"))
    for path, given in (
        (("premises",), item.value.get("premises")),
        (("conclusions",), item.value.get("conclusions")),
        (("rsr_target", "X"), target.get("X")),
        (("rsr_target", "A"), target.get("A")),
    ):
        yield from _not_bearers(item.benchmark, INF209, given, ("items", item.number, *path))


def _not_bearers(
    benchmark: Benchmark, rule: Rule, given: Any, path: tuple[str | int, ...]
) -> Iterator[Violation]:
    """Report the strings of a list that are not ids of bearers."""
    for place, name in numbered_texts(given):
        if benchmark.bearers is not None and name not in benchmark.bearers:
            yield rule.violation(
                "no bearer has this id", pointer=pointer((*path, place)), found=name
            )


def _cross_references(facts: Benchmark | BenchmarkItem) -> Iterator[Violation]:
    if isinstance(facts, BenchmarkItem):
        yield from _references_of_item(facts)
        return
    benchmark, document = facts, facts.document
    for name, tiers in object_or_empty(document.get("ordinal_families")).items():
        yield from _not_bearers(benchmark, INF210, tiers, ("ordinal_families", name))
    yield from _unknown_families(benchmark)
    for index, rule in objects(document.get("entailment_rules")):
        for name in ("antecedent", "consequent"):
            yield from _not_a_bearer(benchmark, rule.get(name), ("entailment_rules", index, name))
    yield from _unknown_items(benchmark)


def _references_of_item(item: BenchmarkItem) -> Iterator[Violation]:
    targets, target = item.benchmark.targets, item.value.get("target")
    if targets and isinstance(target, str) and target not in targets:
        message, place = "not a target of the benchmark", pointer(("items", item.number, "target"))
        yield INF210.violation(message, pointer=place, expected=expect_one(targets), found=target)
    step = object_or_empty(item.value.get("monotonicity_step"))
    yield from _step(item.benchmark, step, item.number)


def _unknown_families(benchmark: Benchmark) -> Iterator[Violation]:
    document, families = benchmark.document, benchmark.families
    for name, bearer in object_or_empty(document.get("bearers")).items():
        family = object_or_empty(bearer).get("ordinal_family")
        yield from _not_a_family(families, family, ("bearers", name, "ordinal_family"))
    for index, rule in objects(document.get("copresence_rules")):
        for place, family in numbered_texts(rule.get("families")):
            path = ("copresence_rules", index, "families", place)
            yield from _not_a_family(families, family, path)


def _unknown_items(benchmark: Benchmark) -> Iterator[Violation]:
    for index, regularity in objects(benchmark.document.get("regularities")):
        for place, item in numbered_texts(regularity.get("test_item_ids")):
            if item not in benchmark.by_id:
                path = ("regularities", index, "test_item_ids", place)
                yield INF210.violation("no item has this id", pointer=pointer(path), found=item)


def _not_a_family(
    families: Mapping[str, list[str]], family: Any, path: tuple[str | int, ...]
) -> Iterator[Violation]:
    if isinstance(family, str) and family not in families:
        message = "not an ordinal family of the benchmark"
        yield INF210.violation(
            message, pointer=pointer(path), expected=expect_one(families), found=family
        )


def _not_a_bearer(
    benchmark: Benchmark, bearer: Any, path: tuple[str | int, ...]
) -> Iterator[Violation]:
    known = benchmark.bearers
    if isinstance(bearer, str) and known is not None and bearer not in known:
        yield INF210.violation("no bearer has this id", pointer=pointer(path), found=bearer)


def _step(benchmark: Benchmark, step: Mapping[str, Any], index: int) -> Iterator[Violation]:
    """Compare a monotonicity step with the ordinal family that it refers to."""
    path = ("items", index, "monotonicity_step")
    family, tier, number = (step.get(name) for name in ("family", "tier", "tier_index"))
    yield from _not_a_bearer(benchmark, step.get("fixed"), (*path, "fixed"))
    yield from _not_a_family(benchmark.families, family, (*path, "family"))
    tiers = benchmark.families.get(family) if isinstance(family, str) else None
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

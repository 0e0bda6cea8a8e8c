"""INF1 and INF2: rules about the structure of documents, and about a benchmark alone."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import islice, product
from typing import Any, Final

from evalstream.formats.infereval.dates import date_time, is_date
from evalstream.formats.infereval.views import (
    Benchmark,
    Evaluation,
    Item,
    is_number,
    object_or_empty,
    objects,
    texts,
    texts_by_name,
)
from evalstream.model.finding import Severity, Violation, of_length, one_of
from evalstream.parsing.json import pointer
from evalstream.rules.base import Rule

CELLS_LISTED: Final = 20
"""The number of thin cells that a message lists."""

KINDS: Final = ("template", "plugin")
CONTEXTS: Final = ("premise", "conclusion")


def _beyond_the_schema(facts: Benchmark | Evaluation) -> Iterator[Violation]:
    """Report what the package infereval rejects though the schema accepts it."""
    if isinstance(facts, Benchmark):
        yield from _builders(facts)
        for index, item in facts.items:
            metadata = object_or_empty(item.get("construction_metadata"))
            place = ("items", index, "construction_metadata", "authored_on")
            if isinstance(day := metadata.get("authored_on"), str) and not is_date(day):
                yield INF101.violation(
                    "not a date such as 2026-05-31", pointer=pointer(place), found=day
                )
        return
    number: Any = (facts.config or {}).get("n_samples", 1)
    if is_number(number) and number < 1:
        message, where = "n_samples must be at least 1", "/endorsement_config/n_samples"
        yield INF101.violation(message, pointer=where, found=number)
    for name in ("started_at", "finished_at"):
        if isinstance(moment := facts.document.get(name), str) and date_time(moment) is None:
            message = "not a time such as 2026-05-31T10:00:00Z"
            yield INF101.violation(message, pointer=f"/{name}", found=moment)


def _builders(benchmark: Benchmark) -> Iterator[Violation]:
    builders = object_or_empty(benchmark.document.get("context_builders"))
    for name in CONTEXTS:
        builder = builders.get(name)
        if isinstance(builder, dict) and "kind" not in builder:
            message = "kind is missing; it distinguishes the two kinds of builders"
            place = pointer(("context_builders", name))
            yield INF101.violation(message, pointer=place, expected=one_of(KINDS))


def _verdicts(facts: Benchmark | Item) -> Iterator[Violation]:
    if isinstance(facts, Benchmark):
        yield from _counts(facts, INF201, "analyst_verdicts")
        return
    given = facts.value.get("analyst_verdicts")
    if facts.evaluation.benchmark is None and isinstance(given, list):
        wanted = facts.verdicts
        if wanted is not None and len(given) != wanted:
            message = f"{len(given)} analyst_verdicts, but the first item has {wanted}"
            yield INF201.violation(message, pointer="/analyst_verdicts", expected=of_length(wanted))


def _rationales(facts: Benchmark | Item) -> Iterator[Violation]:
    if isinstance(facts, Benchmark):
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


def _counts(benchmark: Benchmark, rule: Rule, name: str) -> Iterator[Violation]:
    """Compare the length of a list in every item with the number of analysts."""
    wanted = benchmark.panel_size
    for index, item in benchmark.items:
        given = item.get(name)
        if wanted is not None and isinstance(given, list) and len(given) != wanted:
            message = f"{len(given)} {name}, but there are {wanted} analysts"
            place = pointer(("items", index, name))
            yield rule.violation(message, pointer=place, expected=of_length(wanted), found=given)


def _factor_levels(benchmark: Benchmark) -> Iterator[Violation]:
    factors = benchmark.factors
    for index, item in benchmark.items:
        for factor, level in object_or_empty(item.get("factor_levels")).items():
            place = pointer(("items", index, "factor_levels", factor))
            if factor not in factors:
                message = f"{factor} is not a factor of the benchmark"
                yield INF203.violation(message, pointer=place)
            elif isinstance(level, str) and level not in factors[factor]:
                message = "not a declared level of this factor"
                yield INF203.violation(
                    message, pointer=place, expected=one_of(factors[factor]), found=level
                )


def _thin_cells(benchmark: Benchmark) -> Iterator[Violation]:
    constraints = object_or_empty(benchmark.document.get("factor_constraints"))
    least: Any = constraints.get("min_items_per_cell")
    names = sorted(benchmark.factors)
    if not is_number(least) or not names:
        return
    levels = [list(dict.fromkeys(benchmark.factors[name])) for name in names]
    held = _held(benchmark, names, levels)
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


def _held(
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


def _primary_panel(benchmark: Benchmark) -> Iterator[Violation]:
    panel = benchmark.document.get("primary_panel")
    panels = sorted({text for text in _panels(benchmark) if text is not None})
    if isinstance(panel, str) and panel not in panels and benchmark.panel_size:
        message = "no analyst belongs to this panel"
        yield INF205.violation(
            message, pointer="/primary_panel", expected=one_of(panels), found=panel
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


def _factor_kinds(benchmark: Benchmark) -> Iterator[Violation]:
    for name in object_or_empty(benchmark.document.get("factor_kinds")):
        if name not in benchmark.factors:
            message, place = f"{name} is not a factor of the benchmark", ("factor_kinds", name)
            yield INF207.violation(message, pointer=pointer(place))


def _repeated_ids(benchmark: Benchmark) -> Iterator[Violation]:
    for name, members in (("analysts", benchmark.analysts), ("items", benchmark.items)):
        first: dict[str, int] = {}
        for index, member in members:
            given = member.get("id")
            if isinstance(given, str) and first.setdefault(given, index) != index:
                message = f"the same id as {name[:-1]} {first[given]:,}"
                place = (name, index, "id")
                yield INF208.violation(message, pointer=pointer(place), found=given)


def _unknown_bearers(benchmark: Benchmark) -> Iterator[Violation]:
    for index, item in benchmark.items:
        target = object_or_empty(item.get("rsr_target"))
        for path, given in (
            (("premises",), item.get("premises")),
            (("conclusions",), item.get("conclusions")),
            (("rsr_target", "X"), target.get("X")),
            (("rsr_target", "A"), target.get("A")),
        ):
            yield from _not_bearers(benchmark, INF209, given, ("items", index, *path))


def _not_bearers(
    benchmark: Benchmark, rule: Rule, given: Any, path: tuple[str | int, ...]
) -> Iterator[Violation]:
    """Report the strings of a list that are not ids of bearers."""
    for place, name in texts(given):
        if benchmark.bearers is not None and name not in benchmark.bearers:
            yield rule.violation(
                "no bearer has this id", pointer=pointer((*path, place)), found=name
            )


def _cross_references(benchmark: Benchmark) -> Iterator[Violation]:
    document = benchmark.document
    for name, tiers in object_or_empty(document.get("ordinal_families")).items():
        yield from _not_bearers(benchmark, INF210, tiers, ("ordinal_families", name))
    yield from _unknown_families(benchmark)
    for index, rule in objects(document.get("entailment_rules")):
        for name in ("antecedent", "consequent"):
            yield from _not_a_bearer(benchmark, rule.get(name), ("entailment_rules", index, name))
    yield from _unknown_items(benchmark)
    targets = [text for _, text in texts(document.get("targets"))]
    for index, item in benchmark.items:
        target = item.get("target")
        if targets and isinstance(target, str) and target not in targets:
            message, place = "not a target of the benchmark", pointer(("items", index, "target"))
            yield INF210.violation(message, pointer=place, expected=one_of(targets), found=target)
        yield from _step(benchmark, object_or_empty(item.get("monotonicity_step")), index)


def _unknown_families(benchmark: Benchmark) -> Iterator[Violation]:
    document, families = benchmark.document, benchmark.families
    for name, bearer in object_or_empty(document.get("bearers")).items():
        family = object_or_empty(bearer).get("ordinal_family")
        yield from _not_a_family(families, family, ("bearers", name, "ordinal_family"))
    for index, rule in objects(document.get("copresence_rules")):
        for place, family in texts(rule.get("families")):
            path = ("copresence_rules", index, "families", place)
            yield from _not_a_family(families, family, path)


def _unknown_items(benchmark: Benchmark) -> Iterator[Violation]:
    for index, regularity in objects(benchmark.document.get("regularities")):
        for place, item in texts(regularity.get("test_item_ids")):
            if item not in benchmark.by_id:
                path = ("regularities", index, "test_item_ids", place)
                yield INF210.violation("no item has this id", pointer=pointer(path), found=item)


def _not_a_family(
    families: Mapping[str, list[str]], family: Any, path: tuple[str | int, ...]
) -> Iterator[Violation]:
    if isinstance(family, str) and family not in families:
        message = "not an ordinal family of the benchmark"
        yield INF210.violation(
            message, pointer=pointer(path), expected=one_of(families), found=family
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
        yield INF210.violation(message, pointer=place, expected=one_of(tiers), found=tier)
    elif is_number(number) and number != tiers.index(tier):
        message = "not the index of this tier in its family, from 0"
        place = pointer((*path, "tier_index"))
        yield INF210.violation(message, pointer=place, expected=tiers.index(tier), found=number)


def _vacuous(benchmark: Benchmark) -> Iterator[Violation]:
    for name, levels in texts_by_name(benchmark.document.get("factors")).items():
        if not levels:
            message = "the factor has no levels, so the design has no cells"
            yield INF211.violation(message, pointer=pointer(("factors", name)))
    for index, item in benchmark.items:
        premises, conclusions = item.get("premises"), item.get("conclusions")
        if premises == [] and conclusions == []:
            message = "the item has neither premises nor conclusions"
            yield INF211.violation(message, pointer=pointer(("items", index)))
        stated = {text for _, text in texts(premises)}
        for place, conclusion in texts(conclusions):
            if conclusion in stated:
                message = "the conclusion is a premise of the same item, so it always follows"
                path = ("items", index, "conclusions", place)
                yield INF211.violation(message, pointer=pointer(path), found=conclusion)


INF101: Final = Rule(
    "INF101",
    "structure-violation",
    Severity.ERROR,
    "a benchmark or an evaluation does not have the structure of its format",
    """
    What it finds: violations of the schema of benchmarks or evaluations (types, unknown or missing
    members, values that are not allowed, no analyst at all), and what the package rejects in
    addition: a context builder without kind, n_samples below 1, an invalid date or time.

    Why it matters: the package does not load the document.

    How to fix: Correct the member at the pointer so that it fits the schema, or write the document
    again with infereval. Print the schema with `evalstream schema show infereval/1.0/benchmark`
    (or `evaluation`).

    Bad:
        evaluation:
          {"items": [{"id": "open-street", "model_verdict": "maybe"}]}

    Good:
        evaluation:
          {"items": [{"id": "open-street", "model_verdict": "good"}]}
    """,
    record=_beyond_the_schema,
    former_names=("infereval-structure",),
)

INF102: Final = Rule(
    "INF102",
    "bare-reference",
    Severity.INFO,
    "a string among references, in place of an object with that citation",
    """
    What it finds: a string in a list of references. The package reads it as an object with this
    string as its citation; the published schema rejects it.

    Why it matters: readers that follow only the schema reject the document.

    How to fix: Write the reference as an object: {"citation": "the string"}. The hash of the
    benchmark stays the same.

    Bad:
        benchmark:
          {"references": ["A book on the weather"]}

    Good:
        benchmark:
          {"references": [{"citation": "A book on the weather"}]}
    """,
)

INF201: Final = Rule(
    "INF201",
    "verdict-count-mismatch",
    Severity.ERROR,
    "an item has more or fewer analyst_verdicts than there are analysts",
    """
    What it finds: an item whose analyst_verdicts are not as many as the analysts. Items of an
    evaluation without its benchmark are compared with its first item.

    Why it matters: each verdict belongs to an analyst by its position alone.

    How to fix: Give the item one verdict for each analyst, in the order of analysts, from the
    analysts' records. The benchmark then has another hash, so run its evaluations again. For an
    evaluation, pass its own benchmark with `--aggregate`.

    Bad:
        benchmark:
          {
            "analysts": [{"id": "ann"}, {"id": "ben"}],
            "items": [{"id": "open-street", "analyst_verdicts": ["good"]}]
          }

    Good:
        benchmark:
          {
            "analysts": [{"id": "ann"}, {"id": "ben"}],
            "items": [{"id": "open-street", "analyst_verdicts": ["good", "abstain"]}]
          }
    """,
    record=_verdicts,
)

INF202: Final = Rule(
    "INF202",
    "rationale-count-mismatch",
    Severity.ERROR,
    "an item has more or fewer analyst_rationales than there are analysts",
    """
    What it finds: analyst_rationales that are present and not as many as the analysts; in an
    evaluation without its benchmark, not as many as the verdicts beside them.

    Why it matters: each rationale belongs to an analyst by its position alone.

    How to fix: Give the item one rationale for each analyst, in the order of analysts, or remove
    the list. Write an empty string for an analyst who gave none. The benchmark then has another
    hash, so run its evaluations again.

    Bad:
        benchmark:
          {
            "analysts": [{"id": "ann"}, {"id": "ben"}],
            "items": [{
              "id": "open-street",
              "analyst_rationales": ["Streets get wet in the rain."]
            }]
          }

    Good:
        benchmark:
          {
            "analysts": [{"id": "ann"}, {"id": "ben"}],
            "items": [{
              "id": "open-street",
              "analyst_rationales": ["Streets get wet in the rain.", ""]
            }]
          }
    """,
    record=_rationales,
)

INF203: Final = Rule(
    "INF203",
    "undeclared-factor-level",
    Severity.ERROR,
    "an item names a factor or a level that the benchmark does not declare",
    """
    What it finds: a key of factor_levels that is not one of the factors, or a value that is not
    one of that factor's levels.

    Why it matters: the item has no place in the design.

    How to fix: Correct the name in factor_levels, or declare the factor or level in `factors`. The
    benchmark then has another hash, so run its evaluations again.

    Bad:
        benchmark:
          {
            "factors": {"cover": ["open", "tent"]},
            "items": [{
              "id": "open-street",
              "factor_levels": {"cover": "open", "wind": "strong"}
            }]
          }

    Good:
        benchmark:
          {
            "factors": {"cover": ["open", "tent"]},
            "items": [{"id": "open-street", "factor_levels": {"cover": "open"}}]
          }
    """,
    record=_factor_levels,
)

INF204: Final = Rule(
    "INF204",
    "thin-cell",
    Severity.ERROR,
    "a cell of the full cross of the factors holds too few items",
    """
    What it finds: cells, that is combinations of one level of each factor, with fewer items than
    min_items_per_cell; the finding lists them. An item that does not name every factor belongs to
    no cell.

    Why it matters: effects of the factors cannot be distinguished from effects of single items.

    How to fix: Add items to the listed cells, or name every factor in the items that belong to
    them. Lower min_items_per_cell only if the design allows fewer items. The benchmark then has
    another hash, so run its evaluations again.

    Bad:
        benchmark:
          {
            "factors": {"cover": ["open", "tent"]},
            "factor_constraints": {"min_items_per_cell": 2},
            "items": [
              {"id": "open-street", "factor_levels": {"cover": "open"}},
              {"id": "covered-street", "factor_levels": {"cover": "tent"}}
            ]
          }

    Good:
        benchmark:
          {
            "factors": {"cover": ["open", "tent"]},
            "factor_constraints": {"min_items_per_cell": 1},
            "items": [
              {"id": "open-street", "factor_levels": {"cover": "open"}},
              {"id": "covered-street", "factor_levels": {"cover": "tent"}}
            ]
          }
    """,
    record=_thin_cells,
)

INF205: Final = Rule(
    "INF205",
    "undeclared-primary-panel",
    Severity.ERROR,
    "no analyst belongs to the panel in primary_panel",
    """
    What it finds: a primary_panel to which no analyst belongs.

    Why it matters: agreement is to be reported against this panel.

    How to fix: Correct primary_panel, or the panel of the analysts who belong to it. The benchmark
    then has another hash, so run its evaluations again.

    Bad:
        benchmark:
          {
            "analysts": [
              {"id": "ann", "panel": "neighbours"},
              {"id": "ben", "panel": "visitors"}
            ],
            "primary_panel": "sailors"
          }

    Good:
        benchmark:
          {
            "analysts": [
              {"id": "ann", "panel": "neighbours"},
              {"id": "ben", "panel": "visitors"}
            ],
            "primary_panel": "neighbours"
          }
    """,
    record=_primary_panel,
)

INF206: Final = Rule(
    "INF206",
    "partial-panels",
    Severity.ERROR,
    "some analysts declare a panel and others do not",
    """
    What it finds: analysts without a panel in a benchmark in which others have one.

    Why it matters: agreement between panels leaves out the verdicts of these analysts.

    How to fix: Add `panel` to every analyst, or remove it from all of them together with
    primary_panel. The benchmark then has another hash, so run its evaluations again.

    Bad:
        benchmark:
          {"analysts": [{"id": "ann", "panel": "neighbours"}, {"id": "ben"}]}

    Good:
        benchmark:
          {"analysts": [{"id": "ann"}, {"id": "ben"}]}
    """,
    record=_partial_panels,
)

INF207: Final = Rule(
    "INF207",
    "invalid-factor-kind",
    Severity.ERROR,
    "factor_kinds names an undeclared factor or an unknown kind",
    """
    What it finds: a key of factor_kinds that is not a factor, or a value that is neither
    substantive nor experimentally_controlled.

    Why it matters: the kind decides how a null effect is read.

    How to fix: Correct the factor's name, or set its kind to substantive or
    experimentally_controlled. The benchmark then has another hash, so run its evaluations again.

    Bad:
        benchmark:
          {
            "factors": {"cover": ["open", "tent"]},
            "factor_kinds": {"cover": "substantive", "wind": "substantive"}
          }

    Good:
        benchmark:
          {
            "factors": {"cover": ["open", "tent"]},
            "factor_kinds": {"cover": "experimentally_controlled"}
          }
    """,
    record=_factor_kinds,
    former_names=("factor-kind",),
)

INF208: Final = Rule(
    "INF208",
    "repeated-identifier",
    Severity.ERROR,
    "two analysts or two items have one id",
    """
    What it finds: an id that an earlier analyst, or an earlier item of the same document, already
    has; in evaluations, too.

    Why it matters: results are joined by these ids.

    How to fix: Give each analyst and each item of the benchmark an id of its own, and delete
    copies. The benchmark then has another hash, so run its evaluations again. If only the
    evaluation repeats an item, write it again from its run.

    Bad:
        benchmark:
          {
            "analysts": [
              {"id": "ann", "panel": "neighbours"},
              {"id": "ann", "panel": "visitors"}
            ]
          }

    Good:
        benchmark:
          {
            "analysts": [
              {"id": "ann", "panel": "neighbours"},
              {"id": "cleo", "panel": "visitors"}
            ]
          }
    """,
    record=_repeated_ids,
)

INF209: Final = Rule(
    "INF209",
    "unknown-bearer",
    Severity.ERROR,
    "premises, conclusions or an rsr_target name an unknown bearer",
    """
    What it finds: an id among premises or conclusions, or in X or A of an rsr_target, that is not
    a key of bearers.

    Why it matters: the benchmark has no sentence for this id that could be shown to the model.

    How to fix: Correct the id in the item, or add the bearer with its expression to `bearers`. The
    benchmark then has another hash, so run its evaluations again.

    Bad:
        benchmark:
          {
            "bearers": {
              "rain": {"expression": "it rains"},
              "wet": {"expression": "the street is wet"},
              "dry": {"expression": "the street is dry"}
            },
            "items": [{
              "id": "open-street",
              "rsr_target": {"X": ["rain"], "A": ["flooded"]}
            }]
          }

    Good:
        benchmark:
          {
            "bearers": {
              "rain": {"expression": "it rains"},
              "wet": {"expression": "the street is wet"},
              "dry": {"expression": "the street is dry"}
            },
            "items": [{
              "id": "open-street",
              "rsr_target": {"X": ["rain"], "A": ["dry"]}
            }]
          }
    """,
    record=_unknown_bearers,
)

INF210: Final = Rule(
    "INF210",
    "dangling-cross-reference",
    Severity.ERROR,
    "a member introduced with 0.17 refers to something that does not exist",
    """
    What it finds: a tier that is not a bearer, a family that is not declared (of a bearer, a
    copresence rule or a monotonicity step), a bearer of an entailment rule or a fixed one that is
    unknown, a step whose tier or tier_index does not fit its family, a target that is not
    declared, an item of a regularity that does not exist.

    Why it matters: the package rejects the benchmark.

    How to fix: Correct the reference at the pointer, or declare what it names in the benchmark. A
    tier_index is the position of the tier in its family, from 0. The benchmark then has another
    hash, so run its evaluations again.

    Bad:
        benchmark:
          {
            "ordinal_families": {"rainfall": ["drizzle", "rain"]},
            "items": [{
              "id": "open-street",
              "monotonicity_step": {"family": "rainfall", "tier": "rain", "tier_index": 0}
            }]
          }

    Good:
        benchmark:
          {
            "ordinal_families": {"rainfall": ["drizzle", "rain"]},
            "items": [{
              "id": "open-street",
              "monotonicity_step": {
                "family": "rainfall",
                "tier": "rain",
                "tier_index": 1,
                "expected": "non_increasing"
              }
            }]
          }
    """,
    record=_cross_references,
)

INF211: Final = Rule(
    "INF211",
    "vacuous-item",
    Severity.WARNING,
    "an item or a factor that cannot show anything",
    """
    What it finds: a premise that is also a conclusion, an item with neither premises nor
    conclusions, a factor without levels.

    Why it matters: the answer does not depend on what the model knows.

    How to fix: Correct the item's premises or conclusions, or remove the item; give the factor its
    levels. The benchmark then has another hash, so run its evaluations again.

    Bad:
        benchmark:
          {
            "items": [{
              "id": "open-street",
              "premises": ["rain"],
              "conclusions": ["wet", "rain"]
            }]
          }

    Good:
        benchmark:
          {
            "items": [{
              "id": "open-street",
              "premises": ["rain"],
              "conclusions": ["wet", "dry"]
            }]
          }
    """,
    record=_vacuous,
)

OF_BENCHMARKS: Final = (
    INF101,
    INF201,
    INF202,
    INF203,
    INF204,
    INF205,
    INF206,
    INF207,
    INF208,
    INF209,
    INF210,
    INF211,
)
"""The rules that check a benchmark."""

RULES: Final = (OF_BENCHMARKS[0], INF102, *OF_BENCHMARKS[1:])

"""ES8: rules that compare claims with figures recomputed from the rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from itertools import chain
from typing import Any, Final

from evalstream.formats.eee.aggregate import RESULTS, Aggregate
from evalstream.formats.eee.facts import RunFacts
from evalstream.formats.eee.metrics import (
    GENERIC,
    METRIC_NAMES,
    is_best_at_most,
    list_measures,
    list_names,
    metric_kinds,
)
from evalstream.model.claim import JudgedClaim, Reason
from evalstream.model.finding import Severity, Violation
from evalstream.parsing.json import member, text_or_none
from evalstream.parsing.lazy_regex import LazyPattern
from evalstream.rules.base import declare_rule
from evalstream.rules.claims import claim_violation, find_open, find_refuted, find_rounded
from evalstream.stats.claims import kinds

DESCRIPTION: Final = "evaluation_description"

_UNCERTAIN: Final = frozenset(
    kind.name for kind in (kinds.DEVIATION, kinds.ERROR, kinds.INTERVAL, kinds.VARIANCE)
)


def _is_count(claim: JudgedClaim) -> bool:
    return claim.kind == kinds.COUNT.name


def _is_uncertainty(claim: JudgedClaim) -> bool:
    return not claim.is_score and claim.kind in _UNCERTAIN


def _is_score(claim: JudgedClaim) -> bool:
    return not _is_count(claim) and not _is_uncertainty(claim)


def _score_refuted(facts: RunFacts) -> Iterator[Violation]:
    return find_refuted(ES801, facts.unconfirmed, _is_score)


def _sample_count_refuted(facts: RunFacts) -> Iterator[Violation]:
    yield from find_refuted(ES802, facts.unconfirmed, _is_count)
    for claim, _ in facts.unconfirmed:
        if _is_open_count(claim):
            name = claim.pointer.rpartition("/")[2]
            message = f"{name} is above the number of rows, {claim.rows:,}: rows are missing"
            yield claim_violation(ES802, claim, message, Severity.WARNING)._replace(expected=None)


def _is_open_count(claim: JudgedClaim) -> bool:
    return _is_count(claim) and claim.reason == Reason.MISSING.value


def _uncertainty_refuted(facts: RunFacts) -> Iterator[Violation]:
    return find_refuted(ES803, facts.unconfirmed, _is_uncertainty)


def _claim_open(facts: RunFacts) -> Iterator[Violation]:
    """Report open claims, one violation for each reason.

    Other rules report rows that cannot be read, results without rows, and repeated ids.
    """
    if facts.tally.unread or not facts.tally.rows:
        return
    repeated = (
        result.place
        for result in facts.context.results
        if result.id is not None and facts.ids[result.id] > 1
    )
    silent = tuple(f"{RESULTS}/{place}/" for place in chain(facts.rowless, repeated))
    left_open = (
        claim
        for claim, _ in facts.unconfirmed
        if not _is_open_count(claim) and not claim.pointer.startswith(silent)
    )
    yield from find_open(ES804, left_open)


def _claim_rounded(facts: RunFacts) -> Iterator[Violation]:
    return find_rounded(ES806, (claim for claim, _ in facts.unconfirmed))


def _declaration_contradicted(aggregate: Aggregate) -> Iterator[Violation]:
    for figures in aggregate.figures:
        result = aggregate.document["evaluation_results"][figures.place]
        names = list_names(figures.metric, text_or_none(result.get("evaluation_name")))
        found = [kind for kind in metric_kinds(names) if kind is not kinds.AVERAGE]
        if len(found) > 1:
            shown = " and ".join(f"a {kind.name}" for kind in found)
            pointer = f"{RESULTS}/{figures.place}/metric_config"
            yield ES807.violation(f"the names of the metric make its score {shown}", pointer)
        is_low = figures.metric.get("lower_is_better") is True
        named = next(filter(is_best_at_most, names), None) if is_low else None
        if named:
            pointer = f"{RESULTS}/{figures.place}/metric_config/lower_is_better"
            message = f"lower_is_better is true, and the metric is {named}"
            at: dict[str, Any] = {"expected": False, "found": True, "severity": Severity.WARNING}
            yield ES807.violation(message, pointer, **at)
        yield from _other_metric(figures.metric, figures.place)
        yield from _other_measure(figures.metric, figures.place)
    if len(aggregate.figures) > 1:
        yield from _crossed_metrics(aggregate)


_DESCRIBED: Final = LazyPattern(r"(\S+) (?:from scorer .+|\(filter: .+\))")
"""A metric as converters describe it: `accuracy from scorer choice`, `acc (filter: none)`."""


def _other_metric(metric: Mapping[str, Any], place: int) -> Iterator[Violation]:
    """Report a metric that has another name than its description, as converters write it.

    Other writers give it a title, such as `Exact match`.
    """
    text = text_or_none(metric.get(DESCRIPTION)) or ""
    described = _DESCRIBED.fullmatch(text) if " from " in text or " (filter" in text else None
    name = text_or_none(metric.get("metric_name"))
    if described is None or not name or name == described[1]:
        return
    if (" " in name or not name.islower()) and not _differ(
        list_measures(described[1]), list_measures(name)
    ):
        return
    message = f"evaluation_description is of {described[1]}, and metric_name is another metric"
    pointer = f"{RESULTS}/{place}/metric_config/metric_name"
    at: dict[str, Any] = {"expected": described[1], "found": name}
    yield ES807.violation(message, pointer, severity=Severity.WARNING, **at)


def _other_measure(metric: Mapping[str, Any], place: int) -> Iterator[Violation]:
    """Report an id, a kind, and a description of one word, of another metric than its name.

    Leaderboards call the kind of any metric an accuracy.
    """
    texts = ((key, text_or_none(metric.get(key))) for key in (*METRIC_NAMES, DESCRIPTION))
    named = [(key, text) for key, text in texts if text and (key != DESCRIPTION or " " not in text)]
    for key, text in named[1:]:
        first, name = named[0]
        if text == name:
            continue
        if _differ(_read_measures(key, text), _read_measures(first, name)):
            message = f"{key} is of another metric than {first}, which is {name}"
            pointer = f"{RESULTS}/{place}/metric_config/{key}"
            yield ES807.violation(message, pointer, found=text, severity=Severity.WARNING)


def _differ(measures: frozenset[str], others: frozenset[str]) -> bool:
    """Tell whether both names say what they measure, and it is not the same."""
    return bool(measures and others) and measures.isdisjoint(others)


def _read_measures(key: str, text: str) -> frozenset[str]:
    measures = list_measures(text)
    return measures - GENERIC if key == METRIC_NAMES[-1] else measures


def _crossed_metrics(aggregate: Aggregate) -> Iterator[Violation]:
    """Report results with the metric that the id of another result names, as converters write it.

    It is a warning if the other result has the same name.
    """
    results = [(place, *_read_names(result)) for place, result in aggregate.indexed_results]
    owners: dict[str, dict[str | None, int]] = {}
    for place, parts, name in results:
        for part in parts:
            owners.setdefault(part, {}).setdefault(name, place)
    for place, parts, name in results:
        named = {} if not name or name in parts else owners.get(name, {})
        pointer = f"{RESULTS}/{place}/metric_config/metric_name"
        message = f"evaluation_result_id is {':'.join(parts)}, and the name that of result "
        crossed = [(named[part], part) for part in parts if part in named]
        for other, part in crossed:
            if other < place:
                yield ES807.violation(f"{message}{other}", pointer, expected=part, found=name)
        if not crossed and name in named:
            message = f"{message}{named[name]}"
            yield ES807.violation(message, pointer, found=name, severity=Severity.WARNING)


def _read_names(result: Mapping[str, Any]) -> tuple[list[str], str | None]:
    identity = text_or_none(result.get("evaluation_result_id"))
    name = text_or_none(member(result.get("metric_config"), "metric_name"))
    return identity.split(":") if identity else [], name


_declare = partial(declare_rule, about_aggregate=True, needed_fact="unconfirmed")

ES801: Final = _declare("ES801", run=_score_refuted)
ES802: Final = _declare("ES802", run=_sample_count_refuted)
ES803: Final = _declare("ES803", run=_uncertainty_refuted)
ES804: Final = _declare("ES804", run=_claim_open)
ES806: Final = _declare("ES806", run=_claim_rounded)
ES807: Final = declare_rule("ES807", aggregate=_declaration_contradicted)

RULES: Final = (ES801, ES802, ES803, ES804, ES806, ES807)

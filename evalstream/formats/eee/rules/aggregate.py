"""ES7: rules about the aggregate alone."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any, Final

from evalstream.formats.eee import versions
from evalstream.formats.eee.aggregate import RESULTS, Aggregate, Figures
from evalstream.formats.eee.claims import Claims
from evalstream.formats.eee.facts import RunFacts
from evalstream.formats.eee.metrics import LEVELS, UNKNOWN_LEVEL, bound, is_alike
from evalstream.model.finding import Severity, Violation, at_least, at_most
from evalstream.model.text import count_noun
from evalstream.parsing.json_values import object_or_empty, to_float
from evalstream.parsing.lazy_regex import LazyPattern
from evalstream.rules.base import declare_rule
from evalstream.rules.catalogue import PROFILES

PLACEHOLDER: Final = -1
"""The value that some leaderboards write for a missing score."""

DEPLOYMENT: Final = ("deployment_type", "model_availability")
_EPOCH = LazyPattern(r"[0-9]+(?:\.[0-9]+)?(?:[eE]\+?[0-9]+)?")
"""A Unix time as the schema requires it; its precision and age do not matter."""

LARGEST: Final = 1e100
"""Deviations below it, and above its inverse, have a square that floats hold exactly enough."""

CLOSE: Final = 1e-11
"""A relative difference that is no more than the rounding error of floats."""

Place = dict[str, Any]


def _aggregate_score(aggregate: Aggregate) -> Iterator[Violation]:
    for place, metric, score, _ in aggregate.figures:
        lowest, highest = bound(metric.get("min_score")), bound(metric.get("max_score"))
        if lowest is not None and highest is not None and lowest > highest:
            expected = at_most(metric["max_score"])
            found: Place = {"found": metric["min_score"], "expected": expected}
            pointer = f"{RESULTS}/{place}/metric_config/min_score"
            yield ES701.violation("min_score is above max_score", pointer, **found)
            continue
        if score is None or metric.get("score_type") == LEVELS:
            continue
        is_high_enough = lowest is None or score >= lowest
        if math.isfinite(score) and is_high_enough and (highest is None or score <= highest):
            continue
        at: Place = {"pointer": f"{RESULTS}/{place}/score_details/score", "found": score}
        if not math.isfinite(score):
            yield ES701.violation("the score is not finite", **at)
        elif lowest is not None and score < lowest and not is_alike(score, lowest):
            message = "the score is below the metric's min_score"
            if score == PLACEHOLDER:
                message += "; leave out a result that has no score, since -1 counts as one"
            yield ES701.violation(message, expected=at_least(lowest), **at)
        elif highest is not None and score > highest and not is_alike(score, highest):
            message = "the score is above the metric's max_score"
            yield ES701.violation(message, expected=at_most(highest), **at)


def _uncertainty(aggregate: Aggregate) -> Iterator[Violation]:
    for figures in aggregate.figures:
        if figures.uncertainty:
            yield from _check_spread(figures)
            yield from _interval(figures, aggregate)


def _check_spread(figures: Figures) -> Iterator[Violation]:
    uncertainty = figures.uncertainty
    for member, value in (
        ("standard_error/value", object_or_empty(uncertainty.get("standard_error")).get("value")),
        ("standard_deviation", uncertainty.get("standard_deviation")),
    ):
        known = to_float(value)
        if known is not None and (known < 0 or not math.isfinite(known)):
            name = member.partition("/")[0]
            message = f"{name} is {'negative' if known < 0 else 'not finite'}"
            yield ES702.violation(message, f"{_uncertainty_pointer(figures)}/{member}", found=value)


def _interval(figures: Figures, aggregate: Aggregate) -> Iterator[Violation]:
    interval = object_or_empty(figures.uncertainty.get("confidence_interval"))
    where = f"{_uncertainty_pointer(figures)}/confidence_interval"
    lower, upper = to_float(interval.get("lower")), to_float(interval.get("upper"))
    level = to_float(interval.get("confidence_level"))
    if level is not None and not 0 <= level <= 1:
        pointer = f"{where}/confidence_level"
        yield ES702.violation("confidence_level is not between 0 and 1", pointer, found=level)
    if lower is None or upper is None:
        return
    found = dict(interval)
    if not (math.isfinite(lower) and math.isfinite(upper)):
        yield ES702.violation("a bound of the interval is not finite", where, found=found)
    elif lower > upper:
        yield ES702.violation("lower is above upper", where, found=found)
    elif _is_outside(figures, lower, upper, aggregate):
        message = "the score is outside its own confidence interval"
        if lower == -upper:
            message += "; the bounds look like distances from the score"
        yield ES702.violation(message, where, found=found, severity=Severity.WARNING)


def _is_outside(figures: Figures, lower: float, upper: float, aggregate: Aggregate) -> bool:
    """Tell whether a score is outside its interval, for any rounding of the numbers."""
    if figures.score is None or lower < figures.score < upper:
        return False
    claims = aggregate.claims.get(figures.place)
    return claims is not None and claims.outside_its_interval()


def _standard_error(aggregate: Aggregate) -> Iterator[Violation]:
    for figures in aggregate.figures:
        if not figures.uncertainty or not _may_differ(figures.uncertainty):
            continue
        claims = aggregate.claims.get(figures.place, Claims())
        error, deviation, samples = claims.error, claims.deviation, claims.num_samples
        if error is None or deviation is None or samples is None or samples < 1:
            continue
        if not claims.has_analytic_error or min(error, deviation) < 0:
            continue
        if not claims.error_follows():
            expected = float(deviation / Decimal(samples).sqrt())
            message = "standard_error is not standard_deviation / sqrt(num_samples)"
            pointer = f"{_uncertainty_pointer(figures)}/standard_error/value"
            found = _number_as_written(error)
            yield ES703.violation(message, pointer, expected=expected, found=found)


def _may_differ(uncertainty: Mapping[str, Any]) -> bool:
    """Tell whether a standard error may differ from the one that follows from the deviation.

    False is certain: a figure is missing, or the figures agree far more closely than any rounding
    of their digits requires.
    """
    error = to_float(object_or_empty(uncertainty.get("standard_error")).get("value"))
    deviation = to_float(uncertainty.get("standard_deviation"))
    samples = to_float(uncertainty.get("num_samples"))
    if error is None or deviation is None or samples is None:
        return False
    if not (samples >= 1 and 1 / LARGEST < deviation < LARGEST):
        return True
    square = deviation * deviation
    return all(
        abs(error * error * count - square) > CLOSE * square
        for count in (samples, max(samples - 1, 1))
    )


def _uncertainty_pointer(figures: Figures) -> str:
    return f"{RESULTS}/{figures.place}/score_details/uncertainty"


def _evaluation_id_shape(aggregate: Aggregate) -> Iterator[Violation]:
    identity = aggregate.evaluation_id
    if identity is not None:
        parts = identity.split("/")
        place: Place = {"pointer": "/evaluation_id", "found": identity}
        if len(parts) < 2:
            message = "evaluation_id does not have the form eval_name/model_id/retrieved_timestamp"
            yield ES704.violation(message, **place)
        elif not all(part.strip() for part in parts):
            yield ES704.violation("evaluation_id has an empty part", **place)
    retrieved = aggregate.document.get("retrieved_timestamp")
    is_whole = isinstance(retrieved, str) and retrieved.isascii() and retrieved.isdigit()
    if isinstance(retrieved, str) and not (is_whole or _EPOCH.fullmatch(retrieved)):
        message = "retrieved_timestamp is not a number of seconds since 1970"
        yield ES704.violation(message, "/retrieved_timestamp", found=retrieved)


def _bootstrap(aggregate: Aggregate) -> Iterator[Violation]:
    for figures in aggregate.figures:
        uncertainty = figures.uncertainty
        if not uncertainty:
            continue
        for member in ("num_samples", "num_bootstrap_samples"):
            count = to_float(uncertainty.get(member))
            if count is not None and count <= 0 and count.is_integer():
                pointer = f"{_uncertainty_pointer(figures)}/{member}"
                yield ES705.violation(
                    f"{member} is not positive", pointer, found=uncertainty[member]
                )
        held = map(uncertainty.get, ("standard_error", "confidence_interval"))
        methods = [object_or_empty(one).get("method") for one in held]
        if uncertainty.get("num_bootstrap_samples") is None and any(
            isinstance(name, str) and "bootstrap" in name.lower() for name in methods
        ):
            message = "num_bootstrap_samples is missing, though the method is a bootstrap"
            yield ES705.violation(message, _uncertainty_pointer(figures))


def _deployment(facts: RunFacts) -> Iterator[Violation]:
    """Require below 0.2.3 what the schema requires from 0.2.3 on."""
    aggregate = facts.aggregate
    if aggregate is None or _demands_deployment(aggregate.version or versions.DEFAULT_VERSION):
        return
    details = object_or_empty(
        object_or_empty(aggregate.document.get("model_info")).get("additional_details")
    )
    missing = [name for name in DEPLOYMENT if not details.get(name)]
    if not missing:
        return
    are = "is" if len(missing) == 1 else "are"
    message = f"{' and '.join(missing)} {are} missing from model_info.additional_details"
    # One of them was forgotten; if both are missing, the writer is too old to know them.
    is_required = ES706.code in PROFILES[facts.context.options.profile].severities
    severity = None if is_required or len(missing) == 1 else Severity.INFO
    message += "; required from 0.2.3 on"
    yield ES706.violation(message, "/model_info", severity=severity)


def _demands_deployment(version: str) -> bool:
    known = versions.nearest_version(version, instance=False)
    return versions.DECLARED.index(known) >= versions.DECLARED.index("0.2.3")


def _level_score(aggregate: Aggregate) -> Iterator[Violation]:
    for place, metric, score, _ in aggregate.figures:
        levels = metric.get("level_names")
        if metric.get("score_type") != LEVELS or score is None or not isinstance(levels, list):
            continue
        if score == UNKNOWN_LEVEL and metric.get("has_unknown_level") is True:
            continue
        if not (0 <= score < len(levels) and score == int(score)):
            message = f"the score is not an index of the {count_noun(len(levels), 'level')} in level_names"
            if score == UNKNOWN_LEVEL:
                message += "; -1 requires has_unknown_level"
            yield ES708.violation(message, f"{RESULTS}/{place}/score_details/score", found=score)


def _number_as_written(claim: Decimal) -> int | float:
    """Return a claim as the JSON number that the document has."""
    return (
        int(claim)
        if claim == claim.to_integral_value() and claim.as_tuple().exponent == 0
        else float(claim)
    )


ES701: Final = declare_rule("ES701", aggregate=_aggregate_score)
ES702: Final = declare_rule("ES702", aggregate=_uncertainty)
ES703: Final = declare_rule("ES703", aggregate=_standard_error)
ES704: Final = declare_rule("ES704", aggregate=_evaluation_id_shape)
ES705: Final = declare_rule("ES705", aggregate=_bootstrap)
ES706: Final = declare_rule("ES706", run=_deployment, about_aggregate=True, about_paths=True)
ES708: Final = declare_rule("ES708", aggregate=_level_score)

RULES: Final = (ES701, ES702, ES703, ES704, ES705, ES706, ES708)

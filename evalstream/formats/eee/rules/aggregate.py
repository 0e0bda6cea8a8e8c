"""ES7: rules about the aggregate alone."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any, Final

from evalstream.formats.eee import versions
from evalstream.formats.eee.aggregate import (
    LEVELS,
    RESULTS,
    UNKNOWN_LEVEL,
    Aggregate,
    Figures,
    bound,
    is_alike,
    number,
    object_in,
)
from evalstream.formats.eee.claims import Claims
from evalstream.formats.eee.facts import RunFacts
from evalstream.model.finding import Severity, Violation, at_least, at_most
from evalstream.model.text import counted
from evalstream.parsing.lazy_regex import LazyPattern
from evalstream.rules.base import Rule
from evalstream.rules.profiles import PROFILES

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
            yield ES701.violation("min_score is above max_score", pointer=pointer, **found)
            continue
        if score is None or metric.get("score_type") == LEVELS:
            continue
        if math.isfinite(score) and _is_within(score, lowest, highest):
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


def _is_within(score: float, lowest: float | None, highest: float | None) -> bool:
    return (lowest is None or score >= lowest) and (highest is None or score <= highest)


def _uncertainty(aggregate: Aggregate) -> Iterator[Violation]:
    for figures in aggregate.figures:
        if figures.uncertainty:
            yield from _spread(figures)
            yield from _interval(figures, aggregate)


def _spread(figures: Figures) -> Iterator[Violation]:
    uncertainty = figures.uncertainty
    for member, value in (
        ("standard_error/value", object_in(uncertainty, "standard_error").get("value")),
        ("standard_deviation", uncertainty.get("standard_deviation")),
    ):
        known = number(value)
        if known is not None and (known < 0 or not math.isfinite(known)):
            name = member.partition("/")[0]
            message = f"{name} is {'negative' if known < 0 else 'not finite'}"
            pointer = f"{_place_of(figures)}/{member}"
            yield ES702.violation(message, pointer=pointer, found=value)


def _interval(figures: Figures, aggregate: Aggregate) -> Iterator[Violation]:
    interval = object_in(figures.uncertainty, "confidence_interval")
    where = f"{_place_of(figures)}/confidence_interval"
    lower, upper = number(interval.get("lower")), number(interval.get("upper"))
    level = number(interval.get("confidence_level"))
    if level is not None and not 0 <= level <= 1:
        pointer = f"{where}/confidence_level"
        yield ES702.violation(
            "confidence_level is not between 0 and 1", pointer=pointer, found=level
        )
    if lower is None or upper is None:
        return
    found = dict(interval)
    if not (math.isfinite(lower) and math.isfinite(upper)):
        yield ES702.violation("a bound of the interval is not finite", pointer=where, found=found)
    elif lower > upper:
        yield ES702.violation("lower is above upper", pointer=where, found=found)
    elif _is_outside(figures, lower, upper, aggregate):
        message = "the score is outside its own confidence interval"
        if lower == -upper:
            message += "; the bounds look like distances from the score"
        yield ES702.violation(message, pointer=where, found=found, severity=Severity.WARNING)


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
            pointer = f"{_place_of(figures)}/standard_error/value"
            found = _number_as_written(error)
            yield ES703.violation(message, pointer=pointer, expected=expected, found=found)


def _may_differ(uncertainty: Mapping[str, Any]) -> bool:
    """Tell whether a standard error may differ from the one that follows from the deviation.

    False is certain: a figure is missing, or the figures agree far more closely than any rounding
    of their digits requires.
    """
    error = number(object_in(uncertainty, "standard_error").get("value"))
    deviation = number(uncertainty.get("standard_deviation"))
    samples = number(uncertainty.get("num_samples"))
    if error is None or deviation is None or samples is None:
        return False
    if not (samples >= 1 and 1 / LARGEST < deviation < LARGEST):
        return True
    square = deviation * deviation
    return all(
        abs(error * error * count - square) > CLOSE * square
        for count in (samples, max(samples - 1, 1))
    )


def _place_of(figures: Figures) -> str:
    """Return the pointer to the uncertainty of a result."""
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
    if isinstance(retrieved, str) and not _EPOCH.fullmatch(retrieved):
        message = "retrieved_timestamp is not a number of seconds since 1970"
        yield ES704.violation(message, pointer="/retrieved_timestamp", found=retrieved)


def _bootstrap(aggregate: Aggregate) -> Iterator[Violation]:
    for figures in aggregate.figures:
        uncertainty = figures.uncertainty
        if not uncertainty:
            continue
        for member in ("num_samples", "num_bootstrap_samples"):
            count = number(uncertainty.get(member))
            if count is not None and count <= 0 and count.is_integer():
                message, pointer = f"{member} is not positive", f"{_place_of(figures)}/{member}"
                yield ES705.violation(message, pointer=pointer, found=uncertainty[member])
        if uncertainty.get("num_bootstrap_samples") is None and any(
            isinstance(name, str) and "bootstrap" in name.lower() for name in _methods(uncertainty)
        ):
            message = "num_bootstrap_samples is missing, though the method is a bootstrap"
            yield ES705.violation(message, pointer=_place_of(figures))


def _methods(uncertainty: Mapping[str, Any]) -> Iterator[Any]:
    for member in ("standard_error", "confidence_interval"):
        yield object_in(uncertainty, member).get("method")


def _deployment(facts: RunFacts) -> Iterator[Violation]:
    """Require below 0.2.3 what the schema requires from 0.2.3 on."""
    aggregate = facts.aggregate
    if aggregate is None or _demands_deployment(aggregate.version or versions.DEFAULT_VERSION):
        return
    details = object_in(object_in(aggregate.document, "model_info"), "additional_details")
    missing = [name for name in DEPLOYMENT if not details.get(name)]
    if not missing:
        return
    are = "is" if len(missing) == 1 else "are"
    message = f"{' and '.join(missing)} {are} missing from model_info.additional_details"
    # One of them was forgotten; if both are missing, the writer is too old to know them.
    is_required = ES706.code in PROFILES[facts.context.options.profile].severities
    severity = None if is_required or len(missing) == 1 else Severity.INFO
    message += "; required from 0.2.3 on"
    yield ES706.violation(message, pointer="/model_info", severity=severity)


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
            message = (
                f"the score is not an index of the {counted(len(levels), 'level')} in level_names"
            )
            if score == UNKNOWN_LEVEL:
                message += "; -1 requires has_unknown_level"
            pointer = f"{RESULTS}/{place}/score_details/score"
            yield ES708.violation(message, pointer=pointer, found=score)


def _number_as_written(claim: Decimal) -> int | float:
    """Return a claim as the JSON number that the document has."""
    return (
        int(claim)
        if claim == claim.to_integral_value() and claim.as_tuple().exponent == 0
        else float(claim)
    )


ES701: Final = Rule(
    "ES701",
    "impossible-aggregate-score",
    Severity.ERROR,
    "a score that is not finite or outside its bounds, or bounds that are reversed",
    """
    What it finds: a result whose score is outside [min_score, max_score] of its metric, or not
    finite, and a min_score above max_score.

    Why it matters: the claim contradicts the scale that it is given on; percentages and shares
    were mixed up, or a placeholder such as -1 was published.

    How to fix: Recompute the score from the rows or the source log, and write score and bounds on
    the same scale. Leave a result without a score out of the aggregate.

    Bad:
        aggregate:
          {
            "evaluation_results": [{
              "metric_config": {"min_score": 0, "max_score": 1},
              "score_details": {"score": 75.0}
            }]
          }

    Good:
        aggregate:
          {
            "evaluation_results": [{
              "metric_config": {"min_score": 0, "max_score": 1},
              "score_details": {"score": 0.75}
            }]
          }
    """,
    aggregate=_aggregate_score,
    about_aggregate=True,
    former_names=("aggregate-score",),
)

ES702: Final = Rule(
    "ES702",
    "impossible-uncertainty",
    Severity.ERROR,
    "an uncertainty that cannot result from a measurement",
    """
    What it finds: a standard error or deviation that is negative or not finite, a lower bound
    above the upper one, a bound that is not finite, a confidence level outside 0 to 1. As a
    warning: a score outside its own interval.

    Why it matters: readers judge by it whether models differ.

    How to fix: Recompute the uncertainty from the rows or the source log, on the scale of the
    score. Write the bounds of the interval themselves, not their distances from the score.

    Bad:
        aggregate:
          {
            "evaluation_results": [{
              "score_details": {
                "score": 0.75,
                "uncertainty": {"standard_error": {"value": -0.163663, "method": "analytic"}}
              }
            }]
          }

    Good:
        aggregate:
          {
            "evaluation_results": [{
              "score_details": {
                "score": 0.75,
                "uncertainty": {"standard_error": {"value": 0.163663, "method": "analytic"}}
              }
            }]
          }
    """,
    aggregate=_uncertainty,
    about_aggregate=True,
    former_names=("uncertainty",),
)

ES703: Final = Rule(
    "ES703",
    "standard-error-mismatch",
    Severity.WARNING,
    "standard_error is not standard_deviation / sqrt(num_samples)",
    """
    What it finds: an analytic standard error that does not follow from the deviation and the
    number of samples beside it, to the digits of both.

    Why it matters: at least one of the three numbers does not fit the others; it may come from
    another run.

    How to fix: Recompute all three from the same rows. If the error was not computed analytically,
    name its method in standard_error.method.

    Bad:
        aggregate:
          {
            "evaluation_results": [{
              "score_details": {
                "uncertainty": {
                  "standard_error": {"value": 0.26, "method": "analytic"},
                  "standard_deviation": 0.46291,
                  "num_samples": 8
                }
              }
            }]
          }

    Good:
        aggregate:
          {
            "evaluation_results": [{
              "score_details": {
                "uncertainty": {
                  "standard_error": {"value": 0.16, "method": "analytic"},
                  "standard_deviation": 0.46291,
                  "num_samples": 8
                }
              }
            }]
          }
    """,
    aggregate=_standard_error,
    about_aggregate=True,
    former_names=("standard-error",),
)

ES704: Final = Rule(
    "ES704",
    "malformed-evaluation-id",
    Severity.WARNING,
    "evaluation_id without a separator or with an empty part, or a timestamp that is not a number",
    """
    What it finds: an evaluation_id without a slash, or with nothing between two slashes, before
    the first or after the last; and a retrieved_timestamp that is not a number, which the schema
    requires in Unix time. Neither the number of parts nor the form of any part is checked:
    producers end ids in times, dates, hashes or names.

    Why it matters: the id distinguishes two runs of one model, and readers sort records by the
    number in retrieved_timestamp.

    How to fix: Write evaluation_id as eval_name/model_id/retrieved_timestamp, and
    retrieved_timestamp in Unix seconds. Write the same evaluation_id into the rows, then run
    `evalstream seal`.

    Bad:
        aggregate:
          {"evaluation_id": "tiny-arithmetic//1760000000", "retrieved_timestamp": "1760000000"}

    Good:
        aggregate:
          {
            "evaluation_id": "tiny-arithmetic/acorn-7b/1760000000",
            "retrieved_timestamp": "1760000000.25"
          }
    """,
    aggregate=_evaluation_id_shape,
    about_aggregate=True,
    former_names=("evaluation-id-shape",),
)

ES705: Final = Rule(
    "ES705",
    "bootstrap-incomplete",
    Severity.WARNING,
    "a bootstrap method without num_bootstrap_samples, or a number of samples of 0 or less",
    """
    What it finds: a standard error or interval by a bootstrap method without the number of
    resamples, and a num_samples or num_bootstrap_samples that is not positive.

    Why it matters: the uncertainty cannot be computed again.

    How to fix: Write the number of resamples that the harness used into num_bootstrap_samples.
    Correct a num_samples that is not positive from the rows. If the number is not known, compute
    the uncertainty again.

    Bad:
        aggregate:
          {
            "evaluation_results": [{
              "score_details": {
                "uncertainty": {"standard_error": {"value": 0.163663, "method": "bootstrap"}}
              }
            }]
          }

    Good:
        aggregate:
          {
            "evaluation_results": [{
              "score_details": {
                "uncertainty": {
                  "standard_error": {"value": 0.163663, "method": "bootstrap"},
                  "num_bootstrap_samples": 1000
                }
              }
            }]
          }
    """,
    aggregate=_bootstrap,
    about_aggregate=True,
    former_names=("bootstrap",),
)

ES706: Final = Rule(
    "ES706",
    "deployment-missing",
    Severity.WARNING,
    "deployment_type or model_availability is missing; an info where both are",
    """
    What it finds: an aggregate before 0.2.3 that names one of deployment_type and
    model_availability without the other, and, as an info, one that names neither. With `--profile
    datastore` both are errors. From 0.2.3 on the schema requires both.

    Why it matters: a hosted model may change under the same name, and the schema requires both
    from 0.2.3 on. A store of that version refuses the record.

    How to fix: Run `evalstream migrate`, which asks for both and writes them into
    model_info.additional_details. Or write them there from how the model was run, in the values
    that the schema lists from 0.2.3 on.

    Bad:
        aggregate:
          {
            "schema_version": "0.2.0",
            "model_info": {
              "id": "acme/acorn-7b",
              "additional_details": {"model_availability": "open_weights"}
            }
          }

    Good:
        aggregate:
          {
            "schema_version": "0.2.0",
            "model_info": {
              "id": "acme/acorn-7b",
              "additional_details": {
                "deployment_type": "self_deployed",
                "model_availability": "open_weights",
                "region": "eu"
              }
            }
          }
    """,
    run=_deployment,
    about_aggregate=True,
    about_paths=True,
    former_names=("deployment",),
)

ES708: Final = Rule(
    "ES708",
    "level-score-not-an-index",
    Severity.WARNING,
    "a levels score that is not an index of level_names",
    """
    What it finds: a result on a scale of levels whose score is not an index of level_names, or is
    -1 without has_unknown_level.

    Why it matters: it is not possible to see which level is meant.

    How to fix: Write the index of the level in level_names, counted from 0; take the level from
    the source log. If -1 means an unknown level, set has_unknown_level to true.

    Bad:
        aggregate:
          {
            "evaluation_results": [{
              "metric_config": {
                "score_type": "levels",
                "level_names": ["low", "high"],
                "has_unknown_level": false
              },
              "score_details": {"score": 0.75}
            }]
          }

    Good:
        aggregate:
          {
            "evaluation_results": [{
              "metric_config": {
                "score_type": "levels",
                "level_names": ["low", "high"],
                "has_unknown_level": false
              },
              "score_details": {"score": 1}
            }]
          }
    """,
    aggregate=_level_score,
    about_aggregate=True,
    former_names=("level-score",),
)

RULES: Final = (ES701, ES702, ES703, ES704, ES705, ES706, ES708)

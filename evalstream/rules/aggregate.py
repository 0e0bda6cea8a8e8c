"""ES7: the aggregate by itself."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final, NamedTuple

from evalstream.aggregate import RESULTS, Aggregate, bound, number
from evalstream.claims import ROUNDING, WHOLE_BELOW, Claims
from evalstream.formats import eee
from evalstream.model import Fault, Severity
from evalstream.rule import Rule

ANALYTIC: Final = frozenset({"", "analytic", "analytical"})
"""Methods of a standard error that follow from deviation and number of samples."""

NEAR_ZERO: Final = 1e-12
"""How far the sum of rounded terms may stray from a bound of 0."""

BEFORE_DEPLOYMENT: Final = ("0.1.0", "0.2.0", "0.2.1", "0.2.2")
"""Versions whose schema does not demand deployment_type and model_availability."""

WITHOUT_LEVEL_BOUNDS: Final = ("0.1.0",)
"""Versions whose schema does not hold confidence_level between 0 and 1."""

_EPOCH: Final = re.compile(r"[0-9]{9,10}(\.[0-9]+)?")
"""Seconds since 1970, for times between 1973 and 2286; milliseconds have more digits."""

_WORD: Final = re.compile(r"[^\W_]+")

Span = tuple[Fraction, Fraction]
"""The least and the largest number that may have been written as a claim."""


class _Entry(NamedTuple):
    """One result in the parts that the rules look at; what is no object counts as empty.

    `claims` are its numbers as they were written, None where the text is not known.
    """

    place: int
    metric: Mapping[str, Any]
    details: Mapping[str, Any]
    uncertainty: Mapping[str, Any]
    claims: Claims | None

    def pointer(self, member: str) -> str:
        """Point to a member of the result."""
        return f"{RESULTS}/{self.place}/{member}"

    def about_uncertainty(self, member: str) -> str:
        """Point to a member of the result's uncertainty."""
        return self.pointer(f"score_details/uncertainty/{member}")

    @property
    def has_levels(self) -> bool:
        """Whether the score stands for one of some named levels."""
        return bool(self.metric.get("score_type") == "levels")


def _entries(aggregate: Aggregate) -> Iterator[_Entry]:
    for place, result in aggregate.indexed_results():
        details = _object(result.get("score_details"))
        yield _Entry(
            place,
            _object(result.get("metric_config")),
            details,
            _object(details.get("uncertainty")),
            aggregate.claims.get(place),
        )


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _version(aggregate: Aggregate) -> str:
    """Return the version whose schema judges the aggregate."""
    return eee.nearest_version(aggregate.version or eee.DEFAULT_VERSION, instance=False)


def _aggregate_score(aggregate: Aggregate) -> Iterator[Fault]:
    for entry in _entries(aggregate):
        found = entry.details.get("score")
        bounds = [entry.metric.get("min_score"), entry.metric.get("max_score")]
        score, (least, most) = number(found), map(bound, bounds)
        pointer = entry.pointer("score_details/score")
        if score is not None and not math.isfinite(score):
            yield ES701.fault("the score is too large for a finite number", pointer=pointer)
        if least is not None and most is not None and least > most:
            place = entry.pointer("metric_config/min_score")
            yield ES701.fault("min_score is above max_score", pointer=place, found=bounds)
        elif score is not None and math.isfinite(score) and not entry.has_levels:
            below = least is not None and score < least and not _alike(score, least)
            above = most is not None and score > most and not _alike(score, most)
            if below or above:
                message = "the score is outside [min_score, max_score]"
                if score == -1:
                    message += "; leave a result without a score out, -1 is read as one"
                yield ES701.fault(message, pointer=pointer, expected=bounds, found=found)


def _alike(score: float, limit: float) -> bool:
    """Tell whether a score strays from a bound only as far as sums of floats do."""
    return math.isclose(score, limit, rel_tol=float(ROUNDING), abs_tol=NEAR_ZERO)


def _uncertainty(aggregate: Aggregate) -> Iterator[Fault]:
    schema_is_silent = _version(aggregate) in WITHOUT_LEVEL_BOUNDS
    for entry in _entries(aggregate):
        error = _object(entry.uncertainty.get("standard_error"))
        interval = _object(entry.uncertainty.get("confidence_interval"))
        yield from _size(entry, "standard_error/value", error.get("value"))
        deviation = entry.uncertainty.get("standard_deviation")
        yield from _size(entry, "standard_deviation", deviation)
        yield from _interval(entry, interval)
        level = number(interval.get("confidence_level"))
        if schema_is_silent and level is not None and not 0 <= level <= 1:
            pointer = entry.about_uncertainty("confidence_interval/confidence_level")
            yield ES702.fault("confidence_level is not within 0 to 1", pointer=pointer, found=level)


def _size(entry: _Entry, member: str, found: Any) -> Iterator[Fault]:
    """Say what is wrong with a number that measures a spread."""
    size, name = number(found), member.partition("/")[0]
    if size is None or 0 <= size < math.inf:
        return
    fault = "negative" if size < 0 else "too large for a finite number"
    yield ES702.fault(f"{name} is {fault}", pointer=entry.about_uncertainty(member), found=found)


def _interval(entry: _Entry, interval: Mapping[str, Any]) -> Iterator[Fault]:
    bounds = [interval.get("lower"), interval.get("upper")]
    lower, upper = map(number, bounds)
    if lower is None or upper is None:
        return
    for member, value in (("lower", lower), ("upper", upper)):
        if not math.isfinite(value):
            pointer = entry.about_uncertainty(f"confidence_interval/{member}")
            yield ES702.fault(f"{member} is too large for a finite number", pointer=pointer)
            return
    claims = entry.claims
    # A bound that is not a number in the text itself has been told of, and reads as 0 here.
    if claims is not None and (claims.lower is None or claims.upper is None):
        return
    if lower > upper:
        pointer = entry.about_uncertainty("confidence_interval/lower")
        yield ES702.fault("the interval's lower bound is above its upper one", pointer=pointer, found=bounds)
    elif claims is not None and _outside(claims):
        message = "the score is outside its own interval"
        if lower == -upper:
            message += ", which looks like a distance from the score: write the bounds themselves"
        place: dict[str, Any] = {"pointer": entry.about_uncertainty("confidence_interval")}
        yield ES702.fault(message, found=bounds, severity=Severity.WARNING, **place)


def _outside(claims: Claims) -> bool:
    """Tell whether a score is outside its interval, however the three numbers were rounded."""
    if claims.score is None or claims.lower is None or claims.upper is None:
        return False
    score, lower, upper = _spans(claims.score, claims.lower, claims.upper)
    return score[1] < lower[0] or score[0] > upper[1]


def _standard_error(aggregate: Aggregate) -> Iterator[Fault]:
    for entry in _entries(aggregate):
        claims = entry.claims
        if claims is None or (claims.error_method or "").lower() not in ANALYTIC:
            continue
        error, deviation, samples = claims.error, claims.deviation, claims.num_samples
        if error is None or deviation is None or samples is None or samples < 1:
            continue
        if error < 0 or deviation < 0 or _follows(error, deviation, samples):
            continue
        expected = float(deviation / Decimal(samples).sqrt())
        if math.isfinite(expected) and math.isfinite(float(error)):
            message = "standard_error is not standard_deviation / sqrt(num_samples)"
            pointer = entry.about_uncertainty("standard_error/value")
            yield ES703.fault(message, pointer=pointer, expected=expected, found=float(error))


def _follows(error: Decimal, deviation: Decimal, samples: int) -> bool:
    """Tell whether an error follows from a deviation, however both were rounded.

    Inspect and lm-eval divide the deviation over n-1 by the root of n. HELM's deviation is that
    over n; the same error is that one over the root of n-1.
    """
    (error_least, error_most), (least, most) = _spans(error, deviation)
    least, error_least = max(least, Fraction(0)), max(error_least, Fraction(0))
    return any(
        error_least**2 * count <= most**2 and least**2 <= error_most**2 * count
        for count in {samples, max(samples - 1, 1)}
    )


def _spans(*claims: Decimal) -> list[Span]:
    """Return what each claim may have been before it was rounded or cut off.

    A small whole number shows no digits of its own: it is as fine as the finest of the others.
    """
    shown = [_decimals(claim) for claim in claims]
    finest = max((digits for digits in shown if digits is not None), default=None)
    return [
        _span(claim, finest if digits is None else digits)
        for claim, digits in zip(claims, shown, strict=True)
    ]


def _decimals(claim: Decimal) -> int | None:
    """Return how many decimals a claim was written with, None for a small whole number."""
    if claim == claim.to_integral_value() and abs(claim) < WHOLE_BELOW:
        return None
    return max(0, -int(claim.as_tuple().exponent))


def _span(claim: Decimal, decimals: int | None) -> Span:
    unit = Fraction(0) if decimals is None else Fraction(1, 10**decimals)
    size = abs(Fraction(claim))
    least, most = (size - unit / 2) * (1 - ROUNDING), (size + unit) * (1 + ROUNDING)
    return (least, most) if claim >= 0 else (-most, -least)


def _evaluation_id_shape(aggregate: Aggregate) -> Iterator[Fault]:
    retrieved = aggregate.document.get("retrieved_timestamp")
    if isinstance(retrieved, str) and not _EPOCH.fullmatch(retrieved):
        message = "retrieved_timestamp is no Unix epoch in seconds"
        yield ES704.fault(message, pointer="/retrieved_timestamp", found=retrieved)
    identity = aggregate.evaluation_id
    if identity is None:
        return
    *names, time = identity.split("/")
    if len(names) < 2 or not all(part.strip() for part in (*names, time)):
        message = "evaluation_id is not eval_name/model_id/retrieved_timestamp"
    elif not _EPOCH.fullmatch(time) and time != retrieved:
        message = "evaluation_id does not end in a Unix epoch in seconds"
    elif aggregate.model_id is not None and not _named("/".join(names), aggregate.model_id):
        message = "evaluation_id does not name the model of model_info.id"
    else:
        return
    yield ES704.fault(message, pointer="/evaluation_id", found=identity)


def _named(names: str, model: str) -> bool:
    """Tell whether a text names a model: without organisation, in whatever way it is spelled.

    Half of the words are enough; leaderboards write the release of a model in other ways.
    """
    wanted = _WORD.findall(model.rpartition("/")[2].casefold())
    words = _WORD.findall(names.casefold())
    shared = set(wanted) & set(words)
    return 2 * len(shared) >= len(set(wanted)) or "".join(wanted) in "".join(words)


def _bootstrap(aggregate: Aggregate) -> Iterator[Fault]:
    for entry in _entries(aggregate):
        for member in ("num_samples", "num_bootstrap_samples"):
            found = entry.uncertainty.get(member)
            count = number(found)
            if count is not None and count <= 0 and count.is_integer():
                message = f"{member} is not above 0"
                yield ES705.fault(message, pointer=entry.about_uncertainty(member), found=found)
        if "num_bootstrap_samples" in entry.uncertainty:
            continue
        for member in ("standard_error", "confidence_interval"):
            method = _object(entry.uncertainty.get(member)).get("method")
            if isinstance(method, str) and "bootstrap" in method.casefold():
                message = "a bootstrap method without num_bootstrap_samples"
                pointer = entry.about_uncertainty(f"{member}/method")
                yield ES705.fault(message, pointer=pointer, found=method)
                break


def _deployment(aggregate: Aggregate) -> Iterator[Fault]:
    model = aggregate.document.get("model_info")
    if _version(aggregate) not in BEFORE_DEPLOYMENT or not isinstance(model, dict):
        return
    details = model.get("additional_details", {})
    if not isinstance(details, dict):
        return
    names = ("deployment_type", "model_availability")
    missing = [name for name in names if details.get(name) is None]
    if missing:
        message = f"model_info.additional_details has no {' and no '.join(missing)}"
        pointer = "/model_info" + "/additional_details" * ("additional_details" in model)
        yield ES706.fault(f"{message}; from 0.2.3 on it must", pointer=pointer)


def _level_score(aggregate: Aggregate) -> Iterator[Fault]:
    for entry in _entries(aggregate):
        levels, found = entry.metric.get("level_names"), entry.details.get("score")
        score = number(found)
        if not entry.has_levels or not isinstance(levels, list) or score is None:
            continue
        unknown = entry.metric.get("has_unknown_level") is True and score == -1
        if unknown or not math.isfinite(score) or (score.is_integer() and 0 <= score < len(levels)):
            continue
        message = f"the score is no index of the {len(levels):,} level_names"
        if score == -1:
            message += ", and there is no unknown level"
        pointer = entry.pointer("score_details/score")
        yield ES708.fault(message, pointer=pointer, found=found)


ES701: Final = Rule(
    "ES701",
    "aggregate-score",
    Severity.ERROR,
    "a score is not finite or outside [min_score, max_score], or min_score is above max_score",
    """
    What it finds: a result whose score is outside the bounds that its own metric declares
    (from 0.2.3 on also `"Infinity"` and `"-Infinity"`; null is no bound), that is too large for
    a floating-point number, or whose min_score is above its max_score. Scores of levels are
    ES708.

    Why it matters: a percentage where a share was declared, or a placeholder such as -1, is
    ranked with real scores.

    Bad:
        aggregate /evaluation_results/0/score_details/score = 75

    Good:
        aggregate /evaluation_results/0/score_details/score = 1
    """,
    aggregate=_aggregate_score,
    about_aggregate=True,
)

ES702: Final = Rule(
    "ES702",
    "uncertainty",
    Severity.ERROR,
    "a negative error or deviation, or an interval whose lower bound is above its upper one",
    """
    What it finds: a standard_error or standard_deviation that is negative or too large for a
    floating-point number, and a confidence_interval whose lower bound is above its upper one.
    A score outside its own interval, to the digits that were written, is a warning; often the
    interval was written as a distance from the score. A confidence_level outside 0 to 1 is
    ES206 wherever the schema says so.

    Why it matters: no such spread exists, so whatever is computed with it is wrong.

    Bad:
        aggregate /evaluation_results/0/score_details/uncertainty/confidence_interval = {"lower": 0.9, "upper": 0.6}

    Good:
        aggregate /evaluation_results/0/score_details/uncertainty/confidence_interval = {"lower": 0.5, "upper": 0.7}
        aggregate /evaluation_results/0/score_details/score = 0.7
    """,
    aggregate=_uncertainty,
    about_aggregate=True,
)

ES703: Final = Rule(
    "ES703",
    "standard-error",
    Severity.WARNING,
    "standard_error is not standard_deviation / sqrt(num_samples)",
    """
    What it finds: a standard_error, with the method `analytic` or none, that is not the
    standard_deviation over the root of num_samples, to the digits that were written. The root
    of num_samples - 1 is right, too: it belongs to a deviation that was taken over n.

    Why it matters: of the three numbers at least one is wrong, and readers take differences
    between models for real, or not, by the error.

    Bad:
        aggregate /evaluation_results/0/score_details/uncertainty/standard_error/value = 0.2

    Good:
        aggregate /evaluation_results/0/score_details/uncertainty/standard_error/value = 0.16
    """,
    aggregate=_standard_error,
    about_aggregate=True,
)

ES704: Final = Rule(
    "ES704",
    "evaluation-id-shape",
    Severity.WARNING,
    "evaluation_id is not eval_name/model_id/retrieved_timestamp, or a timestamp is no Unix epoch",
    """
    What it finds: an evaluation_id that has not three parts, does not end in seconds since 1970
    (with or without a fraction), or does not name the model; and a retrieved_timestamp that is
    no Unix epoch. Names may hold slashes of their own or have `_` in their place, the model may
    be named without its organisation, and the time may be that of the evaluation.

    Why it matters: the id is what tells runs apart, and readers take its parts from it.

    Bad:
        aggregate /retrieved_timestamp = "2025-10-09T08:53:20Z"

    Good:
        aggregate /retrieved_timestamp = "1760000000.25"
    """,
    aggregate=_evaluation_id_shape,
    about_aggregate=True,
)

ES705: Final = Rule(
    "ES705",
    "bootstrap",
    Severity.WARNING,
    "a bootstrap method without num_bootstrap_samples, or a number of samples that is not above 0",
    """
    What it finds: a standard_error or confidence_interval by a bootstrap method where
    num_bootstrap_samples is missing, and a num_samples or num_bootstrap_samples of 0 or less.

    Why it matters: without the number of resamples nobody can repeat the estimate or tell how
    much of it is chance.

    Bad:
        aggregate /evaluation_results/0/score_details/uncertainty/standard_error/method = "bootstrap"

    Good:
        aggregate /evaluation_results/0/score_details/uncertainty/standard_error/method = "bootstrap"
        aggregate /evaluation_results/0/score_details/uncertainty/num_bootstrap_samples = 1000
    """,
    aggregate=_bootstrap,
    about_aggregate=True,
)

ES706: Final = Rule(
    "ES706",
    "deployment",
    Severity.WARNING,
    "deployment_type or model_availability is missing",
    """
    What it finds: an aggregate before 0.2.3 whose model_info.additional_details does not say
    how the model was deployed (deployment_type) or whether its weights are open
    (model_availability). From 0.2.3 on the schema demands both, and ES201 says so.

    Why it matters: the same model behind an interface and run from its weights can score
    differently, and later versions refuse the file. `unknown` is an answer.

    Bad:
        aggregate /model_info/additional_details removed

    Good:
        aggregate /model_info/additional_details/deployment_type = "unknown"
    """,
    aggregate=_deployment,
    about_aggregate=True,
)

ES708: Final = Rule(
    "ES708",
    "level-score",
    Severity.WARNING,
    "the score of levels is no index of level_names",
    """
    What it finds: a result with the score_type `levels` whose score is no index of its
    level_names, counted from 0. A score of -1 means the unknown level, and is right only where
    has_unknown_level is true.

    Why it matters: the score names a level that does not exist.

    Bad:
        aggregate /evaluation_results/0/metric_config = {"lower_is_better": false, "score_type": "levels", "level_names": ["wrong", "right"], "has_unknown_level": false}
        aggregate /evaluation_results/0/score_details/score = 2

    Good:
        aggregate /evaluation_results/0/metric_config = {"lower_is_better": false, "score_type": "levels", "level_names": ["wrong", "right"], "has_unknown_level": false}
        aggregate /evaluation_results/0/score_details/score = 1
    """,
    aggregate=_level_score,
    about_aggregate=True,
)

RULES: Final = (ES701, ES702, ES703, ES704, ES705, ES706, ES708)

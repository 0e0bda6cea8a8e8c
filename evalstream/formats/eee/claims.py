"""The claims of an aggregate about each result, with their digits as written, and their kind."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from decimal import Decimal, localcontext
from functools import partial
from typing import Any, Final

import jiter

from evalstream.model.data_class import NamedTuple
from evalstream.parsing.json import member, resolve, text_or_none
from evalstream.parsing.json_values import read_decimals
from evalstream.stats.claims.judgement import Method, method_named
from evalstream.stats.claims.rounding import (
    CERTAIN,
    CERTAIN_DIGITS,
    EXACT,
    HALF,
    ROUNDING,
    as_float,
    is_small_whole,
)

LARGEST_EXPONENT: Final = 400
"""Numbers above 10 to this power are infinite for all readers, which ES108 reports."""

_fast: Final[Callable[[bytes], Any]] = partial(
    jiter.from_json, catch_duplicate_keys=True, allow_inf_nan=False, float_mode="decimal"
)
"""Read a document with floats as Decimal. Raises ValueError for what the exact parser reports."""

RESAMPLED: Final = "bootstrap"
"""The method of figures that name none beside a number of draws."""

MOST_IN_A_DOUBLE: Final = 1 << 53
"""Up to here every whole number is a double."""

Path = tuple[Any, ...]
"""Keys and indices below a result."""

SCORE_PATH: Final = ("score_details",)
UNCERTAINTY_PATH: Final = (*SCORE_PATH, "uncertainty")
KNOWN_MEMBERS: Final[Mapping[Path, frozenset[str]]] = {
    (): frozenset(
        {
            *("evaluation_name", "evaluation_result_id", "evaluation_timestamp"),
            *("generation_config", "metric_config", "source_data"),
        }
    ),
    SCORE_PATH: frozenset({"score"}),
    UNCERTAINTY_PATH: frozenset({"standard_deviation", "num_samples", "num_bootstrap_samples"}),
    (*UNCERTAINTY_PATH, "standard_error"): frozenset({"value", "method"}),
    (*UNCERTAINTY_PATH, "confidence_interval"): frozenset(
        {"lower", "upper", "confidence_level", "method"}
    ),
}
"""The members that are not further figures of a result, by the path of the object that has them."""

Span = tuple[Decimal, Decimal]
"""The smallest and the largest number that may have been written as a claim."""


class Claims(NamedTuple):
    """The claims of one result; None for a missing claim or one of the wrong type.

    `num_samples` and `resamples` are counts; the others are numbers as written.
    """

    score: Decimal | None = None
    num_samples: int | None = None
    deviation: Decimal | None = None
    error: Decimal | None = None
    error_method: str | None = None
    lower: Decimal | None = None
    upper: Decimal | None = None
    level: Decimal | None = None
    interval_method: str | None = None
    resamples: int | None = None

    @property
    def has_analytic_error(self) -> bool:
        """Whether the standard error follows from deviation and number of samples."""
        return method_named(self.error_method) is Method.CLOSED

    def error_follows(self) -> bool:
        """Return whether the error follows from deviation and number, for any rounding.

        Inspect and lm-eval divide the deviation over n-1 by the root of n. HELM's deviation is that
        over n; its error equals that deviation over the root of n-1. If one of the three is
        missing, the result is true.
        """
        if self.error is None or self.deviation is None or not self.num_samples:
            return True
        if self._error_certainly_follows(self.num_samples):
            return True
        with localcontext(EXACT):
            errors, deviations = _spans(self.error, self.deviation)
            error_least, error_most = _squares(errors)
            least, most = _squares(deviations)
            return any(
                error_least * count <= most and least <= error_most * count
                for count in {self.num_samples, max(self.num_samples - 1, 1)}
            )

    def _error_certainly_follows(self, samples: int) -> bool:
        """Tell quickly whether error and deviation agree as written; if not, rounding may be why.

        The spans of the exact comparison are ten times as wide.
        """
        error, deviation = as_float(self.error), as_float(self.deviation)
        if error is None or deviation is None or error <= 0 or samples > MOST_IN_A_DOUBLE:
            return False
        return any(
            abs(error * math.sqrt(count) - deviation) <= CERTAIN * deviation
            for count in (samples, max(samples - 1, 1))
            if count > 0
        )

    def outside_its_interval(self) -> bool:
        """Return whether the score is outside its interval, for any rounding of the numbers."""
        if self.score is None or self.lower is None or self.upper is None:
            return False
        if self.lower <= self.score <= self.upper:
            return False
        with localcontext(EXACT):
            score, lower, upper = _spans(self.score, self.lower, self.upper)
        return score[1] < lower[0] or score[0] > upper[1]


def read_claims(text: bytes) -> dict[int, Claims]:
    """Read the claims of an aggregate's text, by the index of the result.

    A text that is not valid JSON has no claims; other rules report it.
    """
    try:
        document = _fast(text)
    except ValueError:
        # Other rules may refuse it, as they do one with a repeated key.
        document = read_decimals(text)
    results = member(document, "evaluation_results")
    if not isinstance(results, list):
        return {}
    return {
        place: _claims(result) for place, result in enumerate(results) if isinstance(result, dict)
    }


def has_further_members(result: Any) -> bool:
    """Return whether a result has other members than the defined ones, which may be figures."""
    for path, names in KNOWN_MEMBERS.items():
        holder = resolve(result, path)
        if holder is None:
            continue
        if holder.__class__ is not dict:
            return True
        if any(key not in names and (*path, key) not in KNOWN_MEMBERS for key in holder):
            return True
    return False


def _spans(*claims: Decimal) -> list[Span]:
    """Return the span of numbers that each claim may be rounded or truncated from.

    A small whole number shows no digits of its own: it has the precision of the most precise other.
    """
    shown = [_decimals(claim) for claim in claims]
    finest = max((digits for digits in shown if digits is not None), default=None)
    return [
        _span(claim, finest if digits is None else digits)
        for claim, digits in zip(claims, shown, strict=True)
    ]


def _decimals(claim: Decimal) -> int | None:
    """Return the number of decimals of a claim, or None for a small whole number."""
    if is_small_whole(claim):
        return None
    return max(0, -int(claim.as_tuple().exponent))


def _span(claim: Decimal, decimals: int | None) -> Span:
    unit = Decimal(0) if decimals is None else Decimal(1).scaleb(-decimals)
    above = unit if decimals is not None and decimals >= CERTAIN_DIGITS else unit * HALF
    size = abs(claim)
    least, most = (size - unit * HALF) * (1 - ROUNDING), (size + above) * (1 + ROUNDING)
    return (least, most) if claim >= 0 else (-most, -least)


def _squares(span: Span) -> Span:
    """Return the squares of the ends of a span; a negative end counts as 0."""
    least, most = max(span[0], Decimal(0)), span[1]
    return least * least, most * most


def _claims(result: Mapping[str, Any]) -> Claims:
    details = member(result, "score_details")
    uncertainty = member(details, "uncertainty")
    if not isinstance(uncertainty, dict):
        return Claims(_decimal(details, "score"))
    error, interval = uncertainty.get("standard_error"), uncertainty.get("confidence_interval")
    draws = _count(uncertainty, "num_bootstrap_samples")
    usual = RESAMPLED if draws and draws > 0 else None
    return Claims(
        score=_decimal(details, "score"),
        num_samples=_count(uncertainty, "num_samples"),
        deviation=_decimal(uncertainty, "standard_deviation"),
        error=_decimal(error, "value"),
        error_method=text_or_none(member(error, "method")) or usual,
        lower=_decimal(interval, "lower"),
        upper=_decimal(interval, "upper"),
        level=_decimal(interval, "confidence_level"),
        interval_method=text_or_none(member(interval, "method")) or usual,
        resamples=draws,
    )


def _decimal(holder: Any, name: str) -> Decimal | None:
    """Return a number as it is written; one that all readers round to 0 is 0."""
    value = holder.get(name) if holder.__class__ is dict else None
    if value.__class__ is int:
        value = Decimal(value)
    if value.__class__ is not Decimal or not value.is_finite():
        return None
    if not value or value.adjusted() < -LARGEST_EXPONENT:
        return Decimal(0)
    return value if value.adjusted() <= LARGEST_EXPONENT else None


def _count(holder: Any, name: str) -> int | None:
    """Return a number that is whole for all readers, who use doubles."""
    number = _decimal(holder, name)
    if number is None or number == int(number):
        return None if number is None else int(number)
    return int(float(number)) if float(number).is_integer() else None

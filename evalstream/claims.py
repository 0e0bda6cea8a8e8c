"""What an aggregate claims of each result, with the digits it was written with."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal, localcontext
from fractions import Fraction
from typing import Any, Final, NamedTuple

LARGEST_EXPONENT: Final = 400
"""Numbers beyond the range of doubles are no claims that scores could bear out."""

WHOLE_BELOW: Final = 10
"""A whole number below this says nothing of its precision: 1 is the exact 1, 75 may be rounded."""

ROUNDING: Final = Decimal("1e-9")
"""How far float sums may stray from the exact one, relative to the larger value."""

NOTHING: Final = Decimal("1e-12")
"""What counts as no difference on any scale of scores."""

EXACT: Final = Context(prec=MAX_PREC, Emin=MIN_EMIN, Emax=MAX_EMAX)
"""In it sums and products keep all their digits; it is not made for quotients and powers."""

HALF: Final = Decimal("0.5")

Span = tuple[Decimal, Decimal]
"""The least and the largest number that may have been written as a claim."""

ANALYTIC: Final = frozenset({"", "analytic", "analytical"})
CLOSED_FORMS: Final = ANALYTIC | {"normal", "wald", "wilson", "gaussian"}


class Claims(NamedTuple):
    """One result's claims; None where it makes none, or none of the right type.

    `num_samples` is a count; the others are numbers as they were written.
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

    @property
    def has_analytic_error(self) -> bool:
        """Whether the standard error follows from deviation and number of samples."""
        return (self.error_method or "").lower() in ANALYTIC

    def error_follows(self) -> bool:
        """Tell whether the error follows from deviation and number, however they were rounded.

        Inspect and lm-eval divide the deviation over n-1 by the root of n. HELM's deviation is
        that over n; the same error is that one over the root of n-1. Without one of the three
        there is nothing to follow.
        """
        if self.error is None or self.deviation is None or not self.num_samples:
            return True
        with localcontext(EXACT):
            errors, deviations = _spans(self.error, self.deviation)
            error_least, error_most = _squares(errors)
            least, most = _squares(deviations)
            return any(
                error_least * count <= most and least <= error_most * count
                for count in {self.num_samples, max(self.num_samples - 1, 1)}
            )

    def outside_its_interval(self) -> bool:
        """Tell whether the score is outside its interval, however the numbers were rounded."""
        if self.score is None or self.lower is None or self.upper is None:
            return False
        with localcontext(EXACT):
            score, lower, upper = _spans(self.score, self.lower, self.upper)
        return score[1] < lower[0] or score[0] > upper[1]

    @property
    def has_closed_interval(self) -> bool:
        """Whether the interval follows from the rows without resampling."""
        return (self.interval_method or "").lower() in CLOSED_FORMS


def claims_of(text: bytes) -> dict[int, Claims]:
    """Read the claims of an aggregate's text, by the place of the result.

    A text that is no JSON makes no claims: other rules speak of it.
    """
    try:
        document = json.loads(text, parse_float=_read, parse_int=_read)
    except (ValueError, RecursionError):
        return {}
    results = _member(document, "evaluation_results")
    if not isinstance(results, list):
        return {}
    return {
        place: _claims(result) for place, result in enumerate(results) if isinstance(result, dict)
    }


def agrees(claim: Decimal, exact: Fraction | float) -> bool:
    """Tell whether a claim is the exact value, rounded or cut off to the claim's digits.

    A whole number below ten is taken as exact. Differences that float sums make are allowed.
    """
    if isinstance(exact, float) and not math.isfinite(exact):
        return False
    with localcontext(EXACT):
        # Both are multiplied by the denominator, so that nothing needs to be divided.
        value, scale = map(Decimal, exact.as_integer_ratio())
        claimed = claim * scale
        difference, largest = abs(claimed - value), max(abs(claimed), abs(value))
        if difference <= max(ROUNDING * largest, NOTHING * scale):
            return True
        if _is_small_whole(claim):
            return False
        unit = scale.scaleb(min(0, int(claim.as_tuple().exponent)))
        cut_off = 0 <= abs(value) - abs(claimed) < unit and claimed * value >= 0
        return difference <= unit * HALF or cut_off


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
    if _is_small_whole(claim):
        return None
    return max(0, -int(claim.as_tuple().exponent))


def _is_small_whole(claim: Decimal) -> bool:
    return claim == claim.to_integral_value() and abs(claim) < WHOLE_BELOW


def _span(claim: Decimal, decimals: int | None) -> Span:
    unit = Decimal(0) if decimals is None else Decimal(1).scaleb(-decimals)
    size = abs(claim)
    least, most = (size - unit * HALF) * (1 - ROUNDING), (size + unit) * (1 + ROUNDING)
    return (least, most) if claim >= 0 else (-most, -least)


def _squares(span: Span) -> Span:
    """Return the squares of the ends of a span, of which what is negative counts as nothing."""
    least, most = max(span[0], Decimal(0)), span[1]
    return least * least, most * most


def _claims(result: Mapping[str, Any]) -> Claims:
    details = _member(result, "score_details")
    uncertainty = _member(details, "uncertainty")
    error = _member(uncertainty, "standard_error")
    interval = _member(uncertainty, "confidence_interval")
    samples = _decimal(uncertainty, "num_samples")
    return Claims(
        score=_decimal(details, "score"),
        num_samples=int(samples) if samples is not None and samples == int(samples) else None,
        deviation=_decimal(uncertainty, "standard_deviation"),
        error=_decimal(error, "value"),
        error_method=_text(error, "method"),
        lower=_decimal(interval, "lower"),
        upper=_decimal(interval, "upper"),
        level=_decimal(interval, "confidence_level"),
        interval_method=_text(interval, "method"),
    )


def _read(digits: str) -> Decimal | None:
    """Read a number as it was written, None where its exponent is beyond all bounds."""
    try:
        return Decimal(digits)
    except ArithmeticError:
        return None


def _decimal(holder: Any, name: str) -> Decimal | None:
    value = _member(holder, name)
    if not isinstance(value, Decimal) or not value.is_finite():
        return None
    return value if abs(value.adjusted()) <= LARGEST_EXPONENT else None


def _text(holder: Any, name: str) -> str | None:
    value = _member(holder, name)
    return value if isinstance(value, str) else None


def _member(holder: Any, name: str) -> Any:
    return holder.get(name) if isinstance(holder, dict) else None

"""Judge a claim by what the rows hold: confirmed, rounded, refuted or open."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from functools import lru_cache
from itertools import chain
from typing import Any, Final

from evalstream.model.claim import JudgedClaim, Reason, State
from evalstream.model.data_class import NamedTuple
from evalstream.model.text import count_noun
from evalstream.stats.claims import kinds
from evalstream.stats.claims.evidence import Evidence, Spread
from evalstream.stats.claims.kinds import Bounds, ClaimKind, Figure, Number
from evalstream.stats.claims.rounding import (
    NOTHING,
    Agreement,
    agreement,
    as_float,
    is_certain,
    is_small_whole,
    last_unit,
)

PERCENT: Final = 100

FEWEST_DRAWS: Final = 100
"""Fewer draws of a bootstrap say too little about an error."""

SLACK: Final = 0.1
"""The share by which an error from resampling may differ from the closed form, beside chance."""

FEWEST_UNITS: Final = 10
"""An average of fewer units of its rounded scores has a single digit, which confirms nothing."""

SUM_STRAY: Final = Fraction(1, 1 << 50)
"""The error of a mean of doubles, relative to the largest of them: four units of its last place."""

_USUAL_LEVELS: Final = (0.95, 0.9, 0.99)
"""The levels of intervals that do not state theirs."""

THIRD: Final = 3
HALF: Final = 0.5

_CLOSED_FORMS: Final = frozenset(
    {"", "analytic", "analytical", "gaussian", "normal", "student t", "t", "wald", "wilson"}
)
"""Methods that compute an uncertainty from the scores, as documents name them."""

_RESAMPLING: Final = frozenset({"bootstrap", "bootstrapped", "percentile", "bca"})
"""Names of resampling methods, whose figures are close to the closed forms."""


class Method(Enum):
    """How an uncertainty is computed.

    It is a closed form over samples or over clusters of them, or resampling, or not known.
    """

    CLOSED = "closed"
    CLUSTERED = "clustered"
    RESAMPLED = "resampled"
    UNKNOWN = "unknown"


@lru_cache(maxsize=256)
def method_named(name: str | None) -> Method:
    """Return the method that a document names; without a name it is the closed form."""
    words = (name or "").casefold().replace("_", " ").replace("-", " ").split()
    if " ".join(words) in _CLOSED_FORMS:
        return Method.CLOSED
    if any(word.startswith("cluster") for word in words):
        return Method.CLUSTERED
    return Method.RESAMPLED if _RESAMPLING.issuperset(words) else Method.UNKNOWN


class Claim(NamedTuple):
    """A figure that a document states.

    `pointer` is its JSON Pointer, `value` the number with its digits as written, or the two ends of
    an interval; None if it is no number. `shown` is the JSON value at the pointer. `method`,
    `draws` and `level` describe an uncertainty, and are None where it does not state them. With
    `has_all_digits` its writer never rounds: one or two digits are all that the figure has.
    """

    pointer: str
    label: str
    kind: ClaimKind
    value: Decimal | tuple[Decimal, Decimal] | None
    shown: Any
    is_score: bool = False
    method: str | None = None
    draws: int | None = None
    level: float | None = None
    has_all_digits: bool = False


class Judgement(NamedTuple):
    """A judged claim, and for a refuted one the message of its violation."""

    claim: JudgedClaim
    message: str = ""


def leave_open(
    claim: Claim, reason: Reason | str, rows: int = 0, recomputed: Any = None
) -> Judgement:
    """Return a claim that the rows neither confirm nor refute."""
    text = reason.value if isinstance(reason, Reason) else reason
    return Judgement(_make_judged(claim, State.OPEN, recomputed, rows, text))


def refute(claim: Claim, expected: Any, message: str, rows: int) -> Judgement:
    """Return a claim that cannot be true."""
    return Judgement(_make_judged(claim, State.REFUTED, expected, rows), message)


def confirm(
    claim: Claim, recomputed: Any, rows: int, found: Agreement = Agreement.FULL
) -> Judgement:
    """Return a claim that is true, at least after rounding."""
    state = State.CONFIRMED if found is Agreement.FULL else State.ROUNDED
    return Judgement(_make_judged(claim, state, recomputed, rows))


def judge_count(claim: Claim, right: Collection[int], message: str, rows: int) -> Judgement:
    """Judge a count that may have some values; the greatest of them is expected of a wrong one."""
    for one in right:
        if one == claim.shown:
            return confirm(claim, one, rows)
    return refute(claim, max(right, default=0), message, rows)


def judge(claim: Claim, evidence: Evidence) -> Judgement:
    """Judge a claim by the evidence of its rows."""
    value = claim.value
    if isinstance(value, tuple):
        return _judge_interval(claim, value, evidence)
    if value is None:
        return leave_open(claim, Reason.FORMULA, evidence.sums.joined_rows)
    return _judge_number(claim, value, evidence)


def _judge_number(claim: Claim, value: Decimal, evidence: Evidence) -> Judgement:
    rows, is_whole = evidence.sums.joined_rows, not evidence.missing or claim.kind is kinds.COUNT
    if is_whole and method_named(claim.method) is not Method.RESAMPLED:
        # Most claims are the usual figure of their kind: no other is computed.
        usual = next(iter(claim.kind.figures(evidence)), None)
        if usual is not None and is_certain(value, usual.value):
            return confirm(claim, _plain(usual.value), rows)
    figures = list(_scale_figures(claim.kind.figures(evidence), evidence))
    if claim.kind.name == kinds.ERROR.name and method_named(claim.method) is Method.RESAMPLED:
        return _judge_resampled_error(claim, value, figures, evidence)
    expected = _plain(figures[0].value) if figures else None
    near = _near(value, figures, evidence) if claim.kind.is_exact else None
    if is_whole:
        found, best = _agreeing(claim, value, figures, evidence)
        if best is not None:
            return confirm(claim, _plain(best.value), best.rows or rows, found)
        shows_digits = near and abs(Fraction(near.value)) >= FEWEST_UNITS * evidence.unit
        if shows_digits or _best(value, claim.kind.rounded(evidence))[1] is not None:
            return confirm(claim, expected, rows, Agreement.ROUGH)
    if not _is_impossible(claim, value, evidence):
        reason = _open_reason(claim, value, figures, evidence)
        if reason is not None or near is not None:
            return leave_open(claim, reason or Reason.COARSE, rows, expected)
    return refute(claim, expected, _refutation(claim, value, figures, evidence), rows)


def _agreeing(
    claim: Claim, value: Decimal, figures: list[Figure], evidence: Evidence
) -> tuple[Agreement, Figure | None]:
    """Return the figure that gives a claim, and how well; None if none does."""
    found, best = _best(value, figures)
    is_sum = claim.kind is not kinds.COUNT and figures
    if found is not Agreement.FULL and is_sum and _is_rounding(value, figures[0], evidence):
        return Agreement.FULL, figures[0]
    if claim.has_all_digits and found is Agreement.ROUGH:
        return Agreement.NONE, None
    return found, best


def _refutation(claim: Claim, value: Decimal, figures: list[Figure], evidence: Evidence) -> str:
    """Return in words why a claim cannot be true."""
    rows = count_noun(evidence.sums.joined_rows, "row")
    if claim.kind is kinds.COUNT:
        samples = evidence.cover.samples
        return f"there are {rows}" + (
            "" if samples in {0, evidence.rows} else f" of {samples:,} samples"
        )
    if _is_zero_error(claim, value, evidence):
        return f"the scores of {rows} differ, so that no error is 0"
    if evidence.missing or not figures or not claim.kind.is_exact:
        bounds = _describe(_reach(claim, evidence))
        return f"the claim is outside {bounds}, the range of every {claim.kind.name} of {rows}"
    hints = claim.kind.hints(evidence)
    hint = next((one.words for one in hints if _best(value, [one])[0] is Agreement.FULL), None)
    return f"{figures[0].words} of {rows} is not the claim" + (f", which is {hint}" if hint else "")


def _is_rounding(value: Decimal, figure: Figure, evidence: Evidence) -> bool:
    """Return whether the rounding of a sum of large scores explains a difference.

    A sum of scores of both signs may be small, and the error of equal scores is not exactly 0.
    """
    if evidence.extremes is None or not _is_finite(figure.value):
        return False
    largest = max(map(abs, evidence.extremes))
    return abs(Fraction(value) - Fraction(figure.value)) <= SUM_STRAY * Fraction(largest)


def _open_reason(
    claim: Claim, value: Decimal, figures: list[Figure], evidence: Evidence
) -> Reason | None:
    """Return why a claim is open that no figure gives, or None if it is refuted."""
    if claim.kind is kinds.COUNT:
        return Reason.MISSING if all(value > Decimal(int(one.value)) for one in figures) else None
    conditions = (
        (evidence.missing > 0, Reason.MISSING),
        (method_named(claim.method) is Method.UNKNOWN, Reason.METHOD),
        (method_named(claim.method) is Method.CLUSTERED and not evidence.clusters, Reason.CLUSTERS),
        (not figures, _without_figures(claim, evidence)),
        (not claim.kind.is_exact, Reason.FORMULA),
        (claim.kind in _SPREADS and _has_uneven_repeats(evidence), Reason.UNEVEN),
    )
    return next((reason for holds, reason in conditions if holds), None)


_SPREADS: Final = (kinds.ERROR, kinds.DEVIATION, kinds.VARIANCE)


def _without_figures(claim: Claim, evidence: Evidence) -> Reason:
    is_cut = claim.kind.needs_values and evidence.values is None
    return Reason.TOO_MANY if is_cut else Reason.EVIDENCE


def is_outside_bounds(value: Decimal, bounds: Bounds) -> bool:
    """Return whether a claim is outside bounds by more than rounding."""
    least, most = bounds
    below = least is not None and Fraction(value) < least
    above = most is not None and Fraction(value) > most
    crossed = least if below else most
    if crossed is None or not (below or above):
        return False
    return agreement(value, crossed) is Agreement.NONE


def _reach(claim: Claim, evidence: Evidence) -> Bounds:
    """Return the bounds of a claim, also where samples that it covers have no rows."""
    if not evidence.missing:
        least, most = claim.kind.bounds(evidence)
        if evidence.unit:
            least, most = _widen((least, most), evidence.unit / 2)
        return least, most * PERCENT if most is not None and evidence.is_percent else most
    if claim.kind is not kinds.MEAN or evidence.mean is None:
        return None, None
    total, number = evidence.mean * evidence.rows, evidence.rows + evidence.missing
    ends = [
        (total + Fraction(limit) * evidence.missing) / number
        if limit is not None and math.isfinite(limit)
        else None
        for limit in evidence.limits
    ]
    return ends[0], ends[1]


def _widen(bounds: Bounds, by: Fraction) -> Bounds:
    least, most = bounds
    return (
        None if least is None else Fraction(least) - by,
        None if most is None else Fraction(most) + by,
    )


def _near(value: Decimal, figures: Iterable[Figure], evidence: Evidence) -> Figure | None:
    """Return a figure from which the rounding of scores explains the distance of a claim.

    An average of scores that were rounded is off by at most half a unit of their last decimal. A
    tie may be rounded to either side: to the even digit, up, or by the double nearest to it. The
    doubles of both add their own error.
    """
    if not evidence.unit:
        return None
    room = (evidence.unit + (0 if is_small_whole(value) else Fraction(last_unit(value)))) / 2
    if evidence.extremes is not None:
        room += SUM_STRAY * Fraction(max(map(abs, evidence.extremes)))
    known = (one for one in figures if _is_finite(one.value))
    distances = ((abs(Fraction(value) - Fraction(one.value)), one) for one in known)
    return next((one for distance, one in distances if distance <= room), None)


def _scale_figures(figures: Iterable[Figure], evidence: Evidence) -> Iterator[Figure]:
    for figure in figures:
        yield figure
        if evidence.is_percent:
            words = f"{figure.words}, in percent,"
            yield figure._replace(words=words, value=figure.value * PERCENT)


def _best(value: Decimal, figures: Iterable[Figure]) -> tuple[Agreement, Figure | None]:
    """Return the figure that agrees best with a claim, the first of equals."""
    best: tuple[Agreement, Figure | None] = (Agreement.NONE, None)
    for figure in figures:
        found = agreement(value, figure.value)
        if found > best[0]:
            best = found, figure
        if found is Agreement.FULL:
            break
    return best


def _is_finite(value: Number) -> bool:
    number = as_float(value)
    return number is not None and math.isfinite(number)


def _plain(value: Number) -> float | int | None:
    """Return a figure as a JSON number; None for one that is out of range."""
    return value if isinstance(value, int) else as_float(value)


def _judge_resampled_error(
    claim: Claim, value: Decimal, figures: list[Figure], evidence: Evidence
) -> Judgement:
    """Compare an error by resampling with the closed forms.

    It may differ from them by a share of 4/√draws and a tenth.
    """
    rows, claimed = evidence.sums.joined_rows, float(value)
    expected = as_float(figures[0].value) if figures else None
    if _is_impossible(claim, value, evidence):
        message = f"no resampling of {count_noun(rows, 'row')} gives this standard error"
        return refute(claim, expected, message, rows)
    if evidence.missing or expected is None:
        reason = Reason.MISSING if evidence.missing else Reason.EVIDENCE
        return leave_open(claim, reason, rows, expected)
    draws = FEWEST_DRAWS if claim.draws is None else claim.draws
    share = 4 / math.sqrt(max(draws, 1)) + SLACK
    values = [float(figure.value) for figure in figures]
    least, most = min(values) * (1 - share), max(values) * (1 + share)
    if draws < FEWEST_DRAWS:
        return leave_open(claim, Reason.FEW_DRAWS, rows, expected)
    if least - float(NOTHING) <= claimed <= most + float(NOTHING):
        return confirm(claim, expected, rows)
    message = f"the standard error of {count_noun(rows, 'row')} is far from the claim"
    return refute(claim, expected, f"{message}, although resampling approaches it", rows)


def _is_impossible(claim: Claim, value: Decimal, evidence: Evidence) -> bool:
    """Return whether no method gives a claim.

    A clustered error is greatest with two clusters, the scores above and below the mean: it is
    their mean deviation from it then, which is at most the standard deviation.
    """
    if _is_zero_error(claim, value, evidence):
        return True
    most = max((spread.deviation for spread in evidence.row_spreads), default=None)
    is_clustered = method_named(claim.method) is Method.CLUSTERED
    if is_clustered and claim.kind.name == kinds.ERROR.name and most is not None:
        return is_outside_bounds(value, (0, most * (PERCENT if evidence.is_percent else 1)))
    return is_outside_bounds(value, _reach(claim, evidence))


def _is_zero_error(claim: Claim, value: Decimal, evidence: Evidence) -> bool:
    """Return whether a claim is that the mean of different scores has no error."""
    extremes = evidence.extremes
    if value or claim.kind.name != kinds.ERROR.name or _has_uneven_repeats(evidence):
        return False
    return extremes is not None and extremes[0] != extremes[1]


Interval = tuple[float, float]


def _judge_interval(claim: Claim, ends: tuple[Decimal, Decimal], evidence: Evidence) -> Judgement:
    """Judge the two ends of a confidence interval of the mean."""
    rows, intervals = evidence.sums.joined_rows, _intervals_at_levels(claim, evidence)
    expected = _as_ends(intervals[0]) if intervals else None
    if evidence.missing or not intervals:
        reason = Reason.MISSING if evidence.missing else Reason.EVIDENCE
        return leave_open(claim, reason, rows, expected)
    method = method_named(claim.method)
    others = _intervals_of_share(claim, evidence) if method is not Method.RESAMPLED else iter(())
    for interval in chain(intervals, others):
        found = min(
            max(agreement(claimed, cut) for cut in _cut_at_limits(end, evidence))
            for claimed, end in zip(ends, interval, strict=True)
        )
        if found is not Agreement.NONE:
            return confirm(claim, _as_ends(interval), rows, found)
    if method is Method.RESAMPLED:
        return _judge_resampled_interval(claim, (float(ends[0]), float(ends[1])), evidence)
    if method is Method.CLUSTERED and not evidence.clusters and _holds_mean(ends, evidence):
        return leave_open(claim, Reason.CLUSTERS, rows, expected)
    if method is Method.UNKNOWN or _has_uneven_repeats(evidence):
        reason = Reason.METHOD if method is Method.UNKNOWN else Reason.UNEVEN
        return leave_open(claim, reason, rows, expected)
    message = f"no known interval of {count_noun(rows, 'row')} is the claim"
    if claim.level is None:
        message += ", at a level of 95, 90 or 99 percent"
    return refute(claim, expected, message, rows)


def _holds_mean(ends: tuple[Decimal, Decimal], evidence: Evidence) -> bool:
    low, high = map(Fraction, ends)
    mean, factors = evidence.mean, (1, PERCENT) if evidence.is_percent else (1,)
    return mean is not None and any(low <= mean * factor <= high for factor in factors)


def _judge_resampled_interval(claim: Claim, ends: Interval, evidence: Evidence) -> Judgement:
    """Compare an interval by resampling with closed forms: its ends within a third of a width."""
    rows, intervals = evidence.sums.joined_rows, _intervals_at_levels(claim, evidence)
    expected, width = _as_ends(intervals[0]), ends[1] - ends[0]
    if claim.draws is not None and claim.draws < FEWEST_DRAWS:
        return leave_open(claim, Reason.FEW_DRAWS, rows, expected)
    if width < HALF * min(high - low for low, high in intervals) - float(NOTHING):
        return leave_open(claim, Reason.NARROW, rows, expected)
    for low, high in intervals:
        room = (high - low) / THIRD + float(NOTHING)
        if abs(ends[0] - low) <= room and abs(ends[1] - high) <= room:
            return confirm(claim, expected, rows)
    message = f"resampling of {count_noun(rows, 'row')} gives an interval far from the claim"
    return refute(claim, expected, message, rows)


def _intervals_at_levels(claim: Claim, evidence: Evidence) -> list[Interval]:
    """Return the intervals of the mean at the level of a claim, or at the usual ones."""
    return [one for level in _levels(claim) for one in compute_intervals(evidence, level)]


def _levels(claim: Claim) -> tuple[float, ...]:
    return _USUAL_LEVELS if claim.level is None else (claim.level,)


def _intervals_of_share(claim: Claim, evidence: Evidence) -> Iterator[Interval]:
    """Yield the other intervals of a mean of scores that are 0 or 1."""
    mean = evidence.mean
    if mean is None or not evidence.values or not {0, 1}.issuperset(evidence.values):
        return
    from evalstream.stats.claims import formulas

    right = int(mean * evidence.rows)
    factors = (1, PERCENT) if evidence.is_percent else (1,)
    for level in _levels(claim):
        for low, high in formulas.share_intervals(right, evidence.rows, level):
            yield from ((low * factor, high * factor) for factor in factors)


def compute_intervals(evidence: Evidence, level: float) -> Iterator[Interval]:
    """Yield the normal, the Wilson and the t interval of the mean at a confidence level."""
    mean = as_float(evidence.mean)
    if mean is None or not 0 < level < 1:
        return
    spreads = evidence.error_spreads
    factors = (1, PERCENT) if evidence.is_percent else (1,)
    for low, high in _intervals_of_mean(mean, spreads, level):
        yield from ((low * factor, high * factor) for factor in factors)


def _intervals_of_mean(mean: float, spreads: Iterable[Spread], level: float) -> Iterator[Interval]:
    from evalstream.stats.claims import formulas
    from evalstream.stats.probability import t_quantile

    known = list(spreads)
    for quantile in formulas.quantiles(level):
        for spread in known:
            yield mean - quantile * spread.error, mean + quantile * spread.error
        for number in {spread.number for spread in known} if 0 <= mean <= 1 else ():
            yield formulas.wilson(mean, number, quantile)
    for spread in known:
        if spread.number > 1:
            half = t_quantile((1 + level) / 2, spread.number - 1) * spread.error
            yield mean - half, mean + half


def _cut_at_limits(end: float, evidence: Evidence) -> Interval:
    """Return the end of an interval, and the same cut off at the metric's limits."""
    least, most = evidence.limits
    cut = end if least is None else max(end, least)
    return end, cut if most is None else min(cut, most)


def _as_ends(interval: Interval) -> dict[str, float]:
    return {"lower": interval[0], "upper": interval[1]}


def _has_uneven_repeats(evidence: Evidence) -> bool:
    return evidence.is_repeated and not evidence.has_even_repeats


def _describe(bounds: Bounds) -> str:
    """Return bounds in words; one that is missing or no double is infinite."""
    least, most = (None if bound is None else as_float(bound) for bound in bounds)
    return (
        f"{'-∞' if least is None else f'{least:.6g}'} to {'∞' if most is None else f'{most:.6g}'}"
    )


def _make_judged(
    claim: Claim, state: State, recomputed: Any, rows: int, reason: str | None = None
) -> JudgedClaim:
    return JudgedClaim(
        claim.pointer,
        claim.label,
        claim.kind.name,
        claim.shown,
        recomputed,
        state,
        reason,
        rows,
        claim.is_score,
    )

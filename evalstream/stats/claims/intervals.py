"""Judge the ends of a confidence interval of the mean."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from decimal import Decimal
from fractions import Fraction
from itertools import chain
from typing import Final

from evalstream.model.claim import Reason
from evalstream.model.text import count_noun
from evalstream.stats.claims.evidence import Evidence, Spread
from evalstream.stats.claims.judgement import (
    FEWEST_DRAWS,
    PERCENT,
    Claim,
    Judgement,
    Method,
    confirm,
    leave_open,
    method_named,
    refute,
)
from evalstream.stats.claims.rounding import NOTHING, Agreement, agreement, as_float

_USUAL_LEVELS: Final = (0.95, 0.9, 0.99)
"""The levels of intervals that do not state theirs."""

THIRD: Final = 3
HALF: Final = 0.5

Interval = tuple[float, float]


def judge_interval(claim: Claim, ends: tuple[Decimal, Decimal], evidence: Evidence) -> Judgement:
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
    if method is Method.UNKNOWN or evidence.has_uneven_repeats:
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
            for quantile in formulas.as_in_tables(t_quantile((1 + level) / 2, spread.number - 1)):
                yield mean - quantile * spread.error, mean + quantile * spread.error


def _cut_at_limits(end: float, evidence: Evidence) -> Interval:
    """Return the end of an interval, and the same cut off at the metric's limits."""
    least, most = evidence.limits
    cut = end if least is None else max(end, least)
    return end, cut if most is None else min(cut, most)


def _as_ends(interval: Interval) -> dict[str, float]:
    return {"lower": interval[0], "upper": interval[1]}

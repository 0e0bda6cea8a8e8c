"""Confidence intervals of the mean: their formulas, and the judgement of their ends."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Sequence
from decimal import Decimal
from functools import lru_cache
from itertools import chain
from typing import Final

from evalstream.model.claim import Reason
from evalstream.model.text import count_noun
from evalstream.stats.claims.evidence import Evidence, Spread
from evalstream.stats.claims.judgement import (
    FEWEST_DRAWS,
    Claim,
    Judgement,
    Method,
    confirm,
    find_method,
    leave_open,
    refute,
)
from evalstream.stats.claims.rounding import NOTHING, Agreement, agreement, as_float
from evalstream.stats.probability import beta_quantile, normal_quantile, t_quantile

_USUAL_LEVELS: Final = (0.95, 0.9, 0.99)
"""The levels of intervals that do not state theirs."""

THIRD: Final = 3
HALF: Final = 0.5

Interval = tuple[float, float]

USUAL_LEVEL: Final = 0.95
TWO_SIGMA: Final = 2.0
"""The value that some writers use for the normal quantile of 95 %."""


def judge_interval(claim: Claim, ends: tuple[Decimal, Decimal], evidence: Evidence) -> Judgement:
    """Judge the two ends of a confidence interval of the mean."""
    rows, intervals = evidence.sums.joined_rows, _intervals_at_levels(claim, evidence)
    expected = _as_ends(intervals[0]) if intervals else None
    if evidence.missing or not intervals:
        reason = Reason.MISSING if evidence.missing else Reason.EVIDENCE
        return leave_open(claim, reason, rows, expected)
    method = find_method(claim, evidence)
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
    """Return whether an interval holds the mean, which is an end of it where clusters are equal."""
    if evidence.mean is None:
        return False
    means = [evidence.mean * factor for factor in evidence.factors]
    return any(
        ends[0] <= mean <= ends[1] or any(agreement(end, mean) is Agreement.FULL for end in ends)
        for mean in means
    )


def _judge_resampled_interval(claim: Claim, ends: Interval, evidence: Evidence) -> Judgement:
    """Compare an interval by resampling with closed forms.

    Its ends may differ by a third of a width, and confirm within half of that.
    """
    rows, intervals = evidence.sums.joined_rows, _intervals_at_levels(claim, evidence)
    expected, width = _as_ends(intervals[0]), ends[1] - ends[0]
    if claim.draws is not None and claim.draws < FEWEST_DRAWS:
        return leave_open(claim, Reason.FEW_DRAWS, rows, expected)
    if width < HALF * min(high - low for low, high in intervals) - float(NOTHING):
        return leave_open(claim, Reason.NARROW, rows, expected)
    far = min(_distance(ends, interval) for interval in intervals)
    if far <= HALF / THIRD:
        return confirm(claim, expected, rows)
    if far <= 1 / THIRD:
        return leave_open(claim, Reason.RESAMPLED, rows, expected)
    message = f"resampling of {count_noun(rows, 'row')} gives an interval far from the claim"
    return refute(claim, expected, message, rows)


def _distance(ends: Interval, interval: Interval) -> float:
    """Return how far the ends of an interval are from those of another, in widths of that."""
    off = max(abs(one - other) for one, other in zip(ends, interval, strict=True))
    return max(off - float(NOTHING), 0.0) / max(interval[1] - interval[0], float(NOTHING))


def _intervals_at_levels(claim: Claim, evidence: Evidence) -> list[Interval]:
    """Return the intervals of the mean at the level of a claim, or at the usual ones."""
    return [one for level in _levels(claim) for one in compute_intervals(evidence, level)]


def _levels(claim: Claim) -> tuple[float, ...]:
    return _USUAL_LEVELS if claim.level is None else (claim.level,)


def _intervals_of_share(claim: Claim, evidence: Evidence) -> Iterator[Interval]:
    """Yield the other intervals of a mean of scores that are 0 or 1."""
    if not evidence.is_binary:
        return
    for mean, rows, _ in evidence.means_and_spreads:
        for level in _levels(claim):
            for low, high in share_intervals(int(mean * rows), rows, level):
                yield from ((low * factor, high * factor) for factor in evidence.factors)


def compute_intervals(evidence: Evidence, level: float) -> Iterator[Interval]:
    """Yield the normal, the Wilson and the t interval of the mean at a confidence level."""
    for exact, _, spreads in evidence.means_and_spreads if 0 < level < 1 else ():
        mean = as_float(exact)
        for low, high in _intervals_of_mean(mean, spreads, level) if mean is not None else ():
            yield from ((low * factor, high * factor) for factor in evidence.factors)


def _intervals_of_mean(mean: float, spreads: Iterable[Spread], level: float) -> Iterator[Interval]:
    known = list(spreads)
    for quantile in quantiles(level):
        for spread in known:
            yield mean - quantile * spread.error, mean + quantile * spread.error
        for number in {spread.number for spread in known} if 0 <= mean <= 1 else ():
            yield wilson(mean, number, quantile)
    for spread in known:
        if spread.number > 1:
            for quantile in as_in_tables(t_quantile((1 + level) / 2, spread.number - 1)):
                yield mean - quantile * spread.error, mean + quantile * spread.error


def _cut_at_limits(end: float, evidence: Evidence) -> Interval:
    """Return the end of an interval, and the same cut off at the metric's limits."""
    least, most = evidence.limits
    cut = end if least is None else max(end, least)
    return end, cut if most is None else min(cut, most)


def _as_ends(interval: Interval) -> dict[str, float]:
    return {"lower": interval[0], "upper": interval[1]}


@lru_cache(maxsize=256)
def share_intervals(right: int, number: int, level: float) -> tuple[tuple[float, float], ...]:
    """Return the intervals of a share that follow from no normal distribution of its mean.

    They are that of Clopper and Pearson, the equal tails of the posterior by Jeffreys and by a
    uniform prior, that of Agresti and Coull, and Wilson's with the correction for continuity.
    Sources: L. Brown, T. Cai and A. DasGupta 2001, doi:10.1214/ss/1009213286; R. Newcombe 1998.
    """
    tail, wrong = (1 - level) / 2, number - right
    exact = (
        beta_quantile(tail, right, wrong + 1) if right else 0.0,
        beta_quantile(1 - tail, right + 1, wrong) if wrong else 1.0,
    )
    found = [exact]
    for prior in (0.5, 1.0):
        low, high = (beta_quantile(one, right + prior, wrong + prior) for one in (tail, 1 - tail))
        found += [(low, high), (low if right else 0.0, high if wrong else 1.0)]
    quantile = normal_quantile(1 - tail)
    square, share = quantile * quantile, right / number
    middle = (right + square / 2) / (number + square)
    half = quantile * math.sqrt(middle * (1 - middle) / (number + square))
    found.append((middle - half, middle + half))
    squares = (square + sign * (2 - 4 * share) - 1 / number + 4 * share * wrong for sign in (-1, 1))
    low, high = (quantile * math.sqrt(max(one, 0.0)) for one in squares)
    centre, width = 2 * right + square, 2 * (number + square)
    corrected = (
        (centre - 1 - low) / width if right else 0.0,
        (centre + 1 + high) / width if wrong else 1.0,
    )
    return (*found, corrected)


def wilson(share: float, number: float, quantile: float) -> tuple[float, float]:
    """Return the score interval of a share.

    Source: E. B. Wilson 1927, doi:10.1080/01621459.1927.10502953.
    """
    square = quantile * quantile / number
    middle = (share + square / 2) / (1 + square)
    half = quantile * math.sqrt(share * (1 - share) / number + square / (4 * number)) / (1 + square)
    return middle - half, middle + half


def quantiles(level: float) -> Iterator[float]:
    """Yield the normal quantiles that writers use for a two-sided confidence level."""
    yield from as_in_tables(normal_quantile((1 + level) / 2))
    if level == USUAL_LEVEL:
        yield TWO_SIGMA


def as_in_tables(quantile: float) -> Iterator[float]:
    """Yield a quantile, and the same with three to eight decimals, as tables and texts have it."""
    yield quantile
    yield from (round(quantile, decimals) for decimals in range(3, 9))


Numbers = Sequence[float]
Clusters = Sequence[Hashable]
"""The cluster of each number."""


def mean(values: Numbers) -> float:
    """Return the mean; NaN of nothing."""
    return math.fsum(values) / len(values) if values else math.nan


def variance(values: Numbers) -> float:
    """Return the sample variance, 0 of fewer than two values."""
    if len(values) < 2:
        return 0.0
    middle = mean(values)
    return math.fsum((value - middle) ** 2 for value in values) / (len(values) - 1)


def deviation(values: Numbers) -> float:
    """Return the sample standard deviation, 0 of fewer than two values."""
    return math.sqrt(variance(values))


def mean_error(values: Numbers, clusters: Clusters | None = None) -> float:
    """Return the standard error of the mean, 0 of fewer than two values or clusters.

    Clustered: E. Miller 2024, arXiv:2411.00640, appendix A, with the correction C/(C-1).
    """
    if clusters is None:
        return deviation(values) / math.sqrt(len(values)) if len(values) > 1 else 0.0
    middle = mean(values)
    sums: dict[Hashable, float] = {}
    for value, cluster in zip(values, clusters, strict=True):
        sums[cluster] = sums.get(cluster, 0.0) + value - middle
    count = len(sums)
    if count < 2:
        return 0.0
    total = math.fsum(one * one for one in sums.values())
    return math.sqrt(total * count / (count - 1)) / len(values)


def mean_interval(
    values: Numbers, level: float, clusters: Clusters | None = None
) -> tuple[float, float]:
    """Return Student's interval of the mean; that of fewer than two values is the mean."""
    middle = mean(values)
    if len(values) < 2:
        return middle, middle
    number = len(values) if clusters is None else len(set(clusters))
    half = t_quantile(1 - (1 - level) / 2, max(number - 1, 1)) * mean_error(values, clusters)
    return middle - half, middle + half


def wilson_interval(
    values: Numbers, level: float, clusters: Clusters | None = None
) -> tuple[float, float]:
    """Return the score interval of a share.

    With clusters the number of values is the effective one, and the quantile is Student's (E. Korn
    and B. Graubard 1998).
    """
    share, number = mean(values), float(len(values))
    quantile = -normal_quantile((1 - level) / 2)
    if clusters is not None:
        spread, square = share * (1 - share), mean_error(values, clusters) ** 2
        if spread > 0 and square > 0:
            number = min(spread / square, number)
        degrees = len(set(clusters)) - 1
        quantile = t_quantile(1 - (1 - level) / 2, degrees) if degrees > 0 else math.nan
    low, high = wilson(share, number, quantile)
    return max(low, 0.0), min(high, 1.0)

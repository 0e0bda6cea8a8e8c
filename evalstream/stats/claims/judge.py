"""Judge a claim by what the rows hold: confirmed, rounded, refuted or open."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Final

from evalstream.model.claim import Reason
from evalstream.model.text import count_noun
from evalstream.stats.claims import kinds
from evalstream.stats.claims.evidence import Evidence
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
from evalstream.stats.claims.kinds import Bounds, ClaimKind, Figure, Number
from evalstream.stats.claims.rounding import (
    NOTHING,
    Agreement,
    agreement,
    as_float,
    is_small_whole,
    is_surely_exact,
    last_unit,
)
from evalstream.stats.tally import ScoreSums

SLACK: Final = 0.1
"""The share by which an error from resampling may differ from the closed form, beside chance."""

FEWEST_UNITS: Final = 10
"""An average of fewer units of its rounded scores has a single digit, which confirms nothing."""

SUM_STRAY: Final = Fraction(1, 1 << 50)
"""The error of a mean of doubles, relative to the largest of them: four units of its last place."""

UNSEEN: Final = Fraction(1, 1 << 20)
"""A difference that changes nothing that is read off a score."""


def judge(claim: Claim, evidence: Evidence) -> Judgement:
    """Judge a claim by the evidence of its rows."""
    value = claim.value
    if isinstance(value, tuple):
        # Few documents state one.
        from evalstream.stats.claims.intervals import judge_interval

        return judge_interval(claim, value, evidence)
    rows = evidence.sums.joined_rows
    if value is None:
        return leave_open(claim, Reason.FORMULA, rows)
    # The figures of an exact kind are within its limits, and say more.
    impossible = None if claim.kind.is_exact else refute_impossible(claim, claim.kind, rows)
    return impossible or _judge_number(claim, value, evidence)


def judge_without_rows(claim: Claim, reason: Reason, rows: int = 0) -> Judgement:
    """Leave a claim open, unless no figure of its kind can be the claim."""
    return refute_impossible(claim, claim.kind, rows) or leave_open(claim, reason, rows)


def refute_impossible(claim: Claim, kind: ClaimKind, rows: int = 0) -> Judgement | None:
    """Refute a claim that no figure of a kind can be, whatever the rows."""
    value = claim.value
    range_ = describe_excess(kind, value) if isinstance(value, Decimal) else None
    return refute(claim, None, f"the claim is outside {range_}", rows) if range_ else None


def describe_excess(kind: ClaimKind, value: Decimal | float) -> str | None:
    """Return in words the range that figures of a kind have whatever the rows, if not this one."""
    least, most = limits = kind.bounds(_NO_ROWS)
    near = as_float(value)
    if near is not None and (least is None or near >= least) and (most is None or near <= most):
        return None
    is_outside = is_outside_bounds(Decimal(str(value)), limits)
    return f"{_describe(limits)}, the range of every {kind.name}" if is_outside else None


_NO_ROWS: Final = Evidence(ScoreSums())


def _judge_number(claim: Claim, value: Decimal, evidence: Evidence) -> Judgement:
    is_count = claim.kind is kinds.COUNT
    rows = evidence.sums.joined_rows + (evidence.unknown if is_count else 0)
    is_whole = is_count or not evidence.missing
    is_usual = evidence.factors[0] ** claim.kind.power == 1
    if is_whole and is_usual and find_method(claim, evidence) is not Method.RESAMPLED:
        # Most claims are the usual figure of their kind: no other is computed.
        usual = next(iter(claim.kind.figures(evidence)), None)
        if usual is not None and is_surely_exact(value, usual.value):
            return confirm(claim, _plain(usual.value), rows)
    figures = list(_scale_figures(claim.kind, evidence))
    if claim.kind.name == kinds.ERROR.name and find_method(claim, evidence) is Method.RESAMPLED:
        return _judge_resampled_error(claim, value, figures, evidence)
    expected = _plain(figures[0].value) if figures else None
    near = _near(value, figures, evidence) if claim.kind.is_exact else None
    if is_whole:
        found, best = _agreeing(claim, value, figures, evidence)
        if best is not None:
            is_partial = claim.is_score and (best.rows or claim.kind is kinds.LEVEL)
            told = best.words if is_partial and best is not figures[0] else None
            return confirm(claim, _plain(best.value), best.rows or rows, found, told)
        shows_digits = near and abs(Fraction(near.value)) >= FEWEST_UNITS * evidence.unit
        if shows_digits or _best(value, claim.kind.rounded(evidence))[1] is not None:
            told = Reason.COARSE.value if shows_digits else None
            return confirm(claim, expected, rows, Agreement.ROUGH, told)
    if not _is_impossible(claim, value, evidence):
        reason = _open_reason(claim, value, figures, evidence)
        if reason is not None or near is not None:
            return leave_open(claim, reason or Reason.COARSE, rows, expected)
    return refute(claim, expected, _refutation(claim, value, figures, evidence), rows)


def _agreeing(
    claim: Claim, value: Decimal, figures: list[Figure], evidence: Evidence
) -> tuple[Agreement, Figure | None]:
    """Return the figure that gives a claim, and how well; None if none does."""
    found, best = _best(value, figures, evidence.nothing)
    if found is not Agreement.FULL and _explain(claim, value, figures, evidence) is Agreement.FULL:
        return Agreement.FULL, figures[0]
    if claim.has_all_digits and found is Agreement.ROUGH:
        return Agreement.NONE, None
    return found, best


def _refutation(claim: Claim, value: Decimal, figures: list[Figure], evidence: Evidence) -> str:
    """Return in words why a claim cannot be true."""
    rows = count_noun(evidence.sums.joined_rows, "row")
    if claim.kind is kinds.COUNT:
        samples, number = evidence.cover.samples, int(figures[0].value)
        of_samples = "" if samples in {0, number} else f" of {count_noun(samples, 'sample')}"
        return f"there are {count_noun(number, 'row')}{of_samples}"
    if _is_zero_error(claim, value, evidence):
        return f"the scores of {rows} differ, so that no error is 0"
    if evidence.missing or not figures or not claim.kind.is_exact:
        bounds = _describe(_reach(claim, evidence))
        return f"the claim is outside {bounds}, the range of every {claim.kind.name} of {rows}"
    hints = claim.kind.hints(evidence)
    hint = next((one.words for one in hints if _best(value, [one])[0] is Agreement.FULL), None)
    return f"{figures[0].words} of {rows} is not the claim" + (f", which is {hint}" if hint else "")


def _explain(claim: Claim, value: Decimal, figures: list[Figure], evidence: Evidence) -> Agreement:
    """Return how far the rounding of a sum of large scores explains a claim.

    A sum of scores of both signs may be small, and the error of equal scores is not exactly 0. It
    is ROUGH where rounding leaves less than three digits of the figure of different scores, if it
    can be seen at all.
    """
    is_count = claim.kind is kinds.COUNT or not figures
    if is_count or evidence.extremes is None or not _is_finite(figures[0].value):
        return Agreement.NONE
    (least, most), exact = evidence.extremes, Fraction(figures[0].value)
    difference = abs(Fraction(value) - exact)
    if difference > SUM_STRAY * Fraction(max(abs(least), abs(most))):
        return Agreement.NONE
    is_sure = least == most or difference <= max(abs(exact) / 1000, UNSEEN)
    return Agreement.FULL if is_sure else Agreement.ROUGH


def _open_reason(
    claim: Claim, value: Decimal, figures: list[Figure], evidence: Evidence
) -> Reason | None:
    """Return why a claim is open that no figure gives, or None if it is refuted."""
    if claim.kind is kinds.COUNT:
        samples, errors = evidence.cover.samples, evidence.sums.rows - evidence.sums.sound_rows
        if evidence.is_repeated and samples - errors <= value < samples:
            # Samples of which all repeats have an error may be left out.
            return Reason.EVIDENCE
        return Reason.MISSING if all(value > Decimal(int(one.value)) for one in figures) else None
    method = find_method(claim, evidence)
    # It may be that of means of repeats, or of rows without an error.
    is_partial = evidence.is_repeated or evidence.sums.sound_rows != evidence.sums.rows
    is_cut = claim.kind.needs_values and evidence.values is None
    conditions = (
        (evidence.missing > 0, Reason.MISSING),
        (method is Method.UNKNOWN, Reason.METHOD),
        (method is Method.CLUSTERED and not evidence.clusters, Reason.CLUSTERS),
        (not figures, Reason.TOO_MANY if is_cut else Reason.EVIDENCE),
        (not claim.kind.is_exact, Reason.FORMULA),
        (_explain(claim, value, figures, evidence) is not Agreement.NONE, Reason.UNSURE),
        (_is_of_uneven_repeats(claim, value, evidence), Reason.UNEVEN),
        (claim.kind is kinds.LEVEL and _is_mode(value, evidence), Reason.UNSURE),
        (claim.kind in _OF_ORDER and is_partial, Reason.EVIDENCE),
    )
    return next((reason for holds, reason in conditions if holds), None)


def _is_of_uneven_repeats(claim: Claim, value: Decimal, evidence: Evidence) -> bool:
    """Return whether a claim may be over samples, each with the mean of its repeats."""
    if not evidence.has_uneven_repeats or claim.kind in _SPREADS:
        return evidence.has_uneven_repeats
    is_mean = claim.kind in (kinds.MEAN, kinds.LEVEL)
    bounds = evidence.bound_mean_of_samples() if is_mean else None
    if bounds is None:
        return False
    return any(not is_outside_bounds(value / factor, bounds) for factor in evidence.factors)


def _is_mode(value: Decimal, evidence: Evidence) -> bool:
    """Return whether no score is more frequent; of several such scores a writer takes any."""
    return _best(value, kinds.MODE.figures(evidence))[1] is not None


_SPREADS: Final = (kinds.ERROR, kinds.DEVIATION, kinds.VARIANCE)
_OF_ORDER: Final = (kinds.LEAST, kinds.GREATEST, kinds.MEDIAN, kinds.MODE)


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
        power = claim.kind.power
        return (
            None if least is None else least * evidence.factors[0] ** power,
            None if most is None else most * evidence.factors[-1] ** power,
        )
    if claim.kind is not kinds.MEAN or evidence.mean is None:
        return claim.kind.bounds(_NO_ROWS)
    total, number = evidence.mean * evidence.rows, evidence.rows + evidence.missing
    (least, most), factor = evidence.limits, evidence.factors[-1]
    if most is not None and factor > 1:
        most = max(most, factor)  # A metric in percent may declare the greatest share.
    ends = [
        (total * unit + Fraction(limit) * evidence.missing) / number
        if limit is not None and math.isfinite(limit)
        else None
        for limit, unit in ((least, evidence.factors[0]), (most, factor))
    ]
    return ends[0], ends[1]


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


def _scale_figures(kind: ClaimKind, evidence: Evidence) -> Iterator[Figure]:
    for figure in kind.figures(evidence):
        for factor in evidence.factors if kind.power else (1,):
            words = figure.words if factor == 1 else f"{figure.words}, in percent,"
            yield figure._replace(words=words, value=figure.value * factor**kind.power)


def _best(
    value: Decimal, figures: Iterable[Figure], nothing: Decimal = NOTHING
) -> tuple[Agreement, Figure | None]:
    """Return the figure that agrees best with a claim, the first of equals."""
    best: tuple[Agreement, Figure | None] = (Agreement.NONE, None)
    for figure in figures:
        found = agreement(value, figure.value, nothing)
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

    It may differ from them by a share of 4/√draws and a tenth, and confirms within half of that.
    Between two of them, as over samples and over their repeats, it is open. Draws whose number is
    not stated may be as few as FEWEST_DRAWS.
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
    if draws < FEWEST_DRAWS:
        return leave_open(claim, Reason.FEW_DRAWS, rows, expected)
    values, nothing = [float(figure.value) for figure in figures], float(evidence.nothing)
    room = 4 / math.sqrt(draws) + SLACK
    if any(abs(claimed - one) - nothing <= room / 2 * one for one in values):
        return confirm(claim, expected, rows)
    if min(values) * (1 - room) - nothing <= claimed <= max(values) * (1 + room) + nothing:
        return leave_open(claim, Reason.RESAMPLED, rows, expected)
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
    is_clustered = find_method(claim, evidence) is Method.CLUSTERED
    if is_clustered and claim.kind.name == kinds.ERROR.name and most is not None:
        return is_outside_bounds(value, (0, most * evidence.factors[-1]))
    return is_outside_bounds(value, _reach(claim, evidence))


def _is_zero_error(claim: Claim, value: Decimal, evidence: Evidence) -> bool:
    """Return whether a claim is that the mean of different scores has no error.

    A clustered error is 0 where each cluster has the mean of all, however the scores differ, and
    another one where the scores of samples, or those without an error, are all equal.
    """
    if value or claim.kind.name != kinds.ERROR.name or evidence.has_uneven_repeats:
        return False
    if find_method(claim, evidence) is Method.CLUSTERED or evidence.extremes is None:
        return False
    return all(spread.deviation for spread in evidence.error_spreads)


def _describe(bounds: Bounds) -> str:
    """Return bounds in words; one that is missing or no double is infinite."""
    least, most = (None if bound is None else as_float(bound) for bound in bounds)
    return (
        f"{'-∞' if least is None else f'{least:.6g}'} to {'∞' if most is None else f'{most:.6g}'}"
    )

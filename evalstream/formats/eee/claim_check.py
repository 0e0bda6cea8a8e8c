"""Find the claims of a result that its rows confirm, refute or leave open."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from typing import Any, Final, NamedTuple

from evalstream.formats.eee.aggregate import Result
from evalstream.formats.eee.claims import Claims, Method, method_of
from evalstream.formats.eee.facts import RunFacts
from evalstream.formats.eee.recompute import USUAL_LEVEL, Recomputed, fits
from evalstream.model.text import counted
from evalstream.stats.claims.rounding import Agreement, agreement, as_float

SCORE: Final = "score_details/score"
UNCERTAINTY: Final = "score_details/uncertainty"
NUM_SAMPLES: Final = f"{UNCERTAINTY}/num_samples"
DEVIATION: Final = f"{UNCERTAINTY}/standard_deviation"
ERROR: Final = f"{UNCERTAINTY}/standard_error/value"
INTERVAL: Final = f"{UNCERTAINTY}/confidence_interval"
UNCERTAIN: Final = (DEVIATION, ERROR, INTERVAL)
"""The places of claims, as JSON Pointers below a result."""

NOT_REPRODUCED: Final = "the score itself is not reproduced"
RESAMPLED: Final = "resampling cannot be repeated exactly"
"""Reasons for open claims that need no finding of their own."""

USUAL_DRAWS: Final = 100
FEWEST_DRAWS: Final = 10
"""The number of bootstrap samples if the aggregate does not give it, and the least one."""

SLACK: Final = 0.05
SLIGHT: Final = 1e-9
FEWEST_SAMPLES: Final = 20
WIDTHS: Final = 2.5
"""The least number of samples, and the largest ratio of the widths of a resampled interval."""


class Mismatch(NamedTuple):
    """A claim that does not follow from the rows: its place, and the recomputed figure.

    One that `is_rough` follows only after rounding to few digits.
    """

    place: str
    message: str
    expected: Any
    is_rough: bool = False


def claims_made(claims: Claims) -> list[str]:
    """Return the places of the figures that a result claims."""
    figures = {
        SCORE: claims.score,
        NUM_SAMPLES: claims.num_samples,
        DEVIATION: claims.deviation,
        ERROR: claims.error,
        INTERVAL: claims.lower if claims.has_interval else None,
    }
    return [place for place, figure in figures.items() if figure is not None]


def open_claims(entry: Recomputed, facts: RunFacts) -> dict[str, str]:
    """Return the claims of a result that the rows leave open, with the reasons.

    Several rules and the summary ask for them, so the facts keep the answer.
    """
    place = entry.result.place
    if place not in facts.left_open:
        facts.left_open[place] = _open_claims(entry, facts)
    return facts.left_open[place]


def _open_claims(entry: Recomputed, facts: RunFacts) -> dict[str, str]:
    made = claims_made(entry.claims)
    reason = without_verdict(entry, facts)
    if reason is not None:
        return dict.fromkeys(made, reason)
    if entry.is_partial:
        return {place: _count_above_rows(entry) for place in made if place != NUM_SAMPLES}
    reasons = {place: _open_uncertainty(entry, place) for place in made if place in UNCERTAIN}
    return {place: reason for place, reason in reasons.items() if reason is not None}


def without_verdict(entry: Recomputed, facts: RunFacts) -> str | None:
    """Return why the rows can confirm no claim of a result, or None if they can."""
    if facts.tally.unread:
        return f"{counted(facts.tally.unread, 'row')} could not be read"
    if entry.scores is None:
        return _unjoined(entry.result, facts)
    if entry.scores.unscored:
        return f"{counted(entry.scores.unscored, 'row')} without a score that counts"
    return None


def mismatches(entry: Recomputed, facts: RunFacts) -> Iterator[Mismatch]:
    """Iterate over the claims of uncertainty that do not follow from the rows."""
    scale, left_open = entry.scale, open_claims(entry, facts)
    if scale is None:
        return
    for place in claims_made(entry.claims):
        if place in UNCERTAIN and left_open.get(place, RESAMPLED) == RESAMPLED:
            yield from _COMPARISONS[place](entry, scale)


def _unjoined(result: Result, facts: RunFacts) -> str:
    """Return why no row joins a result."""
    if result.id is not None and not facts.tally.without_result.total():
        return "no row has its evaluation_result_id"
    if facts.names[result.name] > 1:
        times = facts.names[result.name]
        return f"{times:,} results have its evaluation_name, so rows cannot be joined by it"
    return "no row joins it by its evaluation_name"


def _count_above_rows(entry: Recomputed) -> str:
    rows, claimed = entry.scores.joined if entry.scores else 0, entry.claims.num_samples
    return f"num_samples is {claimed:,}, but the result has {counted(rows, 'row')}"


def _open_uncertainty(entry: Recomputed, place: str) -> str | None:
    """Return why the rows leave a claim of uncertainty open, or None if they do not."""
    reasons = (_open_score(entry), _open_figures(entry, place), _open_method(entry, place))
    return next(filter(None, (*reasons, _open_repeats(entry, place))), None)


def _open_score(entry: Recomputed) -> str | None:
    if not entry.is_mean:
        return f"by the metric's name the score is a {entry.statistic}"
    return NOT_REPRODUCED if entry.scale is None else None


def _open_figures(entry: Recomputed, place: str) -> str | None:
    if not entry.spreads:
        return "the scores are outside the range of doubles"
    if place == INTERVAL and not any(entry.intervals(_level(entry.claims))):
        return f"no interval has the confidence level {entry.claims.level}"
    return None


def _open_method(entry: Recomputed, place: str) -> str | None:
    named = {ERROR: entry.claims.error_method, INTERVAL: entry.claims.interval_method}.get(place)
    method = method_of(named)
    if method is Method.UNKNOWN:
        return f"unknown method {named!r}"
    return RESAMPLED if method is Method.RESAMPLED else None


def _open_repeats(entry: Recomputed, place: str) -> str | None:
    if not entry.is_repeated or entry.has_even_repeats:
        return None
    found = _COMPARISONS[place](entry, entry.scale or 1)
    if any(not mismatch.is_rough for mismatch in found):
        return "its samples have different numbers of repeats"
    return None


def _deviation(entry: Recomputed, scale: int) -> Iterator[Mismatch]:
    values = [spread.deviation for spread in entry.spreads]
    yield from _unless_fitting(entry.claims.deviation, values, scale, DEVIATION)


def _error(entry: Recomputed, scale: int) -> Iterator[Mismatch]:
    claims, values = entry.claims, [spread.error for spread in entry.spreads]
    if method_of(claims.error_method) is Method.RESAMPLED:
        yield from _resampled_error(claims, values, scale)
    # ES703 reports an error that contradicts the deviation in the same aggregate.
    elif claims.error_follows():
        yield from _unless_fitting(claims.error, values, scale, ERROR)


def _unless_fitting(
    claimed: Decimal | None, values: list[float], scale: int, place: str
) -> Iterator[Mismatch]:
    if claimed is None or not values:
        return
    if any(agreement(claimed, value * scale) is Agreement.FULL for value in values):
        return
    best = max(values, key=lambda value: agreement(claimed, value * scale))
    found = agreement(claimed, best * scale)
    if found is Agreement.ROUGH:
        message = f"{name_of(place)} follows from the scores only after rounding to its few digits"
        yield Mismatch(place, message, best * scale, is_rough=True)
    elif found is Agreement.NONE:
        message = f"{name_of(place)} does not follow from the scores, over n-1 or over n"
        yield Mismatch(place, message, values[0] * scale)


def _resampled_error(claims: Claims, values: list[float], scale: int) -> Iterator[Mismatch]:
    """Compare an error from resampling with the closed form, which should be close to it.

    The error of B resamples differs from its limit by a share of about 1 / sqrt(2 B).
    """
    claimed = as_float(claims.error)
    draws = max(USUAL_DRAWS if claims.resamples is None else claims.resamples, FEWEST_DRAWS)
    share = 4 / math.sqrt(2 * draws) + SLACK
    if claimed is None or not values:
        return
    least, most = min(values) * scale * (1 - share), max(values) * scale * (1 + share)
    if not least - SLIGHT <= claimed <= most + SLIGHT:
        message = (
            "standard_error is far from that of the scores; resampling should come close to it"
        )
        yield Mismatch(ERROR, message, values[0] * scale)


def _interval(entry: Recomputed, scale: int) -> Iterator[Mismatch]:
    claims = entry.claims
    intervals = list(entry.intervals(_level(claims)))
    is_resampled = method_of(claims.interval_method) is Method.RESAMPLED
    is_near = _is_as_wide if is_resampled else _is_same
    if not intervals or any(is_near(entry, bounds, scale) for bounds in intervals):
        return
    message = "the interval is neither the normal nor the Wilson one of the scores"
    if is_resampled:
        message = "the interval is far wider or narrower than resampling of the scores gives"
    lower, upper = intervals[0]
    yield Mismatch(INTERVAL, message, {"lower": lower * scale, "upper": upper * scale})


def _level(claims: Claims) -> float:
    return USUAL_LEVEL if claims.level is None else float(claims.level)


def _is_same(entry: Recomputed, bounds: tuple[float, float], scale: int) -> bool:
    """Return whether an interval is the claimed one, also if cut off at the metric's bounds."""
    claims, (lower, upper) = entry.claims, bounds
    least, most = entry.result.minimum, entry.result.maximum
    low = lower if least is None else max(lower, least)
    high = upper if most is None else min(upper, most)
    return (
        claims.lower is not None
        and claims.upper is not None
        and (fits(claims.lower, lower, scale) or fits(claims.lower, low, scale))
        and (fits(claims.upper, upper, scale) or fits(claims.upper, high, scale))
    )


def _is_as_wide(entry: Recomputed, bounds: tuple[float, float], scale: int) -> bool:
    """Return whether an interval from resampling has a plausible width."""
    low, high = as_float(entry.claims.lower), as_float(entry.claims.upper)
    if low is None or high is None or entry.samples < FEWEST_SAMPLES:
        return True
    width = (bounds[1] - bounds[0]) * scale
    return width / WIDTHS - SLIGHT <= high - low <= width * WIDTHS + SLIGHT


def name_of(place: str) -> str:
    """Return the name of a claim, from its place."""
    return place.removeprefix(f"{UNCERTAINTY}/").rpartition("score_details/")[2].partition("/")[0]


_COMPARISONS: Final[Mapping[str, Callable[[Recomputed, int], Iterator[Mismatch]]]] = {
    DEVIATION: _deviation,
    ERROR: _error,
    INTERVAL: _interval,
}

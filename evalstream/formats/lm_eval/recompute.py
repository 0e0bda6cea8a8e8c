"""Recompute the figures of a task from its rows: means and their standard errors."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from enum import Enum, auto
from fractions import Fraction
from math import isfinite
from typing import Final, NamedTuple

from evalstream.formats.lm_eval.log_tally import Values
from evalstream.formats.lm_eval.task_facts import TaskFacts
from evalstream.formats.lm_eval.views import MEAN, NO_STDERR, Claim, number_of
from evalstream.stats.claims.rounding import as_float
from evalstream.stats.score_sums import ScoreSums

NEAR: Final = Fraction(1, 10**9)
"""The largest error of a sum of doubles in the harness, relative to the value."""

NOTHING: Final = Fraction(1, 10**12)
"""An error that is negligible for any metric."""

NO_NUMBERS: Final = "numbers that are written as texts"
"""Why a mean is open where rows have texts: the harness writes some types of numpy so."""

UNNAMED: Final = "an aggregation that the task's configuration does not name"
"""Why a figure is open that may be a mean or not."""


class Outcome(Enum):
    """What became of a claim."""

    RIGHT = auto()
    WRONG = auto()
    OPEN = auto()


class Recomputed(NamedTuple):
    """A claim, what became of it, its right value, and why it is open."""

    claim: Claim
    outcome: Outcome
    value: float | str | None = None
    reason: str = ""


def recomputed(facts: TaskFacts) -> Iterator[Recomputed]:
    """Iterate over the claims of a task, each compared with the rows where they suffice."""
    if facts.known is None:
        return
    task, results = facts.known
    for claim in facts.claims():
        aggregation = results.aggregation(task, claim.metric)
        values = facts.values(claim)
        if facts.totals.repeats or facts.totals.unkeyed:
            yield Recomputed(claim, Outcome.OPEN, reason=_unusable(facts))
        elif values is None:
            yield _without_values(claim, facts)
        elif aggregation.name != MEAN:
            yield Recomputed(claim, Outcome.OPEN, reason=f"the aggregation {aggregation.name}")
        elif values.others or values.texts:
            is_unsure = not aggregation.is_sure and _has_other(facts)
            yield _without_numbers(claim, values, is_unsure=is_unsure)
        else:
            found = _figure(claim, values.sums, results.setting("bootstrap_iters"))
            is_open = found.outcome is Outcome.WRONG and not aggregation.is_sure
            yield _unsure(found) if is_open and _has_other(facts) else found


def _without_numbers(claim: Claim, values: Values, *, is_unsure: bool) -> Recomputed:
    """Return what becomes of a claim where rows have values that are not numbers."""
    if is_unsure:
        return Recomputed(claim, Outcome.OPEN, reason=UNNAMED)
    if values.others:
        return Recomputed(claim, Outcome.WRONG, None, "rows have values that have no mean")
    return Recomputed(claim, Outcome.OPEN, reason=NO_NUMBERS)


def _unusable(facts: TaskFacts) -> str:
    if facts.is_several_filters:
        return "rows of several filters that do not name them"
    return "repeated rows" if facts.totals.repeats else "rows without doc_id or filter"


def _figure(claim: Claim, sums: ScoreSums, iterations: object) -> Recomputed:
    """Compare a mean or its standard error; neither is finite where a value is not."""
    if sums.unscored:
        if number_of(claim.value) is None:
            return Recomputed(claim, Outcome.OPEN, reason="values that are not finite")
        return Recomputed(claim, Outcome.WRONG, None, "rows have values that are not finite")
    return _stderr(claim, sums, iterations) if claim.is_stderr else _mean(claim, sums)


def _has_other(facts: TaskFacts) -> bool:
    """Tell whether the task adds up any metric in another way than by its mean.

    A metric may report several figures, which then are added up in its way. A task in Python may
    have no list of metrics, and ways of its own.
    """
    if facts.known is None:
        return False
    task, results = facts.known
    listed = results.config(task).get("metric_list")
    if not isinstance(listed, list):
        return True
    names = [one.get("metric") for one in listed if isinstance(one, dict)]
    return any(results.aggregation(task, str(name)).name != MEAN for name in names)


def _unsure(found: Recomputed) -> Recomputed:
    return Recomputed(found.claim, Outcome.OPEN, reason=UNNAMED)


def _without_values(claim: Claim, facts: TaskFacts) -> Recomputed:
    """Return what becomes of a claim about a metric that no row has."""
    if claim.value in (NO_STDERR, None) or not facts.totals.rows:
        return Recomputed(claim, Outcome.OPEN, reason="rows without the metric")
    return Recomputed(claim, Outcome.WRONG, None, "no row has the metric")


def _mean(claim: Claim, sums: ScoreSums) -> Recomputed:
    return _compared(claim, sums.mean(), _root(sums.variance(sample=True)) or 0.0)


def _stderr(claim: Claim, sums: ScoreSums, iterations: object) -> Recomputed:
    """Compare a standard error: the sample deviation over the root of the number of rows.

    The harness writes N/A for one row, and where it was told not to compute errors.
    Source: `stderr_for_metric` and `mean_stderr` in api/metrics.py of lm_eval.
    """
    is_computed = not isinstance(iterations, int) or iterations > 0
    if sums.rows < 2 or not is_computed:
        outcome = Outcome.RIGHT if claim.value == NO_STDERR else Outcome.WRONG
        return Recomputed(claim, outcome, NO_STDERR)
    if claim.value == NO_STDERR:
        return Recomputed(claim, Outcome.OPEN, reason="standard errors that were not computed")
    variance = sums.variance(sample=True)
    square = None if variance is None else variance / sums.rows
    claimed = number_of(claim.value)
    if square is None or claimed is None:
        return Recomputed(claim, Outcome.WRONG, _root(square))
    # Squares are compared, which needs no rounding. The deviations of equal values are not 0 in the
    # harness, but what is left of their mean.
    left = NOTHING * max(Fraction(1), abs(sums.mean() or Fraction(0)))
    difference = abs(Fraction(claimed) ** 2 - square)
    is_near = claimed >= 0 and difference <= max(4 * NEAR * square, left**2)
    return Recomputed(claim, Outcome.RIGHT if is_near else Outcome.WRONG, _root(square))


def _root(square: Fraction | None) -> float | None:
    number = as_float(square)
    return None if number is None or number < 0 or not isfinite(number) else number**0.5


def _compared(claim: Claim, exact: Fraction | None, deviation: float) -> Recomputed:
    claimed: Decimal | None = number_of(claim.value)
    value = as_float(exact)
    if exact is None or claimed is None:
        return Recomputed(claim, Outcome.WRONG, value)
    is_near = is_near_to(Fraction(claimed), exact, NOTHING * Fraction(deviation))
    return Recomputed(claim, Outcome.RIGHT if is_near else Outcome.WRONG, value)


def is_near_to(claimed: Fraction, exact: Fraction, rounding: Fraction = Fraction(0)) -> bool:
    """Tell whether a figure is the exact one, up to the rounding of a sum of doubles.

    `rounding` is that of large values of both signs, whose sum is small.
    """
    return abs(claimed - exact) <= max(NEAR * abs(exact), NOTHING, rounding)

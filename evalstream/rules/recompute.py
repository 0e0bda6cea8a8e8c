"""ES8: claims held against what the rows amount to."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Final

from evalstream.aggregate import RESULTS
from evalstream.model import Fault, Figures, ResultSummary, Severity
from evalstream.recomputation import (
    USUAL_LEVEL,
    Recomputed,
    as_float,
    fits,
)
from evalstream.rule import Rule, RunFacts
from evalstream.summary import counted


def results_of(facts: RunFacts) -> list[Recomputed]:
    """Return the results that rows join and that can be judged: every row was read and scored."""
    if facts.tally.unread:
        return []
    return [
        entry
        for entry in facts.recomputed
        if entry.scores is not None and entry.scores.rows and not entry.scores.unscored
    ]


def summaries(facts: RunFacts) -> Iterator[ResultSummary]:
    """Put each result's claims beside what its rows amount to, for the report."""
    for entry in facts.recomputed:
        claims, scores = entry.claims, entry.scores
        claimed = Figures(
            as_float(claims.score),
            as_float(claims.deviation),
            as_float(claims.error),
            claims.num_samples,
        )
        recomputed = None
        if scores is not None and scores.rows and not scores.unscored and not facts.tally.unread:
            score, deviation, error = entry.score(), entry.deviation(), entry.error()
            recomputed = Figures(as_float(score), deviation, error, entry.samples)
        rows = 0 if scores is None else scores.joined
        yield ResultSummary(entry.result.name, entry.result.id, rows, claimed, recomputed)


def _score_not_reproduced(facts: RunFacts) -> Iterator[Fault]:
    for entry in results_of(facts):
        claimed, score = entry.claims.score, entry.score()
        if claimed is None or score is None or entry.partial or fits(claimed, score, 1):
            continue
        rows = entry.scores.rows if entry.scores else 0
        other = entry.other_definition()
        message = (
            f"the {entry.statistic or 'mean'} of the scores of {counted(rows, 'row')} is not the "
            "claimed score" + (f", which is {other}" if other else "")
        )
        pointer = f"{RESULTS}/{entry.result.place}/score_details/score"
        yield ES801.fault(message, pointer=pointer, expected=as_float(score), found=float(claimed))


def _sample_count(facts: RunFacts) -> Iterator[Fault]:
    for entry in results_of(facts):
        claimed, scores = entry.claims.num_samples, entry.scores
        if claimed is None or scores is None:
            continue
        if claimed in (scores.joined, entry.samples, scores.sound_rows):
            continue
        message = f"num_samples is {claimed:,}, but the result has {counted(scores.joined, 'row')}"
        if entry.samples != scores.joined:
            message += f", of {counted(entry.samples, 'sample')}"
        pointer = f"{RESULTS}/{entry.result.place}/score_details/uncertainty/num_samples"
        yield ES802.fault(message, pointer=pointer, expected=scores.joined, found=claimed)


def _uncertainty_not_reproduced(facts: RunFacts) -> Iterator[Fault]:
    for entry in results_of(facts):
        scale = entry.scale()
        repeated = entry.scores is not None and entry.samples < entry.scores.joined
        # Repeats of a sample are reduced to one score first, in ways that the rows do not tell.
        if scale is None or entry.partial or repeated or entry.statistic:
            continue
        yield from _deviation(entry, scale)
        yield from _error(entry, scale)
        yield from _interval(entry, scale)


def _deviation(entry: Recomputed, scale: int) -> Iterator[Fault]:
    claimed = entry.claims.deviation
    values = [entry.deviation(), entry.deviation(sample=False)]
    yield from _unless_fitting(entry, claimed, values, scale, "standard_deviation")


def _error(entry: Recomputed, scale: int) -> Iterator[Fault]:
    # An error that contradicts the deviation beside it is a matter of the aggregate itself.
    if entry.claims.has_analytic_error and entry.claims.error_follows():
        values = [entry.error(), entry.error(sample=False)]
        member = "standard_error/value"
        yield from _unless_fitting(entry, entry.claims.error, values, scale, member)


def _unless_fitting(
    entry: Recomputed,
    claimed: Decimal | None,
    values: list[float | None],
    scale: int,
    member: str,
) -> Iterator[Fault]:
    known = [value for value in values if value is not None]
    if claimed is None or not known or any(fits(claimed, value, scale) for value in known):
        return
    message = f"{member.partition('/')[0]} does not follow from the scores, over n-1 or over n"
    pointer = f"{_uncertainty(entry)}/{member}"
    yield ES803.fault(message, pointer=pointer, expected=known[0] * scale, found=float(claimed))


def _interval(entry: Recomputed, scale: int) -> Iterator[Fault]:
    claims = entry.claims
    if claims.lower is None or claims.upper is None or not claims.has_closed_interval:
        return
    level = USUAL_LEVEL if claims.level is None else float(claims.level)
    intervals = list(entry.intervals(level))
    for lower, upper in intervals:
        low, high = _clipped(entry, lower, upper)
        if (fits(claims.lower, lower, scale) or fits(claims.lower, low, scale)) and (
            fits(claims.upper, upper, scale) or fits(claims.upper, high, scale)
        ):
            return
    if intervals:
        expected = [bound * scale for bound in intervals[0]]
        found = [float(claims.lower), float(claims.upper)]
        message = "the interval is neither the normal nor the Wilson one of the rows"
        pointer = f"{_uncertainty(entry)}/confidence_interval"
        yield ES803.fault(message, pointer=pointer, expected=expected, found=found)


def _clipped(entry: Recomputed, lower: float, upper: float) -> tuple[float, float]:
    """Cut an interval off at the bounds of the metric."""
    least, most = entry.result.minimum, entry.result.maximum
    return (
        lower if least is None else max(lower, least),
        upper if most is None else min(upper, most),
    )


def _uncertainty(entry: Recomputed) -> str:
    return f"{RESULTS}/{entry.result.place}/score_details/uncertainty"


def _partial_rows(facts: RunFacts) -> Iterator[Fault]:
    if facts.tally.unread or not facts.tally.rows:
        return
    for entry in facts.recomputed:
        reason = _why_not_recomputed(entry, facts.recomputed)
        if reason is not None and entry.claims.score is not None:
            pointer = f"{RESULTS}/{entry.result.place}/score_details/score"
            yield ES804.fault(f"{reason}; the score could not be recomputed", pointer=pointer)


def _why_not_recomputed(entry: Recomputed, entries: list[Recomputed]) -> str | None:
    """Say why the rows give no verdict on a claimed score, None where they do.

    A result with an id that no row carries is a matter of another rule.
    """
    result, scores = entry.result, entry.scores
    if scores is None:
        if result.id is not None:
            return None
        named = [other for other in entries if other.result.name == result.name]
        if len(named) > 1:
            return f"{len(named):,} results bear this name, so that rows cannot be joined by it"
        return "no row bears the name of this result"
    if entry.partial:
        return f"the claim covers {entry.covered:,} samples, but it has {counted(scores.joined, 'row')}"
    return f"{scores.unscored:,} rows have no score that counts" if scores.unscored else None


ES801: Final = Rule(
    "ES801",
    "score-not-reproduced",
    Severity.WARNING,
    "the mean of the joined rows' scores is not the claimed score",
    """
    What it finds: a result whose score is not the mean of the scores of its rows, to the digits
    it was written with. Rows join by evaluation_result_id, else by an evaluation_name that only
    one result bears. Names another definition that gives the claim, if one does: percent,
    rows with errors left out, the share of is_correct, the mean over subtasks. A metric that is
    named a standard deviation or error is held against that.

    Why it matters: the number that is published is not what the samples show.

    Bad:
        aggregate /evaluation_results/0/score_details/score = 0.9

    Good:
        aggregate /evaluation_results/0/score_details/score = 0.8
    """,
    run=_score_not_reproduced,
    about_aggregate=True,
)

ES802: Final = Rule(
    "ES802",
    "sample-count",
    Severity.WARNING,
    "num_samples is not the number of joined rows or of distinct samples",
    """
    What it finds: a num_samples that is neither the number of rows that join the result, nor
    that of their distinct samples, nor that of the rows without an error.

    Why it matters: the claim rests on other samples than those in the file, and its
    uncertainty on another number.

    Bad:
        aggregate /evaluation_results/0/score_details/uncertainty/num_samples = 7

    Good:
        aggregate /evaluation_results/0/score_details/uncertainty/num_samples = 8
    """,
    run=_sample_count,
    about_aggregate=True,
)

ES803: Final = Rule(
    "ES803",
    "uncertainty-not-reproduced",
    Severity.WARNING,
    "deviation, standard error or interval do not follow from the rows",
    """
    What it finds: a standard_deviation that is that of the rows' scores neither over n-1 nor
    over n, an analytic standard_error that is not the deviation over the root of n, and a
    confidence_interval that is neither the normal nor the Wilson one. Nothing is said of
    resampling methods, nor where the score itself is not reproduced.

    Why it matters: it decides which differences between models are taken for real.

    Bad:
        aggregate /evaluation_results/0/score_details/uncertainty/standard_deviation = 0.1

    Good:
        aggregate /evaluation_results/0/score_details/uncertainty/standard_deviation = 0.433
    """,
    run=_uncertainty_not_reproduced,
    about_aggregate=True,
)

ES804: Final = Rule(
    "ES804",
    "partial-rows",
    Severity.INFO,
    "fewer rows than the claim covers: no verdict on the score",
    """
    What it finds: a result whose score cannot be recomputed: its num_samples (else
    samples_number) is larger than the number of rows that join it, rows have no score, or
    no row can be joined with it by name.

    Why it matters: the claim may be right, but these rows do not show it.

    Bad:
        aggregate /evaluation_results/0/score_details/uncertainty/num_samples = 5000

    Good:
        aggregate /evaluation_results/0/score_details/uncertainty/num_samples = 8
    """,
    run=_partial_rows,
    about_aggregate=True,
)

RULES: Final = (ES801, ES802, ES803, ES804)

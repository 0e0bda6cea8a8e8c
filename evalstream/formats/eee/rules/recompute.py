"""ES8: rules that compare claims with figures recomputed from the rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from evalstream.formats.eee import claim_check
from evalstream.formats.eee.aggregate import RESULTS
from evalstream.formats.eee.facts import RunFacts
from evalstream.formats.eee.recompute import Recomputed, fits
from evalstream.model.finding import Severity, Violation
from evalstream.model.report import Figures, ResultSummary
from evalstream.model.text import counted
from evalstream.parsing.json import resolve
from evalstream.rules.base import Rule
from evalstream.stats.claims.rounding import Agreement, as_float


def summaries(facts: RunFacts) -> Iterator[ResultSummary]:
    """Yield each result's claims with the recomputed figures, for the report."""
    for entry in facts.recomputed:
        claims, scores = entry.claims, entry.scores
        claimed = Figures(
            as_float(claims.score),
            as_float(claims.deviation),
            as_float(claims.error),
            claims.num_samples,
        )
        recomputed = None
        if claim_check.without_verdict(entry, facts) is None:
            score = as_float(entry.score())
            recomputed = Figures(score, entry.deviation, entry.error, entry.samples)
        made = len(claim_check.claims_made(claims))
        yield ResultSummary(
            name=entry.result.name,
            id=entry.result.id,
            rows=0 if scores is None else scores.joined,
            claimed=claimed,
            recomputed=recomputed,
            claims=made,
            claims_recomputed=made - len(claim_check.open_claims(entry, facts)),
        )


def _with_verdict(facts: RunFacts) -> Iterator[Recomputed]:
    """Iterate over the results whose claims the rows can confirm or refute."""
    return (
        entry for entry in facts.recomputed if claim_check.without_verdict(entry, facts) is None
    )


def _score_not_reproduced(facts: RunFacts) -> Iterator[Violation]:
    for entry in _with_verdict(facts):
        score, found = entry.score(), entry.score_agreement()
        if found is Agreement.FULL or entry.is_partial:
            continue
        if found is Agreement.NONE:
            violation = ES801.violation(_not_reproduced(entry))
        else:
            message = f"{_value(entry)} is the claimed score only after rounding to the claim's few digits"
            violation = ES801.violation(message, severity=Severity.INFO)
        yield _placed(facts, entry, claim_check.SCORE, violation, as_float(score))


def _not_reproduced(entry: Recomputed) -> str:
    other = entry.other_definition()
    return f"{_value(entry)} is not the claimed score" + (f", which is {other}" if other else "")


def _value(entry: Recomputed) -> str:
    rows = entry.scores.rows if entry.scores else 0
    name = "mean" if entry.is_mean else entry.statistic
    return f"the {name} of the scores of {counted(rows, 'row')}"


def _sample_count(facts: RunFacts) -> Iterator[Violation]:
    for entry in _with_verdict(facts):
        claimed, scores = entry.claims.num_samples, entry.scores
        if claimed is None or scores is None:
            continue
        if claimed in (scores.joined, entry.samples) or _is_without_errors(entry):
            continue
        message = f"num_samples is {claimed:,}, but the result has {counted(scores.joined, 'row')}"
        if entry.samples != scores.joined:
            message += f", of {counted(entry.samples, 'sample')}"
        yield _placed(
            facts, entry, claim_check.NUM_SAMPLES, ES802.violation(message), scores.joined
        )


def _is_without_errors(entry: Recomputed) -> bool:
    """Return whether num_samples, and so also the score, leaves out the rows with an error."""
    scores, score = entry.scores, entry.claims.score
    if scores is None or entry.claims.num_samples != scores.sound_rows:
        return False
    mean = scores.mean_without_errors()
    return score is None or mean is None or fits(score, mean, 1)


def _uncertainty_not_reproduced(facts: RunFacts) -> Iterator[Violation]:
    for entry in _with_verdict(facts):
        for place, message, expected, is_rough in claim_check.mismatches(entry, facts):
            violation = ES803.violation(message, severity=Severity.INFO if is_rough else None)
            yield _placed(facts, entry, place, violation, expected)


def _claim_not_recomputed(facts: RunFacts) -> Iterator[Violation]:
    if facts.tally.unread or not facts.tally.rows:
        return
    for entry in facts.recomputed:
        left_open = claim_check.open_claims(entry, facts)
        if not left_open or entry.result.place in facts.rowless or _is_ambiguous(entry, facts):
            continue
        if entry.is_partial or claim_check.without_verdict(entry, facts) is not None:
            yield _open_result(facts, entry, left_open)
            continue
        for place, reason in left_open.items():
            if reason not in (claim_check.RESAMPLED, claim_check.NOT_REPRODUCED):
                message = f"{claim_check.name_of(place)} could not be recomputed: {reason}"
                yield _placed(facts, entry, place, ES804.violation(message))


def _is_ambiguous(entry: Recomputed, facts: RunFacts) -> bool:
    """Return whether several results have the same id, which another rule reports."""
    return entry.result.id is not None and facts.ids[entry.result.id] > 1


def _open_result(facts: RunFacts, entry: Recomputed, left_open: dict[str, str]) -> Violation:
    """Return the violation for a result without recomputed claims; partial agreement is an info."""
    place, reason = next(iter(left_open.items()))
    claims = counted(len(left_open), "claim")
    if claim_check.without_verdict(entry, facts) is None:
        message = f"{claims} cannot be confirmed: {reason}"
    else:
        message = f"{claims} could not be recomputed: {reason}"
    if not entry.is_partial or entry.claims.score is None:
        return _placed(facts, entry, place, ES804.violation(message))
    if entry.score_agreement() is not Agreement.NONE:
        message += "; the score agrees with these rows"
        return _placed(facts, entry, place, ES804.violation(message, severity=Severity.INFO))
    message += f"; {_value(entry)} is not the claimed score"
    return _placed(facts, entry, place, ES804.violation(message), as_float(entry.score()))


def _placed(
    facts: RunFacts, entry: Recomputed, place: str, violation: Violation, expected: Any = None
) -> Violation:
    """Add to a violation its pointer below a result, and the claim as found there."""
    pointer = f"{RESULTS}/{entry.result.place}/{place}"
    results = facts.aggregate.document["evaluation_results"] if facts.aggregate else []
    found = resolve(results, [entry.result.place, *place.split("/")])
    return violation._replace(pointer=pointer, expected=expected, found=found)


ES801: Final = Rule(
    "ES801",
    "score-not-reproduced",
    Severity.WARNING,
    "the mean of the joined rows' scores is not the claimed score",
    """
    What it finds: a result whose score is not the mean of the scores of its rows: the mean does
    not round to it at the digits it was written with. From three decimals on a truncated score
    counts as well. A score of one or two digits that agrees only once the mean is rounded is an
    info. Rows join by evaluation_result_id, else by an evaluation_name that only one result has.
    The message names another definition that gives the claim, if one does: percent, rows with
    errors left out, the share of is_correct, the mean over subtasks. A metric whose own name
    (metric_name, metric_id or metric_kind) ends in a standard deviation, standard error or
    variance is compared with that.

    Why it matters: the published number is not what the samples show.

    How to fix: Find out which rows the score comes from; if it is these rows, recompute the score
    from them. If the score is a standard deviation, standard error or variance, say so in
    metric_name. Never edit rows to match the score.

    Bad:
        aggregate:
          {
            "evaluation_results": [{
              "evaluation_name": "tiny-arithmetic",
              "score_details": {"score": 0.9}
            }]
          }
        evaluation.score of the rows:
          [1.0, 1.0, 1.0, 1.0, 0.0, 1.0, 1.0, 0.0]

    Good:
        aggregate:
          {
            "evaluation_results": [{
              "evaluation_name": "tiny-arithmetic",
              "score_details": {"score": 0.75}
            }]
          }
        evaluation.score of the rows:
          [1.0, 1.0, 1.0, 1.0, 0.0, 1.0, 1.0, 0.0]
    """,
    run=_score_not_reproduced,
    about_aggregate=True,
)

ES802: Final = Rule(
    "ES802",
    "sample-count-mismatch",
    Severity.WARNING,
    "num_samples is not the number of joined rows or of distinct samples",
    """
    What it finds: a num_samples that is neither the number of rows that join the result, nor that
    of their distinct samples, nor that of the rows without an error.

    Why it matters: the claim rests on other samples than those in the file, and its uncertainty on
    another number.

    How to fix: Restore missing rows from the source log; if the rows are complete, recompute
    num_samples from them. Then recompute the uncertainty as well.

    Bad:
        aggregate:
          {
            "evaluation_results": [{
              "evaluation_name": "tiny-arithmetic",
              "score_details": {"uncertainty": {"num_samples": 7}}
            }]
          }
        evaluation.score of the rows:
          [1.0, 1.0, 1.0, 1.0, 0.0, 1.0, 1.0, 0.0]

    Good:
        aggregate:
          {
            "evaluation_results": [{
              "evaluation_name": "tiny-arithmetic",
              "score_details": {"uncertainty": {"num_samples": 8}}
            }]
          }
        evaluation.score of the rows:
          [1.0, 1.0, 1.0, 1.0, 0.0, 1.0, 1.0, 0.0]
    """,
    run=_sample_count,
    about_aggregate=True,
    former_names=("sample-count",),
)

ES803: Final = Rule(
    "ES803",
    "uncertainty-not-reproduced",
    Severity.WARNING,
    "deviation, standard error or interval does not follow from the rows",
    """
    What it finds: a standard_deviation that is that of the scores neither over n-1 nor over n, an
    analytic standard_error that is not the deviation over the root of n, and a confidence_interval
    that is neither the normal nor the Wilson one. Where every sample has the same number of
    repeats, n may also be the number of samples, each with the mean of its repeats. A bootstrap
    figure is a finding if it is far from the closed form. Where the score itself is not
    reproduced, the uncertainty is not compared.

    Why it matters: it decides which differences between models count as real.

    How to fix: Recompute the uncertainty from these rows with the harness, or restore the rows
    that it was computed from. If it was not computed analytically, name its method.

    Bad:
        aggregate:
          {
            "evaluation_results": [{
              "score_details": {"score": 0.75, "uncertainty": {"standard_deviation": 0.1}}
            }]
          }
        evaluation.score of the rows:
          [1.0, 1.0, 1.0, 1.0, 0.0, 1.0, 1.0, 0.0]

    Good:
        aggregate:
          {
            "evaluation_results": [{
              "score_details": {"score": 0.75, "uncertainty": {"standard_deviation": 0.433}}
            }]
          }
        evaluation.score of the rows:
          [1.0, 1.0, 1.0, 1.0, 0.0, 1.0, 1.0, 0.0]
    """,
    run=_uncertainty_not_reproduced,
    about_aggregate=True,
)

ES804: Final = Rule(
    "ES804",
    "claim-not-recomputed",
    Severity.WARNING,
    "a claim that the rows neither confirm nor refute",
    """
    What it finds: a result whose figures could not be recomputed: no row joins it, its num_samples
    is larger than the number of its rows, or rows have no score. Also an uncertainty whose method
    is not known, and an uncertainty over samples with different numbers of repeats. It is an info
    where num_samples says that the rows are a part and the score agrees with them. A result with
    an id that no row has is ES604.

    Why it matters: the claim may be right, but these rows do not show it. The summary counts how
    many claims were recomputed.

    How to fix: Publish all rows of the result, each with its score and the evaluation_result_id
    that joins it. For an uncertainty, name a known method; where only a part of the rows is
    published, state the number of all evaluated samples in num_samples.

    Bad:
        aggregate:
          {
            "evaluation_results": [{
              "score_details": {"score": 0.75, "uncertainty": {"num_samples": 5000}}
            }]
          }
        evaluation.score of the rows:
          [1.0, 1.0, 1.0, 1.0, 0.0, 1.0, 1.0, 0.0]

    Good:
        aggregate:
          {
            "evaluation_results": [{
              "score_details": {"score": 0.75, "uncertainty": {"num_samples": 8}}
            }]
          }
        evaluation.score of the rows:
          [1.0, 1.0, 1.0, 1.0, 0.0, 1.0, 1.0, 0.0]
    """,
    run=_claim_not_recomputed,
    about_aggregate=True,
)

RULES: Final = (ES801, ES802, ES803, ES804)

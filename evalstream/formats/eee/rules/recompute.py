"""ES8: rules that compare claims with figures recomputed from the rows."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Final

from evalstream.formats.eee.aggregate import RESULTS, Aggregate
from evalstream.formats.eee.facts import RunFacts
from evalstream.formats.eee.metric import metric_kinds
from evalstream.model.claim import JudgedClaim, Reason
from evalstream.model.finding import Severity, Violation
from evalstream.parsing.json import text_or_none
from evalstream.rules.base import Rule
from evalstream.rules.claims import claim_violation, find_open, find_refuted, find_rounded
from evalstream.stats.claims import kinds

_UNCERTAIN: Final = frozenset(
    kind.name for kind in (kinds.DEVIATION, kinds.ERROR, kinds.INTERVAL, kinds.VARIANCE)
)


def _is_count(claim: JudgedClaim) -> bool:
    return claim.kind == kinds.COUNT.name


def _is_uncertainty(claim: JudgedClaim) -> bool:
    return not claim.is_score and claim.kind in _UNCERTAIN


def _is_score(claim: JudgedClaim) -> bool:
    return not _is_count(claim) and not _is_uncertainty(claim)


def _score_refuted(facts: RunFacts) -> Iterator[Violation]:
    return find_refuted(ES801, facts.judged, _is_score)


def _sample_count_refuted(facts: RunFacts) -> Iterator[Violation]:
    yield from find_refuted(ES802, facts.judged, _is_count)
    for claim, _ in facts.judged:
        if _is_open_count(claim):
            message = f"num_samples is above the number of rows, {claim.rows:,}: rows are missing"
            yield claim_violation(ES802, claim, message, Severity.WARNING)


def _is_open_count(claim: JudgedClaim) -> bool:
    return _is_count(claim) and claim.reason == Reason.MISSING.value


def _uncertainty_refuted(facts: RunFacts) -> Iterator[Violation]:
    return find_refuted(ES803, facts.judged, _is_uncertainty)


def _claim_open(facts: RunFacts) -> Iterator[Violation]:
    """Report open claims, one violation for each reason.

    Other rules report rows that cannot be read, results without rows, and repeated ids.
    """
    if facts.tally.unread or not facts.tally.rows:
        return
    repeated = (
        result.place
        for result in facts.context.results
        if result.id is not None and facts.ids[result.id] > 1
    )
    silent = tuple(f"{RESULTS}/{place}/" for place in chain(facts.rowless, repeated))
    left_open = (
        claim
        for claim, _ in facts.judged
        if not _is_open_count(claim) and not claim.pointer.startswith(silent)
    )
    yield from find_open(ES804, left_open)


def _claim_rounded(facts: RunFacts) -> Iterator[Violation]:
    return find_rounded(ES806, (claim for claim, _ in facts.judged))


def _declaration_contradicted(aggregate: Aggregate) -> Iterator[Violation]:
    for figures in aggregate.figures:
        result = aggregate.document["evaluation_results"][figures.place]
        named = metric_kinds(figures.metric, text_or_none(result.get("evaluation_name")))
        found = [kind for kind in named if kind is not kinds.AVERAGE]
        if len(found) > 1:
            names = " and ".join(f"a {kind.name}" for kind in found)
            pointer = f"{RESULTS}/{figures.place}/metric_config"
            yield ES807.violation(
                f"the names of the metric make its score {names}", pointer=pointer
            )


ES801: Final = Rule(
    "ES801",
    "score-refuted",
    Severity.ERROR,
    "a score that no formula of its kind gives from the rows",
    """
    What it finds: a score that the rows of its result refute. The name of the metric says which
    formula is tried: the mean (accuracy, exact match, rate), the median, the mode, a deviation; a
    metric without a name is a mean. The recomputed figure must round to the score at the digits it
    was written with; from three decimals on a truncated score counts as well. A score of a metric
    with another name is refuted only where no average of these rows reaches it. Rows join by
    evaluation_result_id, else by evaluation_name; an aggregate with a single result takes all rows.
    The message names another definition that gives the score, if one does: percent, the share of
    is_correct, the mean over subtasks.

    Why it matters: the published number is not what the samples show.

    How to fix: Find out which rows the score comes from; if it is these rows, recompute the score
    from them. If the score is another figure than its metric says, correct metric_name. Never edit
    rows to match the score.

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
    run=_score_refuted,
    about_aggregate=True,
    former_names=("score-not-reproduced",),
)

ES802: Final = Rule(
    "ES802",
    "sample-count-refuted",
    Severity.ERROR,
    "num_samples is not the number of joined rows or of distinct samples",
    """
    What it finds: a num_samples that is neither the number of rows that join the result, nor that
    of their distinct samples, nor that of the rows without an error. It is a warning where
    num_samples is larger than all of them: then rows are missing.

    Why it matters: the claim rests on other samples than those in the file, and its uncertainty on
    another number.

    How to fix: Restore missing rows from the source log; if the rows are complete, recompute
    num_samples from them. Then recompute the uncertainty as well.

    Bad:
        aggregate:
          {
            "evaluation_results": [{
              "evaluation_name": "tiny-arithmetic",
              "score_details": {"score": 0.75, "uncertainty": {"num_samples": 7}}
            }]
          }
        evaluation.score of the rows:
          [1.0, 1.0, 1.0, 1.0, 0.0, 1.0, 1.0, 0.0]

    Good:
        aggregate:
          {
            "evaluation_results": [{
              "evaluation_name": "tiny-arithmetic",
              "score_details": {"score": 0.75, "uncertainty": {"num_samples": 8}}
            }]
          }
        evaluation.score of the rows:
          [1.0, 1.0, 1.0, 1.0, 0.0, 1.0, 1.0, 0.0]
    """,
    run=_sample_count_refuted,
    about_aggregate=True,
    former_names=("sample-count", "sample-count-mismatch"),
)

ES803: Final = Rule(
    "ES803",
    "uncertainty-refuted",
    Severity.ERROR,
    "deviation, standard error or interval does not follow from the rows",
    """
    What it finds: a standard_deviation that is that of the scores neither over n-1 nor over n, a
    standard_error that is not the deviation over the root of n, and a confidence_interval
    that is neither the normal nor the Wilson nor the t interval. Where every sample has the same
    number of repeats, n may also be the number of samples, each with the mean of its repeats; where
    its repeats are all equal, n must be that. A figure by bootstrap is refuted if it is far from
    the closed form: an error by more than 4 / √draws and a tenth, an interval by more than a third
    of its width at either end. Whatever its method, a deviation is at most half the range of the
    scores, times √(n / (n-1)).

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
    run=_uncertainty_refuted,
    about_aggregate=True,
    former_names=("uncertainty-not-reproduced",),
)

ES804: Final = Rule(
    "ES804",
    "claim-open",
    Severity.WARNING,
    "claims that the rows neither confirm nor refute",
    """
    What it finds: claims for which the rows do not suffice, one finding for each reason: no row
    joins the result, the claim covers more samples than there are rows, rows have no score, the
    metric has no known formula, the method of an uncertainty is not known or has too few draws.

    Why it matters: the claim may be right, but these rows do not show it. The verdict counts open
    claims, and `--strict` fails.

    How to fix: Publish all rows of the result, each with its score and the evaluation_result_id
    that joins it. Name the metric by its formula, and the method of an uncertainty.

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
    run=_claim_open,
    about_aggregate=True,
    former_names=("claim-not-recomputed",),
)

ES806: Final = Rule(
    "ES806",
    "claim-rounded",
    Severity.INFO,
    "a claim that agrees with the rows at one or two digits only",
    """
    What it finds: a figure with one or two significant digits that the recomputed one rounds to, or
    a level, of five or more, that is the one nearest to the mean.

    Why it matters: 0.8 is the rounded form of everything from 0.75 to 0.85, which is a wide room
    for differences between models.

    How to fix: Write the figure with all its digits.

    Bad:
        aggregate:
          {
            "evaluation_results": [{
              "evaluation_name": "tiny-arithmetic",
              "score_details": {"score": 0.8}
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
    run=_claim_rounded,
    about_aggregate=True,
)

ES807: Final = Rule(
    "ES807",
    "declaration-contradicted",
    Severity.ERROR,
    "the names of a metric contradict each other about how its score is computed",
    """
    What it finds: a metric_config whose metric_name, metric_id and evaluation_description, or the
    evaluation_name of the result, name figures of different kinds: a mean in one place and a median
    in another.

    Why it matters: the score could be compared with whichever figure fits it.

    How to fix: Give the metric one name, that of the formula which the harness used.

    Bad:
        aggregate:
          {
            "evaluation_results": [{
              "metric_config": {"evaluation_description": "median"},
              "evaluation_name": "accuracy on tiny-arithmetic for scorer match"
            }]
          }

    Good:
        aggregate:
          {
            "evaluation_results": [{
              "metric_config": {"evaluation_description": "accuracy"},
              "evaluation_name": "accuracy on tiny-arithmetic for scorer match"
            }]
          }
    """,
    aggregate=_declaration_contradicted,
    about_aggregate=True,
)

RULES: Final = (ES801, ES802, ES803, ES804, ES806, ES807)

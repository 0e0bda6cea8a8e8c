"""ES307, ES808: a row's score against what else the row says of its answer."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Any, Final

from evalstream.formats.eee import facts as run_facts
from evalstream.formats.eee import metrics
from evalstream.formats.eee.aggregate import RESULTS, Result
from evalstream.formats.eee.facts import RowContext, RunFacts
from evalstream.formats.eee.row_view import has_error
from evalstream.formats.eee.rules.answers import (
    NUMBERS,
    chooses_right,
    is_letter_of_another,
    is_right_for_nothing,
    matches_reference,
    read_exact_answer,
)
from evalstream.formats.eee.score_scale import (
    is_by_lm_eval,
    is_extreme,
    is_of_correctness,
    judges_one_answer,
    list_searching,
    read_scale,
)
from evalstream.model.finding import Severity, Violation
from evalstream.model.text import count_noun
from evalstream.parsing.json import member
from evalstream.parsing.json_values import object_or_empty, parse_or_none
from evalstream.rules.base import RowCheck, declare_rule
from evalstream.stats.claims import kinds
from evalstream.stats.claims.rounding import agrees, as_float

Row = Mapping[str, Any]

CALLED_BOTH: Final = 3
"""The bits of a score that rows call right and wrong."""

BEST_IS_WRONG: Final = 4
"""The bit of a score of 1 that rows call wrong."""

_SCORED_BY_HELM: Final = "helm"


def _correct_versus_score(context: RowContext) -> RowCheck:
    join = context.join

    def check(row: Row) -> Iterable[Violation]:
        claimed = _read_claimed(row)
        if claimed is None:
            return ()
        correct, score = claimed
        result = join.result(row)
        severity = _contradiction(row, result, correct=correct, score=score)
        if severity is not Severity.WARNING:
            return ()
        message = f"is_correct is {str(correct).lower()}, but the score is {_show_score(score)}"
        return (ES307.violation(message, "/evaluation/is_correct", found=correct),)

    return check


def _score_underived(context: RowContext) -> RowCheck:
    join, library = context.join, context.library
    return lambda row: list(_check_derived(row, join.result(row), library))


def _check_derived(row: Row, result: Result | None, library: str | None) -> Iterator[Violation]:
    claimed = _read_claimed(row)
    if claimed is not None:
        correct, score = claimed
        if _contradiction(row, result, correct=correct, score=score) is Severity.ERROR:
            extreme = "worst" if correct else "best"
            message = (
                f"is_correct is {str(correct).lower()}, but the score is {_show_score(score)},"
                f" the {extreme} of its metric"
            )
            yield ES808.violation(message, "/evaluation/is_correct", found=correct)
            return
    score, scale = member(row.get("evaluation"), "score"), read_scale(result)
    kept = _read_metrics(row)
    yield from _check_log(row, kept)
    if score.__class__ not in NUMBERS or scale is None or scale.is_turned or has_error(row):
        return
    worst = 0 if scale.worst is None else scale.worst
    best = 1 if scale.best is None else scale.best
    if score not in (worst, best) or not _scores_one_answer(row, result, library):
        return
    at: dict[str, Any] = {"pointer": "/evaluation/score", "found": score}
    if score == best and is_right_for_nothing(row, result):
        message = "is_correct is true, but the output is empty"
        at["pointer"], at["found"] = "/evaluation/is_correct", True
        yield ES808.violation(message, severity=Severity.WARNING, **at)
        return
    may_be_chosen = kept or library is None or is_by_lm_eval(library)
    is_chosen = chooses_right(row, result) if may_be_chosen else None
    if is_chosen is not None and score != (best if is_chosen else worst):
        end, expected = ("worst", best) if is_chosen else ("best", worst)
        message = f"extracted_value is {'' if is_chosen else 'not '}the choice that the reference"
        message += f" numbers, but the score is the {end} of its metric"
        yield ES808.violation(message, expected=expected, severity=Severity.WARNING, **at)
    yield from _check_exact_answer(row, score, worst, best)


def _check_exact_answer(row: Row, score: Any, worst: Any, best: Any) -> Iterator[Violation]:
    """Compare the worst or the best score with what an answer by exact match is."""
    attributed = read_exact_answer(row)
    if attributed is None:
        return
    place, value = attributed
    is_right, severity = matches_reference(value, row), None
    is_what = "is the reference" if is_right else "is not the reference"
    if is_right is None and is_letter_of_another(value, row):
        is_right, severity = False, Severity.WARNING
        is_what = "is the letter of another choice than the reference"
    if is_right is None or score == (best if is_right else worst):
        return
    end, expected = ("worst", best) if is_right else ("best", worst)
    message = (
        f"extracted_value {is_what}, but the score is the {end} of its metric (answer {place},"
        " extraction_method exact_match)"
    )
    at: dict[str, Any] = {"expected": expected, "found": score, "severity": severity}
    yield ES808.violation(message, "/evaluation/score", **at)


def _check_log(row: Row, kept: Mapping[str, Any] | None) -> Iterator[Violation]:
    """Compare a score with those that the converter of lm-eval keeps of a sample by metric.

    A result is called by its metric and its filter. Rows of the first versions do not say which
    metric they score.
    """
    if kept is None:
        if all(member(row.get("metadata"), name) for name in ("prompt_hash", "target_hash")):
            message = "lm_eval_metrics, which keeps the scores of the harness, is missing"
            yield ES808.violation(message, "/metadata", severity=Severity.WARNING)
        return
    yield from _check_filter(row, kept)
    score, identity = member(row.get("evaluation"), "score"), row.get("evaluation_result_id")
    own = [one for one in kept if identity is None or f"{identity}:".startswith(f"{one}:")]
    logged = [kept[one] for one in own or kept if kept[one].__class__ in NUMBERS]
    if logged and score.__class__ in NUMBERS and not _is_logged(score, logged):
        message = "the score is not that of the harness, which lm_eval_metrics keeps"
        yield ES808.violation(message, "/evaluation/score", expected=logged[0], found=score)
    elif identity is not None and not own:
        message = "lm_eval_metrics, which keeps the scores of the harness, has none of this result"
        place = "/metadata/lm_eval_metrics"
        yield ES808.violation(message, place, expected=identity, severity=Severity.WARNING)


def _check_filter(row: Row, kept: Mapping[str, Any]) -> Iterator[Violation]:
    """Compare the filter that the converter of lm-eval keeps with the others that it writes.

    It calls a result by its metric and its filter, and the method of an answer by the filter.
    """
    named, answers = member(row.get("metadata"), "filter"), row.get("answer_attribution")
    if named.__class__ is not str:
        return
    metric, colon, of_result = str(row.get("evaluation_result_id")).partition(":")
    known = [of_result] if colon and metric in kept else []
    if answers.__class__ is list:
        known += [member(one, "extraction_method") for one in answers]
    for other in known:
        if other.__class__ is str and other != named:
            message = "the filter is not that of the result and of the answer"
            yield ES808.violation(message, "/metadata/filter", expected=other, found=named)
            return


def _read_metrics(row: Row) -> Mapping[str, Any] | None:
    """Return the scores of a sample by metric, as the converter of lm-eval keeps them, or None."""
    kept = member(row.get("metadata"), "lm_eval_metrics")
    if kept.__class__ is str:
        return object_or_empty(parse_or_none(kept.encode("utf-8", "surrogatepass")))
    return kept if isinstance(kept, dict) else None


def _is_logged(score: Any, logged: list[Any]) -> bool:
    """Tell whether a score is one of the log, perhaps rounded or in percent."""
    claimed = Decimal(repr(score * 1))
    known = [as_float(one) for one in logged]
    return any(one is None or agrees(claimed, one) or agrees(claimed, one * 100) for one in known)


def _called_both(facts: RunFacts) -> Iterator[Violation]:
    """Report results whose scores are 0 and 1 alone, one of which is called right and wrong.

    A max_score that no row reaches does not make such scores grades.
    """
    for result in facts.context.results:
        scores = facts.tally.scores.get(result.place)
        if scores is None:
            continue
        called_both = [one for one in (0, 1) if scores.called >> 2 * one & 3 == CALLED_BOTH]
        name = result.metric or result.id or result.name
        if not (called_both or scores.called & BEST_IS_WRONG) or (
            name is not None and (metrics.is_graded(name) or metrics.is_of_quality(name))
        ):
            continue
        pointer = f"{RESULTS}/{result.place}"
        if scores.correct and scores.called & BEST_IS_WRONG and _is_unusual(result):
            message = (
                "is_correct is false in some rows with the score 1, the best of its metric, and"
                f" true in {count_noun(scores.correct, 'row')}"
            )
            yield ES808.violation(message, pointer)
            continue
        if not scores.values or not {0, 1}.issuperset(scores.values):
            continue
        for score in called_both:
            message = f"is_correct is true in some rows with the score {score}, false in others"
            yield ES808.violation(message, pointer, severity=Severity.WARNING)


def _is_unusual(result: Result) -> bool:
    """Tell whether rows alone do not show that the score 1 of a metric means a right answer."""
    scale = read_scale(result)
    is_best = scale is not None and scale.best == 1 and not scale.is_turned
    return is_best and not is_of_correctness(result)


def _half_right(facts: RunFacts) -> Iterator[Violation]:
    """Report an accuracy whose right answers all have one score that is not the best."""
    for result in facts.context.results:
        scores = facts.tally.scores.get(result.place)
        right = None if scores is None else scores.most
        if scores is None or right is None or right == 1:
            continue
        scale = read_scale(result)
        if scale is None or scale.is_turned or scale.worst is None:
            continue
        if result.kind is not kinds.MEAN or len(scores.values or ()) != 2 or scores.unscored:
            continue
        if not _has_single_rows(result, facts):
            continue
        if scores.least != scale.worst or scale.best is None or not right < scale.best < math.inf:
            continue
        rows = (scores.values or {})[right]
        # Shares beside a metric in percent, or beside a count, are usual.
        if rows == scores.correct >= FEWEST_RIGHT and scores.judged == scores.rows:
            message = (
                f"all {count_noun(rows, 'row')} with is_correct have the score"
                f" {_show_score(right)}, the others {_show_score(scale.worst)}, and max_score is"
                f" {_show_score(scale.best)}"
            )
            pointer = f"{RESULTS}/{result.place}/metric_config/max_score"
            yield ES808.violation(message, pointer, severity=Severity.WARNING)


FEWEST_RIGHT: Final = 10
"""Fewer right answers may all be right in part, as in one of two repeats."""


def _judged_otherwise(facts: RunFacts) -> Iterator[Violation]:
    """Report results whose rows do not judge equal scores, or like answers, in the same way."""
    yield from _called_both(facts)
    yield from _half_right(facts)
    searching = list_searching(facts.context.library, facts.context.results)
    answered = run_facts.group_answers(facts)
    for result in facts.context.results:
        answers = answered[result.place]
        misjudged = list(run_facts.find_misjudged(answers))
        if result.place in searching:
            # Few runs are of such a scorer.
            from evalstream.formats.eee.rules.searched_answers import find_contradicted

            sure = {found.is_right: found for found in find_contradicted(facts, result, answers)}
            misjudged = [found for found in misjudged if found.is_right not in sure]
            yield from (_contradicted(result, found, facts) for found in sure.values())
        for found in misjudged if misjudged and _is_of_single_answers(result, facts) else ():
            answer = "is not a reference" if found.is_right else "is a reference"
            message = (
                f"is_correct is {str(found.is_right).lower()} though the answer {answer} (first"
                f" {facts.at(found.first)}); where the answer is one, is_correct is true in"
                f" {count_noun(found.agreed, 'row')}"
            )
            yield ES808.violation(
                message, f"{RESULTS}/{result.place}", severity=Severity.WARNING, count=found.rows
            )


def _contradicted(result: Result, found: run_facts.Misjudged, facts: RunFacts) -> Violation:
    answer = "shows no reference" if found.is_right else "is the reference"
    message = (
        f"is_correct is {str(found.is_right).lower()} though the answer {answer} (first"
        f" {facts.at(found.first)}), and {result.scorer or result.metric} looks for one"
    )
    pointer = f"{RESULTS}/{result.place}"
    return ES808.violation(message, pointer, severity=Severity.WARNING, count=found.rows)


def _has_single_rows(result: Result, facts: RunFacts) -> bool:
    """Tell whether samples have one row each: the score of repeats may be that of all of them."""
    cover = facts.coverage.of(result.place)
    return cover.repeats <= cover.samples


def _is_of_single_answers(result: Result, facts: RunFacts) -> bool:
    """Tell whether scores judge one answer each: no grades, and none of all repeats of a sample."""
    scale = read_scale(result)
    if scale is None or scale.is_turned or not _has_single_rows(result, facts):
        return False
    if result.metric is not None:
        exact = result.metric.removeprefix("quasi_").removeprefix("prefix_")
        return metrics.OF_ONE_ANSWER.fullmatch(exact) is not None
    name = (result.id or result.name or "").casefold()
    is_other = metrics.is_graded(name) or metrics.is_of_quality(name)
    return not is_other and metrics.OTHERWISE_JUDGED.search(name) is None


def _read_claimed(row: Row) -> tuple[bool, Any] | None:
    """Return is_correct and the score of a row, None where one of them is missing."""
    evaluation = row.get("evaluation")
    score, correct = member(evaluation, "score"), member(evaluation, "is_correct")
    if correct.__class__ is not bool or score.__class__ not in NUMBERS:
        return None
    return correct, score


def _contradiction(
    row: Row, result: Result | None, *, correct: bool, score: Any
) -> Severity | None:
    """Return how bad it is that is_correct contradicts a score; None where it does not.

    It is an error at the metric's own bounds, but a warning where converters call every score above
    0 correct: where lower is better, unless it is an accuracy, and at a worst score above 0. It is
    a warning, too, for 0 and 1 on a scale that does not say its bounds, or those only nearly.
    """
    scale = read_scale(result)
    if scale is None or metrics.is_of_quality(_metric_of(row, result)):
        return None
    is_bound = score == (scale.worst if correct else scale.best)
    is_near = not scale.is_turned and score in (0, 1) and bool(score) is not correct
    if not (is_bound or is_near) or (_grades(row, result) and (scale.is_turned or not correct)):
        return None
    if is_bound:
        is_sure = not scale.is_turned or judges_one_answer(result)
        is_sure &= score <= 0 if correct else is_of_correctness(result)
        return Severity.ERROR if is_sure else Severity.WARNING
    return Severity.WARNING if is_extreme(score, scale) else None


def _grades(row: Row, result: Result | None) -> bool:
    """Return whether the best score need not mean a correct answer.

    This holds for graded metrics, and for rows that say so: those of OpenEval have
    metadata.is_correct_applicable.
    """
    if member(row.get("metadata"), "is_correct_applicable") in (False, "false"):
        return True
    name = row.get("evaluation_result_id")
    if result is not None:
        name = result.metric or result.id or result.name
    return name.__class__ is str and metrics.is_graded(name)


def _metric_of(row: Row, result: Result | None) -> Any:
    return row.get("evaluation_result_id") if result is None else result.metric or result.id


def _scores_one_answer(row: Row, result: Result | None, library: str | None) -> bool:
    """Tell whether a score says that one answer is the reference, as far as it is known.

    HELM's converter writes exact_match as the method of every metric.
    """
    if result is not None and result.metric is not None:
        return judges_one_answer(result)
    if (library or "").strip().casefold() == _SCORED_BY_HELM:
        return False
    return not _grades(row, result) and not metrics.is_of_quality(_metric_of(row, result))


def _show_score(score: Any) -> Any:
    """Return a score as a message shows it: 1 for 1.0 and true."""
    return int(score) if score == int(score) else score


ES307: Final = declare_rule(
    "ES307", row=_correct_versus_score, reads=("/evaluation/is_correct",), in_scanner=True
)

ES808: Final = declare_rule(
    "ES808",
    row=_score_underived,
    run=_judged_otherwise,
    reads=(
        "/evaluation/is_correct",
        "/answer_attribution",
        "/metadata/filter",
        "/metadata/lm_eval_metrics",
    ),
    in_scanner=True,
)

RULES: Final = (ES307, ES808)

"""Judge the figures of a task by its rows, errors by the bootstrap of lm_eval among them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any, Final

from evalstream.formats.lm_eval.metric_values import MetricValues
from evalstream.formats.lm_eval.scoring_plan import (
    AGGREGATIONS,
    BYPASS,
    MEAN,
    NOT_SCORED,
    TRANSLATIONS,
    Aggregation,
    Way,
    find_aggregation,
)
from evalstream.formats.lm_eval.views import NO_STDERR, Results, TaskFacts, TaskFigure, with_results
from evalstream.formats.lm_eval.written_values import as_decimal, show_value
from evalstream.model.claim import Reason, State
from evalstream.model.data_class import NamedTuple
from evalstream.parsing.json import pointer
from evalstream.parsing.json_values import holds_double
from evalstream.stats.claims import corpus_metrics, kinds
from evalstream.stats.claims.corpus_metrics import (
    TRANSLATION,
    has_translation_metrics,
    resampled_score,
)
from evalstream.stats.claims.evidence import Evidence
from evalstream.stats.claims.judge import judge
from evalstream.stats.claims.judgement import (
    Claim,
    Judgement,
    confirm,
    judge_count,
    leave_open,
    refute,
)
from evalstream.stats.claims.kinds import ERROR, ClaimKind, Figure
from evalstream.stats.tally import ScoreSums

MOST_TRANSLATION_DRAWS: Final = 100
"""The harness draws no more for an error of these metrics."""

_CLOSED_FORM: Final = (kinds.MEAN, kinds.AVERAGE, kinds.UNKNOWN)
"""Kinds of scores whose error is that of a mean."""


def judge_task(facts: TaskFacts) -> Iterator[Judgement]:
    """Yield every claim of a task, with what its rows say about it."""
    if facts.task_results is None:
        if not facts.is_whole and facts.task is not None and facts.results is not None:
            for figure in facts.results.figures(facts.task):
                yield leave_task_open(figure, Reason.UNREAD)
        return
    for figure in facts.figures():
        if figure.metric != BYPASS or figure.value not in (NOT_SCORED, NO_STDERR):
            found = _judge_figure(figure, facts)
            is_open = found.claim.state.holds and facts.may_be_chosen
            yield leave_task_open(figure, Reason.MISSING) if is_open else found
    yield from _judge_counts(facts)


def leave_task_open(figure: TaskFigure, reason: Reason) -> Judgement:
    """Return a figure of a task that there are no rows for."""
    return leave_open(
        make_claim(figure, kinds.ERROR if figure.is_stderr else kinds.UNKNOWN), reason
    )


def make_claim(
    figure: TaskFigure, kind: kinds.ClaimKind, resampling: Resampling | None = None
) -> Claim:
    """Return a figure of a task as a claim."""
    return Claim(
        figure.pointer,
        figure.label,
        kind,
        as_decimal(figure.value),
        show_value(figure.value),
        not figure.is_stderr,
        None if resampling is None or resampling.is_exact else "bootstrap",
        None if resampling is None else resampling.draws,
        has_all_digits=True,
    )


def _judge_figure(figure: TaskFigure, facts: TaskFacts) -> Judgement:
    values, reason = facts.values(figure), _unusable(facts)
    claim = make_claim(figure, kinds.ERROR if figure.is_stderr else kinds.UNKNOWN)
    if values is None and figure.value in (NO_STDERR, None):
        reason = reason or Reason.EVIDENCE
    if reason is not None or facts.task_results is None:
        return leave_open(claim, reason or Reason.NO_ROWS)
    if values is None:
        return refute(claim, None, "no row has the metric", 0)
    if figure.metric == BYPASS:
        expected = NO_STDERR if figure.is_stderr else NOT_SCORED
        return refute(claim, expected, "these answers have no scores", values.rows)
    task, results = facts.task_results
    way = find_aggregation(results, task, figure.metric, values)
    if way.is_own and _has_error_of_mean(figure, values, way, facts):
        way = Way(AGGREGATIONS[MEAN], True)
    if figure.is_stderr:
        return _judge_error(figure, values, way, facts)
    return _judge_score(figure, values, way)


def _has_error_of_mean(
    figure: TaskFigure, values: MetricValues, way: Way, facts: TaskFacts
) -> bool:
    """Tell whether a figure of an unknown aggregation has the standard error of a mean.

    The harness computes that of means alone, and no error of an aggregation of a task's own.
    """
    for one in facts.figures():
        is_of_figure = (one.metric, one.filter) == (figure.metric, figure.filter)
        if one.is_stderr and is_of_figure and holds_double(one.value) and one.value > 0:
            return _judge_computed_error(one, values, way, None).claim.state.holds
    return False


def _unusable(facts: TaskFacts) -> Reason | None:
    """Return why no figure can be computed from the rows, None if it can."""
    if not facts.totals.rows:
        return Reason.NO_ROWS
    if facts.totals.is_crowded:
        return Reason.TOO_MANY
    if facts.totals.repeats and not facts.parts:
        return Reason.AMBIGUOUS if facts.is_several_filters else Reason.UNEVEN
    return Reason.UNJOINED if facts.totals.unkeyed else None


def _judge_score(figure: TaskFigure, values: MetricValues, way: Way) -> Judgement:
    claim = make_claim(figure, way.aggregation.kind)
    odd = _judge_odd(claim, values, way)
    if odd is not None:
        return odd
    found = judge(claim, _evidence(values))
    if found.claim.state is not State.OPEN:
        return found
    reason = _reason_left_open(claim, values, way)
    return found if reason is None else leave_open(claim, reason, values.rows)


def _judge_odd(claim: Claim, values: MetricValues, way: Way) -> Judgement | None:
    """Judge a claim where it or a row is not a finite number, None where all are."""
    if way.aggregation is AGGREGATIONS[MEAN] and way.is_sure:
        for is_odd, words in (
            (values.sums.unscored and claim.value is not None, "values that are not finite"),
            (values.others or values.pairs, "values that have no mean"),
        ):
            if is_odd:
                return refute(claim, None, f"rows have {words}", values.rows)
    if values.texts:
        return leave_open(claim, Reason.EVIDENCE, values.rows)
    if claim.value is not None:
        return None
    if values.sums.unscored or not way.is_sure:
        return leave_open(claim, Reason.UNSCORED, values.rows)
    expected = judge(claim._replace(value=as_decimal(-1)), _evidence(values)).claim.recomputed
    return refute(claim, expected, "it is not a finite number", values.rows)


def _reason_left_open(claim: Claim, values: MetricValues, way: Way) -> Reason | None:
    if claim.kind.name in TRANSLATION and values.pairs and not has_translation_metrics():
        return Reason.PACKAGE
    if way.is_own:
        return Reason.FORMULA
    return None if way.is_sure or values.pairs or values.others else Reason.UNSURE


def _evidence(values: MetricValues) -> Evidence:
    """Return what the values hold; pairs have no sum."""
    if values.pairs:
        is_kept = values.ordered is not None
        sums = ScoreSums(unscored=values.pairs)
        return Evidence(sums, values={} if is_kept else None, ordered=values.ordered)
    counts = values.sums.values
    if values.is_ordered:
        counts = None if values.ordered is None else Counter(values.ordered)
    return Evidence(values.sums, values=counts, ordered=values.ordered)


def _judge_error(figure: TaskFigure, values: MetricValues, way: Way, facts: TaskFacts) -> Judgement:
    """Judge a standard error.

    The harness writes N/A for one value, where it was told not to compute errors, and for
    aggregations whose error it cannot compute. Source: `stderr_for_metric` in api/metrics.py.
    """
    claim, iterations = make_claim(figure, kinds.ERROR), _iterations(figure.metric, facts)
    is_absent = figure.value == NO_STDERR
    kind = way.aggregation.kind
    has_error = kind in _CLOSED_FORM or kind.name in TRANSLATION or way.aggregation.statistic
    if values.rows < 2 or iterations == 0 or (way.is_sure and not has_error):
        if is_absent:
            return confirm(claim, NO_STDERR, values.rows)
        return refute(claim, NO_STDERR, "the harness does not compute it", values.rows)
    if not is_absent:
        return _judge_computed_error(figure, values, way, iterations)
    if way.is_own:
        return confirm(claim, NO_STDERR, values.rows)
    if not way.is_sure or iterations is None or way.aggregation is AGGREGATIONS["nanmean"]:
        return leave_open(claim, Reason.UNSURE, values.rows)
    expected = judge(claim._replace(value=as_decimal(-1)), _evidence(values)).claim.recomputed
    return refute(claim, expected, "the harness computes it", values.rows)


def _judge_computed_error(
    figure: TaskFigure, values: MetricValues, way: Way, iterations: int | None
) -> Judgement:
    """Judge an error that is a number: by its closed form, or by the draws of the harness."""
    kind = way.aggregation.kind
    if kind in _CLOSED_FORM:
        claim = make_claim(figure, kinds.ERROR._replace(is_exact=way.is_sure))
        return _judge_odd(claim, values, way) or judge(claim, _evidence(values))
    claim = make_claim(figure, kinds.ERROR)
    if claim.value is None:
        return refute(claim, None, "it is not a finite number", values.rows)
    if iterations is None or not way.aggregation.fits(values) or not values.ordered:
        reason = Reason.TOO_MANY if values.ordered is None else Reason.EVIDENCE
        return leave_open(claim, reason, values.rows)
    found = _resample(way.aggregation, values.ordered, iterations)
    if found is None:
        return leave_open(claim, Reason.PACKAGE, values.rows)
    evidence = Evidence(ScoreSums(unscored=values.rows))
    judgement = judge(make_claim(figure, error_kind(found), found), evidence)
    is_refuted = judgement.claim.state is State.REFUTED
    if is_refuted and not found.is_exact and kind is corpus_metrics.UPPER_MEDIAN:
        # Few draws may all have the same median.
        return leave_open(claim, Reason.FEW_DRAWS, values.rows)
    return judgement


def _resample(
    aggregation: Aggregation, values: Sequence[Any], iterations: int
) -> Resampling | None:
    """Return the error over the draws of the harness, None without a package that it needs."""
    if aggregation.kind.name not in TRANSLATION:
        statistic = aggregation.statistic
        return None if statistic is None else resampled_error(values, statistic, iterations)
    score = resampled_score(aggregation.kind.name, values)
    return None if score is None else resampled_error(range(len(values)), score, iterations)


def _iterations(metric: str, facts: TaskFacts) -> int | None:
    """Return the number of draws for an error, 0 for none, None if the results do not say it."""
    if facts.task_results is None or "bootstrap_iters" not in facts.task_results[1].call:
        return None
    number = facts.task_results[1].setting("bootstrap_iters")
    if number.__class__ is not int or number < 1:
        return 0
    return min(number, MOST_TRANSLATION_DRAWS) if metric in TRANSLATIONS else int(number)


@with_results
def _judge_counts(facts: TaskFacts, task: str, results: Results) -> Iterator[Judgement]:
    """Yield the numbers of samples that the results state of a task."""
    counts = facts.totals.metric_counts
    stated = (
        (("n-samples", task, "effective"), results.samples(task), facts.sample_counts),
        (("results", task, "sample_len"), results.entry(task), counts or facts.sample_counts),
    )
    for path, holder, known in stated:
        number = holder.get(path[-1])
        if number.__class__ is not int:
            continue
        claim = Claim(
            pointer(path), f"{path[-1]} of {task}", kinds.COUNT, as_decimal(number), number
        )
        rows = facts.totals.rows
        reason = _unusable(facts) or (Reason.MISSING if facts.may_be_chosen else None)
        if facts.totals.is_scattered or reason is not None:
            yield leave_open(claim, reason or Reason.TOO_MANY, rows)
        else:
            yield judge_count(claim, known, "", rows)


CHUNK: Final = 1000
"""The largest number of draws with one seed."""

MOST_DRAWN: Final = 5_000_000
"""Most values that are drawn for one error."""

MOST_DRAWS: Final = 100_000
"""Most draws for one error, however few the values: the harness makes as many by default."""


class Resampling(NamedTuple):
    """An error from `draws` draws; it is not exact if the harness made more."""

    error: float | None
    draws: int
    is_exact: bool


def resampled_error(
    values: Sequence[Any], statistic: Callable[[Sequence[Any]], float | None], iterations: int
) -> Resampling:
    """Return the standard deviation of a figure over the draws, the first ones if they are many.

    The error is None where the figure of a draw does not exist.
    """
    size = min(CHUNK, iterations)
    wanted = iterations // size * size
    draws = min(wanted, MOST_DRAWS, MOST_DRAWN // max(len(values), 1))
    figures: list[float] = []
    for drawn in _draws(values, size, draws):
        figure = statistic(drawn)
        if figure is None:
            return Resampling(None, draws, draws == wanted)
        figures.append(figure)
    return Resampling(_deviation(figures), draws, draws == wanted)


def error_kind(found: Resampling) -> ClaimKind:
    """Return the kind of a claim about an error that was resampled."""
    error = () if found.error is None else (Figure("the bootstrapped standard error", found.error),)
    return ERROR._replace(figures=lambda _evidence: error, bounds=lambda _evidence: (0, None))


def _draws(values: Sequence[Any], size: int, draws: int) -> Iterator[list[Any]]:
    """Yield samples of the values with replacement, as lm_eval draws them.

    Chunk i is seeded with i, so that an error can be computed again exactly. Source:
    `bootstrap_stderr` in api/metrics.py of lm_eval 0.4.13.
    """
    for seed in range(-(-draws // size)):
        from random import Random

        random = Random(seed)
        for _ in range(min(size, draws - seed * size)):
            yield random.choices(values, k=len(values))


def _deviation(figures: Sequence[float]) -> float | None:
    if len(figures) < 2:
        return None
    mean = sum(figures) / len(figures)
    with suppress(OverflowError):
        return math.sqrt(sum((one - mean) ** 2 for one in figures) / (len(figures) - 1))
    return None

"""Judge the figures of tasks without samples: those that no answers give are refuted.

Each answer has 0 or 1 of an accuracy in lm_eval, so that share, number and error follow from each
other (`process_results` in api/task.py, `mean_stderr` in api/metrics.py).
"""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any, Final

from evalstream.formats.lm_eval.metric_values import MetricValues
from evalstream.formats.lm_eval.scoring_plan import (
    AGGREGATIONS,
    GENERATE,
    MEAN,
    MEANS,
    TRANSLATIONS,
    find_aggregation,
)
from evalstream.formats.lm_eval.task_claims import make_claim
from evalstream.formats.lm_eval.views import STDERR, Results, TaskFigure
from evalstream.formats.lm_eval.written_values import as_decimal
from evalstream.model.claim import Reason, State
from evalstream.model.data_class import NamedTuple
from evalstream.stats.claims import kinds
from evalstream.stats.claims.judge import judge_without_rows
from evalstream.stats.claims.judgement import Claim, Judgement, refute
from evalstream.stats.claims.kinds import ClaimKind

_ROUNDED: Final = 1e-9
"""The largest rounding of a figure with all digits."""

_FRACTIONAL: Final = "exact_match"
"""The share of the harness of which an answer that is a list may have a part."""

_NEAR: Final = 1e-3
"""The largest difference of a number of answers, computed from their share and error."""

_COUNTED_SINCE: Final = (0, 4, 12)
"""The release from which on n-samples is the number of answers, with a limit, too."""

_ERROR: Final = kinds.ERROR._replace(bounds=lambda _evidence: (0, None))


class _Share(NamedTuple):
    """A share of so many answers, 0 for an unknown number, and how far it may be rounded.

    It is of right and wrong answers alone if it `is_whole`.
    """

    value: float
    room: float
    number: int
    is_whole: bool

    @property
    def errors(self) -> list[float]:
        """The least and the largest error of right and wrong answers."""
        lowest, highest = self.value - self.room, self.value + self.room
        near = (lowest, highest, min(max(lowest, 0.5), highest))
        squares = [max(one * (1 - one), 0) / (self.number - 1) for one in near]
        least, most = math.sqrt(min(squares)), math.sqrt(max(squares))
        return [least * (1 - _ROUNDED), most * (1 + _ROUNDED)]


def judge_unsampled(results: Results, figure: TaskFigure, reason: Reason) -> Judgement:
    """Return a figure of a task without rows, open for a reason if some answers may give it."""
    claim = make_claim(figure, _find_kind(results, figure))
    found = judge_without_rows(claim, reason)
    share = _find_share(results, figure)
    if share is None or found.claim.state is State.REFUTED:
        return found
    if not share.number:
        return _judge_uncounted(claim, share, results.samples(figure.task).get("original")) or found
    judge = _judge_error if figure.is_stderr else _judge_share
    return judge(claim, share) or found


def _judge_share(claim: Claim, share: _Share) -> Judgement | None:
    right = round(share.value * share.number)
    if not share.is_whole or abs(right - share.value * share.number) <= share.room * share.number:
        return None
    message = f"no number of right answers among {share.number:,} gives it"
    return refute(claim, right / share.number, message, 0)


def _judge_error(claim: Claim, share: _Share) -> Judgement | None:
    given = _read(claim.value)
    if given is None:
        return None
    error, room = given
    least, most = share.errors
    is_small = share.is_whole and error + room < least
    if not is_small and error - room <= most:
        return None
    message = f"it is not that of {share.number:,} answers with this share"
    return refute(claim, most, message, 0)


def _judge_uncounted(claim: Claim, share: _Share, most: Any) -> Judgement | None:
    """Judge an error of answers whose number is not known, but that there is one."""
    given = None if claim.is_score else _read(claim.value)
    square = share.value * (1 - share.value)
    if given is None or max(given[1], share.room) > _ROUNDED or not share.is_whole:
        return None
    number = square / given[0] ** 2 + 1 if given[0] else math.inf
    is_below = most.__class__ is not int or number < most + 0.5
    if not given[0] == square == 0 and not (is_below and abs(number - round(number)) < _NEAR):
        return refute(claim, None, "no number of answers has this share with this error", 0)
    return None


def _find_kind(results: Results, figure: TaskFigure) -> ClaimKind:
    if figure.is_stderr:
        return _ERROR
    if not _is_of_harness(results, figure):
        return kinds.UNKNOWN
    aggregation = find_aggregation(results, figure.task, figure.metric, MetricValues()).aggregation
    is_share = aggregation is AGGREGATIONS[MEAN] and figure.metric in MEANS
    return kinds.SHARE if is_share else aggregation.kind


def _is_of_harness(results: Results, figure: TaskFigure) -> bool:
    """Return whether the harness itself scored the answers and added them up."""
    listed = results.listed_metric(figure.task, figure.metric)
    if listed is None or listed.options.get("hf_evaluate"):
        return False
    # Of generated texts the harness has no accuracies.
    is_generated = results.config(figure.task).get("output_type") == GENERATE
    if is_generated and figure.metric not in {_FRACTIONAL, *TRANSLATIONS}:
        return False
    is_own = results.has_own_results(figure.task)
    way = find_aggregation(results, figure.task, figure.metric, MetricValues())
    return way.is_sure and not is_own


def _find_share(results: Results, figure: TaskFigure) -> _Share | None:
    """Return the share that a figure is, or is the error of, if it is one of the harness."""
    entry, counts = results.entry(figure.task), results.samples(figure.task)
    number = entry.get("sample_len", counts.get("effective"))
    is_limited = results.setting("limit") is not None and results.is_before(_COUNTED_SINCE)
    is_unsaid = is_limited or results.count_unsaid(figure.task) is not None
    if number.__class__ is not int or number < 0 or is_unsaid:
        number = 0
    given, error = (
        _read(entry.get(f"{figure.metric}{of_error},{figure.filter}")) for of_error in ("", STDERR)
    )
    is_share = _find_kind(results, figure._replace(is_stderr=False)) is kinds.SHARE
    if given is None or number == 1 or not is_share or not 0 <= given[0] <= 1:
        return None
    # Who rounds figures rounds their errors, too.
    has_all_digits = error is not None and error[1] <= _ROUNDED
    room = _ROUNDED if has_all_digits else given[1]
    return _Share(given[0], room, number, figure.metric != _FRACTIONAL)


def _read(value: Any) -> tuple[float, float] | None:
    """Return a number and how far it may be rounded by its digits, None for another value."""
    number = value if isinstance(value, Decimal) else as_decimal(value)
    exponent = None if number is None else number.as_tuple().exponent
    if number is None or not isinstance(exponent, int):
        return None
    return float(number), max(0.5 * 10.0 ** min(exponent, 0), _ROUNDED)

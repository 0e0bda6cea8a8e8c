"""The claims of an output of HarpIA Lab, judged by the results in the log."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from fractions import Fraction
from typing import Any

from evalstream.formats.harpia.documents import find_member
from evalstream.formats.harpia.log_tally import Amount, LogTally, Path
from evalstream.formats.harpia.requirements import at, is_empty
from evalstream.formats.harpia.values import (
    choose_bounded_kind,
    choose_kind,
    claim_at,
    iterate_leaves,
)
from evalstream.formats.harpia.views import Score as Output
from evalstream.model.claim import JudgedClaim, Reason
from evalstream.model.data_class import NamedTuple
from evalstream.parsing.json import pointer, short_text
from evalstream.parsing.json_values import is_number, read_number
from evalstream.stats.claims import kinds
from evalstream.stats.claims.evidence import Evidence
from evalstream.stats.claims.judge import judge, refute_impossible
from evalstream.stats.claims.judgement import Claim, Judgement, leave_open
from evalstream.stats.coverage import ResultCoverage


class JudgedScores(NamedTuple):
    """The judged claims of an output; `has_log` tells whether a log was read to its end."""

    judgements: Sequence[Judgement]
    has_log: bool

    @property
    def claims(self) -> list[JudgedClaim]:
        """The claims with their states."""
        return [one.claim for one in self.judgements]


def judge_scores(
    outputs: Sequence[Output],
    document: Any,
    digits: Any,
    log: LogTally | None,
    replaced: Collection[str | None] = (),
    *,
    is_read: bool = True,
) -> JudgedScores:
    """Judge all figures of an output by the records of a log; those outside of scores are open.

    `digits` is the `document` with its numbers as written, and `replaced` holds the pointers of
    those that are not finite. Of a log that is not `is_read` to its end no figure is compared.
    """
    amounts = {} if log is None else {id(one.claim): one for one in log.amounts() if one.claim}
    judgements = []
    for output in outputs:
        amount = amounts.get(id(output))
        reason = _open_reason(output, amount, log) if is_read else Reason.UNREAD
        for path, claim in _iterate_claims(output, digits, replaced):
            bounded = choose_bounded_kind(output.metric.id or "", path or ())
            impossible = refute_impossible(claim, bounded)
            if impossible is not None:
                judgements.append(impossible)
            elif log is None or amount is None or path is None or reason is not None:
                other = Reason.NO_NUMBER if claim.value is None else Reason.FORMULA
                judgements.append(leave_open(claim, reason or other))
            else:
                judgements.append(_judge(claim, log, amount, path))
    others = _iterate_others(outputs, document, digits)
    others = (claim for claim in others if claim.pointer not in replaced)
    judgements += (leave_open(claim, Reason.FORMULA) for claim in others)
    return JudgedScores(judgements, log is not None and is_read)


def _open_reason(output: Output, amount: Amount | None, log: LogTally | None) -> Reason | None:
    """Return why no figure of an output can be compared with its log."""
    if output.score is None or is_empty(output.score.value):
        return Reason.EMPTY
    if log is None:
        return Reason.NO_ROWS
    metric = output.metric
    if amount is None:
        is_named = metric.id is not None and metric.key is not None
        is_alone = log.known.claims.get((metric.id or "", metric.key or b"")) is output
        return Reason.AMBIGUOUS if is_named and not is_alone else Reason.UNJOINED
    if not log.is_settled(amount):
        return Reason.UNASSIGNED
    return Reason.UNEVEN if amount.repeated else None


def _judge(claim: Claim, log: LogTally, amount: Amount, path: Path) -> Judgement:
    sums, decimals = amount.sums[path], amount.decimals.get(path, 0)
    if sums.unscored:
        return leave_open(claim, Reason.UNSCORED, sums.joined_rows)
    cover = ResultCoverage(samples=sums.rows, repeats=sums.rows, squares=sums.rows)
    # Whole results, of right and wrong, are exact.
    unit = Fraction(1, 10**decimals) if decimals else Fraction(0)
    missing = log.instances - amount.instances
    return judge(claim, Evidence(sums, cover, sums.values, missing=missing, unit=unit))


def _iterate_others(outputs: Sequence[Output], document: Any, digits: Any) -> Iterator[Claim]:
    """Yield the numbers of an output that stand in no score, parameters or elapsed time."""
    known = {
        at(metric.pointer, one)
        for metric, score, _ in outputs
        if isinstance(metric.value, dict)
        for one in (score, metric.parameters, find_member(metric.value, "elapsed time"))
        if one is not None
    }
    waiting = [("", document)]
    while waiting:
        place, value = waiting.pop()
        if place in known:
            continue
        if isinstance(value, (dict, list)):
            items = value.items() if isinstance(value, dict) else enumerate(value)
            waiting += reversed([(place + pointer([key]), one) for key, one in items])
        elif is_number(value):
            number = claim_at(digits, place, ())
            yield Claim(place, short_text(place[1:]), kinds.UNKNOWN, number, value)


def _iterate_claims(
    output: Output, digits: Any, replaced: Collection[str | None]
) -> Iterator[tuple[Path | None, Claim]]:
    """Yield the claims in a score with their paths, None for one that is not a number.

    A score without any figure is one claim, which nothing confirms.
    """
    if output.score is None:
        return
    metric, place = output.metric, at(output.metric.pointer, output.score)
    name, count = short_text(metric.id or output.score.key), 0
    for path, value in iterate_leaves(output.score.value):
        # A score may have texts beside its figures, such as the hash code of BERTScore.
        if isinstance(value, str) and read_number(value) is None:
            continue
        label, count, spot = "/".join((name, *path)), count + 1, place + pointer(path)
        if spot in replaced or not is_number(value):
            shown = short_text(value) if isinstance(value, list) else value
            shown = None if spot in replaced else shown
            yield None, Claim(spot, label, kinds.UNKNOWN, None, shown, is_score=True)
            continue
        kind = choose_kind(metric.id or "", path)
        number = claim_at(digits, metric.pointer, (output.score.key, *path))
        is_score = kind is not kinds.COUNT
        yield path, Claim(spot, label, kind, number, value, is_score=is_score)
    if not count:
        shown = short_text(output.score.value)
        yield None, Claim(place, name, kinds.UNKNOWN, None, shown, is_score=True)

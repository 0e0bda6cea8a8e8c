"""The claims of a log, judged by the scores of its samples."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from itertools import islice
from typing import Any, Final

from evalstream.formats.inspect import results
from evalstream.formats.inspect.metrics import find_silent_metrics
from evalstream.formats.inspect.result_claims import ResultClaims, result_label
from evalstream.formats.inspect.rules.coverage import INS204, most_lacking
from evalstream.formats.inspect.rules.log import INS301, INS302, INS303, INS304, INS306
from evalstream.formats.inspect.rules.missing_results import INS305
from evalstream.formats.inspect.values import MOST_COUNT, is_count, is_id
from evalstream.formats.inspect.views import LogView
from evalstream.model.claim import JudgedClaim, Reason, State, confirms_score
from evalstream.model.data_class import NamedTuple
from evalstream.model.finding import Violation
from evalstream.model.text import count_noun
from evalstream.parsing.json import short_text, text_or_none
from evalstream.parsing.json_values import list_or_empty, objects
from evalstream.rules.base import Rule
from evalstream.rules.claims import find_open, find_refuted, find_rounded
from evalstream.stats.claims import kinds
from evalstream.stats.claims.judgement import (
    Claim,
    Judgement,
    confirm,
    judge_count,
    leave_open,
    refute,
)
from evalstream.stats.claims.kinds import ClaimKind
from evalstream.stats.claims.reducers import CannotCompute

NAMED: Final = 5
"""How many ids a message names."""

_RECOUNTED_SINCE: Final = (0, 3, 252)
"""The release from which on scoring again counts no failed samples as completed."""

_REDUCTION: Final = ClaimKind("reduction", frozenset())


class _Count(NamedTuple):
    """A count that a log states: its name, the right one and where that comes from, its rule.

    `others` may be there as well.
    """

    name: str
    expected: int | None
    words: str
    rule: Rule
    reason: Reason = Reason.NO_ROWS
    others: Sequence[int] = ()


class ClaimCheck:
    """Judges all claims of a log: `claims`, and the violations about them.

    `has_unnamed` says that declared metrics may have given figures of other names, or none.
    """

    def __init__(self, log: LogView) -> None:
        self._log = log
        self.violations: list[Violation] = []
        self.claims: list[JudgedClaim] = []
        self.has_unnamed = False
        self._judge_totals()
        for index, result in self._log.results_scores:
            self._judge_result(index, result)
        if not self._log.is_unlogged:
            # Without samples the reductions are the evidence, and not a claim.
            for index, reduction in objects(self._log.reductions):
                self._judge_reduction(index, reduction)
        # Where nothing was confirmed for want of rows, ES805 says so.
        unsaid = None if confirms_score(self.claims) else Reason.NO_ROWS.value
        self.violations += find_open(INS304, (one for one in self.claims if one.reason != unsaid))

    def _keep(self, judgement: Judgement, rule: Rule) -> None:
        claim = judgement.claim
        self.claims.append(claim)
        self.violations += find_refuted(rule, [judgement])
        self.violations += find_rounded(INS306, [claim])

    def _judge_totals(self) -> None:
        log, store = self._log, self._log.store
        ids = log.sample_ids
        total = None if ids is None else len(ids) * log.epochs
        # Scoring again counts the samples of the log, of which one that says so may lack some.
        may_lack = not log.is_finished or most_lacking(log) or log.is_unlogged
        recounted = [store.count] if log.samples_known and may_lack and not log.is_header else []
        words = f"{len(ids or ()):,} samples in {count_noun(log.epochs, 'epoch')} are declared"
        if not 0 < log.epochs < MOST_COUNT:
            words = "no run has the number of epochs that is declared"
        if total is None and log.samples_known and store.count == log.results.get("total_samples"):
            total = store.count
        whole, reason, told = self._count_completed()
        for one in (
            _Count("total_samples", total, words, INS204, Reason.MISSING, recounted),
            _Count("completed_samples", whole, told, INS204, reason),
        ):
            self._judge_count(one, log.results, log.at("results", one.name), store.count)

    def _count_completed(self) -> tuple[int | None, Reason, str]:
        """Return the number of completed samples, why it is not known, and its origin."""
        log, store = self._log, self._log.store
        if not log.samples_known:
            return None, Reason.UNREAD, ""
        if not log.is_unlogged:
            whole = store.count if self._is_all_rescored() else store.count - store.failed
            words = f"the log has {count_noun(whole, 'sample')} without an error"
            return whole, Reason.NO_ROWS, words
        lists = [len(list_or_empty(one.get("samples"))) for _, one in objects(log.reductions)]
        claimed: Any = log.results.get("completed_samples")
        most = max(lists, default=0)
        words = f"the reductions have {count_noun(most, 'sample')}"
        if not lists or not is_count(claimed):
            return None, Reason.NO_ROWS, words
        # A scorer may return no score, which the reductions then lack.
        total = most if log.sample_ids is None else max(most, len(log.sample_ids))
        if claimed == most * log.epochs or not most <= claimed <= total * log.epochs:
            return most * log.epochs, Reason.NO_ROWS, words
        return (most if claimed == most else None), Reason.EVIDENCE, words

    def _is_all_rescored(self) -> bool:
        """Tell whether `inspect score` counted the samples that it scored as completed.

        It did so where it replaced scores, before 0.3.252 (score_async in _eval/score.py).
        """
        log, store = self._log, self._log.store
        if not (store.failed and log.is_before(_RECOUNTED_SINCE)):
            return False
        names = [results.scorer_in_samples(log, one) for one in log.stated_scorers]
        is_whole = log.results.get("completed_samples") == store.count and bool(names)
        return is_whole and all(
            store.has_failed_scores(one) and results.counts_failed(log, one) for one in names
        )

    def _judge_count(
        self, count: _Count, stated: Mapping[str, Any], place: str, rows: int, label: str = ""
    ) -> None:
        found: Any = stated.get(count.name)
        if found.__class__ is not int:
            return
        claim = Claim(place, f"{label}{count.name}", kinds.COUNT, Decimal(found), found)
        if count.expected is None:
            self._keep(leave_open(claim, count.reason, rows), count.rule)
        else:
            right = [count.expected, *count.others]
            self._keep(judge_count(claim, right, count.words, rows), count.rule)

    def _judge_result(self, index: int, result: Mapping[str, Any]) -> None:
        scores: results.Scores | None = None
        reason, is_own = Reason.FORMULA, False
        try:
            scores, is_own = self._result_scores(result)
        except CannotCompute as error:
            reason = error.reason
        except OverflowError:
            reason = Reason.EVIDENCE
        label = result_label(result)
        number = 0 if scores is None else len(scores)
        for name, expected in (
            ("scored_samples", None if scores is None else number),
            ("unscored_samples", None if scores is None else scores.unscored),
        ):
            words = f"{count_noun(expected or 0, 'sample')} counted"
            count = _Count(name, expected, words, INS303, reason)
            place = self._log.place_of_score(index, name)
            self._judge_count(count, result, place, number, f"{label} ")
        judged = ResultClaims(self._log, index, result, scores, reason)
        self.has_unnamed = self.has_unnamed or bool(find_silent_metrics(self._log, result))
        for claim, message in judged.judgements():
            # Where no scorer is declared, nothing tells how a score without an event came about.
            is_unsure = self._log.has_unrecorded_scores and not self._log.declared_scorers
            why = Reason.FORMULA if is_own else Reason.EVIDENCE
            opened = claim._replace(state=State.OPEN, reason=why.value)
            kept = opened if (is_own or is_unsure) and claim.state.holds else claim
            self._keep(Judgement(kept, message), INS302)
        for formula, name in judged.list_missing():
            message = f"the result {label} lacks {short_text(name)} of the metric {formula}"
            self.violations.append(INS305.violation(message, self._log.place_of_score(index)))

    def _result_scores(self, result: Mapping[str, Any]) -> tuple[results.Scores, bool]:
        """Return the scores of a result, and whether an unknown reducer gave them.

        Raises CannotCompute.
        """
        log, reducer = self._log, text_or_none(result.get("reducer"))
        try:
            return results.Scores(log, result, results.result_rows(log, result)), False
        except CannotCompute as error:
            if error.reason is not Reason.FORMULA or reducer is None:
                raise
        listed = results.find_reduction(log, results.read_scorer(result), reducer)
        return results.Scores(log, result, lambda: results.listed_scores(listed)), True

    def _judge_reduction(self, index: int, reduction: Mapping[str, Any]) -> None:
        log, reducer = self._log, text_or_none(reduction.get("reducer"))
        found = list_or_empty(reduction.get("samples"))
        scorer, rows = results.scorer_in_samples(log, reduction.get("scorer")), log.store.count
        place = f"{log.reductions_at}/{index}/samples"
        label = f"reduced scores of {short_text(reduction.get('scorer'))} by {reducer or 'mean'}"
        claim = Claim(place, label, _REDUCTION, None, len(found))
        if not log.samples_known or not rows:
            reason = Reason.NO_ROWS if log.samples_known else Reason.UNREAD
            judgement = leave_open(claim, reason, rows)
        else:
            judgement = self._compare_reduction(claim, found, scorer, reducer)
        self.claims.append(judgement.claim)

    def _compare_reduction(
        self, claim: Claim, found: list[Any], scorer: str, reducer: str | None
    ) -> Judgement:
        store = self._log.store
        before = len(self.violations)
        try:
            scores = results.reduced_scores(self._log, scorer, reducer)
            number = _compare_scores(found, scores, claim.pointer, self.violations)
        except CannotCompute as error:
            return leave_open(claim, error.reason, store.count)
        if len(self.violations) == before:
            return confirm(claim, number, store.count)
        return refute(claim, number, "", store.count)


def _compare_scores(
    found: list[Any],
    scores: Iterable[results.ReducedScore],
    place: str,
    violations: list[Violation],
) -> int:
    """Compare a list of reduced scores, whose order is not that of the samples; count the scores.

    Raises CannotCompute.
    """
    stated = {
        str(one["sample_id"]): index
        for index, one in enumerate(found)
        if isinstance(one, dict) and is_id(one.get("sample_id"))
    }
    if len(stated) < len(found):
        message = "an id is missing in the reduced scores, or it is there twice"
        violations.append(INS301.violation(message, place))
    missing: list[str] = []
    number = 0
    for score in scores:
        number += 1
        index = stated.pop(score.id, None)
        if index is None:
            missing.append(score.id) if len(missing) < NAMED else None
            continue
        if not results.equals(value := found[index].get("value"), score.value):
            message = f"the epochs of the sample {score.id} give another value"
            shown = {"expected": score.value, "found": value}
            violations.append(INS301.violation(message, f"{place}/{index}/value", **shown))
        answer = text_or_none(found[index].get("answer"))
        if answer is not None and not {answer, None} & score.answers:
            message = f"no epoch of the sample {score.id} has this answer"
            violations.append(INS301.violation(message, f"{place}/{index}/answer", found=answer))
    if missing:
        message = f"reduced scores are missing, among them those of {', '.join(missing)}"
        violations.append(INS301.violation(message, place))
    for sample, index in islice(stated.items(), NAMED):
        message = f"no sample {sample} has a score of this scorer"
        violations.append(INS301.violation(message, f"{place}/{index}"))
    return number

"""The claims of a log, judged by the scores of its samples."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from itertools import islice
from typing import Any, Final, NamedTuple

from evalstream.formats.inspect.declarations import Declarations, Metric, iterate_metrics
from evalstream.formats.inspect.metrics import (
    Recomputer,
    has_own_words,
    inner_name,
    is_bootstrap,
    read_draws,
    short_name,
)
from evalstream.formats.inspect.results import (
    ReducedScore,
    Scores,
    find_reduction,
    listed_scores,
    reduced_scores,
    result_rows,
    scorer_in_samples,
)
from evalstream.formats.inspect.rules.coverage import INS204
from evalstream.formats.inspect.rules.results import INS301, INS302, INS303, INS304, INS306
from evalstream.formats.inspect.views import LogView, is_count, is_id, same
from evalstream.model.claim import JudgedClaim, Reason, State, confirms_score
from evalstream.model.finding import Violation
from evalstream.model.text import count_noun
from evalstream.parsing.json import text_or_none
from evalstream.parsing.json_values import list_or_empty, objects
from evalstream.rules.base import Rule
from evalstream.rules.claims import find_open, find_refuted, find_rounded
from evalstream.stats.claims import kinds
from evalstream.stats.claims.evidence import Evidence, sum_clusters
from evalstream.stats.claims.judge import Claim, Judgement, confirm, judge, leave_open, refute
from evalstream.stats.claims.kinds import Bounds, ClaimKind, Figure
from evalstream.stats.claims.reducers import CannotCompute, is_missing
from evalstream.stats.duplicates import ResultCoverage
from evalstream.stats.score_sums import ScoreSums

NAMED: Final = 5
"""How many ids a message names."""

_KINDS: Final[Mapping[str, ClaimKind]] = {
    "accuracy": kinds.MEAN,
    "mean": kinds.MEAN,
    "std": kinds.DEVIATION,
    "var": kinds.VARIANCE,
    "stderr": kinds.ERROR,
    "bootstrap_stderr": kinds.ERROR,
    "ci": kinds.INTERVAL,
    "ci_wilson": kinds.INTERVAL,
    "frequency": kinds.SHARE,
    "krippendorff_alpha": kinds.ALPHA,
    "perplexity_per_token": kinds.PERPLEXITY,
    "perplexity_per_seq": kinds.PERPLEXITY,
}
"""The kinds of the harness's own metrics."""

_SPREADS: Final = (kinds.DEVIATION, kinds.VARIANCE, kinds.ERROR, kinds.INTERVAL)
"""Kinds of figures that are no scores."""

_AVERAGES: Final = (
    *(kinds.MEAN, kinds.AVERAGE, kinds.MEDIAN, kinds.MODE, kinds.LEAST, kinds.GREATEST),
)
"""Kinds of metrics whose figures lie in the range of the scores."""

_REDUCTION: Final = ClaimKind("reduction", frozenset())


def _no_figures(_evidence: Evidence) -> Iterable[Figure]:
    return ()


def _no_bounds(_evidence: Evidence) -> Bounds:
    return None, None


_ROUNDING: Final = 1e-14
"""The share of the largest square that rounding may leave of a sum of squares."""

_NEAR: Final = 1e-9
"""The rounding of a mean."""

_MOST: Final = 1e150
"""Larger numbers have no square."""


class ClaimOutcome(NamedTuple):
    """The judged claims of a log, and the violations about them."""

    violations: list[Violation]
    claims: list[JudgedClaim]


class _Count(NamedTuple):
    """A count that a log states: its name, the right one and where that comes from, its rule."""

    name: str
    expected: int | None
    words: str
    rule: Rule
    reason: Reason = Reason.NO_ROWS


class ClaimCheck:
    """Judges all claims of a log."""

    def __init__(self, log: LogView) -> None:
        self._log = log
        self._declarations = Declarations(log)
        self._violations: list[Violation] = []
        self._claims: list[JudgedClaim] = []

    def outcome(self) -> ClaimOutcome:
        """Judge every claim."""
        self._violations += self._declarations.contradictions()
        self._judge_totals()
        for index, result in self._log.results_scores:
            self._judge_result(index, result)
        if not self._log.is_unlogged:
            # Without samples the reductions are the evidence, and not a claim.
            for index, reduction in objects(self._log.reductions):
                self._judge_reduction(index, reduction)
        self._violations += self._open_claims()
        return ClaimOutcome(self._violations, self._claims)

    def _open_claims(self) -> Iterator[Violation]:
        """Report open claims, once for each reason."""
        # Where nothing was confirmed for want of rows, ES805 says so.
        unsaid = None if confirms_score(self._claims) else Reason.NO_ROWS.value
        yield from find_open(INS304, (one for one in self._claims if one.reason != unsaid))

    def _keep(self, judgement: Judgement, rule: Rule) -> None:
        claim = judgement.claim
        self._claims.append(claim)
        self._violations += find_refuted(rule, [judgement])
        self._violations += find_rounded(INS306, [claim])

    def _judge_totals(self) -> None:
        log, store = self._log, self._log.store
        ids = log.sample_ids
        total = None if ids is None else len(ids) * log.epochs
        words = f"{len(ids or ()):,} samples in {count_noun(log.epochs, 'epoch')} are declared"
        if total is None and log.samples_known and store.count == log.results.get("total_samples"):
            total = store.count
        whole, reason, told = self._count_completed()
        counts = (
            _Count("total_samples", total, words, INS204, Reason.MISSING),
            _Count("completed_samples", whole, told, INS204, reason),
        )
        for one in counts:
            self._judge_count(one, log.results, log.at("results", one.name), store.count)

    def _count_completed(self) -> tuple[int | None, Reason, str]:
        """Return the number of completed samples, why it is not known, and its origin."""
        log, store = self._log, self._log.store
        if not log.samples_known:
            return None, Reason.UNREAD, ""
        if not log.is_unlogged:
            whole = store.count - store.failed
            return (
                whole,
                Reason.NO_ROWS,
                f"the log has {count_noun(whole, 'sample')} without an error",
            )
        lists = [len(list_or_empty(one.get("samples"))) for _, one in objects(log.reductions)]
        claimed: Any = log.results.get("completed_samples")
        most = max(lists, default=0)
        words = f"the reductions have {count_noun(most, 'sample')}"
        if not lists or not is_count(claimed):
            return None, Reason.NO_ROWS, words
        if claimed == most * log.epochs or not most <= claimed <= most * log.epochs:
            return most * log.epochs, Reason.NO_ROWS, words
        return (most if claimed == most else None), Reason.EVIDENCE, words

    def _judge_count(
        self, count: _Count, stated: Mapping[str, Any], place: str, rows: int, label: str = ""
    ) -> None:
        found: Any = stated.get(count.name)
        if not is_count(found):
            return
        claim = Claim(place, f"{label}{count.name}", kinds.COUNT, Decimal(found), found)
        if count.expected is None:
            judgement = leave_open(claim, count.reason, rows)
        elif found == count.expected:
            judgement = confirm(claim, count.expected, rows)
        else:
            judgement = refute(claim, count.expected, count.words, rows)
        self._keep(judgement, count.rule)

    def _judge_result(self, index: int, result: Mapping[str, Any]) -> None:
        scores: Scores | None = None
        reason, is_own = Reason.FORMULA, False
        try:
            scores, is_own = self._result_scores(result)
        except CannotCompute as error:
            reason = error.reason
        except OverflowError:
            reason = Reason.EVIDENCE
        label = _label(result)
        number = 0 if scores is None else len(scores)
        for name, expected in (
            ("scored_samples", None if scores is None else number),
            ("unscored_samples", None if scores is None else scores.unscored),
        ):
            words = f"{count_noun(expected or 0, 'sample')} counted"
            count = _Count(name, expected, words, INS303, reason)
            place = self._log.place_of_score(index, name)
            self._judge_count(count, result, place, number, f"{label} ")
        judged = _ResultClaims(self._log, self._declarations, index, result, scores, reason)
        for claim, message in judged.judgements():
            if is_own and claim.state.holds:
                kept = claim._replace(state=State.OPEN, reason=Reason.FORMULA.value)
            else:
                kept = claim
            self._keep(Judgement(kept, message), INS302)

    def _result_scores(self, result: Mapping[str, Any]) -> tuple[Scores, bool]:
        """Return the scores of a result, and whether an unknown reducer gave them.

        Raises CannotCompute.
        """
        log, reducer = self._log, text_or_none(result.get("reducer"))
        try:
            return Scores(log, result, result_rows(log, result)), False
        except CannotCompute as error:
            if error.reason is not Reason.FORMULA or reducer is None:
                raise
        listed = find_reduction(log, result.get("scorer", result.get("name")), reducer)
        return Scores(log, result, lambda: listed_scores(listed)), True

    def _judge_reduction(self, index: int, reduction: Mapping[str, Any]) -> None:
        log, reducer = self._log, text_or_none(reduction.get("reducer"))
        found = list_or_empty(reduction.get("samples"))
        scorer = scorer_in_samples(log, reduction.get("scorer"))
        place = f"{log.reductions_at}/{index}/samples"
        label = f"reduced scores of {reduction.get('scorer')} by {reducer or 'mean'}"
        claim = Claim(place, label, _REDUCTION, None, len(found))
        rows = log.store.count
        if not log.samples_known or not rows:
            reason = Reason.NO_ROWS if log.samples_known else Reason.UNREAD
            self._claims.append(leave_open(claim, reason, rows).claim)
            return
        try:
            compared = _ReductionCheck(found, place)
            self._violations += compared.violations(reduced_scores(log.store, scorer, reducer))
        except CannotCompute as error:
            self._claims.append(leave_open(claim, error.reason, rows).claim)
            return
        if compared.is_right:
            judgement = confirm(claim, compared.expected, rows)
        else:
            judgement = refute(claim, compared.expected, "", rows)
        self._claims.append(judgement.claim)


def _label(result: Mapping[str, Any]) -> str:
    names = [text_or_none(result.get(name)) for name in ("scorer", "name", "reducer")]
    return "/".join(dict.fromkeys(filter(None, names))) or "result"


class _ReductionCheck:
    """Compares one list of reduced scores, whose order is not that of the samples."""

    def __init__(self, found: list[Any], place: str) -> None:
        self._found, self._place = found, place
        self.is_right = True
        self.expected = 0

    def violations(self, scores: Iterable[ReducedScore]) -> Iterator[Violation]:
        """Report each score that differs. Raises CannotCompute."""
        stated = {
            str(one["sample_id"]): index
            for index, one in enumerate(self._found)
            if isinstance(one, dict) and is_id(one.get("sample_id"))
        }
        self.is_right = len(stated) == len(self._found)
        if not self.is_right:
            message = "an id is missing in the reduced scores, or it is there twice"
            yield INS301.violation(message, self._place)
        missing: list[str] = []
        for score in scores:
            self.expected += 1
            index = stated.pop(score.id, None)
            if index is None:
                missing.append(score.id) if len(missing) < NAMED else None
            elif not _equals(value := self._found[index].get("value"), score.value):
                self.is_right = False
                yield INS301.violation(
                    f"the epochs of the sample {score.id} give another value",
                    f"{self._place}/{index}/value",
                    expected=score.value,
                    found=value,
                )
        self.is_right = self.is_right and not missing and not stated
        if missing:
            message = f"reduced scores are missing, among them those of {', '.join(missing)}"
            yield INS301.violation(message, self._place)
        for sample, index in islice(stated.items(), NAMED):
            message = f"no sample {sample} has a score of this scorer"
            yield INS301.violation(message, f"{self._place}/{index}")


def _equals(value: Any, expected: Any) -> bool:
    if isinstance(expected, dict) and isinstance(value, dict):
        return value.keys() == expected.keys() and all(
            _equals(value[key], expected[key]) for key in expected
        )
    if isinstance(expected, list) and isinstance(value, list):
        return len(value) == len(expected) and all(map(_equals, value, expected))
    return is_missing(value) if is_missing(expected) else same(value, expected)


class _ResultClaims:
    """Judges the metrics of one result; without its scores all are open, if not out of bounds."""

    def __init__(
        self,
        log: LogView,
        declarations: Declarations,
        index: int,
        result: Mapping[str, Any],
        scores: Scores | None,
        reason: Reason,
    ) -> None:
        self._log, self._declarations, self._index = log, declarations, index
        self._scorer, self._label = result.get("scorer", result.get("name")), _label(result)
        self._metrics = list(iterate_metrics(result))
        self._scores, self._reason = scores, reason
        self._recomputer = None if scores is None else Recomputer(scores)
        self._sums: ScoreSums | None = None

    def judgements(self) -> Iterator[Judgement]:
        """Iterate over the judged metrics."""
        following = iter(range(len(self._metrics)))
        for place in following:
            metric = self._metrics[place]
            pair = self._metrics[place : place + 2]
            if _are_ends(pair):
                next(following)
                yield self._judge_interval(pair)
            else:
                yield self._judge(metric)

    def _judge(self, metric: Metric) -> Judgement:
        declared = self._declarations.find_declaration(metric, self._scorer)
        params = metric.params if declared is None else declared.params
        name = short_name(declared, metric)
        kind = _choose_kind(name, metric, params)
        claim = self._claim(metric, kind)
        if metric.value is not None and metric.value.__class__ not in (int, float):
            return refute(claim, None, "the value is no number", self._rows)
        if name is None:
            return self._judge_own(claim, kind)
        if name == "bootstrap_stderr" and self._rows and claim.value is not None:
            claim = claim._replace(method="bootstrap", draws=read_draws(params))
            return judge(claim, self._evidence())
        try:
            value = self._value(metric, params)
        except CannotCompute as error:
            return self._judge_bounds(claim, error.reason)
        if value is None:
            message = f"{metric.formula} gives no figure of this name"
            return refute(claim, None, message, self._rows)
        return self._compare(claim, value, params, inner_name(name, params))

    def _value(self, metric: Metric, params: Mapping[str, Any]) -> float | None:
        if self._recomputer is None:
            raise CannotCompute(self._reason)
        return self._recomputer.value(metric, params)

    def _compare(
        self, claim: Claim, value: float, params: Mapping[str, Any], inner: str
    ) -> Judgement:
        """Compare a claim with its one right value."""
        claimed = math.nan if claim.shown is None else float(claim.shown)
        has_own = has_own_words(params)
        if claimed == value or (math.isnan(claimed) and math.isnan(value)):
            return confirm(claim, _json(value), self._rows)
        if claim.value is None or not math.isfinite(value):
            if has_own:
                return leave_open(claim, Reason.METHOD, self._rows, _json(value))
            words = f"the {claim.kind.name} of {count_noun(self._rows, 'score')} is not the claim"
            return refute(claim, _json(value), words, self._rows)
        if inner in _ROOTS and self._is_rounding(claimed, value):
            return confirm(claim, value, self._rows)
        figure = Figure(f"the {claim.kind.name}", value)
        exact = claim.kind._replace(
            figures=lambda _evidence: (figure,), hints=_no_figures, is_exact=not has_own
        )
        if has_own:
            exact = exact._replace(bounds=_no_bounds)
        judgement = judge(claim._replace(kind=exact), self._number_of_rows())
        if judgement.claim.state is State.OPEN:
            return leave_open(claim, Reason.METHOD, self._rows, value)
        return judgement

    def _is_rounding(self, claimed: float, value: float) -> bool:
        """Return whether a deviation near 0 is what rounding leaves of a difference of squares."""
        numbers = () if self._scores is None else self._scores.numbers
        scale = max(map(abs, numbers), default=0.0)
        return (
            0 <= claimed < _MOST
            and value < _MOST
            and scale < _MOST
            and abs(claimed * claimed - value * value) <= _ROUNDING * scale * scale
        )

    def _judge_own(self, claim: Claim, kind: ClaimKind) -> Judgement:
        """Judge a metric of the task's own: its mean confirms it, and bounds refute it."""
        scores = self._scores
        if scores is None or not scores.is_numeric or not len(scores):
            return self._judge_bounds(claim, self._reason)
        if claim.value is None:
            return leave_open(claim, Reason.FORMULA, self._rows)
        own = kinds.UNKNOWN._replace(name=kind.name, hints=_no_figures)
        if kind in _AVERAGES:
            low, high = min(scores.numbers), max(scores.numbers)
            # It may be a share of its own, also in percent.
            bounds = min(0.0, low), 100 * max(1.0, high)
            own = own._replace(bounds=lambda _evidence: bounds)
        elif kind in _SPREADS:
            own = own._replace(figures=_no_figures, bounds=lambda _evidence: (0, None))
        judgement = judge(claim._replace(kind=own), self._evidence())
        if judgement.claim.state is State.OPEN:
            return leave_open(claim, Reason.FORMULA, self._rows)
        return judgement

    def _judge_interval(self, pair: list[Metric]) -> Judgement:
        """Judge the two ends of an interval from resampling."""
        metric = pair[0]
        declared = self._declarations.find_declaration(metric, self._scorer)
        params = metric.params if declared is None else declared.params
        ends = {one.name: one.value for one in pair}
        level = params.get("level", 0.95)
        claim = self._claim(metric, kinds.INTERVAL)._replace(
            value=(_decimal(ends["lower"]), _decimal(ends["upper"])),
            shown=ends,
            method="bootstrap",
            draws=read_draws(params),
            level=float(level) if isinstance(level, (int, float)) else math.nan,
        )
        if self._scores is None:
            return leave_open(claim, self._reason, self._rows)
        if not len(self._scores):
            wrong = refute(claim, {"lower": 0.0, "upper": 0.0}, "there are no scores", 0)
            return confirm(claim, ends, 0) if not any(ends.values()) else wrong
        try:
            clusters = self._scores.clusters(params.get("cluster"))
        except CannotCompute as error:
            return leave_open(claim, error.reason, self._rows)
        low, high = min(self._scores.numbers), max(self._scores.numbers)
        if not low - _NEAR <= ends["lower"] <= ends["upper"] <= high + _NEAR:
            message = f"means of resampled scores lie between {low:.6g} and {high:.6g}, in order"
            return refute(claim, None, message, self._rows)
        return judge(claim, self._evidence(clusters))

    def _claim(self, metric: Metric, kind: ClaimKind) -> Claim:
        value = metric.value
        number = None if not _is_finite(value) else _decimal(value)
        place = self._log.place_of_score(self._index, "metrics", metric.key, "value")
        is_score = kind not in _SPREADS
        label = f"{self._label} {metric.key}"
        return Claim(place, label, kind, number, value, is_score=is_score)

    def _judge_bounds(self, claim: Claim, reason: Reason) -> Judgement:
        """Leave a claim open, unless it is outside the bounds of its kind."""
        if claim.value is not None:
            judgement = judge(claim._replace(kind=claim.kind._replace(figures=_no_figures)), _NONE)
            if judgement.claim.state is State.REFUTED:
                return judgement
        return leave_open(claim, reason, self._rows)

    @property
    def _rows(self) -> int:
        return 0 if self._scores is None else len(self._scores)

    def _number_of_rows(self) -> Evidence:
        return Evidence(ScoreSums(rows=self._rows))

    def _evidence(self, clusters: list[Any] | None = None) -> Evidence:
        """Return exact sums over the scores."""
        numbers = () if self._scores is None else self._scores.numbers
        if self._sums is None:
            self._sums = ScoreSums()
            for number in numbers:
                self._sums.add(None, number, None, failed=False, times=1)
        rows = len(numbers)
        cover = ResultCoverage(samples=rows, repeats=rows, squares=rows)
        parts = None if clusters is None else sum_clusters(numbers, clusters)
        return Evidence(self._sums, cover, clusters=parts)


_ROOTS: Final = frozenset({"std", "stderr", "ci"})
"""Metrics that are made of the root of a sum of squares."""

_NONE: Final = Evidence(ScoreSums())


def _choose_kind(name: str | None, metric: Metric, params: Mapping[str, Any]) -> ClaimKind:
    if name is None:
        short = metric.formula.rpartition("/")[2]
        return kinds.kind_named(short) or kinds.UNKNOWN
    inner = inner_name(name, params)
    if inner == "frequency" and params.get("normalize") is False:
        return kinds.COUNTS
    return _KINDS.get(inner, kinds.UNKNOWN)


def _are_ends(pair: list[Metric]) -> bool:
    """Return whether two metrics are the ends of an interval from resampling."""
    if [one.name for one in pair] != ["lower", "upper"] or not all(
        _is_finite(one.value) for one in pair
    ):
        return False
    low, high = pair
    return low.formula == high.formula == "ci" and is_bootstrap("ci", low.params)


def _is_finite(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _decimal(value: Any) -> Decimal:
    return Decimal(repr(value))


def _json(value: float) -> float | None:
    """Return a number as JSON has it, None for NaN and infinite ones."""
    return value if math.isfinite(value) else None

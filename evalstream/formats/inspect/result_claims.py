"""The metrics of one result, judged by its scores."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any, Final

from evalstream.formats.inspect import metrics
from evalstream.formats.inspect.metrics import (
    Metric,
    find_declaration,
    find_unnamed_figures,
    result_metrics,
)
from evalstream.formats.inspect.results import Scores, read_scorer
from evalstream.formats.inspect.views import LogView
from evalstream.model.claim import Reason, State
from evalstream.model.text import count_noun
from evalstream.parsing.json import canonical, text_or_none
from evalstream.parsing.json_values import holds_double, to_float
from evalstream.parsing.lazy_regex import LazyPattern
from evalstream.stats.claims import kinds
from evalstream.stats.claims.evidence import Evidence, sum_clusters
from evalstream.stats.claims.judge import judge, judge_without_rows
from evalstream.stats.claims.judgement import Claim, Judgement, confirm, leave_open, refute
from evalstream.stats.claims.kinds import ClaimKind, Figure
from evalstream.stats.claims.reducers import CannotCompute, is_missing
from evalstream.stats.coverage import ResultCoverage
from evalstream.stats.tally import ScoreSums

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
"""Kinds of figures that are not scores."""

_AVERAGES: Final = (
    *(kinds.MEAN, kinds.AVERAGE, kinds.MEDIAN, kinds.MODE, kinds.LEAST, kinds.GREATEST),
)
"""Kinds of metrics whose figures lie in the range of the scores."""

_ROUNDING: Final = 1e-14
"""The share of the largest square that rounding may leave of a sum of squares."""

_NEAR: Final = 1e-9
"""The rounding of a mean."""

_MOST: Final = 1e150
"""Larger numbers have no square."""

_LEFT_OUT_SINCE: Final = (0, 3, 113)
"""The release from which on figures leave out scores that are NaN."""


def result_label(result: Mapping[str, Any]) -> str:
    """Return how messages call a result: its scorer, its name and its reducer."""
    names = [text_or_none(result.get(name)) for name in ("scorer", "name", "reducer")]
    return "/".join(dict.fromkeys(filter(None, names))) or "result"


class ResultClaims:
    """Judges the metrics of one result; without its scores all are open, if not out of bounds."""

    def __init__(
        self,
        log: LogView,
        index: int,
        result: Mapping[str, Any],
        scores: Scores | None,
        reason: Reason,
    ) -> None:
        self._log, self._index = log, index
        self._scorer, self._label = read_scorer(result), result_label(result)
        self._metrics = list(result_metrics(result))
        self._scores, self._reason = scores, reason
        self.unnamed = find_unnamed_figures(log, result)
        self._figures: dict[tuple[str, bytes], metrics.Figure] = {}
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
            elif metric.key in self.unnamed:
                yield leave_open(self._claim(metric, kinds.UNKNOWN), Reason.UNSURE, self._rows)
            else:
                yield self._judge(metric)

    def list_missing(self) -> Iterator[tuple[str, str]]:
        """Iterate over the figures that judged metrics give and that the result lacks.

        Each is the name of the metric and that of the figure.
        """
        for (formula, params), figure in self._figures.items():
            if isinstance(figure, Mapping) and len(self._scores or ()):
                own = [one for one in self._metrics if one.formula == formula]
                own = [one for one in own if self._params_of(one) == params]
                told = {metrics.find_figure(figure, one) for one in own}
                yield from ((formula, name) for name in figure if name not in told)

    def _params_of(self, metric: Metric) -> bytes:
        declared = find_declaration(self._log, metric, self._scorer)
        return canonical(dict(metric.params if declared is None else declared.params))

    def _judge(self, metric: Metric) -> Judgement:
        declared = find_declaration(self._log, metric, self._scorer)
        params = metric.params if declared is None else declared.params
        name = metrics.short_name(declared, metric)
        kind = _choose_kind(name, metric, params)
        claim = self._claim(metric, kind)
        if metric.value is not None and metric.value.__class__ not in (int, float):
            return refute(claim, None, "the value is not a number", self._rows)
        if name is None:
            return self._judge_own(claim, kind)
        if name == "bootstrap_stderr" and self._rows and claim.value is not None:
            claim = claim._replace(method="bootstrap", draws=metrics.read_draws(params))
            return judge(claim, self._evidence())
        try:
            value = self._value(metric, params)
        except CannotCompute as error:
            return judge_without_rows(claim, error.reason, self._rows)
        if value is None:
            message = f"{metric.formula} gives no figure of this name"
            return refute(claim, None, message, self._rows)
        return self._compare(claim, value, params, metrics.inner_name(name, params))

    def _value(self, metric: Metric, params: Mapping[str, Any]) -> float | None:
        """Return the value that a metric must have. Raises CannotCompute."""
        if self._scores is None:
            raise CannotCompute(self._reason)
        key = metric.formula, canonical(dict(params))
        if key not in self._figures:
            self._figures[key] = metrics.compute(metric.formula, params, self._scores)
        return metrics.pick_figure(self._figures[key], metric, len(self._scores))

    def _compare(
        self, claim: Claim, value: float, params: Mapping[str, Any], inner: str
    ) -> Judgement:
        has_own = metrics.has_own_words(params)
        is_nan = is_missing(claim.shown)
        may_be_nan = math.isnan(value) or self._counts_nan or self._has_one_cluster(params)
        if claim.shown == value or (is_nan and may_be_nan):
            return confirm(claim, _json(value), self._rows)
        if claim.value is None or not math.isfinite(value):
            if has_own:
                return leave_open(claim, Reason.METHOD, self._rows, _json(value))
            words = f"the {claim.kind.name} of {count_noun(self._rows, 'score')} is not the claim"
            return refute(claim, _json(value), words, self._rows)
        if inner in _ROOTS and self._is_rounding(claim.shown, value):
            return confirm(claim, value, self._rows)
        figure = Figure(f"the {claim.kind.name}", value)
        exact = claim.kind._replace(
            figures=lambda _evidence: (figure,), hints=kinds.no_figures, is_exact=not has_own
        )
        if has_own:
            exact = exact._replace(bounds=kinds.no_bounds)
        judgement = judge(claim._replace(kind=exact), Evidence(ScoreSums(rows=self._rows)))
        if judgement.claim.state is State.OPEN:
            return leave_open(claim, Reason.METHOD, self._rows, value)
        return judgement

    def _has_one_cluster(self, params: Mapping[str, Any]) -> bool:
        """Tell whether all scores are in one cluster, whose error earlier releases gave as NaN."""
        found = None if self._scores is None else self._scores.clusters(params.get("cluster"))
        return found is not None and len(set(found)) == 1

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
            return judge_without_rows(claim, self._reason, self._rows)
        if claim.value is None:
            return leave_open(claim, Reason.FORMULA, self._rows)
        own = kinds.UNKNOWN._replace(name=kind.name, hints=kinds.no_figures)
        if kind in _AVERAGES:
            low, high = min(scores.numbers), max(scores.numbers)
            # It may be a share of its own, also in percent.
            bounds = min(0.0, low), 100 * max(1.0, high)
            own = own._replace(bounds=lambda _evidence: bounds)
        elif kind in _SPREADS:
            own = own._replace(figures=kinds.no_figures, bounds=lambda _evidence: (0, None))
        judgement = judge(claim._replace(kind=own), self._evidence())
        if judgement.claim.state is State.OPEN:
            return leave_open(claim, Reason.FORMULA, self._rows)
        return judgement

    def _judge_interval(self, pair: list[Metric]) -> Judgement:
        metric = pair[0]
        declared = find_declaration(self._log, metric, self._scorer)
        params = metric.params if declared is None else declared.params
        ends = {one.name: one.value for one in pair}
        level = to_float(params.get("level", 0.95))
        claim = self._claim(metric, kinds.INTERVAL)._replace(
            value=(_decimal(ends["lower"]), _decimal(ends["upper"])),
            shown=ends,
            method="bootstrap",
            draws=metrics.read_draws(params),
            level=math.nan if level is None else level,
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
        number = _decimal(value) if holds_double(value) else None
        place = self._log.place_of_score(self._index, "metrics", metric.key, "value")
        is_score = kind not in _SPREADS
        label = f"{self._label} {metric.key}"
        return Claim(place, label, kind, number, value, is_score=is_score)

    @property
    def _counts_nan(self) -> bool:
        """Whether scores that are NaN are among those of the figures, as in earlier releases."""
        is_early = self._log.is_before(_LEFT_OUT_SINCE)
        return is_early and self._scores is not None and self._scores.unscored > 0

    @property
    def _rows(self) -> int:
        return 0 if self._scores is None else len(self._scores)

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

_WORD: Final = LazyPattern("[a-z]+")
_MEANS: Final = frozenset({"average", "avg", "mean"})
_SCORES: Final = frozenset({"score", "scores"})
"""Words of names; a mean of anything but scores, such as mean_reward, is in no range of theirs."""


def _choose_kind(name: str | None, metric: Metric, params: Mapping[str, Any]) -> ClaimKind:
    if name is None:
        short = metric.formula.rpartition("/")[2]
        kind = kinds.kind_named(short) or kinds.UNKNOWN
        words = set(_WORD.findall(short.lower()))
        is_of_others = words.isdisjoint(kinds.AVERAGES - _MEANS) and words - _MEANS - _SCORES
        return kinds.UNKNOWN if kind is kinds.AVERAGE and is_of_others else kind
    inner = metrics.inner_name(name, params)
    if inner == "frequency" and params.get("normalize") is False:
        return kinds.COUNTS
    return _KINDS.get(inner, kinds.UNKNOWN)


def _are_ends(pair: list[Metric]) -> bool:
    """Return whether two metrics are the ends of an interval from resampling."""
    if [one.name for one in pair] != ["lower", "upper"]:
        return False
    low, high = pair
    is_resampled = low.formula == high.formula == "ci" and low.params.get("method") == "bootstrap"
    return is_resampled and holds_double(low.value) and holds_double(high.value)


def _decimal(value: Any) -> Decimal:
    return Decimal(repr(value))


def _json(value: float) -> float | None:
    """Return a number as JSON has it, None for NaN and infinite ones."""
    return value if math.isfinite(value) else None

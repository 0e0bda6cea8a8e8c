"""The metrics of results: as logs declare them, and computed as inspect_ai does.

Sources: _eval/task/results.py and scorer/_metrics/ of inspect_ai 0.3.285.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from string import digits
from typing import Any, Final

from evalstream.formats.inspect.results import Scores, read_scorer
from evalstream.formats.inspect.values import is_count, same, score_to_float
from evalstream.formats.inspect.views import LogView
from evalstream.model.claim import Reason
from evalstream.model.data_class import NamedTuple
from evalstream.parsing.json import canonical, member, text_or_none
from evalstream.parsing.json_values import list_or_empty, object_or_empty
from evalstream.stats.claims import intervals
from evalstream.stats.claims.corpus_metrics import LEVELS, krippendorff_alpha
from evalstream.stats.claims.kinds import words
from evalstream.stats.claims.reducers import CannotCompute

OURS: Final = "inspect_ai/"
"""The prefix of the harness's own metrics where a log declares them."""


class Metric(NamedTuple):
    """One metric of a result: its key, its value as the log has it, and how it is computed."""

    key: str
    value: Any
    name: str
    group: str | None
    params: Mapping[str, Any]

    @property
    def formula(self) -> str:
        """The name of the function that computes it.

        Older logs do not say that a figure is one of a group, but have the parameters of it.
        """
        if self.group is None and {"metric", "group_key"} <= self.params.keys():
            return "grouped"
        return self.group or self.name


def result_metrics(result: Mapping[str, Any]) -> Iterator[Metric]:
    """Iterate over the metrics of a result."""
    for key, one in object_or_empty(result.get("metrics")).items():
        if isinstance(one, dict):
            params = one.get("params", one.get("options"))
            name = text_or_none(one.get("name")) or key
            group = text_or_none(one.get("group"))
            yield Metric(key, one.get("value"), name, group, object_or_empty(params))


class DeclaredMetric(NamedTuple):
    """A metric that a scorer declares: its full name and its parameters."""

    name: str
    params: Mapping[str, Any]

    @property
    def is_ours(self) -> bool:
        """Whether it is one of the harness's own."""
        return self.name.startswith(OURS)


def list_declared(log: LogView, scorer: Any) -> list[DeclaredMetric] | None:
    """Return the metrics that a log declares of a scorer, None for one without a declaration."""
    return log.derive(_flatten_declared, scorer) if isinstance(scorer, str) else None


def _flatten_declared(log: LogView, scorer: str) -> list[DeclaredMetric] | None:
    found = log.declared_scorers.get(scorer)
    metrics = None if found is None else found.get("metrics")
    if metrics is not None and log.task_metrics is not None:
        metrics = log.task_metrics
    return None if metrics is None else list(_flat(metrics))


def find_declaration(log: LogView, metric: Metric, scorer: Any) -> DeclaredMetric | None:
    """Return the declaration of a metric, first the one with its parameters and fewest others."""
    name = metric.formula.rpartition("/")[2]
    declared = list_declared(log, scorer) or ()
    named = [one for one in declared if one.name.rpartition("/")[2] == name]
    fitting = [one for one in named if has_params(one.params, metric.params)]
    return min(fitting or named, key=lambda one: len(one.params), default=None)


NAMED_SINCE: Final = (0, 3, 241)
"""The release from which on figures of a metric that returns an object name the metric.

It is also the first one in which `inspect score` declares the scorers with which it scores.
"""


def find_silent_metrics(log: LogView, result: Mapping[str, Any]) -> frozenset[str]:
    """Return the names of metrics of the task's own that no figure of a scorer names.

    A metric gave figures of other names, which releases say that name the metric of each figure,
    or none: it may return an empty object.
    """
    return log.derive(_find_silent, canonical(read_scorer(result)))


def _group_results(log: LogView) -> dict[bytes, list[Mapping[str, Any]]]:
    """Return the results by their scorer, as canonical JSON."""
    found: dict[bytes, list[Mapping[str, Any]]] = {}
    for _, one in log.results_scores:
        found.setdefault(canonical(read_scorer(one)), []).append(one)
    return found


def _find_silent(log: LogView, scorer: bytes) -> frozenset[str]:
    results = log.derive(_group_results).get(scorer, [])
    metrics = [metric for one in results for metric in result_metrics(one)]
    stated = {one.name.rpartition("/")[2] for one in metrics}
    stated.update(one.group for one in metrics if one.group)
    declared = list_declared(log, read_scorer(results[0])) if results else None
    own = (one.name for one in declared or () if not one.is_ours)
    return frozenset(name for name in own if name.rpartition("/")[2] not in stated)


def find_unnamed_figures(log: LogView, result: Mapping[str, Any]) -> frozenset[str]:
    """Return the keys of figures that metrics of the task's own may have given.

    They are those that are not declared, and those of a name that stands there more often than it
    is declared.
    """
    if not log.is_before(NAMED_SINCE) or not find_silent_metrics(log, result):
        return frozenset()
    scorer = read_scorer(result)
    # A figure of a group has another formula than its name says.
    metrics = [one for one in result_metrics(result) if one.formula == one.name]
    stated = Counter(one.name.rpartition("/")[2] for one in metrics)
    spare = stated - Counter(
        one.name.rpartition("/")[2] for one in list_declared(log, scorer) or ()
    )
    return frozenset(one.key for one in metrics if spare[one.name.rpartition("/")[2]])


def has_params(declared: Mapping[str, Any], params: Mapping[str, Any]) -> bool:
    """Return whether a declaration has all parameters; older results have none of them."""
    return all(name in declared and same(value, declared[name]) for name, value in params.items())


def _flat(metrics: Any) -> Iterator[DeclaredMetric]:
    """Iterate over the metrics in a list, or in a map of lists of them."""
    for part in list(metrics.values()) if isinstance(metrics, dict) else [metrics]:
        for one in list_or_empty(part):
            name = text_or_none(member(one, "name"))
            if name is not None:
                yield DeclaredMetric(name, object_or_empty(one.get("options")))
            elif isinstance(one, dict):
                yield from _flat(one)


DRAWS: Final = 1000
"""How many samples a bootstrap draws, where nothing else is declared."""

Params = Mapping[str, Any]
Figure = float | Mapping[str, float]
"""The value of a metric, or of several figures by name."""

Formula = Callable[[Scores, Params], Figure]


def find_figure(found: Mapping[str, float], metric: Metric) -> str | None:
    """Return the name of the figure that a metric is, None if it is none of them."""
    names = [metric.name]
    if metric.group is None:
        # Older logs number repeated names, and do not mark the figures of groups; those of a part
        # of the scores have the name of the metric before theirs.
        names += [metric.name.rstrip(digits), metric.name.removeprefix(f"{metric.formula}_")]
    return next((one for one in names if one in found), None)


def pick_figure(found: Figure, metric: Metric, number: int) -> float | None:
    """Return the value of a metric over a number of scores, None if it has no such figure.

    Raises CannotCompute.
    """
    if not isinstance(found, Mapping):
        return found
    name = find_figure(found, metric)
    if name is None and not number:
        return math.nan
    if name is None and metric.group is None:
        raise CannotCompute(Reason.EVIDENCE)
    return None if name is None else found[name]


def compute(name: str, params: Params, scores: Scores) -> Figure:
    """Return the value of one of the harness's metrics. Raises CannotCompute."""
    formula, known = _FORMULAS.get(name, (None, frozenset()))
    given = {key: value for key, value in params.items() if value is not None}
    if formula is None or not given.keys() <= known:
        raise CannotCompute(Reason.FORMULA)
    try:
        return formula(scores, given)
    except (OverflowError, TypeError, ValueError) as error:
        raise CannotCompute(Reason.EVIDENCE) from error


def short_name(declared: DeclaredMetric | None, metric: Metric) -> str | None:
    """Return the name of the harness's own metric that a figure is of, None for another one.

    Where nothing is declared the name alone says it.
    """
    if declared is not None and not declared.is_ours:
        return None
    name = metric.formula if declared is None else declared.name.removeprefix(OURS)
    return name if name in _FORMULAS else None


def inner_name(name: str, params: Params) -> str:
    """Return the name of the metric that `grouped` and `aggregate` apply to parts."""
    while name in _APPLIED:
        inner = object_or_empty(params.get(_APPLIED[name]))
        name, params = text_or_none(inner.get("name")) or "", object_or_empty(inner.get("params"))
        name = name.removeprefix(OURS)
    return name


_APPLIED: Final = {"grouped": "metric", "aggregate": "agg"}
"""Metrics that apply another one, and the parameter that names it."""


def _inner(params: Params, key: str, scores: Scores) -> Figure:
    inner = object_or_empty(params.get(key))
    name = text_or_none(inner.get("name")) or ""
    return compute(name.removeprefix(OURS), object_or_empty(inner.get("params")), scores)


def _mean(scores: Scores, _params: Params) -> float:
    return intervals.mean(scores.numbers)


def _over_scores(function: Callable[..., float]) -> Formula:
    def formula(scores: Scores, params: Params) -> float:
        if not len(scores):
            return math.nan
        if "cluster" in params:
            return function(scores.numbers, scores.clusters(params["cluster"]))
        return function(scores.numbers)

    return formula


def _interval(function: Callable[..., tuple[float, float]]) -> Formula:
    def formula(scores: Scores, params: Params) -> Figure:
        low, high = 0.0, 0.0
        if len(scores):
            clusters = scores.clusters(params.get("cluster"))
            level = float(params.get("level", intervals.USUAL_LEVEL))
            if not 0 < level < 1:
                raise CannotCompute(Reason.FORMULA)
            low, high = function(scores.numbers, level, clusters)
        return {"lower": low, "upper": high}

    return formula


def _frequency(scores: Scores, params: Params) -> Figure:
    counts = Counter(str(row.value) for row in scores.rows())
    number = counts.total() if params.get("normalize", True) else 1
    names = dict.fromkeys((*map(str, params.get("categories") or ()), *counts))
    return {name: counts[name] / (number or 1) for name in names} or math.nan


def _group_figure(scores: Scores, params: Params) -> Figure:
    over_all, label = params.get("all", "samples"), str(params.get("all_label", "all"))
    if not len(scores):
        return {label: math.nan} if over_all else math.nan
    template = str(params.get("name_template", "{group_name}"))
    found: dict[str, float] = {}
    for group, part in scores.parts_by(str(params.get("group_key"))):
        found[template.replace("{group_name}", group)] = _one(_inner(params, "metric", part))
    if over_all == "groups":
        found[label] = intervals.mean(list(found.values()))
    elif over_all:
        found[label] = _one(_inner(params, "metric", scores))
    return found


def _one(figure: Figure) -> float:
    if isinstance(figure, Mapping):
        raise CannotCompute(Reason.FORMULA)
    return figure


def _aggregate(scores: Scores, params: Params) -> Figure:
    part = scores.key(str(params.get("key")), str(params.get("on_missing", "error")))
    return _inner(params, "agg", part) if len(part) else math.nan


def _alpha(scores: Scores, params: Params) -> float:
    level = params.get("level", LEVELS[0])
    if level not in LEVELS:
        raise CannotCompute(Reason.FORMULA)

    def ratings() -> Iterator[list[Any]]:
        return (
            [score_to_float(one) for one in row.value] if level != LEVELS[0] else row.value
            for row in scores.rows()
            if isinstance(row.value, list)
        )

    return krippendorff_alpha(ratings, str(level))


def _perplexity_per_token(scores: Scores, _params: Params) -> float:
    probability, tokens = 0.0, 0
    for number, one in scores.perplexity():
        probability += one
        tokens += number
    return _exponential(-probability / tokens) if tokens else math.nan


def _perplexity_per_seq(scores: Scores, _params: Params) -> float:
    found = [-one / number for number, one in scores.perplexity() if number > 0]
    return _exponential(intervals.mean(found)) if found else math.nan


def _exponential(value: float) -> float:
    try:
        return math.exp(value)
    except OverflowError:
        return math.inf


def _random(_scores: Scores, _params: Params) -> float:
    raise CannotCompute(Reason.RESAMPLED)


_FORMULAS: Final[Mapping[str, tuple[Formula, frozenset[str]]]] = {
    "accuracy": (_mean, words("to_float")),
    "mean": (_mean, words("to_float")),
    "std": (_over_scores(intervals.deviation), words("to_float")),
    "var": (_over_scores(intervals.variance), words("to_float")),
    "stderr": (_over_scores(intervals.mean_error), words("to_float cluster")),
    "bootstrap_stderr": (_random, words("to_float num_samples")),
    "ci": (_interval(intervals.mean_interval), words("to_float cluster level method num_samples")),
    "ci_wilson": (_interval(intervals.wilson_interval), words("to_float cluster level")),
    "frequency": (_frequency, words("categories normalize")),
    "grouped": (
        _group_figure,
        words("metric group_key all all_label name_template value_to_float"),
    ),
    "aggregate": (_aggregate, words("key agg to_float on_missing")),
    "krippendorff_alpha": (_alpha, words("level to_float")),
    "perplexity_per_token": (_perplexity_per_token, frozenset()),
    "perplexity_per_seq": (_perplexity_per_seq, frozenset()),
}
"""The harness's own metrics, with the names of the parameters that the formula knows."""


def has_own_words(params: Params) -> bool:
    """Return whether a metric turns scores into numbers by a function of its own."""
    if params.keys() & words("to_float value_to_float"):
        return True
    inner = (object_or_empty(params.get(name)) for name in _APPLIED.values())
    return any(has_own_words(object_or_empty(one.get("params"))) for one in inner if one)


def read_draws(params: Params) -> int:
    """Return how many random samples a metric draws."""
    number = params.get("num_samples", DRAWS)
    return number if is_count(number) else DRAWS

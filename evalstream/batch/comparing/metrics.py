"""Match the results and metrics of two runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from evalstream.model.comparison import MetricKey, MetricName, RunDescription
from evalstream.model.data_class import NamedTuple
from evalstream.parsing.lazy_regex import LazyPattern

NOT_COMPARED: Final = -1

UNIT: Final = "unit"
"""The name in `allow_different` that lets scores differ in their scale."""

SCORE: Final = "score"
"""The name in `allow_different` that lets one answer have two scores."""

_LLM_SCORING: Final = "metric_config/llm_scoring"
"""The setting of scoring that names a model as judge, unless it is `none`."""

_JUDGE_WORDS: Final = LazyPattern(r"(?i)judge|grader|model_graded")
"""The names of converters for a model that scores, where the format has no member for it."""

PERCENT: Final = 20.0
"""A score that is not a share.

Ratings and counts hardly reach it where all scores of another run lie in 0 to 1.
"""

MOST_SHOWN: Final = 60
"""Number of characters of a setting in a sentence."""


class MetricMatch(NamedTuple):
    """The results and metrics that two runs share.

    `groups_a` and `groups_b` give for each group of a run the number of its metric in `metrics`,
    NOT_COMPARED for groups that the other run lacks. `conflicts` says by number why two metrics of
    one name are not comparable, and `allowed` names settings of scoring that may differ and do.
    `unbounded` are the numbers of metrics whose lowest and highest score a run does not say, and
    `judged` of those that a model scored.
    `only_a` and `only_b` are the names that one run has alone.
    """

    metrics: Sequence[MetricName]
    groups_a: Sequence[int]
    groups_b: Sequence[int]
    conflicts: dict[int, str]
    only_a: Sequence[str]
    only_b: Sequence[str]
    allowed: Sequence[str] = ()
    unbounded: frozenset[int] = frozenset()
    judged: frozenset[int] = frozenset()


def match_metrics(
    a: RunDescription,
    b: RunDescription,
    wanted: str | None = None,
    allow_different: Sequence[str] = (),
) -> MetricMatch:
    """Match the metrics of two runs by result and name, and those that `wanted` names.

    A result with one metric in both runs matches where only one of them names the metric.
    `allow_different` are settings of scoring, each with all below it, that may differ.
    """
    keys_a, keys_b = _by_key(a.metrics), _by_key(b.metrics)
    of_results_a, of_results_b = _by_result(keys_a.values()), _by_result(keys_b.values())
    pairs: dict[MetricKey, tuple[MetricName, MetricName]] = {}
    for key, one in keys_a.items():
        other = keys_b.get(key)
        if other is None:
            others = of_results_b.get(one.result, ())
            other = _unnamed_match(one, of_results_a[one.result], others)
        if other is None:
            continue
        names = (one.result, one.metric, one.label, other.metric, other.label)
        if wanted is None or wanted in names:
            pairs[key] = one, other
    numbers = {key: number for number, key in enumerate(pairs)}
    numbers_b = {other.key: numbers[key] for key, (_, other) in pairs.items()}
    joined = [_join_metrics(one, other) for one, other in pairs.values()]
    conflicts = {number: conflict for number, (_, conflict) in enumerate(joined) if conflict}
    allowed: dict[str, None] = {}
    ways_a, ways_b = _group_scoring(a), _group_scoring(b)
    ways = [(ways_a.get(one.key, {}), ways_b.get(other.key, {})) for one, other in pairs.values()]
    for number, both_ways in enumerate(ways):
        different = _different_scoring(*both_ways)
        above = tuple(f"{one}/" for one in allow_different)
        tolerated = [name for name in different if f"{name}/".startswith(above)]
        allowed |= dict.fromkeys(tolerated)
        refused = [text for name, text in different.items() if name not in tolerated]
        if refused:
            more = f" and {len(refused) - 1} more" if len(refused) > 1 else ""
            conflict = (
                f"the scores were made in different ways: {refused[0]}{more}; --allow-different"
                " compares them"
            )
            conflicts.setdefault(number, conflict)
    return MetricMatch(
        [metric for metric, _ in joined],
        [numbers.get(one.key, NOT_COMPARED) for one in a.metrics],
        [numbers_b.get(one.key, NOT_COMPARED) for one in b.metrics],
        conflicts,
        _names_without(a.metrics, numbers, wanted),
        _names_without(b.metrics, numbers_b, wanted),
        [*allowed],
        frozenset(
            number
            for number, both in enumerate(pairs.values())
            if any(None in (one.minimum, one.maximum) for one in both)
        ),
        frozenset(
            number
            for number, (both, both_ways) in enumerate(zip(pairs.values(), ways, strict=True))
            if any(map(_is_judged, both, both_ways))
        ),
    )


def with_one_name(
    runs: Sequence[RunDescription], name: str, other: str
) -> Sequence[RunDescription]:
    """Return runs in which the result or metric `other` has the name that `name` has elsewhere.

    A result can be named without its metric where it has one alone. Raises ValueError where no run
    has one of them, or a run has both.
    """
    places = [(_find_named(run.metrics, name), _find_named(run.metrics, other)) for run in runs]
    for wanted, found in zip((name, other), zip(*places, strict=True), strict=True):
        if not any(found):
            raise ValueError(f"no run has {wanted}")
    if any(all(found) for found in places):
        raise ValueError("a run has both")
    (shown, *_), *_ = (found for found, _ in places if found)
    return [
        run._replace(
            metrics=[
                one._replace(result=shown.result, metric=shown.metric) if one in others else one
                for one in run.metrics
            ]
        )
        for run, (_, others) in zip(runs, places, strict=True)
    ]


def _find_named(metrics: Sequence[MetricName], name: str) -> list[MetricName]:
    of_result = [one for one in metrics if one.result == name]
    is_sole = len({one.label for one in of_result}) == 1
    return [one for one in metrics if one.label == name or (is_sole and one in of_result)]


def scale_conflict(
    ranges: tuple[tuple[float, float], tuple[float, float]], labels: tuple[str, str]
) -> str | None:
    """Return why the scores of two runs look like shares and percent, None if they do not.

    `ranges` are the lowest and the highest score of each run. Scores of one run lie in 0 to 1, not
    all 0, and the other's in 0 to 100, with one of PERCENT or more.
    """
    for (low, high), (other_low, other_high), names in (
        (*ranges, labels),
        (*ranges[::-1], labels[::-1]),
    ):
        if min(low, other_low) >= 0 and 0 < high <= 1 and PERCENT <= other_high <= 100:
            return (
                f"the scores of {names[0]} lie in 0 to 1 and those of {names[1]} reach"
                f" {other_high:g}, as shares and percent do, and a run does not say the lowest and"
                " the highest score; --allow-different unit compares them"
            )
    return None


def _group_scoring(run: RunDescription) -> dict[MetricKey, dict[str, set[str]]]:
    """Return how a run made the scores of each metric: by setting, the values in its groups."""
    found: dict[MetricKey, dict[str, set[str]]] = {}
    for one, settings in zip(run.metrics, run.scoring, strict=False):
        of_metric = found.setdefault(one.key, {})
        for name, text in settings.items():
            of_metric.setdefault(name, set()).add(text)
    return found


def _is_judged(metric: MetricName, scoring: Mapping[str, set[str]]) -> bool:
    """Tell whether a model scored, as far as the settings and the names say it."""
    if scoring.get(_LLM_SCORING, set()) - {"none"}:
        return True
    texts = (metric.label, *scoring, *(text for found in scoring.values() for text in found))
    return any(_JUDGE_WORDS.search(text) for text in texts)


def _different_scoring(
    one: Mapping[str, set[str]], other: Mapping[str, set[str]]
) -> dict[str, str]:
    """Return the settings of scoring that both runs state and that differ, with their values."""
    found = {}
    for name in sorted({*one, *other}):
        values = one.get(name), other.get(name)
        if None in values or values[0] == values[1]:
            continue
        first, second = ("; ".join(sorted(value or ())) for value in values)
        found[name] = f"{name} ({_shorten(first)} in one run, {_shorten(second)} in the other)"
    return found


def _shorten(text: str) -> str:
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}…"


def _by_key(metrics: Sequence[MetricName]) -> dict[MetricKey, MetricName]:
    """Return the metrics by key; of several groups with one name, what they do not contradict."""
    groups: dict[MetricKey, list[MetricName]] = {}
    for metric in metrics:
        groups.setdefault(metric.key, []).append(metric)
    return {key: _common(of_name) for key, of_name in groups.items()}


def _common(metrics: Sequence[MetricName]) -> MetricName:
    """Return a metric with the bounds and the unit that groups of one name agree on."""
    shared: dict[str, Any] = {}
    for member in ("minimum", "maximum", "unit"):
        said = {getattr(metric, member) for metric in metrics} - {None}
        shared[member] = said.pop() if len(said) == 1 else None
    lower = any(metric.lower_is_better for metric in metrics)
    return metrics[0]._replace(lower_is_better=lower, **shared)


def _by_result(metrics: Iterable[MetricName]) -> dict[str, list[MetricName]]:
    found: dict[str, list[MetricName]] = {}
    for metric in metrics:
        found.setdefault(metric.result, []).append(metric)
    return found


def _unnamed_match(
    one: MetricName, own: Sequence[MetricName], others: Sequence[MetricName]
) -> MetricName | None:
    """Return the only metric of a result, if it has one in both runs and only one names it."""
    if len(own) != 1 or len(others) != 1:
        return None
    (other,) = others
    return other if (one.metric is None) != (other.metric is None) else None


def _join_metrics(one: MetricName, other: MetricName) -> tuple[MetricName, str | None]:
    """Return what both runs say of a metric, and why the two are not comparable, if so."""
    metric = one._replace(
        metric=other.metric if one.metric is None else one.metric,
        minimum=other.minimum if one.minimum is None else one.minimum,
        maximum=other.maximum if one.maximum is None else one.maximum,
        unit=other.unit if one.unit is None else one.unit,
    )
    if one.lower_is_better != other.lower_is_better:
        return metric, "one run says that lower scores are better, the other that higher ones are"
    bounds = one.minimum, one.maximum, other.minimum, other.maximum
    if None not in (one.unit, other.unit) and one.unit != other.unit and None in bounds:
        return metric, f"the unit is {one.unit} in one run and {other.unit} in the other"
    for bound in ("minimum", "maximum"):
        own, others = getattr(one, bound), getattr(other, bound)
        if None not in (own, others) and own != others:
            return metric, f"the {bound} score is {own:g} in one run and {others:g} in the other"
    return metric, None


def _names_without(
    metrics: Sequence[MetricName], known: dict[MetricKey, int], wanted: str | None
) -> list[str]:
    labels = (one.label for one in metrics if one.key not in known)
    return [*dict.fromkeys(labels)] if wanted is None else []

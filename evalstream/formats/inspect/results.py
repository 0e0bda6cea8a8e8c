"""Recompute the reductions and the metrics of a log from the scores of its samples."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Mapping, Sequence, Set
from itertools import groupby
from operator import attrgetter
from string import digits
from typing import Any, Final, NamedTuple

from evalstream.formats.inspect.figures import (
    PLAIN,
    CannotCompute,
    Numbers,
    Tied,
    clustered_error,
    is_unscored,
    mean,
    reduced,
    reducer_named,
    to_float,
)
from evalstream.formats.inspect.store import SampleStore
from evalstream.formats.inspect.views import UNNAMED, LogView, object_or_empty, same
from evalstream.parsing.json import text_or_none

OURS: Final = "inspect_ai/"
"""What precedes the names of the harness's own metrics where a log declares them."""

_ROOTS: Final = frozenset({"std", "stderr"})
"""Metrics that are the root of a sum of squares."""

_ROUNDING: Final = 1e-14
"""The share of the largest square that rounding may leave of a sum of squares."""

MOST: Final = 1e150
"""Larger numbers have no square."""

_UNREDUCED: Final = ("frequency",)
"""Metrics that take the scores of all epochs, whatever the reducer."""

_GROUPED_PARAMETERS: Final = frozenset({"metric", "group_key", "all", "all_label", "name_template"})


class ReducedScore(NamedTuple):
    """The reduced score of one sample, by its id and the number of its first epoch's sample."""

    id: str
    sample: int
    value: Any


def reduced_scores(store: SampleStore, scorer: str, reducer: str | None) -> Iterator[ReducedScore]:
    """Iterate over the scores of a scorer, those of the epochs of each sample reduced to one.

    Raises CannotCompute.
    """
    function = reducer_named(reducer)
    if function is None:
        raise CannotCompute(f"the reducer {reducer} is not known")
    for id_, group in groupby(store.scored(scorer), key=attrgetter("id")):
        found = list(group)
        yield ReducedScore(id_, found[0].sample, reduced([one.value for one in found], function))


def scorer_in_samples(log: LogView, scorer: Any) -> str:
    """Return the name under which samples hold the scores of a result's scorer."""
    known = log.store.scorers()
    name = text_or_none(scorer) or ""
    return UNNAMED if name not in known and known == [UNNAMED] else name


class Column:
    """The values that the metrics of one result take: numbers in the order of the samples.

    `is_tied` says that some values depend on an order of epochs that the log does not tell.
    """

    def __init__(self) -> None:
        self.numbers = array("d")
        self.samples = array("Q")
        self.unscored = 0
        self.is_tied = False

    def take(self, value: Any, sample: int) -> None:
        """Add a value of a sample; a missing score is only counted."""
        if isinstance(value, Tied):
            self.is_tied = len({to_float(one) for one in value}) > 1 or self.is_tied
            value = value[0]
        if is_unscored(value):
            self.unscored += 1
            return
        self.numbers.append(to_float(value))
        self.samples.append(sample)


def column_of(log: LogView, result: Mapping[str, Any]) -> Column:
    """Return the values that the metrics of a result take. Raises CannotCompute."""
    scorer = scorer_in_samples(log, result.get("scorer", result.get("name")))
    name, column = result.get("name"), Column()
    for one in _view(log, result, scorer):
        value = one.value
        if isinstance(value, dict) and isinstance(name, str):
            if name in value:
                value = value[name]
            elif name != result.get("scorer"):
                raise CannotCompute(f"a score has no key {name}")
        column.take(value, one.sample)
    return column


def _view(log: LogView, result: Mapping[str, Any], scorer: str) -> Iterator[ReducedScore]:
    """Iterate over the scores that a result covers: reduced ones, or those of all epochs."""
    reducer = text_or_none(result.get("reducer"))
    metrics = [object_or_empty(one) for one in object_or_empty(result.get("metrics")).values()]
    kinds = {text_or_none(one.get("group")) or text_or_none(one.get("name")) for one in metrics}
    is_unreduced = bool(kinds) and kinds <= set(_UNREDUCED)
    if reducer is None and (log.config.get("epochs_reducer") == [] or is_unreduced):
        for scored in log.store.scored(scorer):
            yield ReducedScore(scored.id, scored.sample, scored.value)
        return
    yield from reduced_scores(log.store, scorer, reducer)


class Metric(NamedTuple):
    """One metric of a result: its key, its value as the log has it, and how it is computed."""

    key: str
    value: Any
    name: str
    group: str | None
    params: Mapping[str, Any]


def metrics_of(result: Mapping[str, Any]) -> Iterator[Metric]:
    """Iterate over the metrics of a result."""
    for key, one in object_or_empty(result.get("metrics")).items():
        if isinstance(one, dict):
            params = one.get("params", one.get("options"))
            name = text_or_none(one.get("name")) or key
            group = text_or_none(one.get("group"))
            yield Metric(key, one.get("value"), name, group, object_or_empty(params))


def kind_of(metric: Metric) -> str:
    """Return the name of the metric that a figure is of.

    Older logs do not say that a figure is one of a group, but have the parameters of `grouped`.
    """
    if metric.group is None and {"metric", "group_key"} <= metric.params.keys():
        return "grouped"
    return metric.group or metric.name


def _label(metric: Metric, labels: Set[Any]) -> str | None:
    """Return which of some labels a figure has; older logs number labels that come twice."""
    names = (metric.name, metric.name.rstrip(digits)) if metric.group is None else (metric.name,)
    return next((name for name in names if name in labels), None)


class Recomputer:
    """Computes the metrics of one result. All methods raise CannotCompute."""

    def __init__(self, log: LogView, column: Column) -> None:
        self._log, self._column = log, column
        self._metadata: dict[str, list[Any]] = {}

    def value(self, metric: Metric) -> float:
        """Return the value that a metric must have."""
        if self._column.is_tied:
            raise CannotCompute("the mode of tied epochs depends on their order")
        name = kind_of(metric)
        self._refuse_foreign(name)
        if name == "grouped":
            return self._grouped(metric)
        return self._plain(name, metric.params, range(len(self._column.numbers)))

    def fits(self, metric: Metric, value: float) -> bool:
        """Tell whether a figure is the recomputed one.

        Deviations near 0 are what rounding leaves: they are the root of a difference of squares.
        """
        claim = metric.value
        if same(claim, value):
            return True
        inner = object_or_empty(metric.params.get("metric")).get("name")
        if not {kind_of(metric), inner} & _ROOTS or not isinstance(claim, (int, float)):
            return False
        scale = max(map(abs, self._column.numbers), default=0.0)
        return (
            claim >= 0
            and abs(claim) < MOST
            and math.isclose(
                claim * claim, value * value, rel_tol=1e-9, abs_tol=_ROUNDING * scale * scale
            )
        )

    def _refuse_foreign(self, name: str) -> None:
        """Raise CannotCompute for a metric that is not declared as one of the harness's own."""
        declared = self._log.declared_metrics
        if declared is not None and OURS + name not in declared:
            raise CannotCompute("it is not one of the harness's own metrics")

    def _plain(self, name: str, params: Mapping[str, Any], which: Sequence[int]) -> float:
        column = self._column
        numbers = array("d", (column.numbers[index] for index in which))
        cluster = params.get("cluster")
        if name == "stderr" and isinstance(cluster, str) and params.keys() == {"cluster"}:
            groups = self._groups(cluster)
            return clustered_error(numbers, [groups[index] for index in which])
        function = PLAIN.get(name)
        if function is None:
            raise CannotCompute("it has no formula here")
        if any(value is not None for value in params.values()):
            raise CannotCompute("it has parameters of its own")
        return _computed(function, numbers)

    def _groups(self, key: str) -> list[Any]:
        """Return the value of a key of metadata, as text, for each number."""
        if key not in self._metadata:
            try:
                found = [self._log.store.meta(key, sample) for sample in self._column.samples]
            except KeyError:
                raise CannotCompute(f"a sample has no metadata {key}") from None
            self._metadata[key] = [str(one) for one in found]
        return self._metadata[key]

    def _grouped(self, metric: Metric) -> float:
        """Return the value of one group, or of all of them."""
        params = metric.params
        inner, key = object_or_empty(params.get("metric")), params.get("group_key")
        if not params.keys() <= _GROUPED_PARAMETERS or not isinstance(key, str):
            raise CannotCompute("it has parameters of its own")
        name = text_or_none(inner.get("name")) or ""
        options = object_or_empty(inner.get("params"))
        template = params.get("name_template", "{group_name}")
        members: dict[str, list[int]] = {}
        for index, group in enumerate(self._groups(key)):
            members.setdefault(str(template).replace("{group_name}", group), []).append(index)
        label = _label(metric, members.keys() | {params.get("all_label", "all")})
        if label in members:
            return self._plain(name, options, members[label])
        if label is None:
            raise CannotCompute("no sample is of that group")
        if params.get("all", "samples") == "samples":
            return self._plain(name, options, range(len(self._column.numbers)))
        return mean([self._plain(name, options, which) for which in members.values()])


def _computed(function: Any, numbers: Numbers) -> float:
    """Apply a formula; a metric over nothing is NaN, as the harness writes it."""
    try:
        return float(function(numbers)) if numbers else math.nan
    except OverflowError as error:
        raise CannotCompute("a number is too large") from error

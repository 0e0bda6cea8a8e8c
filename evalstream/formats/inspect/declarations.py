"""The declarations of a log about its results, and results that contradict them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from evalstream.formats.inspect.results import UNREDUCED
from evalstream.formats.inspect.rules.results import INS307
from evalstream.formats.inspect.values import same
from evalstream.formats.inspect.views import LogView
from evalstream.model.finding import Severity, Violation
from evalstream.parsing.json import member, text_or_none
from evalstream.parsing.json_values import list_or_empty, object_or_empty, objects

OURS: Final = "inspect_ai/"
"""What precedes the names of the harness's own metrics where a log declares them."""


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


class Declarations:
    """The scorers and reducers that a log declares."""

    def __init__(self, log: LogView) -> None:
        self._log = log

    def declared_metrics(self, scorer: Any) -> list[DeclaredMetric] | None:
        """Return the metrics of a scorer, None for one that is not declared with its metrics."""
        found = self._log.declared_scorers.get(scorer) if isinstance(scorer, str) else None
        metrics = None if found is None else found.get("metrics")
        return None if metrics is None else list(_flat(metrics))

    def find_declaration(self, metric: Metric, scorer: Any) -> DeclaredMetric | None:
        """Return the declaration of a metric, the one with its parameters first."""
        name = metric.formula.rpartition("/")[2]
        declared = self.declared_metrics(scorer) or ()
        named = [one for one in declared if one.name.rpartition("/")[2] == name]
        fitting = [one for one in named if _fits(metric.params, one.params)]
        return next(iter(fitting or named), None)

    def contradictions(self) -> Iterator[Violation]:
        """Report results and reductions that the declarations do not have."""
        for index, result in self._log.results_scores:
            yield from self._of_result(index, result)
        for index, one in objects(self._log.reductions):
            place = f"{self._log.reductions_at}/{index}/reducer"
            yield from self._of_reducer(text_or_none(one.get("reducer")), one.get("scorer"), place)

    def _of_result(self, index: int, result: Mapping[str, Any]) -> Iterator[Violation]:
        log, scorer = self._log, result.get("scorer", result.get("name"))
        metrics = list(result_metrics(result))
        kinds = {one.formula for one in metrics}
        reducer = text_or_none(result.get("reducer"))
        known = self.declared_metrics(scorer)
        if reducer is not None or not self._may_be_unreduced(kinds, known):
            yield from self._of_reducer(reducer, scorer, log.place_of_score(index, "reducer"))
        yield from self._of_scorer(result, index, scorer)
        for metric in metrics if known is not None else ():
            found = self.find_declaration(metric, scorer)
            if found is None:
                place = log.place_of_score(index, "metrics", metric.key)
                names = ", ".join(dict.fromkeys(one.name for one in known or ())) or "none"
                message = f"the scorer {scorer} does not declare the metric {metric.formula}"
                yield INS307.violation(message, place, expected=names, found=metric.formula)
            elif not _fits(metric.params, found.params):
                place = log.place_of_score(index, "metrics", metric.key, "params")
                yield INS307.violation(
                    f"the scorer {scorer} declares {metric.formula} with other parameters",
                    place,
                    expected=dict(found.params),
                    found=dict(metric.params),
                )

    def _may_be_unreduced(self, kinds: set[str], known: list[DeclaredMetric] | None) -> bool:
        """Return whether all metrics of a result may take the scores of each epoch."""
        ours = {one.name.removeprefix(OURS) for one in known or () if one.is_ours}
        return bool(kinds) and all(one in UNREDUCED or one not in ours for one in kinds)

    def _of_reducer(self, reducer: str | None, scorer: Any, place: str) -> Iterator[Violation]:
        declared = self._log.declared_reducers
        if reducer in (declared or (None, "mean")) or (reducer is None and declared == ["mean"]):
            return
        named = ", ".join(declared or ()) or "none"
        is_added = bool(declared) and self._is_of_another_scoring(scorer, declared or [])
        yield INS307.violation(
            f"the scores are reduced by {reducer or 'the mean'}, and the log declares {named}",
            place,
            expected=declared,
            found=reducer,
            severity=Severity.WARNING if is_added else None,
        )

    def _is_of_another_scoring(self, scorer: Any, declared: list[str]) -> bool:
        """Return whether a later scoring, by other reducers, may have added other results.

        `inspect score` appends results, and the log then declares the last reducers.
        """
        results = [one.value for one in self._log.results_scores]
        others = [one for one in results if one.get("scorer") != scorer]
        return any(one.get("reducer") in declared for one in others)

    def _of_scorer(self, result: Mapping[str, Any], index: int, scorer: Any) -> Iterator[Violation]:
        """Report parameters of a result's scorer that its declaration does not have."""
        found = self._log.declared_scorers.get(scorer) if isinstance(scorer, str) else None
        params, options = result.get("params"), object_or_empty(member(found, "options"))
        if found is None or not isinstance(params, dict) or _fits(params, options):
            return
        yield INS307.violation(
            f"the scorer {scorer} is declared with other parameters",
            self._log.place_of_score(index, "params"),
            expected=options,
            found=params,
        )


def _fits(params: Mapping[str, Any], declared: Mapping[str, Any]) -> bool:
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

"""Compare the results of a log with those recomputed from its samples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Final, NamedTuple

from evalstream.formats.inspect.figures import CannotCompute, Tied, is_unscored
from evalstream.formats.inspect.results import (
    Column,
    Metric,
    Recomputer,
    ReducedScore,
    column_of,
    kind_of,
    metrics_of,
    reduced_scores,
    scorer_in_samples,
)
from evalstream.formats.inspect.rules.results import (
    INS301,
    INS302,
    INS303,
    comparable,
    not_recomputed,
)
from evalstream.formats.inspect.views import LogView, is_count, is_id, list_or_empty, objects, same
from evalstream.model.finding import Severity, Violation
from evalstream.model.report import Figures, ResultSummary
from evalstream.model.text import counted
from evalstream.parsing.json import text_or_none

NAMED: Final = 5
"""How many ids a message names."""

_UNREAD: Final = "samples could not be read"
_NO_SAMPLES: Final = "the log has no samples"


class Outcome(NamedTuple):
    """What was recomputed: violations, the results for the report, and how many `figures` it has.

    A figure is a metric, or the reduced score of a sample; `recomputed` counts those that were
    compared, and `left_out` names the others.
    """

    violations: list[Violation]
    results: list[ResultSummary]
    figures: int
    recomputed: int
    left_out: tuple[str, ...] = ()


class Recomputation:
    """Recomputes all figures of a log, and counts those that could not be."""

    def __init__(self, log: LogView) -> None:
        self._log = log
        self._reasons: dict[tuple[str, str], int] = {}
        self._claims = self._done = 0

    def outcome(self) -> Outcome:
        """Recompute and compare everything."""
        violations: list[Violation] = []
        summaries: list[ResultSummary] = []
        for index, result in self._log.results_scores:
            violations += self._of_result(index, result, summaries)
        violations += self._reductions()
        violations += not_recomputed(self._log, self._reasons)
        names = tuple(dict.fromkeys(name for name, _ in sorted(self._reasons)))
        return Outcome(violations, summaries, self._claims, self._done, names)

    def _give_up(self, name: str, reason: object, figures: int = 1) -> None:
        key = name, str(reason)
        self._reasons[key] = self._reasons.get(key, 0) + figures

    def _of_result(
        self, index: int, result: Mapping[str, Any], summaries: list[ResultSummary]
    ) -> Iterator[Violation]:
        metrics = [one for one in metrics_of(result) if comparable(one.value)]
        before, column = self._done, Column()
        self._claims += len(metrics)
        first: float | None = None
        try:
            column = self._column(result)
        except (CannotCompute, OverflowError) as error:
            for metric in metrics:
                self._give_up(kind_of(metric), error)
        else:
            yield from self._counts(index, result, column)
            recomputer = Recomputer(self._log, column)
            for number, metric in enumerate(metrics):
                value = self._value(recomputer, metric)
                if value is None:
                    continue
                first = value if not number else first
                if not recomputer.fits(metric, value):
                    yield self._mismatch(index, metric, value)
        summaries.append(_summary(result, metrics, first, column, self._done - before))

    def _column(self, result: Mapping[str, Any]) -> Column:
        if not self._log.store.count:
            raise CannotCompute(_NO_SAMPLES)
        if not self._log.samples_known:
            raise CannotCompute(_UNREAD)
        return column_of(self._log, result)

    def _value(self, recomputer: Recomputer, metric: Metric) -> float | None:
        try:
            value = recomputer.value(metric)
        except CannotCompute as error:
            self._give_up(kind_of(metric), error)
            return None
        self._done += 1
        return value

    def _mismatch(self, index: int, metric: Metric, value: float) -> Violation:
        is_sure = self._log.declared_metrics is not None
        return INS302.violation(
            f"{metric.key} does not follow from the scores of the samples",
            pointer=self._log.place_of_score(index, "metrics", metric.key, "value"),
            expected=value,
            found=metric.value,
            severity=None if is_sure else Severity.WARNING,
        )

    def _counts(self, index: int, result: Mapping[str, Any], column: Column) -> Iterator[Violation]:
        for name, expected in (
            ("scored_samples", len(column.numbers)),
            ("unscored_samples", column.unscored),
        ):
            found = result.get(name)
            if is_count(found) and found != expected:
                message = f"{counted(expected, 'sample')} counted"
                place = self._log.place_of_score(index, name)
                yield INS303.violation(message, pointer=place, expected=expected, found=found)

    def _reductions(self) -> Iterator[Violation]:
        for index, reduction in objects(self._log.reductions):
            name = text_or_none(reduction.get("reducer")) or "mean"
            place = f"{self._log.reductions_at}/{index}/samples"
            scorer = scorer_in_samples(self._log, reduction.get("scorer"))
            found = list_or_empty(reduction.get("samples"))
            self._claims += len(found)
            if not self._log.samples_known:
                self._give_up(f"the reductions by {name}", _UNREAD, len(found))
                continue
            try:
                scores = reduced_scores(self._log.store, scorer, name)
                yield from self._reduction(found, scores, place)
            except CannotCompute as error:
                self._give_up(f"the reductions by {name}", error, len(found))

    def _reduction(
        self, found: list[Any], scores: Iterator[ReducedScore], place: str
    ) -> Iterator[Violation]:
        """Compare one list of reduced scores, whose order is not that of the samples."""
        told = {
            str(one["sample_id"]): index
            for index, one in enumerate(found)
            if isinstance(one, dict) and is_id(one.get("sample_id"))
        }
        missing: list[str] = []
        for score in scores:
            index = told.pop(score.id, None)
            if index is None:
                missing.append(score.id) if len(missing) < NAMED else None
                continue
            self._done += 1
            value = found[index].get("value")
            if not _fits(value, score.value):
                yield INS301.violation(
                    f"the epochs of the sample {score.id} give another value",
                    pointer=f"{place}/{index}/value",
                    expected=score.value,
                    found=value,
                )
        if missing:
            message = f"reduced scores are missing, among them those of {', '.join(missing)}"
            yield INS301.violation(message, pointer=place)
        for sample, index in islice(told.items(), NAMED):
            message = f"no sample {sample} has a score of this scorer"
            yield INS301.violation(message, pointer=f"{place}/{index}")


def _fits(value: Any, expected: Any) -> bool:
    if isinstance(expected, Tied):
        return any(same(value, one) for one in expected)
    if isinstance(expected, dict) and isinstance(value, dict):
        return value.keys() == expected.keys() and all(
            _fits(value[key], expected[key]) for key in expected
        )
    if isinstance(expected, list) and isinstance(value, list):
        return len(value) == len(expected) and all(map(_fits, value, expected))
    return is_unscored(value) if is_unscored(expected) else same(value, expected)


def _summary(
    result: Mapping[str, Any], metrics: list[Metric], first: float | None, column: Column, done: int
) -> ResultSummary:
    """Return a result for the report: its first metric, claimed and recomputed."""
    names = [text_or_none(result.get(name)) for name in ("name", "reducer")]
    name = "/".join(filter(None, names)) or None
    claimed = metrics[0].value if metrics else None
    number = len(column.numbers)
    recomputed = None if first is None else Figures(first, None, None, number)
    told = Figures(claimed, None, None, result.get("scored_samples"))
    return ResultSummary(name, None, number, told, recomputed, len(metrics), done)

"""Comparisons of the package beside those of the independent reference."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from comparison_reference import Expected, Metric, ReferenceRun, compare_runs, read_run

from evalstream.batch.comparing.compare import Request
from evalstream.batch.comparing.compare import compare_runs as compare_checked
from evalstream.batch.comparing.runs import checked_run
from evalstream.discovery.inputs import find_all
from evalstream.io.progress import Progress
from evalstream.model.comparison import CompareSettings, Comparison, ComparisonReport
from evalstream.model.options import Options, SampleRequest
from evalstream.model.run import Run

_SETTINGS = CompareSettings(
    min_overlap=0.0, verified=False, resamples=100, allow_different=("score",)
)

Files = tuple[Path, Path | None]
"""The rows of a run, and its aggregate."""

COUNTS = (
    "samples_a",
    "samples_b",
    "matched",
    "only_a",
    "only_b",
    "drifted",
    "relabelled",
    "other_prompts",
    "unscored",
    "overlap",
)
FIGURES = ("n", "mean_a", "mean_b", "difference", "standard_error")


def report_of(files: Sequence[Files]) -> ComparisonReport:
    """Compare runs with the package, whatever their checks find and however few samples match."""
    options = Options(samples=SampleRequest("input"))
    runs = []
    for label, (rows, aggregate) in zip("ABCDEFGH", files, strict=False):
        named = None if aggregate is None else str(aggregate)
        (run,) = find_all([str(rows)], named, None, options)
        assert isinstance(run, Run)
        runs.append(checked_run(run, label, options, Progress(shown=False)))
    request = Request(_SETTINGS)
    compared = compare_checked(runs, runs[0], request, options)
    for one in (*runs, compared):
        one.close()
    return compared.report


def assert_equal_comparisons(a: Files, b: Files) -> dict[Metric, Expected]:
    """Compare two runs with both, assert that they say the same, and return what they say."""
    return assert_as_reference(report_of([a, b]), read_run(*a), read_run(*b))


def assert_as_reference(
    report: ComparisonReport, a: ReferenceRun, b: ReferenceRun
) -> dict[Metric, Expected]:
    """Assert that a report of two runs says what the reference does, and return that."""
    expected = compare_runs(a, b)
    said = {(one.metric.result, one.metric.metric): one for one in report.comparisons}
    assert said.keys() == expected.keys()
    assert [run.without_identity for run in report.runs] == [a.without_identity, b.without_identity]
    for metric, one in expected.items():
        shown, wanted = _shown(said[metric]), _close_to(one)
        if said[metric].estimate is not None and said[metric].estimate.failed:
            # The reference takes the scores of failed rows for known ones.
            shown["bounds"] = wanted["bounds"]
        if said[metric].estimate is not None and said[metric].estimate.clustered is not None:
            # The reference takes copies of a question for samples that are independent.
            shown["standard_error"] = wanted["standard_error"]
        assert shown == wanted, metric
    return expected


def _shown(comparison: Comparison) -> dict[str, Any]:
    """Return the figures of a comparison by name, those that the reference has."""
    shown = {name: getattr(comparison.alignment, name) for name in COUNTS}
    estimate = comparison.estimate
    if estimate is None:
        return {**shown, "n": 0}
    shown.update((name, getattr(estimate, name)) for name in FIGURES)
    shown["square"] = None if estimate.square is None else tuple(estimate.square)
    shown["bounds"] = estimate.bounds
    return shown


class _Close:
    """A number that equals those that differ by rounding alone."""

    def __init__(self, value: float) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        """Tell whether another number is as close as sums of doubles are."""
        return isinstance(other, (int, float)) and math.isclose(
            self.value, other, rel_tol=1e-12, abs_tol=1e-15
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        """Return the number."""
        return repr(self.value)


def _close_to(expected: Expected) -> dict[str, Any]:
    """Return what the package has to show."""
    shown: dict[str, Any] = {name: getattr(expected, name) for name in COUNTS}
    if not expected.n:
        return {**shown, "n": 0}
    for name in FIGURES:
        value = getattr(expected, name)
        shown[name] = None if value is None else _Close(value)
    shown["square"] = expected.square
    shown["bounds"] = (
        None if expected.bounds is None else tuple(_Close(one) for one in expected.bounds)
    )
    return shown

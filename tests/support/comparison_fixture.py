"""The small comparisons that every report of comparisons is tested on."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from evalstream.model.comparison import (
    Alignment,
    Average,
    ComparedRun,
    CompareSettings,
    CompareVerdict,
    Comparison,
    ComparisonReport,
    Confounder,
    Drift,
    Flip,
    Matrix,
    MetricName,
    Rank,
    Ranking,
)
from evalstream.model.estimate import (
    Clustered,
    EffectPower,
    Estimate,
    Interval,
    OwnError,
    PValue,
    Square,
)
from evalstream.reporters import COMPARISON_REPORTERS, comparison_type
from evalstream.reporters.base import Style

FORMATS: Final = tuple(COMPARISON_REPORTERS)


def run(label: str, **details: Any) -> ComparedRun:
    """Make a run; what is not given is that of a run that passes."""
    given: dict[str, Any] = {
        "label": label,
        "file": f"zwölf/{label}.jsonl",
        "aggregate": f"zwölf/{label}.json",
        "format": "eee",
        "version": "0.2.2",
        "model": "acme/acorn-7b",
        "verdict": "passed",
        "rows": 200,
        "samples": 200,
    }
    return ComparedRun(**given | details)


def estimate(difference: float = 0.12, **details: Any) -> Estimate:
    """Make the statistics of 0/1 scores."""
    given: dict[str, Any] = {
        "n": 200,
        "mean_a": 0.71,
        "mean_b": 0.71 - difference,
        "difference": difference,
        "own_a": OwnError(0.032, Interval(0.647, 0.773, "t")),
        "own_b": OwnError(0.035, Interval(0.521, 0.659, "t")),
        "standard_error": 0.031,
        "unpaired_error": 0.047,
        "correlation": 0.56,
        "interval": Interval(difference - 0.06, difference + 0.06, "Tango"),
        "test": PValue(0.00002, "mid-p McNemar"),
        "tests": (PValue(0.0003, "exact McNemar"),),
        "square": Square(110, 32, 8, 50),
        "is_binary": True,
        "detectable": 0.087,
        "needed_for_point": 15_100,
        "bounds": (0.1, 0.14),
        "histogram": ((-1.0, 8), (0.0, 160), (1.0, 32)),
    }
    return Estimate(**given | details)


def comparison(result: str = "arithmetic", **details: Any) -> Comparison:
    """Make a significant comparison."""
    given: dict[str, Any] = {
        "a": "A",
        "b": "B",
        "metric": MetricName(result, "exact_match", minimum=0, maximum=1),
        "alignment": Alignment(200, 201, 198, 2, 3, 1, 1, 2, 4, 0, 0, 0, 0),
        "estimate": estimate(),
        "verdict": CompareVerdict.SIGNIFICANT,
        "sentence": "A is better than B by 0.12",
        "better": "A",
        "right_to_wrong": 32,
        "wrong_to_right": 8,
    }
    return Comparison(**given | details)


def flip(number: int = 1, **details: Any) -> Flip:
    """Make a flip."""
    given: dict[str, Any] = {
        "a": "A",
        "b": "B",
        "metric": "arithmetic / exact_match",
        "direction": "right to wrong",
        "sample_id": f"größe-{number}",
        "line_a": number,
        "line_b": number + 1,
        "score_a": 1.0,
        "score_b": 0.0,
        "answer_a": "42",
        "answer_b": ["41", None],
    }
    return Flip(**given | details)


def averaged() -> ComparisonReport:
    """Make the report of two runs that share two results, with the power for a difference."""
    found = estimate(noise_floor=0.01, effect=EffectPower(0.05, 0.36, 617, 552))
    some = (comparison(estimate=found), comparison("geometry", estimate=found))
    interval = Interval(0.077, 0.163, "normal")
    average = Average("A", "B", 2, 0.71, 0.0226, 0.59, 0.0247, 0.12, 0.0219, interval)
    unsure = average._replace(
        standard_error_a=None, standard_error_b=None, standard_error=None, interval=None
    )
    return report(
        settings=CompareSettings(effect=0.05),
        comparisons=some,
        averages=(average, unsure._replace(b="C")),
    )


def clustered() -> ComparisonReport:
    """Make the report of clustered samples, some of which have no score; the test is one of two."""
    known, unknown = (
        estimate(
            adjusted_p=0.014,
            others=(Interval(0.058, 0.182, "t"),),
            clustered=Clustered(
                12, 0.044, Interval(0.023, 0.217, "t"), PValue(0.007, "t"), True, 0.045, 0.051
            ),
            failed=3,
            **more,
        )
        for more in ({}, {"bounds": None, "bounds_reason": "the scale of the scores is not known"})
    )
    return report(comparisons=(comparison(estimate=known), comparison("x", estimate=unknown)))


def report(**details: Any) -> ComparisonReport:
    """Make the report of two runs."""
    given: dict[str, Any] = {
        "runs": (run("A"), run("B", model="acme/acorn-8b")),
        "reference": "A",
        "settings": CompareSettings(),
        "first_line": "A and B pass their checks",
        "comparisons": (comparison(),),
        "confounders": (Confounder("temperature", {"A": "0", "B": "0.7"}),),
        "drifts": (Drift("A", "B", "drift", "q7", 7, 8, 9),),
        "drifts_in_all": 2,
        "unmatched_results": ("geometry: only A",),
        "warnings": ("4 samples were asked in another prompt",),
    }
    return ComparisonReport(**given | details)


def many_runs() -> ComparisonReport:
    """Make the report of three runs with ranks and matrices."""
    pairs = (("A", "B"), ("A", "C"), ("B", "C"))
    name = "arithmetic / exact_match"
    cells = ((None, 0.12, -0.02), (-0.12, None, -0.14), (0.02, 0.14, None))
    full = ((1.0, 0.98, 1.0), (0.98, 1.0, 0.97), (1.0, 0.97, 1.0))
    return report(
        runs=(run("A"), run("B"), run("C")),
        comparisons=tuple(comparison(a=a, b=b) for a, b in pairs),
        differences=(Matrix(name, tuple("ABC"), cells),),
        overlaps=(Matrix(name, tuple("ABC"), full),),
        rankings=(
            Ranking(
                name,
                198,
                (
                    Rank("C", 0.73, 1, 0.6, (1,), 0.031),
                    Rank("A", 0.71, 2, 0.58, (1, 2), 0.032),
                    Rank("B", 0.59, 3, 1.0, (2,)),
                ),
            ),
        ),
    )


def subtasks(number: int = 60) -> ComparisonReport:
    """Make the report of many subtasks, some graded."""
    graded = {
        "square": None,
        "is_binary": False,
        "histogram": ((-2.0, 3), (-1.0, 20), (0.0, 100), (0.5, 40), (2.0, 5)),
    }
    verdicts = tuple(CompareVerdict)
    made = []
    for index in range(number):
        more = graded if index % 7 == 0 else {}
        scale = MetricName(f"subtask {index}", "score", minimum=0, maximum=5 if more else 1)
        found = estimate(0.3 - index / 100, **more)
        made.append(
            comparison(metric=scale, verdict=verdicts[index % 4], estimate=found, better=None)
        )
    return report(comparisons=tuple(made))


def refused() -> ComparisonReport:
    """Make the report of runs of which one fails."""
    why = "B fails its check"
    return report(
        runs=(run("A"), run("B", verdict="failed", reasons=("ES501 checksum-mismatch (1)",))),
        comparisons=(),
        refused=why,
        first_line=f"not compared: {why}",
        exit_code=3,
    )


def empty() -> ComparisonReport:
    """Make a report of which all that can be absent is absent."""
    return ComparisonReport(runs=(), reference="A", settings=CompareSettings())


def itself() -> ComparisonReport:
    """Make the report of a run and itself."""
    same = estimate(
        0.0, standard_error=0.0, interval=None, test=None, tests=(), square=Square(140, 0, 0, 60)
    )
    alone = comparison(
        alignment=Alignment(200, 200, 200),
        estimate=same,
        verdict=CompareVerdict.UNINFORMATIVE,
        right_to_wrong=0,
        wrong_to_right=0,
        better=None,
    )
    return report(comparisons=(alone,), drifts=(), drifts_in_all=0)


def not_comparable() -> ComparisonReport:
    """Make the report of runs that share too few samples."""
    alone = comparison(
        alignment=Alignment(200, 200, 0, 200, 200),
        estimate=None,
        verdict=CompareVerdict.NOT_COMPARABLE,
        sentence="A and B share no sample",
        better=None,
        right_to_wrong=0,
        wrong_to_right=0,
    )
    return report(comparisons=(alone,), exit_code=3)


REPORTS: Final = {
    "averaged": averaged,
    "clustered": clustered,
    "two": report,
    "three": many_runs,
    "subtasks": subtasks,
    "refused": refused,
    "not comparable": not_comparable,
    "itself": itself,
    "empty": empty,
}


def written(
    form: str, shown: ComparisonReport, flips: Iterable[Flip] = (), style: Style | None = None
) -> str:
    """Return what a reporter writes."""
    parts: list[bytes] = []

    class Kept:
        def write(self, data: str | bytes) -> None:
            parts.append(data.encode(errors="replace") if isinstance(data, str) else data)

    comparison_type(form)(Kept(), style or Style()).write(shown, flips)
    return b"".join(parts).decode()

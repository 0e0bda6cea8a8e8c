"""Sum up a comparison: its first line, the conditions that hold, and its exit code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Final

from evalstream.batch.comparing.runs import CheckedRun
from evalstream.model.comparison import CompareVerdict, ComparisonReport
from evalstream.model.exit_codes import ExitCode
from evalstream.model.text import count_noun
from evalstream.stats.inference.average import average_results

REGRESSION: Final = "regression"
DRIFT: Final = "drift"
OVERLAP: Final = "overlap"
CONDITIONS: Final = (REGRESSION, DRIFT, OVERLAP)
"""The conditions of --fail-if."""


def finished_report(report: ComparisonReport, runs: Sequence[CheckedRun]) -> None:
    """Set what follows from the comparisons of a report."""
    for run in runs:
        run.count_samples()
    counts = {run.shown.label: run.shown.samples for run in runs}
    report.averages = average_results(report.comparisons, counts, report.settings.level)
    if report.refused is None and not report.comparisons:
        report.refused = "the runs share no result and metric"
    report.first_line = _first_line(report, runs)
    if report.allowed:
        report.first_line += f"; different {', '.join(report.allowed)} (--allow-different)"
    report.warnings = [*report.warnings, *_describe_unpaired(report, runs), *_same_bytes(runs)]
    report.failed_on = [name for name in report.settings.fail_if if _holds(name, report)]
    verdicts = {one.verdict for one in report.comparisons}
    if report.refused is not None or CompareVerdict.NOT_COMPARABLE in verdicts:
        report.exit_code = int(ExitCode.UNCHECKED)
    else:
        report.exit_code = int(ExitCode.FAILED if report.failed_on else ExitCode.PASSED)


def _describe_unpaired(report: ComparisonReport, runs: Sequence[CheckedRun]) -> Iterator[str]:
    """Say of which runs records cannot be paired, and what else samples may be paired by."""
    by = report.settings.by
    advice = "" if by == "sample_id" else "; --by sample_id pairs them by their ids"
    for run in runs:
        shown = run.shown
        if shown.without_identity:
            lacking = f"no {shown.noun} has" if not shown.samples else _some_lack(run)
            yield f"{shown.label}: {lacking} what samples are paired by ({by}){advice}"


def _same_bytes(runs: Sequence[CheckedRun]) -> Iterator[str]:
    """Say which runs have the same bytes: they do not differ for that reason."""
    for first, second in combinations([run.shown for run in runs], 2):
        if first.checksum is not None and first.checksum == second.checksum:
            yield f"{first.label} and {second.label} have the same bytes"


def _some_lack(run: CheckedRun) -> str:
    of = count_noun(run.shown.rows, run.shown.noun)
    return f"{run.shown.without_identity:,} of {of} lack"


def _first_line(report: ComparisonReport, runs: Sequence[CheckedRun]) -> str:
    """Say what was compared, and whether every run passes its check."""
    labels = [run.shown.label for run in runs]
    joined = f"{', '.join(labels[:-1])} and {labels[-1]}" if len(labels) > 1 else labels[0]
    if report.refused is not None:
        return f"not compared: {report.refused}"
    refused = [f"{run.shown.label} {run.refusal}" for run in runs if run.refusal]
    if refused:
        return f"compared without verification (--no-verify): {'; '.join(refused)}"
    opened = [
        f"{run.shown.label} has an open verdict ({_why_open(run)})"
        for run in runs
        if run.shown.verdict != "passed"
    ]
    warned = "".join(
        f"; {run.shown.label} with warnings: {', '.join(run.warnings)}"
        for run in runs
        if run.warnings
    )
    if opened:
        return f"{joined} have no errors in their checks, but {'; '.join(opened)}{warned}"
    return f"{joined} pass their checks{warned}"


def _why_open(run: CheckedRun) -> str:
    if run.shown.reasons:
        return "; ".join(run.shown.reasons)
    if run.shown.aggregate is None:
        return "no aggregate confirms its rows"
    return "its aggregate does not seal its rows"


def _holds(name: str, report: ComparisonReport) -> bool:
    """Tell whether a condition holds."""
    if name == REGRESSION:
        return any(
            one.verdict is CompareVerdict.SIGNIFICANT and one.better == report.reference
            for one in report.comparisons
        )
    if name == DRIFT:
        aligned = (one.alignment for one in report.comparisons)
        return bool(report.drifts_in_all) or any(one.drifted + one.relabelled for one in aligned)
    return bool(report.unmatched_results) or any(
        one.alignment.overlap < report.settings.min_overlap for one in report.comparisons
    )

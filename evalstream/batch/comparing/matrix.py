"""Compare the samples of many runs, whatever their scores: overlap and drift of each two."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from evalstream.batch.comparing.runs import CheckedRun, reason_left_out
from evalstream.model.comparison import CompareSettings, ComparisonReport, Matrix
from evalstream.model.exit_codes import ExitCode
from evalstream.model.text import count_noun
from evalstream.stats.samples.matrix import Overlaps, pairwise


def compare_samples(
    runs: Sequence[CheckedRun], settings: CompareSettings, metric: str | None
) -> ComparisonReport:
    """Return the overlap and the drift of each two runs; `metric` names what they must have.

    Runs that do not pass their check take part only if that is asked for. Raises OSError.
    """
    used, left = [], []
    for run in runs:
        reason = reason_left_out(run, settings, metric)
        if reason is None:
            used.append(run)
        else:
            left.append(f"{run.shown.label} {reason}")
    found = pairwise([run.samples.store for run in used if run.samples is not None])
    for run in runs:
        run.count_samples()
    labels = [run.shown.label for run in used]
    report = ComparisonReport(
        [run.shown for run in runs], labels[0] if labels else "", settings, warnings=left
    )
    report.first_line = f"{count_noun(len(used), 'run')} of {len(runs):,} compared by their samples"
    if len(used) < 2:
        report.refused = "fewer than two runs can be compared"
    else:
        shown = range(len(used))
        overlap = [
            [1.0 if row == column else found.overlap(row, column) for column in shown]
            for row in shown
        ]
        report.overlaps = [Matrix("all samples", labels, overlap)]
        report.drifts = ()
        report.drift_counts = [
            Matrix("same id, another input (drift)", labels, found.drifted),
            Matrix("same question, other references (relabelled)", labels, found.relabelled),
        ]
        report.drifts_in_all = _in_all(found)
        report.failed_on = [name for name in settings.fail_if if _holds(name, found, settings)]
    if report.refused is not None or left:
        report.exit_code = int(ExitCode.UNCHECKED)
    elif report.failed_on:
        report.exit_code = int(ExitCode.FAILED)
    return report


def _in_all(found: Overlaps) -> int:
    shown = combinations(range(len(found.samples)), 2)
    return sum(found.drifted[row][column] + found.relabelled[row][column] for row, column in shown)


def _holds(name: str, found: Overlaps, settings: CompareSettings) -> bool:
    """Tell whether a condition of --fail-if holds."""
    if name == "drift":
        return _in_all(found) > 0
    shown = combinations(range(len(found.samples)), 2)
    return name == "overlap" and any(found.overlap(*pair) < settings.min_overlap for pair in shown)

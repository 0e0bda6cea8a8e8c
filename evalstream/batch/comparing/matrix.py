"""Compare the samples of many runs, whatever their scores: overlap and drift of each two."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

from evalstream.batch.comparing.metrics import UNIT, MetricMatch, match_metrics
from evalstream.batch.comparing.pairs import JoinedPair, Request, open_store, scale_conflicts
from evalstream.batch.comparing.runs import CheckedRun, reason_left_out
from evalstream.batch.comparing.tallies import PairTally
from evalstream.model.comparison import CompareSettings, ComparisonReport, Matrix
from evalstream.model.exit_codes import ExitCode
from evalstream.model.text import count_noun
from evalstream.stats.samples.joining import join_runs
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


def add_matrices(
    runs: Sequence[CheckedRun],
    pairs: Sequence[JoinedPair],
    request: Request,
    report: ComparisonReport,
) -> None:
    """Add the differences and overlaps of each two runs to a report.

    Scores that mean different things have no difference.
    """
    labels = [run.shown.label for run in runs]
    known = {(pair.a.shown.label, pair.b.shown.label): pair for pair in pairs}
    cells: dict[str, dict[tuple[str, str], tuple[float | None, float]]] = {}
    for a, b in combinations(runs, 2):
        names = a.shown.label, b.shown.label
        match, tally, conflicts = _light_pair(a, b, request, known.get(names))
        for number, (metric, one) in enumerate(zip(match.metrics, tally.metrics, strict=True)):
            alignment = one.alignment(0, 0)
            is_alike = number not in match.conflicts and number not in conflicts
            is_there = is_alike and one.paired.n and not one.paired.is_extreme
            mean = one.paired.moments.means[2] if is_there else None
            cells.setdefault(metric.label, {})[names] = mean, alignment.overlap
    report.differences = [
        Matrix(label, labels, _square(labels, {names: one[0] for names, one in found.items()}, -1))
        for label, found in cells.items()
    ]
    report.overlaps = [
        Matrix(label, labels, _square(labels, {names: one[1] for names, one in found.items()}, 1))
        for label, found in cells.items()
    ]


def _light_pair(
    a: CheckedRun, b: CheckedRun, request: Request, known: JoinedPair | None
) -> tuple[MetricMatch, PairTally, Mapping[int, str]]:
    """Return the tally of two runs, and conflicts of their scores by the number of the metric.

    Those that were compared with the reference have both.
    """
    if known is not None:
        return known.match, known.tally, known.conflicts
    allowed = request.settings.allow_different
    match = match_metrics(a.description, b.description, request.metric, allowed)
    groups = match.groups_a, match.groups_b
    tally = PairTally(match.metrics, None, is_clustered=False)
    for joined in join_runs(open_store(a), open_store(b), *groups):
        tally.add(joined, *groups)
    labels = a.shown.label, b.shown.label
    return match, tally, {} if UNIT in allowed else scale_conflicts(match, tally, labels)


def _square(
    labels: Sequence[str], cells: dict[tuple[str, str], float | None], sign: int
) -> list[list[float | None]]:
    """Return a matrix whose lower half follows from its upper half."""
    rows: list[list[float | None]] = []
    for row in labels:
        line: list[float | None] = []
        for column in labels:
            value = cells.get((row, column))
            if value is None:
                other = cells.get((column, row))
                value = None if other is None else sign * other
            line.append((1.0 if sign > 0 else 0.0) if row == column else value)
        rows.append(line)
    return rows

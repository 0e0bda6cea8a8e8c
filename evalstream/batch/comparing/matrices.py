"""The differences and the overlaps of each two of several runs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from evalstream.batch.comparing.metrics import MetricMatch, match_metrics
from evalstream.batch.comparing.pairs import JoinedPair, Request, open_store
from evalstream.batch.comparing.runs import CheckedRun
from evalstream.batch.comparing.tallies import PairTally
from evalstream.model.comparison import ComparisonReport, Matrix
from evalstream.stats.samples.joining import join_runs


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
        match, tally = _light_pair(a, b, request, known.get(names))
        for number, (metric, one) in enumerate(zip(match.metrics, tally.metrics, strict=True)):
            alignment = one.alignment(0, 0)
            is_alike = number not in match.conflicts
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
) -> tuple[MetricMatch, PairTally]:
    """Return the tally of two runs; those that were compared with the reference have one."""
    if known is not None:
        return known.match, known.tally
    match = match_metrics(a.description, b.description, request.metric)
    groups = match.groups_a, match.groups_b
    tally = PairTally(match.metrics, None, is_clustered=False)
    for joined in join_runs(open_store(a), open_store(b), *groups):
        tally.add(joined, *groups)
    return match, tally


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

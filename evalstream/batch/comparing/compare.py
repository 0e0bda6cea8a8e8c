"""Compare runs: check them, align their samples, estimate the differences and judge them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from itertools import combinations
from typing import Final, NamedTuple

from evalstream.batch.comparing.confounders import confounders_of
from evalstream.batch.comparing.flips import FlipStore
from evalstream.batch.comparing.metrics import MetricMatch, match_metrics
from evalstream.batch.comparing.runs import CheckedRun
from evalstream.batch.comparing.shared_ranks import rankings_of
from evalstream.batch.comparing.summary import finished_report
from evalstream.batch.comparing.tallies import PairTally
from evalstream.formats.registry import FORMATS
from evalstream.model.comparison import (
    Alignment,
    CompareSettings,
    CompareVerdict,
    Comparison,
    ComparisonReport,
    Drift,
    Estimate,
    Flip,
    Matrix,
)
from evalstream.model.data_class import DataClass, field, replace
from evalstream.model.errors import CannotCheck
from evalstream.model.options import Options
from evalstream.model.text import counted
from evalstream.stats.inference.estimate import estimate, with_adjusted
from evalstream.stats.inference.verdict import judged
from evalstream.stats.samples.drift import DriftFinder, DriftKind
from evalstream.stats.samples.joining import join

MOST_DRIFTS: Final = 20
"""Number of drifted and relabelled samples that a report lists."""


class Request(NamedTuple):
    """What is compared, and how much is shown; `flips` is 0 for all of them."""

    settings: CompareSettings
    metric: str | None = None
    flips: int = 20


class Compared(DataClass):
    """A comparison of runs: its report, and its flips, which `close` deletes."""

    report: ComparisonReport
    stores: list[tuple[FlipStore, str, str, Sequence[str]]] = field(default_factory=list)
    show_values: bool = True

    def flips(self) -> Iterator[Flip]:
        """Iterate over the flips, of one pair of runs after the other."""
        for store, a, b, metrics in self.stores:
            yield from store.flips(a, b, metrics, show_values=self.show_values)

    def close(self) -> None:
        """Delete temporary files."""
        for store, *_ in self.stores:
            store.close()


class _Pair(NamedTuple):
    """Two runs that were joined; `a` is the baseline."""

    a: CheckedRun
    b: CheckedRun
    match: MetricMatch
    tally: PairTally
    alignments: Sequence[Alignment]


def compare_runs(
    runs: Sequence[CheckedRun], baseline: CheckedRun, request: Request, options: Options
) -> Compared:
    """Compare checked runs with the baseline. Raises OSError where temporary files fail."""
    settings = request.settings
    report = ComparisonReport([run.shown for run in runs], baseline.shown.label, settings)
    result = Compared(report, show_values=options.show_values)
    report.refused = _refusal(runs, settings)
    if report.refused is not None:
        finished_report(report, runs)
        return result
    with ExitStack() as stack:
        stack.callback(result.close)
        pairs = [
            _joined_pair(baseline, run, request, options, result)
            for run in runs
            if run is not baseline
        ]
        report.comparisons = _comparisons(pairs, settings, _seed(runs))
        results = {one.metric.result for one in report.comparisons}
        report.confounders = confounders_of(runs, results)
        if len(runs) > 2:
            _compare_all(runs, pairs, request, report)
        finished_report(report, runs)
        stack.pop_all()
    return result


def _refusal(runs: Sequence[CheckedRun], settings: CompareSettings) -> str | None:
    """Return why the runs are not compared, None if they are."""
    for run in runs:
        if run.samples is None:
            reason = run.refusal or f"holds no scores of single samples (format {run.run.format})"
            return f"{run.shown.label} {reason}"
    if settings.verified:
        refused = [f"{run.shown.label} {run.refusal}" for run in runs if run.refusal]
        if refused:
            return "; ".join(refused)
    return None


def _joined_pair(
    a: CheckedRun, b: CheckedRun, request: Request, options: Options, result: Compared
) -> _Pair:
    """Join the samples of two runs, find their drift, and keep their flips."""
    match = match_metrics(a.description, b.description, request.metric)
    report, labels = result.report, (a.shown.label, b.shown.label)
    only = ((labels[0], match.only_a), (labels[1], match.only_b))
    named = [f"{name} (only in {label})" for label, names in only for name in names]
    report.unmatched_results = [*dict.fromkeys([*report.unmatched_results, *named])]
    flips = FlipStore(request.flips)
    result.stores.append((flips, *labels, [metric.label for metric in match.metrics]))
    is_clustered = request.settings.cluster is not None
    tally = PairTally(len(match.metrics), flips, is_clustered=is_clustered)
    groups = match.groups_a, match.groups_b
    with closing(DriftFinder(*groups)) as finder:
        for joined in join(_samples(a), _samples(b), *groups):
            tally.add(joined, *groups)
            if joined.only_a:
                finder.add_a(joined.only_a)
            if joined.only_b:
                finder.add_b(joined.only_b)
        finder.finish()
        alignments = [
            one.alignment(
                finder.by_metric[number][DriftKind.DRIFT],
                finder.by_metric[number][DriftKind.RELABELLED],
            )
            for number, one in enumerate(tally.metrics)
        ]
        _list_drifts(finder, a, b, options, report)
    report.warnings = [
        *report.warnings,
        *_unclustered(match, tally, labels, request.settings.cluster),
        *_failed(match, tally, labels),
        *flips.read_answers(a, b, options),
    ]
    return _Pair(a, b, match, tally, alignments)


def _unclustered(
    match: MetricMatch, tally: PairTally, labels: tuple[str, str], cluster: str | None
) -> Iterator[str]:
    """Say of which metrics samples have no cluster: each of them counts as one of its own."""
    for metric, one in zip(match.metrics, tally.metrics, strict=True):
        if one.unclustered:
            pairs = counted(one.unclustered, "matched sample")
            yield (
                f"{' and '.join(labels)}, {metric.label}: no value at {cluster} in {pairs}; each "
                "counts as a cluster of its own"
            )


def _failed(match: MetricMatch, tally: PairTally, labels: tuple[str, str]) -> Iterator[str]:
    """Say under which metrics samples failed in one run alone: they may explain a difference."""
    for metric, one in zip(match.metrics, tally.metrics, strict=True):
        if one.failed:
            pairs = counted(one.failed, "matched sample")
            yield (
                f"{' and '.join(labels)}, {metric.label}: {pairs} with an error in the rows of one "
                "run alone; the scores count all the same"
            )


def _samples(run: CheckedRun) -> Iterator[bytes]:
    return iter(()) if run.samples is None else run.samples.spill.samples()


def _list_drifts(
    finder: DriftFinder, a: CheckedRun, b: CheckedRun, options: Options, report: ComparisonReport
) -> None:
    """Add the first samples that drifted or were relabelled, with their ids."""
    report.drifts_in_all += finder.drifted + finder.relabelled
    room = MOST_DRIFTS - len(report.drifts)
    found = [one for one, _ in zip(finder.pairs(), range(room), strict=False)]
    if not found:
        return
    ids_a = _ids_at(a, options, [(one.line_a, one.offset_a) for one in found])
    ids_b = _ids_at(b, options, [(one.line_b, one.offset_b) for one in found])
    kinds = {DriftKind.DRIFT: "drift", DriftKind.RELABELLED: "relabelled"}
    report.drifts = [
        *report.drifts,
        *(
            Drift(
                a.shown.label, b.shown.label, kinds[one.kind],
                ids_a.get((one.line_a, one.offset_a)), ids_b.get((one.line_b, one.offset_b)),
                one.line_a, one.line_b,
            )
            for one in found
        ),
    ]  # fmt: skip


def _ids_at(
    run: CheckedRun, options: Options, places: Sequence[tuple[int, int]]
) -> dict[tuple[int, int], object]:
    """Return the sample ids of some rows by place, as far as they can be read again."""
    wanted = sorted(set(places))
    try:
        read = FORMATS[run.run.format].answers(run.run, options, wanted)
        found = zip(wanted, read, strict=True)
        ids = {place: one.sample_id for place, one in found if one is not None}
        return {} if run.has_changed else ids
    except (OSError, CannotCheck, ValueError):
        return {}


def _comparisons(pairs: Sequence[_Pair], settings: CompareSettings, seed: int) -> list[Comparison]:
    """Estimate and judge each metric of each pair of runs.

    Those without a verdict do not count for Holm's method.
    """
    entries = [
        (pair, number, _estimate(pair, number, settings, seed))
        for pair in pairs
        for number in range(len(pair.match.metrics))
    ]
    adjusted = with_adjusted([one for _, _, one in entries])
    return [
        _comparison(pair, number, one, settings)
        for (pair, number, _), one in zip(entries, adjusted, strict=True)
    ]


def _estimate(pair: _Pair, number: int, settings: CompareSettings, seed: int) -> Estimate | None:
    """Return the statistics of a metric, None for scores that mean different things.

    Where too few samples meet for a verdict, they have no test and no interval.
    """
    tally, alignment = pair.tally.metrics[number], pair.alignments[number]
    if number in pair.match.conflicts or _lacking(pair, settings):
        return None
    paired, metric = tally.paired, pair.match.metrics[number]
    clusters = tally.clusters
    clustered = None if clusters is None else clusters.clustered(paired, settings.level)
    found = estimate(paired, metric, settings, seed, clustered)
    if found is None or alignment.overlap >= settings.overlap:
        return found
    return replace(
        found, interval=None, test=None, others=(), tests=(), clustered=None, detectable=None,
        needed_for_point=None,
    )  # fmt: skip


def _comparison(
    pair: _Pair, number: int, found: Estimate | None, settings: CompareSettings
) -> Comparison:
    metric, tally = pair.match.metrics[number], pair.tally.metrics[number]
    labels = pair.a.shown.label, pair.b.shown.label
    comparison = Comparison(
        *labels,
        metric,
        pair.alignments[number],
        found,
        right_to_wrong=tally.losses,
        wrong_to_right=tally.gains,
        failed_changes=tally.failed_changes,
    )
    conflict = pair.match.conflicts.get(number) or _lacking(pair, settings)
    if conflict is not None:
        comparison.verdict = CompareVerdict.NOT_COMPARABLE
        comparison.sentence = f"not comparable: {conflict}"
        return comparison
    judgement = judged(found, comparison.alignment, settings, metric, labels)
    comparison.verdict, comparison.sentence, comparison.better = judgement
    return comparison


def _lacking(pair: _Pair, settings: CompareSettings) -> str | None:
    """Return why too many rows of a run cannot be paired for a verdict, None if they are few.

    Rows without an identity are in no overlap.
    """
    for run in (pair.a.shown, pair.b.shown):
        if run.without_identity > (1 - settings.overlap) * run.rows:
            of = f"{counted(run.rows, run.noun)} in {run.label}"
            return f"{run.without_identity:,} of {of} lack what samples meet by ({settings.by})"
    return None


def _seed(runs: Sequence[CheckedRun]) -> int:
    """Return the seed of random numbers: it follows from the files alone."""
    digests = sorted(run.shown.checksum or "" for run in runs)
    return int.from_bytes(hashlib.sha256("\n".join(digests).encode()).digest()[:8])


def _compare_all(
    runs: Sequence[CheckedRun], pairs: Sequence[_Pair], request: Request, report: ComparisonReport
) -> None:
    """Add the matrices of all pairs of runs, and the ranks over the samples that all share."""
    labels = [run.shown.label for run in runs]
    known = {(pair.a.shown.label, pair.b.shown.label): pair for pair in pairs}
    cells: dict[str, dict[tuple[str, str], tuple[float | None, float]]] = {}
    for a, b in combinations(runs, 2):
        names = a.shown.label, b.shown.label
        match, tally = _light_pair(a, b, request, known.get(names))
        for metric, one in zip(match.metrics, tally.metrics, strict=True):
            alignment = one.alignment(0, 0)
            is_there = one.paired.n and not one.paired.is_extreme
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
    seed = _seed(runs)
    report.rankings = rankings_of(runs, request.metric, request.settings, seed)


def _light_pair(
    a: CheckedRun, b: CheckedRun, request: Request, known: _Pair | None
) -> tuple[MetricMatch, PairTally]:
    """Return the tally of two runs; those that were compared with the baseline have one."""
    if known is not None:
        return known.match, known.tally
    match = match_metrics(a.description, b.description, request.metric)
    groups = match.groups_a, match.groups_b
    tally = PairTally(len(match.metrics), None, is_clustered=False)
    for joined in join(_samples(a), _samples(b), *groups):
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

"""Compare many runs at once: matrices of each two of them, and ranks over what all share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from functools import reduce
from itertools import combinations, combinations_with_replacement
from typing import Any

import numpy as np

from evalstream.batch.comparing.metrics import UNIT, MetricMatch
from evalstream.batch.comparing.pairs import JoinedPair, Request, open_samples, scale_conflicts
from evalstream.batch.comparing.runs import CheckedRun, split_usable
from evalstream.batch.comparing.tallies import PairTally
from evalstream.model.comparison import (
    DRIFT,
    OVERLAP,
    CompareSettings,
    CompareVerdict,
    Comparison,
    ComparisonReport,
    Matrix,
    Ranking,
)
from evalstream.model.exit_codes import ExitCode
from evalstream.model.sample_record import UNKNOWN
from evalstream.model.text import count_noun
from evalstream.stats.inference.clusters import ClusterSums
from evalstream.stats.inference.ranks import RankedScores
from evalstream.stats.samples.joining import join, join_runs
from evalstream.stats.samples.matrix import pairwise
from evalstream.stats.samples.record_store import Array, RecordStore, read_together
from evalstream.stats.samples.sample_store import read_samples


def compare_samples(
    runs: Sequence[CheckedRun], settings: CompareSettings, metric: str | None
) -> ComparisonReport:
    """Return the overlap and the drift of each two runs; `metric` names what they must have.

    Runs that do not pass their check take part only if that is asked for. Raises OSError.
    """
    used, left = split_usable(runs, settings, metric)
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
        cells = [*combinations(shown, 2)]
        report.drifts_in_all = sum(
            found.drifted[row][column] + found.relabelled[row][column] for row, column in cells
        )
        is_low = any(found.overlap(*cell) < settings.min_overlap for cell in cells)
        holds = {DRIFT: report.drifts_in_all > 0, OVERLAP: is_low}
        report.failed_on = [name for name in settings.fail_if if holds.get(name)]
    if report.refused is not None or left:
        report.exit_code = int(ExitCode.UNCHECKED)
    elif report.failed_on:
        report.exit_code = int(ExitCode.FAILED)
    return report


def add_matrices(
    runs: Sequence[CheckedRun],
    pairs: Sequence[JoinedPair],
    request: Request,
    report: ComparisonReport,
) -> None:
    """Add the differences, if scores mean one thing, and overlaps of each two runs."""
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
    """Return the match and tally of two runs, and conflicts of scores by number of the metric."""
    if known is not None:
        return known.match, known.tally, known.conflicts
    match = request.match(a, b)
    groups = match.groups_a, match.groups_b
    tally = PairTally(match.metrics, None, is_clustered=False)
    for joined in join_runs(open_samples(a), open_samples(b), *groups):
        tally.add(joined, *groups)
    labels = a.shown.label, b.shown.label
    return (
        match,
        tally,
        {} if UNIT in request.settings.allow_different else scale_conflicts(match, tally, labels),
    )


def _square(
    labels: Sequence[str], cells: dict[tuple[str, str], float | None], sign: int
) -> list[list[float | None]]:
    """Return a matrix whose lower half follows from its upper half."""
    lower = {(b, a): None if one is None else sign * one for (a, b), one in cells.items()}
    own = dict.fromkeys(zip(labels, labels, strict=True), float(sign > 0))
    both = {**lower, **cells, **own}
    return [[both.get((row, column)) for column in labels] for row in labels]


def rank_runs(
    runs: Sequence[CheckedRun], request: Request, seed: int, comparisons: Sequence[Comparison]
) -> list[Ranking]:
    """Return the ranks of all runs under each metric that all of them have.

    There are none where scores of two runs mean different things. Whole clusters are resampled, of
    `--cluster` or else of copies of a question; there are no ranks where a sample is in none of the
    former. Raises OSError where a temporary file cannot be written.
    """
    first, *others = runs
    labels = [run.shown.label for run in runs]
    none = [one for one in comparisons if one.estimate is None]
    without = {one.metric.label for one in none if one.verdict is CompareVerdict.NOT_COMPARABLE}
    for a, b in combinations(runs, 2):
        match = request.match(a, b)
        without.update(match.metrics[number].label for number in match.conflicts)
    found = []
    for name in first.description.metrics:
        matches = [request.match(first, other) for other in others]
        place = first.description.metrics.index(name)
        if name.label in without or any(one.groups_a[place] < 0 for one in matches):
            continue
        scores = RankedScores(len(runs))
        with closing(RecordStore(_record_type(len(runs)), "cluster")) as store:
            lacking = 0
            for cluster, rows in _iterate_shared(runs, matches, place):
                is_alone = cluster == UNKNOWN
                lacking += int(is_alone.sum())
                scores.add(rows[is_alone])
                grouped = rows[~is_alone]
                records = np.empty(len(grouped), _record_type(len(runs)))
                records["cluster"] = cluster[~is_alone]
                records["scores"] = np.insert(grouped, 0, 1.0, axis=1)
                store.add(records)
            if lacking and request.settings.cluster is not None:
                continue
            store.finish()
            for (records,) in read_together([store]):
                sums = ClusterSums(1 + len(runs))
                sums.add(records["cluster"], records["scores"])
                sizes, *totals = sums.sums()[1].T
                scores.add(np.stack(totals, axis=1), sizes)
        ranking = scores.ranking(
            name.label,
            labels,
            request.settings.resamples,
            seed,
            lower_is_better=name.lower_is_better,
        )
        if ranking is not None:
            found.append(ranking)
    return found


def _record_type(runs: int) -> np.dtype[Any]:
    """Return the type of a record: a cluster, the number 1, and the scores of all runs."""
    return np.dtype([("cluster", "u8"), ("scores", "f8", (1 + runs,))])


def group_ranks(ranking: Ranking, comparisons: Sequence[Comparison]) -> Ranking:
    """Return a ranking with its groups, from the comparisons of each two of its runs.

    Two runs share a group if they do not differ significantly, and only then, so that a run may be
    in several. Source: Piepho, An algorithm for a letter-based representation of all-pairwise
    comparisons (2004); as each pair that shares a group makes one at most, their number is bounded.
    """
    apart = {
        frozenset((one.a, one.b))
        for one in comparisons
        if one.metric.label == ranking.metric and one.verdict is CompareVerdict.SIGNIFICANT
    }
    count = len(ranking.ranks)
    labels = [rank.label for rank in ranking.ranks]
    found: set[tuple[int, ...]] = set()
    shared: set[tuple[int, int]] = set()
    for pair in combinations_with_replacement(range(count), 2):
        if pair in shared or frozenset(labels[place] for place in pair) in apart:
            continue
        group = {*pair}
        for place in range(count):
            if all(frozenset((labels[place], labels[one])) not in apart for one in group):
                group.add(place)
        found.add(tuple(sorted(group)))
        shared.update(combinations_with_replacement(sorted(group), 2))
    groups = sorted(found)
    ranks = [
        rank._replace(groups=[number for number, one in enumerate(groups, 1) if place in one])
        for place, rank in enumerate(ranking.ranks)
    ]
    return ranking._replace(ranks=ranks)


def _iterate_shared(
    runs: Sequence[CheckedRun], matches: Sequence[MetricMatch], place: int
) -> Iterator[tuple[Array, Array]]:
    """Iterate over samples that all runs score: their clusters, and a row of the scores of all."""
    for a, *rest in read_samples([open_samples(run) for run in runs]):
        joined = [
            pairs[pairs["metric"] == match.groups_a[place]]
            for match, b in zip(matches, rest, strict=True)
            for pairs in (join(a, b, match.groups_a, match.groups_b).pairs,)
        ]
        shared = reduce(np.intersect1d, [pairs["ordinal"] for pairs in joined])
        pairs, *more = (one[np.isin(one["ordinal"], shared)] for one in joined)
        scores = [pairs["score_a"], pairs["score_b"], *(one["score_b"] for one in more)]
        rows = np.stack(scores, axis=1)
        # Each pair has the cluster of the first run, or none.
        clusters = np.minimum.reduce([pairs["cluster"], *(one["cluster"] for one in more)])
        is_known = ~np.isnan(rows).any(axis=1)
        yield clusters[is_known], rows[is_known]

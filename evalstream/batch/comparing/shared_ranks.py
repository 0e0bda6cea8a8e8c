"""Rank several runs over the samples that all of them share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import reduce
from itertools import combinations, combinations_with_replacement
from typing import Any

import numpy as np

from evalstream.batch.comparing.metrics import MetricMatch, match_metrics
from evalstream.batch.comparing.pairs import Request, open_store
from evalstream.batch.comparing.runs import CheckedRun
from evalstream.model.comparison import CompareVerdict, Comparison, Ranking
from evalstream.model.sample_record import UNKNOWN
from evalstream.stats.inference.clusters import ClusterSums
from evalstream.stats.inference.ranks import RankedScores
from evalstream.stats.samples.joining import join
from evalstream.stats.samples.record_store import Array, RecordStore, read_together
from evalstream.stats.samples.sample_store import read_samples


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
    without = {one.metric.label for one in comparisons if one.has_conflict}
    for a, b in combinations(runs, 2):
        match = _match(a, b, request)
        without.update(match.metrics[number].label for number in match.conflicts)
    found = []
    for name in first.description.metrics:
        matches = [_match(first, other, request) for other in others]
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
                store.add(_records(cluster[~is_alone], rows[~is_alone]))
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


def _records(clusters: Array, rows: Array) -> Array:
    records = np.empty(len(rows), _record_type(rows.shape[1]))
    records["cluster"] = clusters
    records["scores"] = np.insert(rows, 0, 1.0, axis=1)
    return records


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


def _match(a: CheckedRun, b: CheckedRun, request: Request) -> MetricMatch:
    settings = request.settings
    return match_metrics(a.description, b.description, request.metric, settings.allow_different)


def _iterate_shared(
    runs: Sequence[CheckedRun], matches: Sequence[MetricMatch], place: int
) -> Iterator[tuple[Array, Array]]:
    """Iterate over the samples that all runs have and score, by the identities of the first.

    `matches` are those of the first run with the others, and `place` is that of a metric in the
    first. Each time these are their clusters, and a row with the scores in all runs for each.
    """
    for a, *rest in read_samples([open_store(run) for run in runs]):
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

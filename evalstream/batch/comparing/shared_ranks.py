"""Rank several runs over the samples that all of them share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import combinations_with_replacement

import numpy as np

from evalstream.batch.comparing.metrics import match_metrics
from evalstream.batch.comparing.pairs import open_store
from evalstream.batch.comparing.runs import CheckedRun
from evalstream.model.comparison import (
    CompareSettings,
    CompareVerdict,
    Comparison,
    MetricName,
    Ranking,
)
from evalstream.model.sample_record import UNKNOWN
from evalstream.stats.arrays import Array
from evalstream.stats.inference.clusters import ClusterSums
from evalstream.stats.inference.ranks import RankedScores
from evalstream.stats.samples.joining import join
from evalstream.stats.samples.sample_store import read_samples


def rank_runs(
    runs: Sequence[CheckedRun], metric: str | None, settings: CompareSettings, seed: int
) -> list[Ranking]:
    """Return the ranks of all runs under each metric that all of them have.

    With clusters whole clusters are resampled; there are no ranks where a sample is in none.
    """
    first, *others = runs
    found = []
    for name in first.description.metrics:
        if any(_number(first, other, name, metric) is None for other in others):
            continue
        scores, clusters = RankedScores(len(runs)), ClusterSums(1 + len(runs))
        for cluster, rows in _iterate_shared(first, others, name):
            if settings.cluster is None:
                scores.add(rows)
            else:
                clusters.add(cluster, np.insert(rows, 0, 1.0, axis=1))
        ids, totals = clusters.sums()
        if UNKNOWN in ids:
            continue
        if settings.cluster is not None:
            scores.add(totals[:, 1:])
        labels = [run.shown.label for run in runs]
        ranking = scores.ranking(
            name.label, labels, settings.resamples, seed, lower_is_better=name.lower_is_better
        )
        if ranking is not None:
            samples = int(totals[:, 0].sum()) if settings.cluster else ranking.n
            found.append(_of_samples(ranking, samples))
    return found


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


def _of_samples(ranking: Ranking, samples: int) -> Ranking:
    """Return a ranking of sums of clusters as one of means of samples.

    All runs have the same samples, so that their sums have the order of their means.
    """
    share = ranking.n / samples
    ranks = [one._replace(mean=one.mean * share) for one in ranking.ranks]
    return ranking._replace(n=samples, ranks=ranks)


def _number(a: CheckedRun, b: CheckedRun, name: MetricName, wanted: str | None) -> int | None:
    """Return the number of a metric of the first run in its match with another, None for none."""
    match = match_metrics(a.description, b.description, wanted)
    place = a.description.metrics.index(name)
    number = match.groups_a[place]
    return None if number < 0 or number in match.conflicts else number


def _iterate_shared(
    first: CheckedRun, others: Sequence[CheckedRun], name: MetricName
) -> Iterator[tuple[Array, Array]]:
    """Iterate over the samples that all runs have and score, by the identities of the first.

    Each time these are their clusters, and a row with the scores in all runs for each.
    """
    place = first.description.metrics.index(name)
    matches = [match_metrics(first.description, other.description) for other in others]
    for a, *rest in read_samples([open_store(run) for run in (first, *others)]):
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

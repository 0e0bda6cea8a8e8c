"""Rank several runs over the samples that all of them share."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import islice
from operator import add
from typing import Final

from evalstream.batch.comparing.metrics import match_metrics
from evalstream.batch.comparing.runs import CheckedRun
from evalstream.model.comparison import (
    CompareSettings,
    CompareVerdict,
    Comparison,
    MetricName,
    Rank,
    Ranking,
)
from evalstream.model.sample_record import UNKNOWN, SamplePair, sample_pairs
from evalstream.stats.inference.ranks import RankedScores
from evalstream.stats.samples.joining import join

COLUMNS: Final = 8192
"""Number of samples that are added to the ranks in one go."""


def rankings_of(
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
        scores = RankedScores(len(runs))
        samples = 0
        shared = _shared(first, others, name)
        rows = (row for _, row in shared)
        if settings.cluster is not None:
            totals, samples = _cluster_totals(shared)
            if UNKNOWN in totals:
                continue
            rows = (tuple(held) for held in totals.values())
        while some := [*islice(rows, COLUMNS)]:
            scores.add([*zip(*some, strict=True)])
        labels = [run.shown.label for run in runs]
        ranking = scores.ranking(
            name.label, labels, settings.resamples, seed, lower_is_better=name.lower_is_better
        )
        if ranking is not None:
            found.append(ranking if settings.cluster is None else _of_samples(ranking, samples))
    return found


def grouped(ranking: Ranking, comparisons: Sequence[Comparison]) -> Ranking:
    """Return a ranking with its groups, from the comparisons of each two of its runs.

    The first run that is significantly worse than the first one of a group begins the next group.
    """
    apart = {
        frozenset((one.a, one.b))
        for one in comparisons
        if one.metric.label == ranking.metric and one.verdict is CompareVerdict.SIGNIFICANT
    }
    ranks, group, first = list[Rank](), 0, None
    for rank in ranking.ranks:
        if first is None or frozenset((first, rank.label)) in apart:
            first, group = rank.label, group + 1
        ranks.append(rank._replace(group=group))
    return ranking._replace(ranks=ranks)


def _cluster_totals(
    shared: Iterator[tuple[int, tuple[float, ...]]],
) -> tuple[dict[int, list[float]], int]:
    """Return the sums of the scores of each cluster, by run, and the number of samples."""
    totals: dict[int, list[float]] = {}
    samples = 0
    for cluster, row in shared:
        samples += 1
        held = totals.get(cluster)
        totals[cluster] = [*row] if held is None else [*map(add, held, row)]
    return totals, samples


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


def _shared(
    first: CheckedRun, others: Sequence[CheckedRun], name: MetricName
) -> Iterator[tuple[int, tuple[float, ...]]]:
    """Iterate over the samples that all runs have, in the order of the first.

    Each is its cluster with its scores in all runs.
    """
    streams = [_pairs(first, other, name) for other in others]
    heads = [next(stream, None) for stream in streams]
    while all(heads):
        pairs = [head for head in heads if head is not None]
        latest = max(pair.ordinal for pair in pairs)
        if all(pair.ordinal == latest for pair in pairs):
            row = pairs[0].score_a, *(pair.score_b for pair in pairs)
            if not any(map(math.isnan, row)):
                yield pairs[0].cluster, row
            heads = [next(stream, None) for stream in streams]
        else:
            heads = [
                next(stream, None) if pair.ordinal < latest else pair
                for stream, pair in zip(streams, pairs, strict=True)
            ]


def _pairs(a: CheckedRun, b: CheckedRun, name: MetricName) -> Iterator[SamplePair]:
    """Iterate over the pairs of two runs under one metric, in the order of the first run."""
    match = match_metrics(a.description, b.description)
    wanted = match.groups_a[a.description.metrics.index(name)]
    if a.samples is None or b.samples is None:
        return
    streams = a.samples.spill.samples(), b.samples.spill.samples()
    for joined in join(*streams, match.groups_a, match.groups_b):
        for pair in sample_pairs(joined.pairs):
            if pair.metric == wanted:
                yield pair

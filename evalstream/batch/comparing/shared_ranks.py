"""Rank several runs over the samples that all of them share."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Final

from evalstream.batch.comparing.metrics import match_metrics
from evalstream.batch.comparing.runs import CheckedRun
from evalstream.model.comparison import CompareSettings, MetricName, Ranking
from evalstream.model.sample_record import SamplePair, sample_pairs
from evalstream.stats.inference.ranks import RankedScores
from evalstream.stats.samples.joining import join

COLUMNS: Final = 8192
"""Number of samples that are added to the ranks in one go."""


def rankings_of(
    runs: Sequence[CheckedRun], metric: str | None, settings: CompareSettings, seed: int
) -> list[Ranking]:
    """Return the ranks of all runs under each metric that all of them have."""
    first, *others = runs
    found = []
    for name in first.description.metrics:
        if any(_number(first, other, name, metric) is None for other in others):
            continue
        scores = RankedScores(len(runs))
        rows: list[tuple[float, ...]] = []
        for row in _shared(first, others, name):
            rows.append(row)
            if len(rows) == COLUMNS:
                scores.add([*zip(*rows, strict=True)])
                rows.clear()
        if rows:
            scores.add([*zip(*rows, strict=True)])
        labels = [run.shown.label for run in runs]
        ranking = scores.ranking(
            name.label, labels, settings.resamples, seed, lower_is_better=name.lower_is_better
        )
        if ranking is not None:
            found.append(ranking)
    return found


def _number(a: CheckedRun, b: CheckedRun, name: MetricName, wanted: str | None) -> int | None:
    """Return the number of a metric of the first run in its match with another, None for none."""
    match = match_metrics(a.description, b.description, wanted)
    place = a.description.metrics.index(name)
    number = match.groups_a[place]
    return None if number < 0 or number in match.conflicts else number


def _shared(
    first: CheckedRun, others: Sequence[CheckedRun], name: MetricName
) -> Iterator[tuple[float, ...]]:
    """Iterate over the scores of the samples that all runs have, in the order of the first."""
    streams = [_pairs(first, other, name) for other in others]
    heads = [next(stream, None) for stream in streams]
    while all(heads):
        pairs = [head for head in heads if head is not None]
        latest = max(pair.ordinal for pair in pairs)
        if all(pair.ordinal == latest for pair in pairs):
            row = pairs[0].score_a, *(pair.score_b for pair in pairs)
            if not any(map(math.isnan, row)):
                yield row
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

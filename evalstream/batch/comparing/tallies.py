"""Tallies of the samples of two runs, metric by metric, while the samples are joined."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from heapq import nsmallest
from typing import Final

import numpy as np

from evalstream.batch.comparing.flips import FlipStore
from evalstream.model.comparison import Alignment, MetricName
from evalstream.model.sample_record import B_SHIFT, UNKNOWN, PairFlag, SampleFlag, SamplePair
from evalstream.stats.inference.clusters import ClusterTotals, CopyGroups, CopyTotals
from evalstream.stats.inference.paired import PairedScores, is_bit
from evalstream.stats.samples.joining import DriftedPair, DriftKind, Joined
from evalstream.stats.samples.record_store import Array, list_distinct, select

_RIGHT, _WRONG, _FAILED = map(int, (SampleFlag.RIGHT, SampleFlag.WRONG, SampleFlag.FAILED))
_FAILED_A: Final = np.uint64(_FAILED)
_FAILED_B: Final = np.uint64(_FAILED << B_SHIFT)
_FAILED_ONCE: Final = _FAILED_A | _FAILED_B
_JUDGEMENTS: Final = np.uint64((_RIGHT | _WRONG) | (_RIGHT | _WRONG) << B_SHIFT)
_LOSS: Final = np.uint64(_RIGHT | _WRONG << B_SHIFT)
_GAIN: Final = np.uint64(_WRONG | _RIGHT << B_SHIFT)

MOST_FIRST: Final = 50
"""Number of pairs that are kept to compare their answers, if all scores are equal."""

MOST_DRIFTS: Final = 20
"""Number of drifted and relabelled samples that a report lists."""


class MetricTally:
    """The pairs of one metric, and the samples that only one run has.

    Of the scored pairs `unclustered` have no cluster that both runs name, and `clusterless` none
    that either names.
    """

    def __init__(self, *, is_clustered: bool, lower_is_better: bool) -> None:
        self.lower_is_better = lower_is_better
        self.paired = PairedScores()
        self.clusters = ClusterTotals() if is_clustered else None
        self.copies = CopyTotals()
        self.matched = self.unscored = self.only_a = self.only_b = self.ambiguous = 0
        self.repeated = [0, 0]
        self.unclustered = self.clusterless = self.failed = 0
        self.losses = self.gains = self.failed_changes = 0
        self._flagged = dict.fromkeys(PairFlag, 0)

    def alignment(self, drifted: int, relabelled: int) -> Alignment:
        """Return how the samples meet, given the drift among those that do not."""
        flagged, relabelled_pairs = self._flagged, self._flagged[PairFlag.OTHER_REFERENCE]
        drift = flagged[PairFlag.OTHER_INPUT] - relabelled_pairs
        return Alignment(
            samples_a=self.matched + self.only_a,
            samples_b=self.matched + self.only_b,
            matched=self.matched,
            only_a=self.only_a,
            only_b=self.only_b,
            drifted=drifted + drift,
            relabelled=relabelled + relabelled_pairs,
            ambiguous=self.ambiguous,
            other_prompts=flagged[PairFlag.OTHER_PROMPT],
            one_prompt=flagged[PairFlag.ONE_PROMPT],
            other_clusters=flagged[PairFlag.OTHER_CLUSTER] if self.clusters else 0,
            unscored=self.unscored,
            repeated_a=self.repeated[0],
            repeated_b=self.repeated[1],
            same_input=self.copies.copies,
        )

    def add_pairs(self, pairs: Array) -> None:
        """Add samples that meet."""
        flags = pairs["flags"].copy()
        self.matched += len(pairs)
        for flag in PairFlag:
            self._flagged[flag] += int(np.count_nonzero(flags & np.uint64(flag)))
        fails_once = ((flags & _FAILED_A) != 0) != ((flags & _FAILED_B) != 0)
        self.failed += int(np.count_nonzero(fails_once))
        has_a, has_b = ~np.isnan(pairs["score_a"]), ~np.isnan(pairs["score_b"])
        is_scored = has_a & has_b
        self.unscored += int((~is_scored).sum())
        self.paired.only_a.add(pairs["score_a"][has_a & ~has_b])
        self.paired.only_b.add(pairs["score_b"][~has_a])
        self.paired.failed_a.add(pairs["score_a"][(flags & _FAILED_A) != 0])
        self.paired.failed_b.add(pairs["score_b"][(flags & _FAILED_B) != 0])
        self._add_scored(select(pairs, is_scored))

    def add_unmatched(self, samples: Array, *, is_a: bool) -> None:
        """Add samples that only one run has."""
        self.repeated[not is_a] += int((samples["scored"] > 1).sum())
        self.ambiguous += int(((samples["flags"] & np.uint64(SampleFlag.AMBIGUOUS)) != 0).sum())
        failed = samples["score"][(samples["flags"] & _FAILED_A) != 0]
        if is_a:
            self.only_a += len(samples)
            self.paired.only_a.add(samples["score"])
            self.paired.failed_a.add(failed)
        else:
            self.only_b += len(samples)
            self.paired.only_b.add(samples["score"])
            self.paired.failed_b.add(failed)

    def changes(self, pairs: Array) -> Array:
        """Return the flags that decide whether scored pairs are flips.

        Scores of 0 and 1 say themselves what is right; of others is_correct says it. Where no run
        says what is right, such as that an item was answered at all, there is no flip.
        """
        flags, a, b = (pairs[name].copy() for name in ("flags", "score_a", "score_b"))
        right_a, right_b = (
            np.where((score == 1) != self.lower_is_better, np.uint64(_RIGHT), np.uint64(_WRONG))
            for score in (a, b)
        )
        shown = flags & _FAILED_ONCE | right_a | right_b << np.uint64(B_SHIFT)
        says_it = is_bit(a) & is_bit(b) & ((flags & _JUDGEMENTS) != 0)
        changes: Array = np.where(says_it, shown, flags & (_FAILED_ONCE | _JUDGEMENTS))
        return changes

    def _add_scored(self, pairs: Array) -> None:
        # Copies are read faster than members of records.
        a, b, flags = (pairs[name].copy() for name in ("score_a", "score_b", "flags"))
        self.paired.add(a, b)
        self.paired.failed += int(((flags & _FAILED_ONCE) != 0).sum())
        for side, name in enumerate("ab"):
            rows = pairs[f"rows_{name}"]
            self.repeated[side] += int((rows != 1).sum())
            self.paired.add_repeats(rows, pairs[f"spread_{name}"])
        if self.clusters is not None:
            is_open = pairs["cluster"] == UNKNOWN
            is_other = (flags & np.uint64(PairFlag.OTHER_CLUSTER)) != 0
            self.unclustered += int(is_open.sum())
            self.clusterless += int((is_open & ~is_other).sum())
            self.clusters.add(pairs["cluster"], a, b)
        changes = self.changes(pairs)
        self.losses += int((changes == _LOSS).sum())
        self.gains += int((changes == _GAIN).sum())
        but_for_error = changes & ~_FAILED_ONCE
        is_flip = (but_for_error == _LOSS) | (but_for_error == _GAIN)
        self.failed_changes += int((is_flip & (changes != but_for_error)).sum())


class PairTally:
    """Adds up the joined samples of two runs, by the number of the metric.

    `drifted` counts samples that meet although their inputs differ, and `drifts` are the first ones
    by line. `first` are the first pairs by identity.
    """

    def __init__(
        self, metrics: Sequence[MetricName], flips: FlipStore | None, *, is_clustered: bool
    ) -> None:
        self.metrics = [
            MetricTally(is_clustered=is_clustered, lower_is_better=one.lower_is_better)
            for one in metrics
        ]
        self.drifted, self.drifts = 0, list[DriftedPair]()
        self.first: list[SamplePair] = []
        self._flips = flips

    def add(self, joined: Joined, groups_a: Sequence[int], groups_b: Sequence[int]) -> None:
        """Add samples that were joined."""
        self._add_drifts(joined.pairs)
        self.first += sample_pairs(joined.pairs[: MOST_FIRST - len(self.first)])
        for metric, pairs in _by_metric(joined.pairs, joined.pairs["metric"]):
            tally = self.metrics[metric]
            tally.add_pairs(pairs)
            self._keep_flips(tally, pairs)
        for samples, groups, is_a in (
            (joined.only_a, groups_a, True),
            (joined.only_b, groups_b, False),
        ):
            numbers = np.array(groups, np.int64)[samples["group"].astype(np.int64)]
            for metric, some in _by_metric(samples, numbers):
                self.metrics[metric].add_unmatched(some, is_a=is_a)

    def add_copies(self, found: Iterable[CopyGroups]) -> None:
        """Add the copies of questions, after all samples."""
        for one in found:
            metric = self.metrics[one.metric]
            has_means = metric.paired.n and not metric.paired.is_extreme
            metric.copies.add(one, metric.paired.moments.means if has_means else (0.0, 0.0, 0.0))

    def _add_drifts(self, pairs: Array) -> None:
        """Keep the first samples that meet by their ids or hashes although their inputs differ."""
        found = pairs[(pairs["flags"] & np.uint64(PairFlag.OTHER_INPUT)) != 0]
        _, first = np.unique(found["ordinal"], return_index=True)
        found = found[first]
        self.drifted += len(found)
        first = np.lexsort((found["offset_a"], found["line_a"]))[:MOST_DRIFTS]
        for pair in sample_pairs(found[first]):
            is_relabelled = pair.flags & PairFlag.OTHER_REFERENCE
            kind = DriftKind.RELABELLED if is_relabelled else DriftKind.DRIFT
            places = pair.line_a, pair.offset_a, pair.line_b, pair.offset_b
            self.drifts.append(DriftedPair(*places, pair.sample_a, pair.sample_b, kind))
        self.drifts = nsmallest(MOST_DRIFTS, self.drifts)

    def _keep_flips(self, tally: MetricTally, pairs: Array) -> None:
        if self._flips is None:
            return
        is_scored = ~np.isnan(pairs["score_a"]) & ~np.isnan(pairs["score_b"])
        pairs = pairs.compress(is_scored & (pairs["line_a"] <= self._flips.latest))
        changes = tally.changes(pairs)
        for change, is_loss in ((_LOSS, True), (_GAIN, False)):
            found = select_first_lines(pairs.compress(changes == change), self._flips.most)
            if len(found):
                self._flips.add(sample_pairs(found), is_loss=is_loss)


def sample_pairs(pairs: Array) -> Iterator[SamplePair]:
    """Iterate over the pairs of an array."""
    return map(SamplePair._make, pairs.tolist())


def select_first_lines(pairs: Array, most: int) -> Array:
    """Return the pairs of the first lines of the reference, `most` or more; all for 0."""
    if not most or len(pairs) <= most:
        return pairs
    lines = pairs["line_a"]
    return pairs.compress(lines <= np.partition(lines, most - 1)[most - 1])


def _by_metric(records: Array, numbers: Array) -> Iterator[tuple[int, Array]]:
    metrics = list_distinct(numbers)
    for metric in metrics:
        yield metric, records if len(metrics) == 1 else records.compress(numbers == metric)

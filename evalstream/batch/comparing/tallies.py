"""What the samples of two runs amount to, metric by metric, while they are joined."""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from heapq import nsmallest
from typing import Final

from evalstream.batch.comparing.flips import FlipStore
from evalstream.model.comparison import Alignment, MetricName
from evalstream.model.sample_record import (
    B_SHIFT,
    PAIR_BYTES,
    PAIR_WORDS,
    SAMPLE_WORDS,
    UNKNOWN,
    PairFlag,
    SampleFlag,
    SamplePair,
    sample_pairs,
)
from evalstream.stats.inference.clusters import ClusterTotals
from evalstream.stats.inference.paired import PairedScores
from evalstream.stats.samples.drift import DriftedPair, DriftKind
from evalstream.stats.samples.joining import Joined

_METRIC, _FLAGS, _SCORE_A, _SCORE_B, _ROWS_A, _ROWS_B, _SPREAD_A, _SPREAD_B = range(8)
_LINE_A, _CLUSTER = 8, 12
"""The words of a pair."""

_GROUP, _SCORE, _SAMPLE_FLAGS, _SAMPLE_ROWS = 3, 6, 7, 13
"""The words of a sample: its group, score and flags, and the number of its scored rows."""

_RIGHT, _WRONG, _FAILED = map(int, (SampleFlag.RIGHT, SampleFlag.WRONG, SampleFlag.FAILED))
_JUDGED: Final = _RIGHT | _WRONG | _FAILED
_CHANGES: Final = _JUDGED | _JUDGED << B_SHIFT
_FAILED_ONCE: Final = _FAILED | _FAILED << B_SHIFT
_LOSS: Final = _RIGHT | _WRONG << B_SHIFT
_GAIN: Final = _WRONG | _RIGHT << B_SHIFT

_JUDGEMENTS: Final = (_RIGHT | _WRONG) | (_RIGHT | _WRONG) << B_SHIFT

_BITS: Final = {0.0: False, 1.0: True}
"""The scores that say themselves whether an answer is right."""

_Judged = tuple[int, bool | None, bool | None]
"""The flags of a pair, and both scores where they are 0 or 1."""


MOST_FIRST: Final = 50
"""Number of pairs that are kept to compare their answers, if all scores are equal."""

MOST_DRIFTS: Final = 20
"""Number of drifted and relabelled samples that a report lists."""


class MetricTally:
    """The pairs of one metric, and the samples that only one run has."""

    def __init__(self, *, is_clustered: bool, lower_is_better: bool = False) -> None:
        self.lower_is_better = lower_is_better
        self.paired = PairedScores()
        self.clusters = ClusterTotals() if is_clustered else None
        self.matched = self.unscored = self.only_a = self.only_b = self.ambiguous = 0
        self.repeated = [0, 0]
        self.unclustered = self.failed = 0
        self.losses = self.gains = self.failed_changes = 0
        self.flags: Counter[int] = Counter()

    def alignment(self, drifted: int, relabelled: int) -> Alignment:
        """Return how the samples meet, given the drift among those that do not."""
        flags = self.flags
        drift = _count(flags, PairFlag.OTHER_INPUT) - _count(flags, PairFlag.OTHER_REFERENCE)
        return Alignment(
            samples_a=self.matched + self.only_a,
            samples_b=self.matched + self.only_b,
            matched=self.matched,
            only_a=self.only_a,
            only_b=self.only_b,
            drifted=drifted + drift,
            relabelled=relabelled + _count(flags, PairFlag.OTHER_REFERENCE),
            ambiguous=self.ambiguous,
            other_prompts=_count(flags, PairFlag.OTHER_PROMPT),
            other_clusters=_count(flags, PairFlag.OTHER_CLUSTER),
            unscored=self.unscored,
            repeated_a=self.repeated[0],
            repeated_b=self.repeated[1],
        )


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
        self._last_drifted = -1
        self._flips = flips

    def add(self, joined: Joined, groups_a: Sequence[int], groups_b: Sequence[int]) -> None:
        """Add a chunk of a join."""
        if joined.pairs:
            self._add_drifts(joined.pairs)
            room = MOST_FIRST - len(self.first)
            if room > 0:
                self.first += sample_pairs(joined.pairs[: room * PAIR_BYTES])
            for metric, pairs in _by_metric(joined.pairs, _METRIC, PAIR_WORDS, None):
                self._add_pairs(self.metrics[metric], pairs)
        for data, groups, is_a in (
            (joined.only_a, groups_a, True),
            (joined.only_b, groups_b, False),
        ):
            if data:
                for metric, samples in _by_metric(data, _GROUP, SAMPLE_WORDS, groups):
                    if metric >= 0:
                        self._add_unmatched(self.metrics[metric], samples, is_a=is_a)

    def _add_drifts(self, pairs: bytes) -> None:
        """Keep the first samples that meet by their ids or hashes although their inputs differ.

        The pairs of one sample under several metrics follow each other.
        """
        flags = memoryview(pairs).cast("Q")[_FLAGS::PAIR_WORDS].tolist()
        found = {flag for flag in set(flags) if flag & PairFlag.OTHER_INPUT}
        if not found:
            return
        for place, flag in enumerate(flags):
            if flag not in found:
                continue
            (pair,) = sample_pairs(pairs[place * PAIR_BYTES : (place + 1) * PAIR_BYTES])
            if pair.ordinal != self._last_drifted:
                self._last_drifted = pair.ordinal
                self.drifted += 1
                self.drifts.append(_drifted(pair))
        self.drifts = nsmallest(MOST_DRIFTS, self.drifts)

    def _add_pairs(self, tally: MetricTally, pairs: bytes) -> None:
        flags = memoryview(pairs).cast("Q")[_FLAGS::PAIR_WORDS].tolist()
        tally.matched += len(flags)
        counted = Counter(flags)
        tally.flags.update(counted)
        tally.failed += sum(times for flag, times in counted.items() if _fails_once(flag))
        scored = _scored(tally, pairs)
        words, numbers = memoryview(scored).cast("Q"), memoryview(scored).cast("d")
        a, b = numbers[_SCORE_A::PAIR_WORDS].tolist(), numbers[_SCORE_B::PAIR_WORDS].tolist()
        tally.paired.add(a, b)
        if any(flag & _FAILED_ONCE for flag in counted):
            _add_failed(tally.paired, words[_FLAGS::PAIR_WORDS].tolist(), a, b)
        for word, spread in ((_ROWS_A, _SPREAD_A), (_ROWS_B, _SPREAD_B)):
            rows = words[word::PAIR_WORDS].tolist()
            repeated = len(rows) - rows.count(1)
            if repeated:
                tally.paired.add_repeats(rows, numbers[spread::PAIR_WORDS].tolist())
            tally.repeated[word == _ROWS_B] += repeated
        if tally.clusters is not None:
            clusters = words[_CLUSTER::PAIR_WORDS].tolist()
            tally.unclustered += clusters.count(UNKNOWN)
            tally.clusters.add(clusters, a, b)
        self._add_flips(tally, scored, a, b)

    def _add_flips(
        self, tally: MetricTally, pairs: bytes, a: Sequence[float], b: Sequence[float]
    ) -> None:
        """Count the scored samples that both runs judge differently, and keep them."""
        words = memoryview(pairs).cast("Q")
        flags = words[_FLAGS::PAIR_WORDS].tolist()
        judged = list(zip(flags, map(_BITS.get, a), map(_BITS.get, b), strict=True))
        counted = Counter(judged)
        changes = {one: _judged_changes(one, tally.lower_is_better) for one in counted}
        losses = {one for one, change in changes.items() if change == _LOSS}
        gains = {one for one, change in changes.items() if change == _GAIN}
        tally.losses += sum(counted[one] for one in losses)
        tally.gains += sum(counted[one] for one in gains)
        tally.failed_changes += sum(
            times for one, times in counted.items() if _is_failed_change(changes[one])
        )
        for chosen, is_loss in ((losses, True), (gains, False)):
            if chosen and self._flips is not None:
                lines, latest = words[_LINE_A::PAIR_WORDS].tolist(), self._flips.latest
                found = b"".join(
                    pairs[place * PAIR_BYTES : (place + 1) * PAIR_BYTES]
                    for place, (one, line) in enumerate(zip(judged, lines, strict=True))
                    if line <= latest and one in chosen
                )
                if found:
                    self._flips.add(sample_pairs(found), is_loss=is_loss)

    def _add_unmatched(self, tally: MetricTally, samples: bytes, *, is_a: bool) -> None:
        words, numbers = memoryview(samples).cast("Q"), memoryview(samples).cast("d")
        scores = numbers[_SCORE::SAMPLE_WORDS].tolist()
        rows = words[_SAMPLE_ROWS::SAMPLE_WORDS].tolist()
        tally.repeated[not is_a] += len(rows) - rows.count(1) - rows.count(0)
        tally.ambiguous += sum(
            bool(flags & SampleFlag.AMBIGUOUS)
            for flags in words[_SAMPLE_FLAGS::SAMPLE_WORDS].tolist()
        )
        if is_a:
            tally.only_a += len(scores)
            tally.paired.only_a.add(scores)
        else:
            tally.only_b += len(scores)
            tally.paired.only_b.add(scores)


def _add_failed(
    paired: PairedScores, flags: Sequence[int], a: Sequence[float], b: Sequence[float]
) -> None:
    """Add the scores of pairs that come from rows with an error."""
    for failed, scores, wanted in (
        (paired.failed_a, a, _FAILED),
        (paired.failed_b, b, _FAILED << B_SHIFT),
    ):
        failed.add(score for flag, score in zip(flags, scores, strict=True) if flag & wanted)
    paired.failed += sum(bool(flag & _FAILED_ONCE) for flag in flags)


def _scored(tally: MetricTally, pairs: bytes) -> bytes:
    """Return the pairs with a score on both sides, and count the others as unmatched scores."""
    numbers = memoryview(pairs).cast("d")
    a, b = numbers[_SCORE_A::PAIR_WORDS].tolist(), numbers[_SCORE_B::PAIR_WORDS].tolist()
    if not (any(map(math.isnan, a)) or any(map(math.isnan, b))):
        return pairs
    whole = bytearray()
    for place, (first, second) in enumerate(zip(a, b, strict=True)):
        if not (math.isnan(first) or math.isnan(second)):
            whole += pairs[place * PAIR_BYTES : (place + 1) * PAIR_BYTES]
            continue
        tally.unscored += 1
        if math.isnan(first):
            tally.paired.only_b.add([second])
        else:
            tally.paired.only_a.add([first])
    return bytes(whole)


def _drifted(pair: SamplePair) -> DriftedPair:
    is_relabelled = pair.flags & PairFlag.OTHER_REFERENCE
    kind = DriftKind.RELABELLED if is_relabelled else DriftKind.DRIFT
    places = pair.line_a, pair.offset_a, pair.line_b, pair.offset_b
    return DriftedPair(*places, pair.sample_a, pair.sample_b, kind)


def _fails_once(flag: int) -> bool:
    """Tell whether the rows of one side alone have an error."""
    return bool(flag & _FAILED) != bool(flag & _FAILED << B_SHIFT)


def _judged_changes(judged: _Judged, lower_is_better: bool) -> int:
    """Return the flags that decide whether a pair is a flip.

    Scores of 0 and 1 say themselves what is right; of others is_correct says it. Where no run says
    what is right, such as that an item was answered at all, there is none.
    """
    flag, a, b = judged
    if a is None or b is None or not flag & _JUDGEMENTS:
        return flag & _CHANGES
    right_a, right_b = a != lower_is_better, b != lower_is_better
    shown = (_RIGHT if right_a else _WRONG) | (_RIGHT if right_b else _WRONG) << B_SHIFT
    return flag & _FAILED_ONCE | shown


def _is_failed_change(changes: int) -> bool:
    """Tell whether a pair would be a flip, but for an error in one of its rows."""
    failed = changes & _FAILED_ONCE
    return bool(failed) and changes & ~failed in (_LOSS, _GAIN)


def _count(flags: Mapping[int, int], wanted: int) -> int:
    return sum(times for flag, times in flags.items() if flag & wanted)


def _by_metric(
    data: bytes, word: int, words: int, groups: Sequence[int] | None
) -> Iterator[tuple[int, bytes]]:
    """Iterate over packed records by metric; a word of each says its group, or its metric."""
    column = memoryview(data).cast("Q")[word::words].tolist()
    numbers = column if groups is None else [groups[group] for group in column]
    known = set(numbers)
    if len(known) == 1:
        yield numbers[0], data
        return
    size = 8 * words
    parts: dict[int, array[int]] = {metric: array("Q") for metric in sorted(known)}
    for place, metric in enumerate(numbers):
        parts[metric].frombytes(data[place * size : (place + 1) * size])
    for metric, part in parts.items():
        yield metric, part.tobytes()

"""Samples that two runs were asked or scored differently, among those that do not meet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import IntEnum
from typing import Final, NamedTuple

from evalstream.model.block import MEBIBYTE
from evalstream.parsing.native.sample_matching import KEY_WORDS, MATCH_WORDS, Matching
from evalstream.stats.samples.matching import new_keys, new_matcher
from evalstream.stats.samples.record_order import unpack_records
from evalstream.stats.samples.record_sorter import RecordSorter
from evalstream.stats.samples.windows import zip_windows

MEMORY_BYTES: Final = 32 * MEBIBYTE
"""How much memory the samples without a partner take up."""

_SORTERS: Final = 5
"""How many sorts share the memory: of what is matched, of what is left over, and of matches."""

_Pair = tuple[RecordSorter, RecordSorter]


class DriftKind(IntEnum):
    """How two samples differ."""

    DRIFT = 0
    """They have the same sample id, and another input."""

    RELABELLED = 1
    """They have the same question, and other references."""


class DriftedPair(NamedTuple):
    """Two samples that differ, with the first rows of both."""

    line_a: int
    offset_a: int
    line_b: int
    offset_b: int
    sample_a: int
    sample_b: int
    kind: DriftKind


class DriftFinder:
    """Finds drift among the samples of two runs that do not meet.

    Samples with the same question and other inputs are relabelled; of the rest, those with the same
    sample id and other inputs have drifted. A sample is in one pair at most: several samples with
    the same question are matched by their sample ids first, then in the order of their lines, as
    are several ones with the same sample id. What is unknown does not match.

    Groups are numbered as for `join`. `drifted` and `relabelled` count pairs once `finish` was
    called, and `by_metric` those of each metric that both samples lack a partner for. At most
    `memory_limit` bytes are in memory; `close` deletes the temporary files. Raises OSError where
    they cannot be written or read.
    """

    def __init__(
        self, groups_a: Sequence[int], groups_b: Sequence[int], memory_limit: int = MEMORY_BYTES
    ) -> None:
        self.drifted = self.relabelled = 0
        metrics = max((*groups_a, *groups_b, 0)) + 1
        self.by_metric = [[0, 0] for _ in range(metrics)]
        set_words = -(-metrics // 64)
        self._words, self._share = KEY_WORDS + set_words, memory_limit // _SORTERS
        self._keys = new_keys(groups_a, set_words), new_keys(groups_b, set_words)
        self._unmatched = self._new_pair()
        self._found = RecordSorter(MATCH_WORDS, self._share)

    def add_a(self, samples: bytes) -> None:
        """Add packed SampleScores of the first run, in their order.

        Raises ValueError for a group without a number.
        """
        self._unmatched[0].add(self._keys[0].add(samples))

    def add_b(self, samples: bytes) -> None:
        """Add packed SampleScores of the second run, in their order.

        Raises ValueError for a group without a number.
        """
        self._unmatched[1].add(self._keys[1].add(samples))

    def finish(self) -> None:
        """Match what was added."""
        for sorter, keys in zip(self._unmatched, self._keys, strict=True):
            sorter.add(keys.finish())
            sorter.finish()
        for matching in _matchings(self._words):
            self._match(matching)
        self._found.finish()
        _close(self._unmatched)

    def pairs(self) -> Iterator[DriftedPair]:
        """Iterate over the pairs in the order of the lines of the first run."""
        for chunk in self._found.chunks():
            for record in unpack_records(chunk, MATCH_WORDS):
                yield DriftedPair._make((*record[:-1], DriftKind(record[-1])))

    def close(self) -> None:
        """Delete the temporary files."""
        _close(self._unmatched)
        self._found.close()

    def _match(self, matching: Matching) -> None:
        """Match the samples without a partner by one criterion, and keep those left over."""
        before, after = self._unmatched, self._new_pair()
        matcher, size = new_matcher(matching), 8 * self._words
        try:
            streams = before[0].chunks(), before[1].chunks()
            for pairs, left_a, left_b in zip_windows(*streams, size, matcher.match):
                self._found.add(pairs)
                after[0].add(left_a)
                after[1].add(left_b)
            for sorter in after:
                sorter.finish()
        except BaseException:
            _close(after)
            raise
        self._unmatched = after
        _close(before)
        self._count(matcher.metrics, DriftKind(matching.kind))

    def _count(self, metrics: Sequence[int], kind: DriftKind) -> None:
        found = self._found.count - self.drifted - self.relabelled
        if kind is DriftKind.DRIFT:
            self.drifted += found
        else:
            self.relabelled += found
        for counts, more in zip(self.by_metric, metrics, strict=False):
            counts[kind] += more

    def _new_pair(self) -> _Pair:
        return RecordSorter(self._words, self._share), RecordSorter(self._words, self._share)


def _close(sorters: _Pair) -> None:
    for sorter in sorters:
        sorter.close()


def _matchings(words: int) -> tuple[Matching, ...]:
    """Return the criteria, in their order; each leaves over what the next one sorts by."""
    return (
        # By question and sample id; what is left over is sorted by question and line,
        Matching(words, 2, False, 2, 1, DriftKind.RELABELLED, (0, 2, 3, 1)),
        # by question; what is left over is sorted by sample id and line,
        Matching(words, 1, True, 1, 3, DriftKind.RELABELLED, (3, 1, 2, 0)),
        # by sample id.
        Matching(words, 1, False, 1, 0, DriftKind.DRIFT, (0, 1, 2, 3)),
    )

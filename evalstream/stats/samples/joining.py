"""Merge join of the samples of two runs: which of them meet, and which are only in one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile
from typing import Final, NamedTuple

from evalstream.model.sample_record import (
    B_SHIFT,
    PAIR_WORDS,
    SAMPLE_BYTES,
    SAMPLE_WORDS,
    PairFlag,
    SampleFlag,
)
from evalstream.parsing.native import sample_layouts, samples
from evalstream.parsing.native.sample_layouts import Window
from evalstream.stats.samples.record_order import Record, pack_records, unpack_records
from evalstream.stats.samples.windows import Results, Step, zip_windows

MOST_METRICS: Final = 1 << 24
"""The number of metrics of a comparison; they are numbered from 0, without gaps."""

_AMBIGUOUS: Final = int(SampleFlag.AMBIGUOUS)


class Joined(NamedTuple):
    """Packed SamplePairs, and the packed SampleScores of samples that only one run has."""

    pairs: bytes
    only_a: bytes
    only_b: bytes


def join(
    a: Iterable[bytes], b: Iterable[bytes], groups_a: Sequence[int], groups_b: Sequence[int]
) -> Iterator[Joined]:
    """Join the samples of two runs, which come as chunks of packed SampleScores in their order.

    `groups_a[group]` is the number of the group's metric in the comparison, negative for a group
    that takes part in nothing. Samples with the same identity meet whatever their ids; where it is
    ambiguous in either run, they meet if the ids are the same. Those that meet are paired under
    each metric that both have. What is not paired is only in its run, as are all records of a
    sample under a metric that several groups of either run give it. `ordinal` counts all samples of
    `a`, `cluster` is that of `a` unless only `b` knows it, and pairs with OTHER_REFERENCE have
    OTHER_INPUT as well. Raises ValueError for a group without a number.
    """
    metrics = max((*groups_a, *groups_b), default=-1) + 1
    if metrics > MOST_METRICS:
        raise ValueError("the number of a metric is too large")
    step = _new_step(groups_a, groups_b, max(0, metrics))
    return (Joined(*results) for results in zip_windows(a, b, SAMPLE_BYTES, step))


def _new_step(groups_a: Sequence[int], groups_b: Sequence[int], metrics: int) -> Step:
    loaded = sample_layouts.sample_joiners()
    if loaded is not None:
        return samples.CompiledJoiner(loaded, groups_a, groups_b, metrics).join
    return _PythonJoiner(groups_a, groups_b).join


class _PythonJoiner:
    def __init__(self, groups_a: Sequence[int], groups_b: Sequence[int]) -> None:
        self._groups_a, self._groups_b, self._ordinal = groups_a, groups_b, 0

    def join(self, a: Window, b: Window) -> Results:
        """Join what is complete in the windows: pairs, and the samples of either run alone."""
        heads_a, heads_b = _Heads(a), _Heads(b)
        pairs: list[Record] = []
        only_a: list[Record] = []
        only_b: list[Record] = []
        while True:
            of_a, of_b = heads_a.sample(), heads_b.sample()
            if a.wants_more or b.wants_more or not (of_a or of_b):
                break
            order = _order(of_a, of_b)
            known_a = _compared(of_a, self._groups_a) if order <= 0 else []
            known_b = _compared(of_b, self._groups_b) if order >= 0 else []
            _pair(known_a, known_b, self._ordinal, pairs, only_a, only_b)
            heads_a.used += len(of_a) if order <= 0 else 0
            heads_b.used += len(of_b) if order >= 0 else 0
            self._ordinal += order <= 0
        a.used, b.used = heads_a.used, heads_b.used
        packed = [pack_records(records, SAMPLE_WORDS) for records in (only_a, only_b)]
        return pack_records(pairs, PAIR_WORDS), packed[0], packed[1]


class _Heads:
    """The samples of a window, one by one."""

    def __init__(self, window: Window) -> None:
        self._window = window
        self._records = list(unpack_records(window.records, SAMPLE_WORDS))
        self.used = window.used

    def sample(self) -> list[Record]:
        """Return the records of the first sample, none if it is not complete."""
        start = self.used
        if start == len(self._records):
            self._window.wants_more = not self._window.is_last
            return []
        key = self._records[start][:3]
        rest = (self._records[at] for at in range(start, len(self._records)))
        records = list(takewhile(lambda record: record[:3] == key, rest))
        is_complete = self._window.is_last or start + len(records) < len(self._records)
        self._window.wants_more = not is_complete
        return records if is_complete else []


def _order(a: list[Record], b: list[Record]) -> int:
    """Say which of two samples comes first, or that they meet: -1, 1 or 0."""
    if not a or not b:
        return 1 if not a else -1
    words = 3 if (a[0][7] | b[0][7]) & _AMBIGUOUS else 2
    key_a, key_b = a[0][:words], b[0][:words]
    return (key_a > key_b) - (key_a < key_b)


def _compared(records: list[Record], groups: Sequence[int]) -> list[tuple[int, Record]]:
    """Return the records that take part, with their metrics."""
    if any(record[3] >= len(groups) for record in records):
        raise ValueError("a group has no number")
    metrics = [(groups[record[3]], record) for record in records]
    return [(metric, record) for metric, record in metrics if metric >= 0]


def _pair(
    a: list[tuple[int, Record]],
    b: list[tuple[int, Record]],
    ordinal: int,
    pairs: list[Record],
    only_a: list[Record],
    only_b: list[Record],
) -> None:
    """Pair the records of a sample of both runs by their metrics."""
    sole_a, sole_b = _sole(a), _sole(b)
    both = sole_a.keys() & sole_b.keys()
    pairs += [
        _paired(metric, record, sole_b[metric], ordinal) for metric, record in a if metric in both
    ]
    only_a += [record for metric, record in a if metric not in both]
    only_b += [record for metric, record in b if metric not in both]


def _sole(records: list[tuple[int, Record]]) -> dict[int, Record]:
    """Return the records of metrics that only one of them has."""
    sole = dict(records)
    if len(sole) == len(records):
        return sole
    times = Counter(metric for metric, _ in records)
    return {metric: record for metric, record in records if times[metric] == 1}


def _paired(metric: int, a: Record, b: Record, ordinal: int) -> Record:
    """Return the record of a pair."""
    flags = a[7] | b[7] << B_SHIFT
    question, input_, prompt, cluster = zip(a[8:12], b[8:12], strict=True)
    if all(prompt) and prompt[0] != prompt[1]:
        flags |= PairFlag.OTHER_PROMPT
    if all(input_) and input_[0] != input_[1]:
        flags |= PairFlag.OTHER_INPUT
        if question[0] == question[1] != 0:
            flags |= PairFlag.OTHER_REFERENCE
    if cluster[0] != cluster[1]:
        flags |= PairFlag.OTHER_CLUSTER
    scores = a[6], b[6], a[13], b[13], a[14], b[14]
    places = a[4], a[5], b[4], b[5], cluster[0] or cluster[1]
    return metric, flags, *scores, *places, a[2], b[2], ordinal

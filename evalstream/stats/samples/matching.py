"""Samples without a partner: one record of each, matched one by one with those of another run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

from evalstream.model.sample_record import SAMPLE_WORDS
from evalstream.parsing.native import sample_layouts, sample_matching
from evalstream.parsing.native.sample_layouts import Window
from evalstream.parsing.native.sample_matching import KEY_WORDS, MATCH_WORDS, Matching
from evalstream.stats.samples.record_order import Record, pack_records, unpack_records
from evalstream.stats.samples.windows import Results

_INPUT: Final = 4
_WORD_BITS: Final = 64


class Keys(Protocol):
    """Makes one record of each sample, whose records come one behind the other.

    Its words are the question, the sample id, the line, the offset and the input of the first
    record by line, the identity, and the set of the metrics of all its records, as bits.
    """

    def add(self, records: bytes) -> bytes:
        """Return the records of the samples that are complete.

        Raises ValueError for a group without a number.
        """

    def finish(self) -> bytes:
        """Return the record of the last sample."""


class Matcher(Protocol):
    """Matches sorted records one by one, in their order, and counts matches by metric.

    Records meet where their first words are equal and known. Those that meet match if their inputs
    are known and differ.
    """

    @property
    def metrics(self) -> list[int]:
        """How many matches have a metric on both sides, for each metric."""

    def match(self, a: Window, b: Window) -> Results:
        """Match what is in the windows: matches, and what is left over of either run.

        A match has the lines and offsets of both, their sample ids, and its kind.
        """


def new_keys(groups: Sequence[int], set_words: int) -> Keys:
    """Return what makes records of samples; `groups` are the numbers of their metrics."""
    loaded = sample_layouts.sample_joiners()
    if loaded is not None:
        return sample_matching.CompiledKeys(loaded, groups, set_words)
    return _PythonKeys(groups, set_words)


def new_matcher(matching: Matching) -> Matcher:
    """Return what matches records."""
    loaded = sample_layouts.sample_joiners()
    if loaded is not None:
        return sample_matching.CompiledMatcher(loaded, matching)
    return _PythonMatcher(matching)


class _PythonKeys:
    def __init__(self, groups: Sequence[int], set_words: int) -> None:
        self._groups, self._set_words = groups, set_words
        self._head: Record = ()
        self._metrics = 0

    def add(self, records: bytes) -> bytes:
        """Return the records of the samples that are complete."""
        done = b""
        for record in unpack_records(records, SAMPLE_WORDS):
            if record[3] >= len(self._groups):
                raise ValueError("a group has no number")
            head = (record[8], record[2], record[4], record[5], record[9], record[0], record[1])
            if not self._head or (self._head[1], *self._head[5:]) != (head[1], *head[5:]):
                done += self.finish()
                self._head, self._metrics = head, 0
            elif head[2:4] < self._head[2:4]:
                self._head = head
            metric = self._groups[record[3]]
            self._metrics |= 1 << metric if metric >= 0 else 0
        return done

    def finish(self) -> bytes:
        """Return the record of the last sample."""
        if not self._head:
            return b""
        least = (1 << _WORD_BITS) - 1
        bits = [self._metrics >> _WORD_BITS * word & least for word in range(self._set_words)]
        return pack_records([(*self._head, *bits)], KEY_WORDS + self._set_words)


class _PythonMatcher:
    def __init__(self, matching: Matching) -> None:
        self._matching = matching
        self.metrics = [0] * (_WORD_BITS * (matching.words - KEY_WORDS))

    def match(self, a: Window, b: Window) -> Results:
        """Match what is in the windows: matches, and what is left over of either run."""
        words, key = self._matching.words, self._matching.key_words
        of_a, of_b = (list(unpack_records(side.records, words)) for side in (a, b))
        pairs: list[Record] = []
        left_a: list[Record] = []
        left_b: list[Record] = []
        while a.used < len(of_a) or b.used < len(of_b):
            if (a.used == len(of_a) and not a.is_last) or (b.used == len(of_b) and not b.is_last):
                break
            key_a, key_b = (
                side[window.used][:key] if window.used < len(side) else None
                for side, window in ((of_a, a), (of_b, b))
            )
            if key_a is not None and key_a == key_b and key_a[0]:
                pairs += self._meet(of_a[a.used], of_b[b.used], left_a, left_b)
                a.used, b.used = a.used + 1, b.used + 1
            elif key_b is None or (key_a is not None and key_a <= key_b):
                left_a.append(self._left(of_a[a.used]))
                a.used += 1
            else:
                left_b.append(self._left(of_b[b.used]))
                b.used += 1
        a.wants_more = a.used == len(of_a) and not a.is_last
        b.wants_more = b.used == len(of_b) and not b.is_last
        packed = [pack_records(records, words) for records in (left_a, left_b)]
        return pack_records(pairs, MATCH_WORDS), packed[0], packed[1]

    def _meet(
        self, a: Record, b: Record, left_a: list[Record], left_b: list[Record]
    ) -> list[Record]:
        """Return the match of two records that meet, or none."""
        _, _, keeps_same, line, sample, kind, _ = self._matching
        if a[_INPUT] and b[_INPUT] and a[_INPUT] != b[_INPUT]:
            for word in range(KEY_WORDS, len(a)):
                both, bit = a[word] & b[word], _WORD_BITS * (word - KEY_WORDS)
                while both:
                    self.metrics[bit] += both & 1
                    both, bit = both >> 1, bit + 1
            places = a[line], a[line + 1], b[line], b[line + 1]
            return [(*places, a[sample], b[sample], kind)]
        if keeps_same:
            left_a.append(self._left(a))
            left_b.append(self._left(b))
        return []

    def _left(self, record: Record) -> Record:
        return (*(record[word] for word in self._matching.order), *record[4:])

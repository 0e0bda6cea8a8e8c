"""The compiled matching of samples without a partner, through ctypes."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from ctypes import byref, c_uint64
from typing import Final, NamedTuple

from evalstream.model.sample_record import SAMPLE_BYTES
from evalstream.parsing.native.sample_layouts import (
    MatchedRecords,
    MatchingWords,
    Window,
    packed_numbers,
)

KEY_WORDS: Final = 7
"""The words of a sample that is matched, before the set of its metrics."""

MATCH_WORDS: Final = 7
"""The words of a match."""

_NOT_KEYED: Final = (1 << 64) - 1


class CompiledKeys:
    """Makes one record of each sample, whose records come one behind the other."""

    def __init__(self, loaded: ctypes.CDLL, groups: Sequence[int], set_words: int) -> None:
        self._library, self._set_words = loaded, set_words
        self._metrics, self._groups = packed_numbers(groups), len(groups)
        self._open = b""

    def add(self, records: bytes) -> bytes:
        """Return the records of the samples that are complete.

        Raises ValueError for a group without a number.
        """
        count, size = len(records) // SAMPLE_BYTES, 8 * (KEY_WORDS + self._set_words)
        out = ctypes.create_string_buffer(self._open, size * (count + 1))
        done = self._library.key_samples(
            records, count, self._metrics, self._groups, self._set_words, out, bool(self._open)
        )
        if done == _NOT_KEYED:
            raise ValueError("a group has no number")
        if not done:
            return b""
        self._open = ctypes.string_at(byref(out, size * (done - 1)), size)
        return ctypes.string_at(out, size * (done - 1))

    def finish(self) -> bytes:
        """Return the record of the last sample."""
        return self._open


class Matching(NamedTuple):
    """How records are matched: by their first `key_words` words, which are equal in a match.

    `line` and `sample` say which words hold the line (and the offset behind it) and the sample id.
    `order` is that of the first words in what is left over, and `keeps_same` leaves over what meets
    with the same input. Matches are marked with `kind`.
    """

    words: int
    key_words: int
    keeps_same: bool
    line: int
    sample: int
    kind: int
    order: tuple[int, int, int, int]


class CompiledMatcher:
    """Matches sorted records one by one."""

    def __init__(self, loaded: ctypes.CDLL, matching: Matching) -> None:
        self._library, self._words = loaded, matching.words
        self._matching = MatchingWords(*matching[:-1], (c_uint64 * 4)(*matching.order))
        self._metrics = (c_uint64 * (64 * (matching.words - KEY_WORDS)))()

    @property
    def metrics(self) -> list[int]:
        """How many matches have a metric on both sides, for each metric."""
        return list(self._metrics)

    def match(self, a: Window, b: Window) -> tuple[bytes, bytes, bytes]:
        """Match what is in the windows: matches, and what is left over of either run."""
        size = 8 * self._words
        window_a, window_b = a.shared(size), b.shared(size)
        counts = window_a.count, window_b.count
        pairs, left_a, left_b = (
            ctypes.create_string_buffer(max(1, room))
            for room in (8 * MATCH_WORDS * min(counts), size * counts[0], size * counts[1])
        )
        result = MatchedRecords(
            *(ctypes.addressof(out) for out in (pairs, left_a, left_b, self._metrics))
        )
        self._library.match_records(
            byref(self._matching), byref(window_a), byref(window_b), byref(result)
        )
        a.use(window_a)
        b.use(window_b)
        return (
            ctypes.string_at(pairs, result.pair_count * 8 * MATCH_WORDS),
            ctypes.string_at(left_a, result.a_count * size),
            ctypes.string_at(left_b, result.b_count * size),
        )

"""The compiled reduction of rows to samples, and the join of two runs, through ctypes."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Sequence
from ctypes import byref, c_uint64
from typing import Final

from evalstream.model.sample_record import PAIR_BYTES, ROW_BYTES, SAMPLE_BYTES
from evalstream.parsing.native.sample_layouts import (
    CountedGroup,
    JoinedRecords,
    Keeping,
    ReducedRecords,
    Window,
    packed_numbers,
)

_JOIN_FAILED: Final = 0
_UNKNOWN_GROUP: Final = 1


class CompiledKeeper:
    """Copies rows that have an identity. `groups` is above the numbers of their groups."""

    def __init__(self, loaded: ctypes.CDLL) -> None:
        self._library, self._keeping = loaded, Keeping()
        self._out = ctypes.create_string_buffer(1)

    @property
    def groups(self) -> int:
        """The number of groups."""
        return int(self._keeping.groups)

    def keep(self, rows: bytes, shift: int, numbers: Sequence[int]) -> memoryview:
        """Return the rows with an identity, their scores before their lines, until the next call.

        Their lines are raised by `shift`. Groups get their number in `numbers`, if there are any,
        and too large a number if it is not there.
        """
        if len(rows) > len(self._out):
            self._out = ctypes.create_string_buffer(len(rows))
        packed = (c_uint64 * len(numbers))(*numbers)
        keeping = self._keeping
        keeping.numbers, keeping.count = ctypes.addressof(packed), len(numbers)
        keeping.shift = shift
        count = len(rows) // ROW_BYTES
        kept = self._library.keep_rows(rows, count, self._out, byref(keeping))
        return memoryview(self._out).cast("B")[: kept * ROW_BYTES]


class CompiledReducer:
    """Reduces sorted rows of `groups` groups to samples. Raises MemoryError."""

    def __init__(self, loaded: ctypes.CDLL, groups: int) -> None:
        self._library, self._groups = loaded, groups
        self._result = ReducedRecords()
        self._handle = loaded.new_reducer(groups)
        if not self._handle:
            raise MemoryError
        weakref.finalize(self, loaded.free_reducer, self._handle).atexit = False

    @property
    def samples(self) -> int:
        """The number of samples so far."""
        return int(self._result.samples)

    def reduce(self, rows: bytes, *, is_last: bool) -> bytes:
        """Reduce the next rows, and return the samples that are complete."""
        count = len(rows) // ROW_BYTES
        if not self._library.reduce_rows(self._handle, rows, count, is_last, byref(self._result)):
            raise MemoryError
        return ctypes.string_at(self._result.records, self._result.count * SAMPLE_BYTES)

    def groups(self) -> list[tuple[int, int, int]]:
        """Return the numbers of rows, samples and repeated samples of each group."""
        if not self._result.groups:
            return [(0, 0, 0)] * self._groups
        counts = (CountedGroup * self._groups).from_address(self._result.groups)
        return [(count.rows, count.records, count.repeated) for count in counts]


class CompiledJoiner:
    """Joins sorted samples of two runs; the numbers are the metric of each group.

    Raises MemoryError.
    """

    def __init__(
        self, loaded: ctypes.CDLL, groups_a: Sequence[int], groups_b: Sequence[int], metrics: int
    ) -> None:
        self._library = loaded
        self._handle = loaded.new_joiner(
            packed_numbers(groups_a),
            len(groups_a),
            packed_numbers(groups_b),
            len(groups_b),
            metrics,
        )
        if not self._handle:
            raise MemoryError
        weakref.finalize(self, loaded.free_joiner, self._handle).atexit = False

    def join(self, a: Window, b: Window) -> tuple[bytes, bytes, bytes]:
        """Join what is complete in the windows: pairs, and the samples of either run alone.

        Raises ValueError for a group without a number.
        """
        window_a, window_b = a.shared(SAMPLE_BYTES), b.shared(SAMPLE_BYTES)
        result = JoinedRecords()
        status = self._library.join_samples(
            self._handle, byref(window_a), byref(window_b), byref(result)
        )
        if status == _JOIN_FAILED:
            raise MemoryError
        if status == _UNKNOWN_GROUP:
            raise ValueError("a group has no number")
        a.use(window_a)
        b.use(window_b)
        return (
            ctypes.string_at(result.pairs, result.pair_count * PAIR_BYTES),
            ctypes.string_at(result.only_a, result.a_count * SAMPLE_BYTES),
            ctypes.string_at(result.only_b, result.b_count * SAMPLE_BYTES),
        )

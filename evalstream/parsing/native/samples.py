"""The compiled reduction and join of sample records, through ctypes."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Iterable, Sequence
from ctypes import POINTER, Structure, byref, c_char_p, c_int32, c_int64, c_uint64, c_void_p
from functools import lru_cache
from typing import Final, NamedTuple

from evalstream.model.sample_record import PAIR_BYTES, ROW_BYTES, SAMPLE_BYTES
from evalstream.parsing.native.binding import library


class _Keeping(Structure):
    _fields_ = (("numbers", c_void_p), *((name, c_uint64) for name in ("count", "shift", "groups")))


class _Reduced(Structure):
    _fields_ = (
        *((name, c_void_p) for name in ("records", "groups")),
        *((name, c_uint64) for name in ("count", "samples")),
    )


class _GroupCount(Structure):
    _fields_ = tuple((name, c_uint64) for name in ("rows", "records", "repeated"))


class _Window(Structure):
    _fields_ = (
        ("records", c_char_p),
        *((name, c_uint64) for name in ("count", "is_last", "used", "wants_more")),
    )


class _Joined(Structure):
    _fields_ = (
        *((name, c_void_p) for name in ("pairs", "only_a", "only_b")),
        *((name, c_uint64) for name in ("pair_count", "a_count", "b_count")),
    )


class _Matching(Structure):
    _fields_ = (
        *((name, c_uint64) for name in ("words", "key_words", "keeps_same")),
        *((name, c_uint64) for name in ("line", "sample", "kind")),
        ("order", c_uint64 * 4),
    )


class _Matched(Structure):
    _fields_ = (
        *((name, c_void_p) for name in ("pairs", "left_a", "left_b", "metrics")),
        *((name, c_uint64) for name in ("pair_count", "a_count", "b_count")),
    )


_JOIN_FAILED: Final = 0
_UNKNOWN_GROUP: Final = 1
_NOT_KEYED: Final = (1 << 64) - 1
KEY_WORDS: Final = 7
MATCH_WORDS: Final = 7


class Window:
    """Records of a sorted stream: how many of them were used, and whether they are the last ones.

    `wants_more` says that nothing goes on without more of them.
    """

    __slots__ = ("is_last", "records", "used", "wants_more")

    def __init__(self, records: bytes = b"", *, is_last: bool = False) -> None:
        self.records, self.is_last = records, is_last
        self.used, self.wants_more = 0, not is_last


class CompiledKeeper:
    """Copies rows that have an identity. `groups` is above the numbers of their groups."""

    def __init__(self, loaded: ctypes.CDLL) -> None:
        self._library, self._keeping = loaded, _Keeping()
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
        self._result = _Reduced()
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
        counts = (_GroupCount * self._groups).from_address(self._result.groups)
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
            _numbers(groups_a), len(groups_a), _numbers(groups_b), len(groups_b), metrics
        )
        if not self._handle:
            raise MemoryError
        weakref.finalize(self, loaded.free_joiner, self._handle).atexit = False

    def join(self, a: Window, b: Window) -> tuple[bytes, bytes, bytes]:
        """Join what is complete in the windows: pairs, and the samples of either run alone.

        Raises ValueError for a group without a number.
        """
        window_a, window_b = _window(a, SAMPLE_BYTES), _window(b, SAMPLE_BYTES)
        result = _Joined()
        status = self._library.join_samples(
            self._handle, byref(window_a), byref(window_b), byref(result)
        )
        if status == _JOIN_FAILED:
            raise MemoryError
        if status == _UNKNOWN_GROUP:
            raise ValueError("a group has no number")
        _use(a, window_a)
        _use(b, window_b)
        return (
            ctypes.string_at(result.pairs, result.pair_count * PAIR_BYTES),
            ctypes.string_at(result.only_a, result.a_count * SAMPLE_BYTES),
            ctypes.string_at(result.only_b, result.b_count * SAMPLE_BYTES),
        )


class CompiledKeys:
    """Makes one record of each sample, whose records come one behind the other."""

    def __init__(self, loaded: ctypes.CDLL, groups: Sequence[int], set_words: int) -> None:
        self._library, self._set_words = loaded, set_words
        self._metrics, self._groups = _numbers(groups), len(groups)
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
        self._matching = _Matching(*matching[:-1], (c_uint64 * 4)(*matching.order))
        self._metrics = (c_uint64 * (64 * (matching.words - KEY_WORDS)))()

    @property
    def metrics(self) -> list[int]:
        """How many matches have a metric on both sides, for each metric."""
        return list(self._metrics)

    def match(self, a: Window, b: Window) -> tuple[bytes, bytes, bytes]:
        """Match what is in the windows: matches, and what is left over of either run."""
        size = 8 * self._words
        window_a, window_b = _window(a, size), _window(b, size)
        counts = window_a.count, window_b.count
        pairs, left_a, left_b = (
            ctypes.create_string_buffer(max(1, room))
            for room in (8 * MATCH_WORDS * min(counts), size * counts[0], size * counts[1])
        )
        result = _Matched(
            *(ctypes.addressof(out) for out in (pairs, left_a, left_b, self._metrics))
        )
        self._library.match_records(
            byref(self._matching), byref(window_a), byref(window_b), byref(result)
        )
        _use(a, window_a)
        _use(b, window_b)
        return (
            ctypes.string_at(pairs, result.pair_count * 8 * MATCH_WORDS),
            ctypes.string_at(left_a, result.a_count * size),
            ctypes.string_at(left_b, result.b_count * size),
        )


def _window(window: Window, size: int) -> _Window:
    return _Window(window.records, len(window.records) // size, window.is_last, window.used)


def _use(window: Window, result: _Window) -> None:
    window.used, window.wants_more = result.used, bool(result.wants_more)


def _numbers(values: Iterable[int]) -> ctypes.Array[c_int64]:
    numbers = list(values)
    return (c_int64 * max(1, len(numbers)))(*numbers)


@lru_cache(maxsize=1)
def sample_joiners() -> ctypes.CDLL | None:
    """Return the library that joins samples, None where evalstream was installed without it."""
    loaded = library()
    if loaded is not None:
        _declare(loaded)
        sizes = (c_uint64 * len(_LAYOUTS))()
        loaded.tell_sample_sizes(sizes)
        if tuple(sizes) != tuple(ctypes.sizeof(layout) for layout in _LAYOUTS):
            return None
    return loaded


def _declare(loaded: ctypes.CDLL) -> None:
    numbers = POINTER(c_int64)
    for name, result, arguments in (
        ("keep_rows", c_uint64, (c_char_p, c_uint64, c_void_p, POINTER(_Keeping))),
        ("new_reducer", c_void_p, (c_uint64,)),
        ("free_reducer", None, (c_void_p,)),
        ("reduce_rows", c_int32, (c_void_p, c_char_p, c_uint64, c_int32, POINTER(_Reduced))),
        ("new_joiner", c_void_p, (numbers, c_uint64, numbers, c_uint64, c_uint64)),
        ("free_joiner", None, (c_void_p,)),
        ("join_samples", c_int32, (c_void_p, POINTER(_Window), POINTER(_Window), POINTER(_Joined))),
        (
            "key_samples",
            c_uint64,
            (c_char_p, c_uint64, numbers, c_uint64, c_uint64, c_void_p, c_uint64),
        ),
        (
            "match_records",
            None,
            (POINTER(_Matching), POINTER(_Window), POINTER(_Window), POINTER(_Matched)),
        ),
        ("tell_sample_sizes", None, (POINTER(c_uint64),)),
    ):
        function = getattr(loaded, name)
        function.restype, function.argtypes = result, arguments


_LAYOUTS: Final = _Keeping, _Reduced, _GroupCount, _Window, _Joined, _Matching, _Matched
"""What both sides must lay out alike."""

"""What Python and C share of sample records, through ctypes; `samples.h` describes it."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from ctypes import POINTER, Structure, c_char_p, c_int32, c_int64, c_uint64, c_void_p
from functools import lru_cache
from typing import Final

from evalstream.parsing.native.binding import library


class Keeping(Structure):
    """How rows are kept."""

    _fields_ = (("numbers", c_void_p), *((name, c_uint64) for name in ("count", "shift", "groups")))


class ReducedRecords(Structure):
    """Samples that are ready."""

    _fields_ = (
        *((name, c_void_p) for name in ("records", "groups")),
        *((name, c_uint64) for name in ("count", "samples")),
    )


class CountedGroup(Structure):
    """What is counted of a group."""

    _fields_ = tuple((name, c_uint64) for name in ("rows", "records", "repeated"))


class WindowRecords(Structure):
    """A window, as C sees it."""

    _fields_ = (
        ("records", c_char_p),
        *((name, c_uint64) for name in ("count", "is_last", "used", "wants_more")),
    )


class JoinedRecords(Structure):
    """The results of a join."""

    _fields_ = (
        *((name, c_void_p) for name in ("pairs", "only_a", "only_b")),
        *((name, c_uint64) for name in ("pair_count", "a_count", "b_count")),
    )


class MatchingWords(Structure):
    """How records are matched."""

    _fields_ = (
        *((name, c_uint64) for name in ("words", "key_words", "keeps_same")),
        *((name, c_uint64) for name in ("line", "sample", "kind")),
        ("order", c_uint64 * 4),
    )


class MatchedRecords(Structure):
    """The results of matching."""

    _fields_ = (
        *((name, c_void_p) for name in ("pairs", "left_a", "left_b", "metrics")),
        *((name, c_uint64) for name in ("pair_count", "a_count", "b_count")),
    )


class Window:
    """Records of a sorted stream: how many of them were used, and whether they are the last ones.

    `wants_more` says that nothing goes on without more of them.
    """

    __slots__ = ("is_last", "records", "used", "wants_more")

    def __init__(self, records: bytes = b"", *, is_last: bool = False) -> None:
        self.records, self.is_last = records, is_last
        self.used, self.wants_more = 0, not is_last

    def shared(self, size: int) -> WindowRecords:
        """Return the window as C sees it, whose records have `size` bytes."""
        return WindowRecords(self.records, len(self.records) // size, self.is_last, self.used)

    def use(self, result: WindowRecords) -> None:
        """Take over what was used."""
        self.used, self.wants_more = result.used, bool(result.wants_more)


def packed_numbers(values: Iterable[int]) -> ctypes.Array[c_int64]:
    """Return numbers as C sees them."""
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
        ("keep_rows", c_uint64, (c_char_p, c_uint64, c_void_p, POINTER(Keeping))),
        ("new_reducer", c_void_p, (c_uint64,)),
        ("free_reducer", None, (c_void_p,)),
        ("reduce_rows", c_int32, (c_void_p, c_char_p, c_uint64, c_int32, POINTER(ReducedRecords))),
        ("new_joiner", c_void_p, (numbers, c_uint64, numbers, c_uint64, c_uint64)),
        ("free_joiner", None, (c_void_p,)),
        (
            "join_samples",
            c_int32,
            (c_void_p, POINTER(WindowRecords), POINTER(WindowRecords), POINTER(JoinedRecords)),
        ),
        (
            "key_samples",
            c_uint64,
            (c_char_p, c_uint64, numbers, c_uint64, c_uint64, c_void_p, c_uint64),
        ),
        (
            "match_records",
            None,
            (
                POINTER(MatchingWords),
                POINTER(WindowRecords),
                POINTER(WindowRecords),
                POINTER(MatchedRecords),
            ),
        ),
        ("tell_sample_sizes", None, (POINTER(c_uint64),)),
    ):
        function = getattr(loaded, name)
        function.restype, function.argtypes = result, arguments


_LAYOUTS: Final = (
    Keeping,
    ReducedRecords,
    CountedGroup,
    WindowRecords,
    JoinedRecords,
    MatchingWords,
    MatchedRecords,
)
"""What both sides must lay out alike."""

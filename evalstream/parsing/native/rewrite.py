"""The compiled rewriter of rows, through ctypes: lines in, rewritten lines and changes out."""

from __future__ import annotations

import ctypes
import struct
import weakref
from collections.abc import Iterator, Sequence
from ctypes import POINTER, Structure, byref, c_char_p, c_int32, c_uint64, c_void_p
from functools import lru_cache
from typing import Final, NamedTuple

from evalstream.model.changes import MOST_PLACES, Change
from evalstream.parsing.lazy_regex import LazyPattern
from evalstream.parsing.native import place_tables
from evalstream.parsing.native.binding import library
from evalstream.parsing.reshape import RowPlace

_LEFT: Final = struct.Struct("=4Q")
_ODD_LINE: Final = LazyPattern(rb"\n[ \t\n]")


class LeftLine(NamedTuple):
    """A line that is left to the exact path.

    `number` counts from 1; `start` and `stop` say where it is in what was given, without its
    newline, and `place` where in the rewritten text its row belongs.
    """

    number: int
    start: int
    stop: int
    place: int


class LineChange(NamedTuple):
    """A change: the number of lines it was made in, and the first of them.

    `order` is its place among the changes of the first line, which is at `start`.
    """

    change: Change
    times: int
    lines: tuple[int, ...]
    order: int
    start: int
    stop: int


class RewrittenLines(NamedTuple):
    """Rewritten lines without those that are left; `rows` counts them."""

    data: bytes
    rows: int
    changes: Sequence[LineChange]
    packed: bytes

    def left(self) -> Iterator[LeftLine]:
        """Iterate over the lines that are left."""
        return map(LeftLine._make, _LEFT.iter_unpack(self.packed))


class _Tables(Structure):
    _fields_ = (
        *((name, c_char_p) for name in ("places", "members", "watches", "groups", "texts")),
        *((name, c_uint64) for name in ("place_count", "member_count")),
        *((name, c_uint64) for name in ("watch_count", "group_count")),
    )


class _Count(Structure):
    _fields_ = (
        ("rows", c_uint64),
        ("lines", c_uint64 * MOST_PLACES),
        ("order", c_uint64),
        ("start", c_uint64),
        ("stop", c_uint64),
    )


class _Result(Structure):
    _fields_ = (
        ("text", c_void_p),
        ("size", c_uint64),
        ("rows", c_uint64),
        ("left", c_void_p),
        ("left_count", c_uint64),
        ("changes", _Count * place_tables.MOST_CHANGES),
    )


class CompiledPlace:
    """Rewrites lines by the places of a row, in any thread. Raises MemoryError."""

    def __init__(self, loaded: ctypes.CDLL, place: RowPlace) -> None:
        compiled = place_tables.compiled_tables(place)
        self._library, self._changes = loaded, compiled.changes
        # The rewriter points to what the tables hold.
        self._tables = _Tables(*compiled.parts, *compiled.counts)
        self._idle: list[int] = []
        self._idle.append(self._new())

    @classmethod
    def from_place(cls, place: RowPlace) -> CompiledPlace | None:
        """Return the rewriter of a place; None without the library, or if it must be exact."""
        loaded = rewriters()
        if loaded is None:
            return None
        try:
            return cls(loaded, place)
        except place_tables.NotCompiled:
            return None

    def rewrite(self, data: bytes) -> RewrittenLines:
        """Rewrite whole lines. Raises ValueError if the last one does not end in a newline."""
        if data and not data.endswith(b"\n"):
            raise ValueError("the last line does not end in a newline")
        try:
            handle = self._idle.pop()
        except IndexError:
            handle = self._new()
        result = _Result()
        if not self._library.rewrite_lines(handle, data, len(data), byref(result)):
            raise MemoryError
        text = ctypes.string_at(result.text, result.size)
        packed = ctypes.string_at(result.left, result.left_count * _LEFT.size)
        self._idle.append(handle)
        return RewrittenLines(text, result.rows, tuple(self._made(result)), packed)

    def _new(self) -> int:
        """Make a rewriter in C, which serves one thread at a time."""
        handle: int | None = self._library.new_rewriter(byref(self._tables))
        if not handle:
            raise MemoryError
        # Daemon threads may still use it when the process ends.
        weakref.finalize(self, self._library.free_rewriter, handle).atexit = False
        return handle

    def _made(self, result: _Result) -> Iterator[LineChange]:
        for change, count in zip(self._changes, result.changes, strict=False):
            if count.rows:
                lines = tuple(count.lines[: count.rows])
                yield LineChange(change, count.rows, lines, count.order, count.start, count.stop)


def count_lines(data: bytes) -> int:
    """Return the number of newlines, which `bytes.count` looks for byte by byte."""
    loaded = rewriters()
    return data.count(b"\n") if loaded is None else int(loaded.count_newlines(data, len(data)))


def are_plain_lines(data: bytes) -> bool:
    """Tell whether all lines end in a newline alone, and none begins like a blank one."""
    loaded = rewriters()
    if loaded is not None:
        return bool(loaded.are_plain_lines(data, len(data)))
    ends = data.endswith(b"\n") and b"\r" not in data
    return not data or (ends and data[0] not in b" \t\n" and not _ODD_LINE.search(data))


@lru_cache(maxsize=1)
def rewriters() -> ctypes.CDLL | None:
    """Return the library that rewrites rows, None where evalstream was installed without it."""
    loaded = library()
    if loaded is not None:
        loaded.tell_rewriter_sizes.argtypes = (POINTER(c_uint64),)
        loaded.tell_rewriter_sizes.restype = None
        loaded.new_rewriter.argtypes = (POINTER(_Tables),)
        loaded.new_rewriter.restype = c_void_p
        loaded.free_rewriter.argtypes = (c_void_p,)
        loaded.free_rewriter.restype = None
        loaded.rewrite_lines.argtypes = c_void_p, c_char_p, c_uint64, POINTER(_Result)
        loaded.rewrite_lines.restype = c_int32
        loaded.count_newlines.argtypes = c_char_p, c_uint64
        loaded.count_newlines.restype = c_uint64
        loaded.are_plain_lines.argtypes = c_char_p, c_uint64
        loaded.are_plain_lines.restype = c_int32
        sizes = (c_uint64 * len(_SIZES))()
        loaded.tell_rewriter_sizes(sizes)
        if tuple(sizes) != _SIZES:
            return None
    return loaded


_SIZES: Final = (
    *(layout.size for layout in place_tables.LAYOUTS[:-1]),
    ctypes.sizeof(_Tables),
    ctypes.sizeof(_Result),
)
"""The sizes of what both sides must lay out alike."""

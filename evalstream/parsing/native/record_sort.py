"""The compiled sorting and merging of records of 64-bit words, through ctypes."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from ctypes import POINTER, byref, c_char, c_char_p, c_int32, c_int64, c_uint64, c_void_p
from functools import lru_cache

from evalstream.parsing.native.binding import library


def sorted_pieces(
    loaded: ctypes.CDLL, records: bytearray, count: int, words: int, room: int
) -> Iterator[bytes]:
    """Iterate over the first `count` records in their order, `room` of them at a time.

    The records must not change meanwhile. Raises MemoryError.
    """
    if not count:
        return
    # The buffer cannot be resized while this holds it.
    held = (c_char * len(records)).from_buffer(records)
    order = (c_uint64 * count)()
    if not loaded.sort_records(held, count, words, order):
        raise MemoryError
    out = ctypes.create_string_buffer(8 * words * min(room, count))
    for start in range(0, count, room):
        size = min(room, count - start)
        loaded.gather_records(held, words, byref(order, 8 * start), size, out)
        yield ctypes.string_at(out, 8 * words * size)


def merged(
    loaded: ctypes.CDLL, sources: Sequence[Iterator[bytes]], words: int, room: int
) -> Iterator[bytes]:
    """Merge sources of sorted records, which come in windows; `room` records at a time.

    Raises MemoryError.
    """
    merger = loaded.new_merger(len(sources), words)
    if not merger:
        raise MemoryError
    try:
        windows = [b""] * len(sources)
        for source in range(len(sources)):
            _give(loaded, merger, source, sources, windows, words)
        out, wanted = ctypes.create_string_buffer(8 * words * room), c_int64()
        size = 0
        while True:
            place = byref(out, 8 * words * size)
            size += loaded.merge_records(merger, place, room - size, byref(wanted))
            if wanted.value >= 0:
                _give(loaded, merger, wanted.value, sources, windows, words)
                if size < room:
                    continue
            if size:
                yield ctypes.string_at(out, 8 * words * size)
            if size < room:
                return
            size = 0
    finally:
        loaded.free_merger(merger)


def _give(
    loaded: ctypes.CDLL,
    merger: int,
    source: int,
    sources: Sequence[Iterator[bytes]],
    windows: list[bytes],
    words: int,
) -> None:
    """Give the next window of a source, and keep it until the one after it."""
    windows[source] = next(sources[source], b"")
    loaded.give_window(merger, source, windows[source], len(windows[source]) // (8 * words))


@lru_cache(maxsize=1)
def record_sorters() -> ctypes.CDLL | None:
    """Return the library that sorts records, None where evalstream was installed without it."""
    loaded = library()
    if loaded is not None:
        loaded.sort_records.argtypes = c_void_p, c_uint64, c_uint64, POINTER(c_uint64)
        loaded.sort_records.restype = c_int32
        loaded.gather_records.argtypes = c_void_p, c_uint64, c_void_p, c_uint64, c_void_p
        loaded.gather_records.restype = None
        loaded.new_merger.argtypes = c_uint64, c_uint64
        loaded.new_merger.restype = c_void_p
        loaded.free_merger.argtypes = (c_void_p,)
        loaded.free_merger.restype = None
        loaded.give_window.argtypes = c_void_p, c_uint64, c_char_p, c_uint64
        loaded.give_window.restype = None
        loaded.merge_records.argtypes = c_void_p, c_void_p, c_uint64, POINTER(c_int64)
        loaded.merge_records.restype = c_uint64
    return loaded

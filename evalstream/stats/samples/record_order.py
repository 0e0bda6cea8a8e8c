"""Records of 64-bit words in the order of their words as unsigned numbers: sorted and merged.

All functions do the same with and without the compiled library.
"""

from __future__ import annotations

import heapq
import struct
import sys
from array import array
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice

from evalstream.parsing.native import record_sort

Record = tuple[int, ...]


def sorting_bytes(words: int) -> int:
    """Return how much memory a record takes up while it is sorted, beside the record."""
    # Two keys of two words and its place; or two copies, one of them an object in a list.
    return 5 * 8 if record_sort.record_sorters() is not None else 2 * 8 * words + 48


def sorted_pieces(records: bytearray, count: int, words: int, room: int) -> Iterator[bytes]:
    """Iterate over the first `count` records in their order, `room` of them at a time.

    The records must not change meanwhile.
    """
    loaded = record_sort.record_sorters()
    if loaded is not None:
        return record_sort.sorted_pieces(loaded, records, count, words, room)
    with memoryview(records)[: count * words * 8] as view:
        return _joined(iter(sorted(_texts(view, words))), room)


def merged(sources: Sequence[Iterator[bytes]], words: int, room: int) -> Iterator[bytes]:
    """Merge sources of sorted records, which come in windows; `room` records at a time."""
    loaded = record_sort.record_sorters()
    if loaded is not None:
        return record_sort.merged(loaded, sources, words, room)
    texts = [(text for window in source for text in _texts(window, words)) for source in sources]
    return _joined(heapq.merge(*texts), room)


def unpack_records(data: bytes, words: int) -> Iterator[Record]:
    """Iterate over packed records."""
    return _layout(words).iter_unpack(data)


def pack_records(records: Iterable[Record], words: int) -> bytes:
    """Return the bytes of records."""
    return b"".join(_layout(words).pack(*record) for record in records)


def _texts(data: bytes | memoryview, words: int) -> Iterator[bytes]:
    """Iterate over records as bytes that have their order."""
    text, size = _swapped(data), 8 * words
    return (text[start : start + size] for start in range(0, len(text), size))


def _joined(texts: Iterator[bytes], room: int) -> Iterator[bytes]:
    while text := b"".join(islice(texts, room)):
        yield _swapped(text)


def _swapped(data: bytes | memoryview) -> bytes:
    """Swap words between native byte order and big-endian."""
    words = array("Q", bytes(data))
    if sys.byteorder == "little":
        words.byteswap()
    return words.tobytes()


@lru_cache(maxsize=64)
def _layout(words: int) -> struct.Struct:
    return struct.Struct(f"={words}Q")

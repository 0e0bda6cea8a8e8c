"""Records of rows as compiled code finds, sums up and parts them."""

from __future__ import annotations

import ctypes
import os
import struct
import weakref
from array import array
from ctypes import c_uint64
from typing import Final

from evalstream.model.data_class import NamedTuple
from evalstream.model.row_record import RECORD_BYTES

MOST_COVERS: Final = 64
"""How many pairs of result and repeat mark are summed up in one go."""

_UNREADABLE: Final = -2

UNREADABLE_RECORD: Final = "a row record in a temporary file cannot be read"


class Index:
    """Finds for each digest of 16 bytes the first row that has it. Raises MemoryError."""

    def __init__(self, loaded: ctypes.CDLL) -> None:
        seed = int.from_bytes(os.urandom(8))
        self._library, self._handle = loaded, loaded.new_index(seed)
        if not self._handle:
            raise MemoryError
        weakref.finalize(self, loaded.free_index, self._handle).atexit = False
        # It points into them.
        self._added: list[bytes] | None = []

    def expect(self, rows: int) -> None:
        """Make room for so many rows, so that it does not grow step by step."""
        self._library.expect_records(self._handle, rows)

    def read_from(self, file: int) -> None:
        """Read the digests from a file from now on, and release the records.

        The file, by its descriptor, holds all records in their order, also those to be added.
        """
        self._library.read_digests_from(self._handle, file)
        self._added = None

    def add(self, records: bytes, place: int) -> list[int] | None:
        """Take the digests that stand at `place` in records; return the first row of each.

        Rows count from 0 over all that were taken. None says that each is the first. Raises
        OSError if the file cannot be read.
        """
        if self._added is not None:
            self._added.append(records)
        count = len(records) // RECORD_BYTES
        firsts = array("Q", bytes(8 * count))
        address, _ = firsts.buffer_info()
        fresh = self._library.add_records(
            self._handle, records, count, RECORD_BYTES, place, address
        )
        if fresh == _UNREADABLE:
            raise OSError(UNREADABLE_RECORD)
        if fresh < 0:
            raise MemoryError
        return None if fresh == count else firsts.tolist()

    def size(self, more: int) -> int:
        """Return how many bytes of memory it takes, at most, while `more` digests are added."""
        size: int = self._library.index_bytes(self._handle, more)
        return size


class Cover(NamedTuple):
    """Rows of one result with one repeat mark; `digest` sums the first words of their samples."""

    place: int
    mark: int
    rows: int
    digest: int


_COVER: Final = struct.Struct("=qQQQ")


def cover(
    loaded: ctypes.CDLL, records: bytes, sample: int, mark: int, place: int
) -> list[Cover] | None:
    """Sum up records, in which words stand at some places; None if they have too many marks."""
    covers, count = ctypes.create_string_buffer(_COVER.size * MOST_COVERS), len(records)
    found = loaded.cover_records(
        records, count // RECORD_BYTES, RECORD_BYTES, sample, mark, place, covers, MOST_COVERS
    )
    if found < 0:
        return None
    return [*map(Cover._make, _COVER.iter_unpack(covers.raw[: found * _COVER.size]))]


def sort_by_part(
    loaded: ctypes.CDLL, records: bytes, place: int, parts: int
) -> tuple[memoryview, list[int]]:
    """Sort records by what their byte at `place` leaves when it is divided by `parts`.

    Returns them, and how many bytes each part has.
    """
    sorted_ = ctypes.create_string_buffer(max(1, len(records)))
    counts = (c_uint64 * parts)()
    loaded.split_records(
        records, len(records) // RECORD_BYTES, RECORD_BYTES, place, parts, sorted_, counts
    )
    return memoryview(sorted_)[: len(records)], [count * RECORD_BYTES for count in counts]

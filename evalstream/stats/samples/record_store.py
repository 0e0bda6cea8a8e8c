"""Store of records of any number, parted by a digest, and the order and groups of rows."""

from __future__ import annotations

import errno
import os
import weakref
from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from evalstream.model.block import MEBIBYTE
from evalstream.model.temporary_file import open_temporary_file

Array = NDArray[Any]
"""An array whose elements mypy does not follow."""

PART_BITS: Final = 8
PARTS: Final = 1 << PART_BITS
"""Number of parts: records belong to that of the upper bits of their digest."""

MEMORY_BYTES: Final = 4 * MEBIBYTE
"""How much is kept in memory before it is written; this takes up twice as much."""

KEPT_BYTES: Final = MEBIBYTE
"""Up to this size, records stay in memory when all are there."""

TOGETHER_BYTES: Final = 4 * MEBIBYTE
"""How many bytes of records are read at a time, unless one part is larger.

Numpy takes twice as long for arrays that do not fit into the caches of a processor.
"""

LARGEST_BYTES: Final = 16 * MEBIBYTE
"""No array of a batch takes more."""


class _Piece:
    """Records in the order of their parts; those of part p end at `ends[p]`.

    They are in memory, or in a file from a byte `start` on.
    """

    def __init__(self, records: Array, ends: Array, start: int | None) -> None:
        self.records, self.ends, self.start = records, ends, start


class RecordStore:
    """Keeps records, and gives back those whose digest has given upper bits.

    `key` names the member with the digest. While records are added, twice `memory_limit` bytes are
    in memory; the rest is in a temporary file, which `close` deletes. Raises OSError where the file
    cannot be written or read.
    """

    def __init__(self, dtype: np.dtype[Any], key: str, memory_limit: int = MEMORY_BYTES) -> None:
        self.dtype, self.count = dtype, 0
        self.part_counts = np.zeros(PARTS, np.int64)
        self._key, self._most = key, max(1, memory_limit // dtype.itemsize)
        # Both are filled again and again: new memory takes longer than what is done with it.
        self._waiting = self._parted = np.empty(0, dtype)
        self._held = 0
        self._pieces: list[_Piece] = []
        self._fd, self._end = -1, 0
        self._close = weakref.finalize(self, int)

    def add(self, records: Array) -> None:
        """Add records, in any order."""
        self.count += len(records)
        while len(records):
            if not len(self._waiting):
                self._waiting = np.empty(self._most, self.dtype)
            some = records[: self._most - self._held]
            _copy(some, self._waiting[self._held : self._held + len(some)])
            self._held += len(some)
            records = records[len(some) :]
            if self._held == self._most:
                self._store(to_file=True)

    def finish(self) -> None:
        """Give back the memory of all but few records."""
        if self._held:
            is_large = self._held * self.dtype.itemsize > KEPT_BYTES
            self._store(to_file=is_large or bool(self._pieces))
        self._waiting = self._parted = self._waiting[:0].copy()

    def read(self, first: int, stop: int) -> Array:
        """Return the records of the parts from `first` to `stop`, in no order; after `finish`."""
        ends = [(int(piece.ends[first - 1]) if first else 0) for piece in self._pieces]
        spans = [
            (piece, begin, int(piece.ends[stop - 1]))
            for piece, begin in zip(self._pieces, ends, strict=True)
        ]
        found = np.empty(sum(end - begin for _, begin, end in spans), self.dtype)
        at = 0
        for piece, begin, end in spans:
            self._read(piece, begin, found[at : at + end - begin])
            at += end - begin
        return found

    def close(self) -> None:
        """Delete the records."""
        self._waiting = self._parted = self._waiting[:0].copy()
        self._held, self._pieces = 0, []
        self._close()

    def _store(self, *, to_file: bool) -> None:
        """Part the records that wait."""
        records, self._held = self._waiting[: self._held], 0
        parts = (records[self._key] >> np.uint64(64 - PART_BITS)).astype(np.uint8)
        counts = np.bincount(parts, minlength=PARTS)
        self.part_counts += counts
        # Indices of an array of records take six times as long as `take`, and masks as `compress`.
        order = np.argsort(parts, kind="stable")
        piece = _Piece(records[:0].copy(), np.cumsum(counts), None)
        if to_file:
            if not len(self._parted):
                self._parted = np.empty(self._most, self.dtype)
            parted = self._parted[: len(records)]
            piece.start = self._write(records.take(order, out=parted, mode="clip"))
        else:
            piece.records = records.take(order)
        self._pieces.append(piece)

    def _write(self, records: Array) -> int:
        if self._fd < 0:
            file = open_temporary_file(buffering=0)
            self._close, self._fd = weakref.finalize(self, file.close), file.fileno()
        start, rest = self._end, records.view(np.uint8).data
        while rest:
            rest = rest[os.write(self._fd, rest) :]
        self._end += records.nbytes
        return start

    def _read(self, piece: _Piece, begin: int, found: Array) -> None:
        """Fill an array with the records of a piece from the one with number `begin` on."""
        if piece.start is None:
            _copy(piece.records[begin : begin + len(found)], found)
            return
        rest = found.view(np.uint8).data
        offset = piece.start + begin * self.dtype.itemsize
        while rest:
            size = os.preadv(self._fd, [rest], offset)
            if not size:
                raise OSError(errno.EIO, "a temporary file is shorter than it was")
            rest, offset = rest[size:], offset + size


def _copy(records: Array, to: Array) -> None:
    """Copy records as bytes: numpy copies them member by member."""
    to.view(np.uint8)[:] = records.view(np.uint8)


def read_together(
    stores: Sequence[RecordStore], most: int = TOGETHER_BYTES
) -> Iterator[list[Array]]:
    """Iterate over the records of all stores: those of some parts of each, the first parts first.

    They are about `most` bytes in all, or one part.
    """
    # The allocator of glibc gives back what exceeds twice the largest block freed before. New pages
    # for the arrays of each batch would take as long as all work on them.
    np.empty(LARGEST_BYTES, np.uint8)
    sizes = sum((s.part_counts * s.dtype.itemsize for s in stores), np.zeros(PARTS, np.int64))
    first, held = 0, 0
    for part, size in enumerate(sizes.tolist()):
        if held and held + size > most:
            yield [store.read(first, part) for store in stores]
            first, held = part, 0
        held += size
    if held:
        yield [store.read(first, PARTS) for store in stores]


def sort_rows(*columns: Array, is_mixed: bool = False) -> Array:
    """Return the order of rows by their values, those of the first column first; it is stable.

    With `is_mixed` the first values are in no order at all, which another way of sorting is best
    for. Only rows with the same first value and different other ones are sorted by these: few
    digests occur again.
    """
    order = np.argsort(columns[0], kind="quicksort" if is_mixed else "stable")
    first = columns[0][order]
    is_tied = first[1:] == first[:-1]
    if is_tied.any() and (is_mixed or _differs(order, is_tied, columns[1:])):
        places = np.flatnonzero(np.append(is_tied, False) | np.append(False, is_tied))
        tied = np.sort(order[places]) if is_mixed else order[places]
        order[places] = tied[np.lexsort([column[tied] for column in reversed(columns)])]
    return order


def _differs(order: Array, is_tied: Array, columns: Sequence[Array]) -> bool:
    """Tell whether rows that are tied with the row before them have another value somewhere."""
    afters = np.flatnonzero(is_tied)
    rows, before = order[afters + 1], order[afters]
    return any(bool((column[rows] != column[before]).any()) for column in columns)


def list_distinct(numbers: Array) -> list[int]:
    """Return small numbers in order, each once.

    For distinct values alone `np.unique` imports numpy.ma, which takes longer.
    """
    present: list[int] = np.flatnonzero(np.bincount(numbers.astype(np.int64))).tolist()
    return present


def mark_starts(*columns: Array) -> Array:
    """Return which rows begin a group of rows with the same values, which follow each other."""
    is_start = np.zeros(len(columns[0]), bool)
    is_start[:1] = True
    for column in columns:
        is_start[1:] |= column[1:] != column[:-1]
        if is_start.all():
            break
    return is_start


def select(records: Array, wanted: Array) -> Array:
    """Return the records that are wanted: all of them, or a copy of some."""
    return records if wanted.all() else records.compress(wanted)


def number_groups(*columns: Array) -> Array:
    """Return for each row the number of its values among all distinct ones, in their order."""
    order = sort_rows(*columns)
    numbers = np.empty(len(order), np.int64)
    numbers[order] = np.cumsum(mark_starts(*(column[order] for column in columns))) - 1
    return numbers


def rank_in_groups(numbers: Array, *columns: Array) -> Array:
    """Return the rank of each row, from 0, among those of its group by the values of columns."""
    order = np.lexsort((*reversed(columns), numbers))
    starts = np.flatnonzero(mark_starts(numbers[order]))
    sizes = np.diff(np.append(starts, len(order)))
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order)) - np.repeat(starts, sizes)
    return ranks

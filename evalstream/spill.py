"""Records on disk, split by digest until each part can be searched in memory."""

from __future__ import annotations

import heapq
import struct
from collections.abc import Callable, Iterator
from typing import IO, Final

from evalstream.identities import DIGEST_BYTES, INPUT_AT, RECORD_BYTES, SAMPLE_AT, Identities
from evalstream.input_index import InputIndex
from evalstream.samples import Coverage, Kind, Remark, RowStore, SampleIndex

PARTITIONS: Final = 64
BUFFER_BYTES: Final = 1 << 14

_REMARK = struct.Struct("<QQQQ")

Search = Callable[[bytes], list[Remark]]
"""Searches the records of one part, and returns its remarks in the order of their lines."""


class Spill:
    """Identities on disk that come in the order of their lines; afterwards, what is odd.

    Parts that hold more than `capacity` rows are split again by the next byte of the digest,
    so memory stays bounded however many rows there are.
    """

    def __init__(self, capacity: int) -> None:
        self.coverage = Coverage()
        self._by_sample = _Parts(capacity, SAMPLE_AT, self._search_samples)
        self._by_input = _Parts(capacity, INPUT_AT, _search_inputs)

    def add(self, block: Identities, shift: int) -> None:
        """Take the rows of the next block."""
        data = block.shifted(shift)
        self._by_sample.extend(data)
        self._by_input.extend(data)

    def remarks(self) -> Iterator[Remark]:
        """Iterate over everything that is odd, ordered by line."""
        return heapq.merge(self._by_sample.remarks(), self._by_input.remarks())

    def close(self) -> None:
        """Delete the records."""
        self._by_sample.close()
        self._by_input.close()

    def _search_samples(self, data: bytes) -> list[Remark]:
        index, records = SampleIndex(_stored(data)), Identities(data)
        remarks = index.add(records, 0)
        self.coverage.merge(index.coverage)
        return remarks


def _search_inputs(data: bytes) -> list[Remark]:
    return InputIndex(_stored(data)).add(Identities(data), 0)


def _stored(data: bytes) -> RowStore:
    store = RowStore()
    store.add(Identities(data), 0)
    return store


class _Parts:
    """Records split by a byte of the digest that stands at `place` in each."""

    def __init__(self, capacity: int, place: int, search: Search, level: int = 0) -> None:
        self._capacity, self._place = capacity, place
        self._search, self._level = search, level
        self._key = place + DIGEST_BYTES - 1 - level
        self._parts = _Extents(PARTITIONS)

    def extend(self, data: bytes) -> None:
        """Take some records."""
        for part, records in enumerate(_split(data, self._key)):
            self._parts.buffers[part] += records
        self._parts.flush()

    def remarks(self) -> Iterator[Remark]:
        """Search part by part, and iterate over all remarks, ordered by line."""
        found = _Extents(PARTITIONS)
        try:
            for part in range(PARTITIONS):
                for remark in self._remarks_in(part):
                    found.buffers[part] += _REMARK.pack(*remark)
                    if len(found.buffers[part]) >= BUFFER_BYTES:
                        found.flush()
            yield from heapq.merge(*(_remarks_of(found, part) for part in range(PARTITIONS)))
        finally:
            found.close()

    def close(self) -> None:
        """Delete the records."""
        self._parts.close()

    def _remarks_in(self, part: int) -> Iterator[Remark]:
        rows = self._parts.size(part) // RECORD_BYTES
        if rows <= self._capacity or self._level == DIGEST_BYTES - 1:
            yield from self._search(b"".join(self._parts.read(part)))
            return
        smaller = _Parts(self._capacity, self._place, self._search, self._level + 1)
        try:
            for data in self._parts.read(part):
                smaller.extend(data)
            yield from smaller.remarks()
        finally:
            smaller.close()


def _split(data: bytes, key: int) -> list[bytes]:
    """Return the records of each partition, which the byte at `key` tells."""
    from evalstream.scanner.library import library, split

    loaded = library()
    if loaded is not None:
        return split(loaded, data, key, PARTITIONS)
    parts = [bytearray() for _ in range(PARTITIONS)]
    for start in range(0, len(data), RECORD_BYTES):
        record = data[start : start + RECORD_BYTES]
        parts[record[key] % PARTITIONS] += record
    return [bytes(part) for part in parts]


class _Extents:
    """Several growing byte strings in one temporary file, each read back in pieces.

    Whoever adds to `buffers` calls `flush` now and then.
    """

    def __init__(self, count: int) -> None:
        import tempfile

        self._file: IO[bytes] = tempfile.TemporaryFile(prefix="evalstream-")  # noqa: SIM115 - lives as long as this
        self.buffers = [bytearray() for _ in range(count)]
        self._written: list[list[tuple[int, int]]] = [[] for _ in range(count)]

    def flush(self) -> None:
        """Write buffers that are full."""
        for part, buffer in enumerate(self.buffers):
            if len(buffer) >= BUFFER_BYTES:
                self._written[part].append((self._file.seek(0, 2), len(buffer)))
                self._file.write(buffer)
                buffer.clear()

    def size(self, part: int) -> int:
        return sum(length for _, length in self._written[part]) + len(self.buffers[part])

    def read(self, part: int) -> Iterator[bytes]:
        for offset, length in self._written[part]:
            self._file.seek(offset)
            yield self._file.read(length)
        yield bytes(self.buffers[part])

    def close(self) -> None:
        self._file.close()


def _remarks_of(found: _Extents, part: int) -> Iterator[Remark]:
    for data in found.read(part):
        for line, kind, offset, earlier in _REMARK.iter_unpack(data):
            yield Remark(line, Kind(kind), offset, earlier)

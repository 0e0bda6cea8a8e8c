"""Identity records on disk, split by digest until each part can be searched in memory."""

from __future__ import annotations

import heapq
import struct
import tempfile
from collections.abc import Iterator
from typing import IO, Any, Final, NamedTuple

DIGEST_BYTES: Final = 16
PARTITIONS: Final = 64
BUFFER_BYTES: Final = 1 << 16
SEARCH_FACTOR: Final = 4
"""How many times more memory a record takes while its part is searched than while it waits."""

_RECORD = struct.Struct("<16s16sQQ??")
_REPEAT = struct.Struct("<QQQ??")


class Record(NamedTuple):
    """One row: digests of what it scores and of its bytes, its line, and its byte offset."""

    key: bytes
    content: bytes
    line: int
    offset: int
    marked: bool


class Repeat(NamedTuple):
    """A row that scores what an earlier row scores already.

    `same_bytes` says whether a row with the very same bytes came before, on line `earlier`;
    else `earlier` is the line on which this identity came first.
    """

    line: int
    offset: int
    earlier: int
    same_bytes: bool
    marked: bool


class Group:
    """The rows of one identity: where it came first, and where each content did."""

    __slots__ = ("contents", "first")

    def __init__(self, first: Record) -> None:
        self.first = first.line
        self.contents = {first.content: first.line}

    def repeat(self, record: Record) -> Repeat:
        """Take one more row of this identity."""
        earlier = self.contents.setdefault(record.content, record.line)
        same_bytes = earlier != record.line
        if not same_bytes:
            earlier = self.first
        return Repeat(record.line, record.offset, earlier, same_bytes, record.marked)


class Spill:
    """Records on disk that come in the order of their lines; afterwards, their repeats.

    Parts that hold more than `capacity` records are split again by the next byte of the
    digest, so memory stays bounded however many rows there are.
    """

    def __init__(self, capacity: int, level: int = 0) -> None:
        self._capacity, self._level = capacity, level
        self._parts = _Extents(PARTITIONS)

    def add(self, record: Record, *, reported: bool = False) -> None:
        """Take one record; a `reported` one counts as seen but yields no repeat itself."""
        self._parts.append(
            record.key[-1 - self._level] % PARTITIONS, _RECORD.pack(*record, reported)
        )

    def repeats(self) -> Iterator[Repeat]:
        """Iterate over all repeats, ordered by line."""
        found = _Extents(PARTITIONS)
        try:
            for part in range(PARTITIONS):
                for repeat in self._repeats_in(part):
                    found.append(part, _REPEAT.pack(*repeat))
            streams = (_repeats_of(found, part) for part in range(PARTITIONS))
            yield from heapq.merge(*streams, key=lambda repeat: repeat.line)
        finally:
            found.close()

    def close(self) -> None:
        """Delete the records."""
        self._parts.close()

    def _repeats_in(self, part: int) -> Iterator[Repeat]:
        too_many = self._parts.size(part) // _RECORD.size * SEARCH_FACTOR > self._capacity
        if too_many and self._level < DIGEST_BYTES - 1:
            smaller = Spill(self._capacity, self._level + 1)
            try:
                for *fields, reported in self._parts.read(part, _RECORD):
                    smaller.add(Record(*fields), reported=reported)
                yield from smaller.repeats()
            finally:
                smaller.close()
            return
        groups: dict[bytes, Group] = {}
        for *fields, reported in self._parts.read(part, _RECORD):
            record = Record(*fields)
            group = groups.get(record.key)
            if group is None:
                groups[record.key] = Group(record)
            else:
                repeat = group.repeat(record)
                if not reported:
                    yield repeat


class _Extents:
    """Several growing byte strings in one temporary file."""

    def __init__(self, count: int) -> None:
        self._file: IO[bytes] = tempfile.TemporaryFile(prefix="evalstream-")  # noqa: SIM115 - lives as long as this
        self._buffers = [bytearray() for _ in range(count)]
        self._written: list[list[tuple[int, int]]] = [[] for _ in range(count)]

    def append(self, part: int, data: bytes) -> None:
        buffer = self._buffers[part]
        buffer += data
        if len(buffer) >= BUFFER_BYTES:
            self._written[part].append((self._file.seek(0, 2), len(buffer)))
            self._file.write(buffer)
            buffer.clear()

    def size(self, part: int) -> int:
        return sum(length for _, length in self._written[part]) + len(self._buffers[part])

    def read(self, part: int, form: struct.Struct) -> Iterator[tuple[Any, ...]]:
        for offset, length in self._written[part]:
            self._file.seek(offset)
            yield from form.iter_unpack(self._file.read(length))
        yield from form.iter_unpack(bytes(self._buffers[part]))

    def close(self) -> None:
        self._file.close()


def _repeats_of(found: _Extents, part: int) -> Iterator[Repeat]:
    return (Repeat(*fields) for fields in found.read(part, _REPEAT))

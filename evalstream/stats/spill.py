"""Row records on disk past the memory limit, in partitions searched after the last block."""

from __future__ import annotations

import heapq
import math
import struct
from array import array
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import accumulate, islice
from os import SEEK_END
from typing import IO, Final

from evalstream.model.data_class import NamedTuple
from evalstream.model.row_record import (
    ABSENT,
    CONTENT_AT,
    DIGEST_BYTES,
    INPUT_AT,
    KEY_AT,
    KEY_BYTES,
    RECORD_BYTES,
    SAMPLE_AT,
    RowRecord,
    RowRecords,
)
from evalstream.model.temporary_file import open_temporary_file
from evalstream.stats.coverage import Coverage
from evalstream.stats.duplicates import (
    DuplicateKind,
    DuplicateMatch,
    FirstUses,
    InputGroup,
    SampleGroup,
    is_repetition,
)

PARTITIONS: Final = 64
ROWS_WITHOUT_GROUPS: Final = 5
"""How many rows take the memory of one row that is in a group, if none of them is in a group."""

BATCH_BYTES: Final = 1 << 19
"""Bytes of records that are parted at a time."""

MATCHES_TOGETHER: Final = 512
"""How many matches are written at a time."""

_MATCH = struct.Struct("<QQQQ")

Pieces = Callable[[], Iterator[bytes]]
"""Reads the records of one part from their start, in the order of their lines, in pieces."""

Search = Callable[[Pieces], Iterable[DuplicateMatch]]
"""Searches the records of one part, and returns the matches in the order of their lines."""

BoundedSearch = Callable[[Pieces, float], Iterable[DuplicateMatch] | None]
"""Searches likewise; returns None if more rows than a bound are in groups."""

SampleSearch = Callable[[RowRecords, float, Coverage], Iterable[DuplicateMatch] | None]
"""Searches rows in memory for samples that several score, and adds them to the coverage.

It returns None, and adds nothing, if more rows than a bound are in groups.
"""

InputSearch = Callable[[RowRecords, float], Iterable[DuplicateMatch] | None]
"""Searches rows in memory for inputs that are shown under several samples, with such a bound."""


class RowDigest(NamedTuple):
    """The position and length, in bytes, of the digest in a record that decides its partition."""

    place: int
    length: int

    def of(self, data: bytes) -> set[bytes]:
        """Return the set of digests of some records."""
        starts = range(self.place, len(data), RECORD_BYTES)
        return {data[start : start + self.length] for start in starts}


class Partitions:
    """Records partitioned by a byte of their digest.

    Parts of more than `capacity` rows are partitioned again by the previous byte, so memory stays
    bounded for any number of rows; `search` says of parts that are a few times as large whether so
    few rows are in groups that all fit. Records that all have the same digest cannot be split:
    where they are too many, `search_equal` (default: `search`) searches them.
    """

    def __init__(
        self,
        capacity: int,
        digest: RowDigest,
        search: BoundedSearch,
        search_equal: Search | None = None,
        level: int = 0,
        parts: int = PARTITIONS,
    ) -> None:
        self._capacity, self._digest, self._level = capacity, digest, level
        self._search = search
        self._search_equal = search_equal or (lambda pieces: search(pieces, math.inf) or ())
        self._parts = _PartFile(parts)
        self._waiting: list[bytes] = []
        self._waiting_bytes = 0

    def extend(self, data: bytes) -> None:
        """Add records."""
        self._waiting.append(data)
        self._waiting_bytes += len(data)
        if self._waiting_bytes >= BATCH_BYTES:
            self._part()

    def matches(self) -> Iterator[DuplicateMatch]:
        """Search part by part, and iterate over all matches, ordered by line."""
        self._part()
        parts = range(self._parts.count)
        found = _PartFile(self._parts.count)
        try:
            for part in parts:
                packed = (_MATCH.pack(*match) for match in self._find_matches(part))
                while data := b"".join(islice(packed, MATCHES_TOGETHER)):
                    found.add(part, data)
            yield from heapq.merge(*(_make_matches(found, part) for part in parts))
        finally:
            found.close()

    def close(self) -> None:
        """Delete the records."""
        self._parts.close()

    def _part(self) -> None:
        """Part the records that wait: many at a time."""
        data = b"".join(self._waiting)
        self._waiting, self._waiting_bytes = [], 0
        key = self._digest.place + self._digest.length - 1 - self._level
        self._parts.add_sorted(*_sort_records(data, key, self._parts.count))

    def _find_matches(self, part: int) -> Iterable[DuplicateMatch]:
        rows = self._parts.size(part) // RECORD_BYTES
        fits = rows <= self._capacity or self._level == self._digest.length - 1

        def pieces() -> Iterator[bytes]:
            return self._parts.read(part)

        if fits or rows <= self._capacity * ROWS_WITHOUT_GROUPS:
            found = self._search(pieces, math.inf if fits else self._capacity)
            if found is not None:
                return found
        if self._are_equal(pieces()):
            return self._search_equal(pieces)
        return self._split_again(pieces(), rows)

    def _are_equal(self, pieces: Iterable[bytes]) -> bool:
        known: set[bytes] = set()
        for data in pieces:
            known |= self._digest.of(data)
            if len(known) > 1:
                return False
        return True

    def _split_again(self, pieces: Iterable[bytes], rows: int) -> Iterator[DuplicateMatch]:
        smaller = Partitions(
            self._capacity,
            self._digest,
            self._search,
            self._search_equal,
            self._level + 1,
            min(PARTITIONS, 2 + 2 * rows // self._capacity),
        )
        yield from search_partitions(smaller, pieces)


def search_partitions(partitions: Partitions, pieces: Iterable[bytes]) -> Iterator[DuplicateMatch]:
    """Partition records, iterate over their matches, and delete the temporary files."""
    try:
        for data in pieces:
            partitions.extend(data)
        yield from partitions.matches()
    finally:
        partitions.close()


def _sort_records(data: bytes, key: int, count: int) -> tuple[bytes | memoryview, list[int]]:
    """Return records in the order of `count` parts, and the bytes of each.

    The part is chosen by the byte at `key`.
    """
    from evalstream.parsing.native.binding import library
    from evalstream.parsing.native.record_index import sort_by_part

    loaded = library()
    if loaded is not None:
        return sort_by_part(loaded, data, key, count)
    parts = [bytearray() for _ in range(count)]
    for start in range(0, len(data), RECORD_BYTES):
        record = data[start : start + RECORD_BYTES]
        parts[record[key] % count] += record
    return b"".join(parts), [*map(len, parts)]


class _PartFile:
    """Several growing byte strings in one temporary file, each read back in pieces."""

    def __init__(self, count: int) -> None:
        self._file: IO[bytes] = open_temporary_file()
        self.count = count
        # For each addition the position of each part, and the end of the last one.
        self._positions = array("Q")

    def add(self, part: int, data: bytes) -> None:
        """Add bytes to one part."""
        lengths = [0] * self.count
        lengths[part] = len(data)
        self.add_sorted(data, lengths)

    def add_sorted(self, data: bytes | memoryview, lengths: Iterable[int]) -> None:
        """Add bytes to each part, `lengths` of them to each, in their order."""
        start = self._file.seek(0, SEEK_END)
        self._file.write(data)
        self._positions.extend(accumulate(lengths, initial=start))

    def size(self, part: int) -> int:
        return sum(end - start for start, end in self._spans(part))

    def read(self, part: int) -> Iterator[bytes]:
        for start, end in self._spans(part):
            self._file.seek(start)
            yield self._file.read(end - start)

    def close(self) -> None:
        self._file.close()

    def _spans(self, part: int) -> Iterator[array[int]]:
        for place in range(part, len(self._positions), self.count + 1):
            yield self._positions[place : place + 2]


def _make_matches(found: _PartFile, part: int) -> Iterator[DuplicateMatch]:
    for data in found.read(part):
        for line, kind, offset, earlier in _MATCH.iter_unpack(data):
            yield DuplicateMatch(line, DuplicateKind(kind), offset, earlier)


_SAMPLE: Final = RowDigest(SAMPLE_AT, DIGEST_BYTES)
_INPUT: Final = RowDigest(INPUT_AT, DIGEST_BYTES)


class Spill:
    """Row records on disk, added in the order of their lines and searched at the end.

    At most `capacity` rows in groups are searched in memory at a time, as `search_samples` and
    `search_inputs` do it.
    """

    def __init__(
        self, capacity: int, search_samples: SampleSearch, search_inputs: InputSearch
    ) -> None:
        self.coverage = coverage = Coverage()
        self._by_sample = Partitions(
            capacity,
            _SAMPLE,
            lambda pieces, most: search_samples(_join_records(pieces), most, coverage),
            partial(search_sample, capacity, coverage),
        )
        self._by_input = Partitions(
            capacity,
            _INPUT,
            lambda pieces, most: search_inputs(_join_records(pieces), most),
            partial(search_input, capacity),
        )

    def add(self, block: RowRecords, shift: int) -> None:
        """Add the rows of the next block."""
        data = block.shift_lines(shift)
        self._by_sample.extend(data)
        self._by_input.extend(data)

    def matches(self) -> Iterator[DuplicateMatch]:
        """Iterate over all matches, ordered by line."""
        return heapq.merge(self._by_sample.matches(), self._by_input.matches())

    def close(self) -> None:
        """Delete the records."""
        self._by_sample.close()
        self._by_input.close()


def _join_records(pieces: Pieces) -> RowRecords:
    return RowRecords(b"".join(pieces()))


_CONTENT: Final = RowDigest(CONTENT_AT, KEY_BYTES)
_KEY: Final = RowDigest(KEY_AT, KEY_BYTES)


def search_sample(capacity: int, coverage: Coverage, pieces: Pieces) -> Iterator[DuplicateMatch]:
    """Search rows of one sample, and add them to `coverage`.

    Rows with the same bytes are found first, in parts of `capacity` rows. The memory for the other
    rows does not grow with their number.
    """
    copies = search_partitions(Partitions(capacity, _CONTENT, _find_copies), pieces())
    copy, group = next(copies, None), None
    for record in _records(pieces()):
        coverage.add_marks([record.place], [record.mark])
        if group is None:
            group = SampleGroup(record, record.line)
            coverage.add_firsts([record.place], [record.word])
            continue
        if copy is not None and copy.line == record.line:
            found = [(copy.kind, copy.earlier)]
            copy = next(copies, None)
        else:
            found = list(group.add_unless_copy(record, record.line))
        group.cover(record, record.word, coverage, is_repeated=is_repetition(found))
        yield from (DuplicateMatch(record.line, kind, record.offset, line) for kind, line in found)


def search_input(capacity: int, pieces: Pieces) -> Iterator[DuplicateMatch]:
    """Search rows that show one input, in parts of `capacity` rows of the same samples."""
    firsts = FirstUses()
    for record in _records(pieces()):
        if record.input == ABSENT:
            return
        firsts.add(record, record.line)
    yield from search_partitions(
        Partitions(capacity, _KEY, partial(_search_group, firsts)), pieces()
    )


def _find_copies(pieces: Pieces, _most: float) -> Iterator[DuplicateMatch]:
    """Find the rows whose bytes an earlier row has; the rows without such take little memory."""
    lines: dict[int, int] = {}
    for record in _records(pieces()):
        earlier = lines.setdefault(record.content, record.line)
        if earlier != record.line:
            yield DuplicateMatch(record.line, DuplicateKind.SAME_BYTES, record.offset, earlier)


def _search_group(
    firsts: FirstUses, pieces: Pieces, most: float
) -> Iterator[DuplicateMatch] | None:
    """Search rows of some samples that show one input, whose first rows are known."""
    return _grow_group(InputGroup(firsts), pieces()) if most == math.inf else None


def _grow_group(group: InputGroup, pieces: Iterable[bytes]) -> Iterator[DuplicateMatch]:
    for record in _records(pieces):
        for kind, earlier in group.add(record, record.line):
            yield DuplicateMatch(record.line, kind, record.offset, earlier)


def _records(pieces: Iterable[bytes]) -> Iterator[RowRecord]:
    for data in pieces:
        yield from RowRecords(data).records()

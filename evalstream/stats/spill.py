"""Row records on disk past the memory limit, searched for duplicates after the last block."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Final

from evalstream.model.row_record import (
    ABSENT,
    CONTENT_AT,
    DIGEST_BYTES,
    INPUT_AT,
    KEY_AT,
    KEY_BYTES,
    SAMPLE_AT,
    RowRecord,
    RowRecords,
)
from evalstream.stats.duplicates import (
    Coverage,
    DuplicateKind,
    DuplicateMatch,
    RowStore,
    SampleGroup,
    SampleIndex,
    is_repetition,
)
from evalstream.stats.input_index import FirstUses, InputGroup, InputIndex
from evalstream.stats.partitions import Partitions, Pieces, RowDigest, search_partitions

BATCH_BYTES: Final = 1 << 20
"""Bytes of records that are parted at a time."""

_SAMPLE: Final = RowDigest(SAMPLE_AT, DIGEST_BYTES)
_INPUT: Final = RowDigest(INPUT_AT, DIGEST_BYTES)


class Spill:
    """Row records on disk, added in the order of their lines and searched at the end.

    At most `capacity` rows are searched in memory at a time.
    """

    def __init__(self, capacity: int) -> None:
        self.coverage = Coverage()
        self._waiting: list[bytes] = []
        self._waiting_bytes = 0
        self._by_sample = Partitions(
            capacity, _SAMPLE, self._search_samples, partial(search_sample, capacity, self.coverage)
        )
        self._by_input = Partitions(
            capacity, _INPUT, _search_inputs, partial(search_input, capacity)
        )

    def add(self, block: RowRecords, shift: int) -> None:
        """Add the rows of the next block."""
        data = block.shift_lines(shift)
        self._waiting.append(data)
        self._waiting_bytes += len(data)
        if self._waiting_bytes >= BATCH_BYTES:
            self._flush()

    def matches(self) -> Iterator[DuplicateMatch]:
        """Iterate over all matches, ordered by line."""
        self._flush()
        return heapq.merge(self._by_sample.matches(), self._by_input.matches())

    def close(self) -> None:
        """Delete the records."""
        self._by_sample.close()
        self._by_input.close()

    def _flush(self) -> None:
        """Part the records that wait: many at a time."""
        data = b"".join(self._waiting)
        self._waiting, self._waiting_bytes = [], 0
        self._by_sample.extend(data)
        self._by_input.extend(data)

    def _search_samples(self, pieces: Pieces) -> list[DuplicateMatch]:
        records, store = _store_pieces(pieces)
        index = SampleIndex(store)
        matches = index.add(records, 0)
        self.coverage.merge(index.coverage)
        return matches


def _search_inputs(pieces: Pieces) -> list[DuplicateMatch]:
    records, store = _store_pieces(pieces)
    return InputIndex(store).add(records, 0)


def _store_pieces(pieces: Pieces) -> tuple[RowRecords, RowStore]:
    records, store = RowRecords(b"".join(pieces())), RowStore()
    store.add(records, 0)
    return records, store


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


def _find_copies(pieces: Pieces) -> Iterator[DuplicateMatch]:
    """Find the rows whose bytes an earlier row has."""
    lines: dict[int, int] = {}
    for record in _records(pieces()):
        earlier = lines.setdefault(record.content, record.line)
        if earlier != record.line:
            yield DuplicateMatch(record.line, DuplicateKind.SAME_BYTES, record.offset, earlier)


def _search_group(firsts: FirstUses, pieces: Pieces) -> Iterator[DuplicateMatch]:
    """Search rows of some samples that show one input, whose first rows are known."""
    group = InputGroup(firsts)
    for record in _records(pieces()):
        for kind, earlier in group.add(record, record.line):
            yield DuplicateMatch(record.line, kind, record.offset, earlier)


def _records(pieces: Iterable[bytes]) -> Iterator[RowRecord]:
    for data in pieces:
        yield from RowRecords(data).records()

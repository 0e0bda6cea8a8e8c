"""Row records on disk past the memory limit, searched for duplicates after the last block."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from functools import partial
from typing import Final

from evalstream.model.row_record import DIGEST_BYTES, INPUT_AT, SAMPLE_AT, RowRecords
from evalstream.stats.duplicates import Coverage, DuplicateMatch, RowStore, SampleIndex
from evalstream.stats.duplicates_on_disk import search_input, search_sample
from evalstream.stats.input_index import InputIndex
from evalstream.stats.partitions import Digest, Partitions, Pieces

BATCH_BYTES: Final = 1 << 20
"""Bytes of records that are parted at a time."""

_SAMPLE: Final = Digest(SAMPLE_AT, DIGEST_BYTES)
_INPUT: Final = Digest(INPUT_AT, DIGEST_BYTES)


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

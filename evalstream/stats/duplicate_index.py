"""Rows held against all earlier rows, block by block: in memory, and on disk past a bound."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from evalstream.model.row_record import RowRecords
from evalstream.stats.duplicates import Coverage, DuplicateMatch, RowStore, SampleIndex
from evalstream.stats.input_index import InputIndex
from evalstream.stats.spill import Spill

BYTES_PER_ROW: Final = 440
"""What a row costs in memory: its record and two entries in dicts, measured on CPython.

In the compiled tables it is half of it at the most.
"""

BYTES_PER_LATER_ROW: Final = 980
"""What it costs besides where an earlier row scores the same sample, measured for pairs."""


BYTES_PER_GROUPED_ROW: Final = 700
"""What it costs besides where an earlier row shows the same input as another sample."""

_MOST_BYTES_PER_ROW: Final = BYTES_PER_ROW + BYTES_PER_LATER_ROW + BYTES_PER_GROUPED_ROW


class DuplicateIndex:
    """Finds what is odd about rows in the light of earlier ones.

    While all rows fit in `memory_limit` bytes, `add` returns the remarks on each block at
    once. Past it the records go to a temporary file, `spilled` turns true, and `late` returns
    the remarks on everything that came after, ordered by line. `coverage` holds once `late`
    has been read to its end.
    """

    def __init__(self, memory_limit: int) -> None:
        self._limit = memory_limit
        self._store = RowStore()
        self._samples, self._inputs = SampleIndex(self._store), InputIndex(self._store)
        self._rows = self._reported = 0
        self._spill: Spill | None = None

    @property
    def spilled(self) -> bool:
        """Whether remarks come late from now on."""
        return self._spill is not None

    @property
    def coverage(self) -> Coverage:
        """Which samples the rows cover."""
        return self._samples.coverage if self._spill is None else self._spill.coverage

    def add(self, block: RowRecords, shift: int) -> Iterable[DuplicateMatch]:
        """Take the rows of the next block, which start `shift` lines into the file."""
        if self._spill is None and not self._fits(len(block)):
            self._spill = self._moved_to_disk()
        if self._spill is not None:
            self._spill.add(block, shift)
            return ()
        self._rows += len(block)
        self._store.add(block, shift)
        self._reported = shift + (block.record(len(block) - 1).line if len(block) else 0)
        remarks = self._samples.add(block, shift) + self._inputs.add(block, shift)
        return sorted(remarks) if remarks else ()

    def late(self) -> Iterator[DuplicateMatch]:
        """Iterate over the remarks that come only now, ordered by line."""
        if self._spill is not None:
            for remark in self._spill.remarks():
                if remark.line > self._reported:
                    yield remark

    def close(self) -> None:
        """Let go of the temporary files."""
        if self._spill is not None:
            self._spill.close()

    def _fits(self, more: int) -> bool:
        used = (self._rows + more) * BYTES_PER_ROW
        used += self._samples.grouped * BYTES_PER_LATER_ROW
        used += self._inputs.grouped * BYTES_PER_GROUPED_ROW
        return used <= self._limit

    def _moved_to_disk(self) -> Spill:
        """Move every record to disk; what was odd about them is reported already."""
        store, self._store = self._store, RowStore()
        self._samples, self._inputs = SampleIndex(self._store), InputIndex(self._store)
        spill = Spill(max(1, self._limit // _MOST_BYTES_PER_ROW))
        for shift, block in store.release():
            spill.add(block, shift)
        return spill

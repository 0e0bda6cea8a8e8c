"""Index of duplicate rows over a whole file, in memory and on disk past a memory limit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from evalstream.model.row_record import RECORD_BYTES, RowRecords
from evalstream.stats.coverage import Coverage
from evalstream.stats.duplicates import DuplicateMatch, RowStore, SampleIndex
from evalstream.stats.input_index import InputIndex

if TYPE_CHECKING:
    from evalstream.stats.spill import Spill

BYTES_PER_ROW: Final = 440
"""Most memory per row in bytes: its record and two dict entries."""

BYTES_PER_LATER_ROW: Final = 980
"""More bytes for a row whose sample an earlier row scores, measured for pairs of rows."""


BYTES_PER_GROUPED_ROW: Final = 700
"""More bytes for a row whose input an earlier row shows under another sample."""

BYTES_PER_EXPECTED_ROW: Final = 32
"""Most bytes that the tables take for a row that is expected."""

RECORDS_SHARE: Final = 8
"""Records may take one in so many bytes of the limit; the tables need the others."""

_MOST_BYTES_PER_ROW: Final = BYTES_PER_ROW + BYTES_PER_LATER_ROW + BYTES_PER_GROUPED_ROW


class DuplicateIndex:
    """Compares the rows of a file with all earlier rows of the same file.

    `add` returns the matches of each block at once while the tables that find them fit in
    `memory_limit` bytes; the records themselves go to a temporary file before. Above the limit
    records are searched in parts: `is_spilled` becomes true, and `late_matches` returns the matches
    of all later rows, ordered by line. `coverage` is complete once `late_matches` is exhausted.
    """

    def __init__(self, memory_limit: int) -> None:
        self._limit = memory_limit
        self._store = RowStore()
        self._samples, self._inputs = SampleIndex(self._store), InputIndex(self._store)
        self._rows = self._reported = 0
        self._may_move_records = True
        self._spill: Spill | None = None

    @property
    def is_spilled(self) -> bool:
        """Whether later matches are returned by `late_matches`."""
        return self._spill is not None

    @property
    def coverage(self) -> Coverage:
        """The samples that the rows cover."""
        return self._samples.coverage if self._spill is None else self._spill.coverage

    def expect(self, rows: int) -> None:
        """Make room for about so many rows if half of the limit is enough, before any is added."""
        if rows * BYTES_PER_EXPECTED_ROW <= self._limit // 2:
            self._samples.expect(rows)
            self._inputs.expect(rows)

    def add(self, block: RowRecords, shift: int) -> Iterable[DuplicateMatch]:
        """Add the rows of the next block, which starts `shift` lines into the file."""
        if self._spill is None and self._may_move_records:
            self._move_records(len(block))
        if self._spill is None and not self._fits(len(block)):
            self._spill = self._move_to_disk()
        if self._spill is not None:
            self._spill.add(block, shift)
            return ()
        self._rows += len(block)
        self._store.add(block, shift)
        self._reported = shift + (block.record(len(block) - 1).line if len(block) else 0)
        matches = self._samples.add(block, shift) + self._inputs.add(block, shift)
        return sorted(matches) if matches else ()

    def late_matches(self) -> Iterator[DuplicateMatch]:
        """Iterate over the matches that `add` did not return, ordered by line."""
        if self._spill is not None:
            for match in self._spill.matches():
                if match.line > self._reported:
                    yield match

    def close(self) -> None:
        """Delete the temporary files."""
        self._store.close()
        if self._spill is not None:
            self._spill.close()

    def _fits(self, more: int) -> bool:
        used = 0 if self._store.is_in_file else (self._rows + more) * RECORD_BYTES
        used += self._samples.size(more) + self._inputs.size(more)
        used += self._samples.grouped * BYTES_PER_LATER_ROW
        used += self._inputs.grouped * BYTES_PER_GROUPED_ROW
        return used <= self._limit

    def _move_records(self, more: int) -> None:
        """Move the records to a file, from which the tables read them, before they are too many.

        Where no file can be written they stay in memory, up to the limit.
        """
        most = self._limit // RECORDS_SHARE
        if not self._rows or (self._rows + more) * RECORD_BYTES <= most:
            return
        self._may_move_records = False
        file = self._store.to_file()
        if file is not None:
            self._samples.read_from(file)
            self._inputs.read_from(file)

    def _move_to_disk(self) -> Spill:
        """Move every record to parts; the matches of these rows are already reported."""
        from evalstream.stats.spill import Spill

        store, self._store = self._store, RowStore()
        self._samples, self._inputs = SampleIndex(self._store), InputIndex(self._store)
        spill = Spill(max(1, self._limit // _MOST_BYTES_PER_ROW))
        for shift, block in store.release():
            spill.add(block, shift)
        return spill

"""Where the rows of each sample stand, and their scores, on disk and in the order of the input."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from evalstream.io.spill_table import SpillTable
from evalstream.model.sample_record import sample_rows

_BATCH: Final = 1000
_SCORES: Final = """
    CREATE TABLE score (line INTEGER, offset INTEGER, sample BLOB, grp INTEGER, score BLOB);
"""
_RECORDS: Final = """
    CREATE TABLE record AS SELECT line, offset, sample, ROW_NUMBER() OVER (
            PARTITION BY sample ORDER BY line, offset
        ) AS time
        FROM (SELECT DISTINCT line, offset, sample FROM score) ORDER BY line, offset, sample
"""
_SAMPLE: Final = struct.Struct(">QQ")
_SCORE: Final = struct.Struct(">d")


class PlacedRecord(NamedTuple):
    """A record of a sample: the `time`th one."""

    line: int
    offset: int
    sample: bytes
    time: int


class RowPlaces:
    """Collects rows in any order; `close` deletes them.

    All methods raise CannotCheck where the disk is full.
    """

    def __init__(self) -> None:
        self._table = SpillTable(_SCORES)
        self._is_sorted = False

    def add(self, rows: bytes, shift: int, numbers: Sequence[int]) -> None:
        """Add packed SampleRows, whose lines are raised by `shift`; groups index `numbers`."""
        self._table.change(
            "INSERT INTO score VALUES (?, ?, ?, ?, ?)",
            (
                (
                    row.line + shift,
                    row.offset,
                    _SAMPLE.pack(row.high, row.low),
                    numbers[row.group] if numbers else row.group,
                    _SCORE.pack(row.score),
                )
                for row in sample_rows(rows)
                if row.high or row.low
            ),
        )

    def records(self) -> Iterator[PlacedRecord]:
        """Iterate over the records in the order of the input, any number of times."""
        if not self._is_sorted:
            self._table.change("CREATE INDEX by_place ON score (line, offset, sample, grp)", [()])
            self._table.change(_RECORDS, [()])
            self._is_sorted = True
        last = 0
        select = "SELECT rowid, line, offset, sample, time FROM record WHERE rowid > ?"
        while found := self._table.rows(f"{select} ORDER BY rowid LIMIT ?", last, _BATCH):
            for last, *record in found:  # noqa: B007 - goes on there
                yield PlacedRecord(*record)

    def scores(self, record: PlacedRecord) -> list[bytes]:
        """Return the scores of a record as the bytes of doubles, by the number of their result."""
        found: list[tuple[Any, ...]] = self._table.rows(
            "SELECT score FROM score WHERE line = ? AND offset = ? AND sample = ? ORDER BY grp",
            *record[:3],
        )
        return [score for (score,) in found]

    def close(self) -> None:
        """Delete the rows."""
        self._table.close()

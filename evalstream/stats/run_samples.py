"""The samples of one run as a comparison needs them, collected while the run is checked."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from evalstream.io.spill_table import SpillTable
from evalstream.model.comparison import RunDescription
from evalstream.model.options import SampleRequest
from evalstream.model.sample_record import BlockSamples, GroupLabel, sample_rows

if TYPE_CHECKING:
    from evalstream.stats.samples.sample_store import SampleStore


class RunSamples:
    """The samples of a run, and the labels of its groups in the order of their numbers.

    `counts` has the rows of each sample where the request asks for no more, and `places` where they
    stand if it asks for that. `description` is set when the run is read. `unidentified` is the
    number of records without an identity, set by formats whose records are several rows here.
    """

    def __init__(self, request: SampleRequest) -> None:
        self.counts = RowCounts() if request.counts_only else None
        self.places = RowPlaces() if request.has_places else None
        self.description: RunDescription | None = None
        self.unidentified: int | None = None
        self._store: SampleStore | None = None
        self._groups: dict[GroupLabel, int] = {}

    @property
    def store(self) -> SampleStore:
        """The samples with their scores."""
        if self._store is None:
            # Only comparisons have numpy.
            from evalstream.stats.samples.sample_store import SampleStore

            self._store = SampleStore()
        return self._store

    @property
    def labels(self) -> tuple[GroupLabel, ...]:
        """The labels of the groups, by number."""
        return tuple(self._groups)

    @property
    def without_identity(self) -> int:
        """The number of rows or records that cannot be paired with those of another run."""
        return self._rows.without_identity if self.unidentified is None else self.unidentified

    def take(self, block: BlockSamples, shift: int) -> None:
        """Add the rows of the next block, whose lines start `shift` lines into the file."""
        numbers = [self._groups.setdefault(label, len(self._groups)) for label in block.labels]
        self._rows.add(block.rows, shift, numbers)
        if self.places is not None:
            self.places.add(block.rows, shift, numbers)

    def close(self) -> None:
        """Delete temporary files."""
        for one in (self._store, self.places):
            if one is not None:
                one.close()

    def __reduce__(self) -> Any:
        """Refuse to be pickled: the samples are in this process and its temporary files."""
        raise TypeError("samples of a run do not leave their process")

    @property
    def _rows(self) -> RowCounts | SampleStore:
        return self.store if self.counts is None else self.counts


class SampleRows(NamedTuple):
    """The rows of a sample under one result: how many, how many with a score, the first line."""

    high: int
    low: int
    rows: int
    scored: int
    line: int


class RowCounts:
    """Counts the rows of samples. Rows without an identity are counted in `without_identity`."""

    def __init__(self) -> None:
        self.without_identity = 0
        self._counts: dict[tuple[int, int, int], tuple[int, int, int]] = {}

    def add(self, rows: bytes, shift: int = 0, numbers: Sequence[int] = ()) -> None:
        """Add packed SampleRows, whose lines are raised by `shift`.

        With `numbers` their groups are indices into it, and it has the numbers of these groups.
        """
        for row in sample_rows(rows):
            if not (row.high or row.low):
                self.without_identity += 1
                continue
            key = row.high, row.low, numbers[row.group] if numbers else row.group
            times, scored, line = self._counts.get(key, (0, 0, row.line + shift))
            is_scored = not math.isnan(row.score)
            self._counts[key] = times + 1, scored + is_scored, min(line, row.line + shift)

    def samples(self) -> Iterator[SampleRows]:
        """Iterate over the samples of each result."""
        for (high, low, _), counts in self._counts.items():
            yield SampleRows(high, low, *counts)


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
        select = "SELECT rowid, line, offset, sample, time FROM record WHERE rowid > ?"
        for _, *record in self._table.pages(f"{select} ORDER BY rowid LIMIT 1000"):
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

"""Count the rows of each sample, in memory: what a list of expected ids is held against."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from evalstream.model.sample_record import sample_rows


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

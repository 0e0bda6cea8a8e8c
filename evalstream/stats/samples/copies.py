"""Matched samples that ask the same question under several ids, and what they do to errors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np

from evalstream.model.sample_record import UNKNOWN
from evalstream.stats.arrays import Array
from evalstream.stats.samples import record_store

MEMORY_BYTES: Final = 1 << 22
"""How much of the pairs stays in memory."""

_TYPE: Final = np.dtype(
    [("cluster", "u8"), ("metric", "u8"), ("line", "u8"), ("a", "f8"), ("b", "f8")]
)


class CopyGroups(NamedTuple):
    """Groups of pairs of one metric that ask the same question, and where the first copy is.

    `copies` counts the pairs of a group beyond its first by line, `line` is that of the first copy
    and `original` that of the first of its group. `sizes` are those of the groups, of which `sums`
    and `squares` have a row each: of a, of b and of a - b. Those are of scored pairs alone.
    """

    metric: int
    copies: int
    line: int
    original: int
    sizes: Array
    sums: Array
    squares: Array


class CopyFinder:
    """Finds copies of questions among the pairs of two runs, by the digest that copies share.

    `close` deletes the temporary file. Raises OSError where it cannot be written or read.
    """

    def __init__(self, memory_limit: int = MEMORY_BYTES) -> None:
        self._store = record_store.RecordStore(_TYPE, "cluster", memory_limit)

    def add(self, pairs: Array) -> None:
        """Add pairs; those without one digest in both runs are no copies."""
        known = record_store.select(pairs, pairs["cluster"] != UNKNOWN)
        records = np.empty(len(known), _TYPE)
        for name in ("cluster", "metric"):
            records[name] = known[name]
        records["line"] = known["line_a"]
        for name in "ab":
            records[name] = known[f"score_{name}"]
        self._store.add(records)

    def groups(self) -> Iterator[CopyGroups]:
        """Iterate over the groups, some at a time."""
        self._store.finish()
        for (records,) in record_store.read_together([self._store]):
            columns = (records[name] for name in ("cluster", "metric", "line"))
            ordered = records.take(record_store.sort_rows(*columns))
            starts = np.flatnonzero(record_store.mark_starts(ordered["cluster"], ordered["metric"]))
            sizes = np.diff(np.append(starts, len(ordered)))
            several = np.repeat(sizes, sizes) > 1
            if several.any():
                yield from _by_metric(ordered[several], sizes[sizes > 1])

    def close(self) -> None:
        """Delete the pairs."""
        self._store.close()


def _by_metric(records: Array, sizes: Array) -> Iterator[CopyGroups]:
    """Iterate over the groups of each metric; `sizes` are those of all groups, in their order."""
    starts = np.cumsum(sizes) - sizes
    for metric in record_store.list_distinct(records["metric"]):
        own = records["metric"][starts] == metric
        firsts, some = starts[own], records[np.repeat(own, sizes)]
        first = firsts[np.argmin(records["line"][firsts + 1])]
        rows = np.stack((some["a"], some["b"], some["a"] - some["b"]), axis=1)
        is_scored = ~np.isnan(rows[:, 2])
        rows[~is_scored] = 0.0
        places = np.cumsum(sizes[own]) - sizes[own]
        yield CopyGroups(
            metric,
            int((sizes[own] - 1).sum()),
            int(records["line"][first + 1]),
            int(records["line"][first]),
            *(np.add.reduceat(one, places) for one in (is_scored.astype(np.int64), rows, rows**2)),
        )

"""The samples of one run: rows come in any order, and are reduced to the mean of each sample."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np

from evalstream.model.sample_record import (
    ROW_BYTES,
    ROW_WORDS,
    UNKNOWN,
    SampleFlag,
    SamplePair,
    SampleRow,
    SampleScore,
)
from evalstream.stats.samples import record_store
from evalstream.stats.samples.record_store import Array

MOST_GROUPS: Final = 1 << 24
"""The number of groups of one run; they are numbered from 0, without gaps."""

_NUMBERS: Final = frozenset(("score", "spread", "score_a", "score_b", "spread_a", "spread_b"))


def record_type(record: type[SampleRow] | type[SampleScore] | type[SamplePair]) -> np.dtype[Any]:
    """Return the type of arrays whose bytes are packed records."""
    return np.dtype([(name, "f8" if name in _NUMBERS else "u8") for name in record._fields])


ROW: Final = record_type(SampleRow)
SAMPLE: Final = record_type(SampleScore)
PAIR: Final = record_type(SamplePair)

_JUDGED: Final = np.uint64(SampleFlag.RIGHT | SampleFlag.WRONG)
_FAILED: Final = np.uint64(SampleFlag.FAILED)
AMBIGUOUS: Final = np.uint64(SampleFlag.AMBIGUOUS)
_SAMPLE_KEYS: Final = ("high", "low", "sample")


class SampleStore:
    """Collects the rows of one run, and returns its samples, those of one identity together.

    Rows without an identity are counted in `without_identity`, and not kept. `close` deletes the
    temporary file. Raises OSError where the file cannot be written or read.
    """

    def __init__(self, memory_limit: int = record_store.MEMORY_BYTES) -> None:
        self.without_identity = 0
        self.records = record_store.RecordStore(ROW, "high", memory_limit)
        self._sample_count: int | None = None

    @property
    def sample_count(self) -> int:
        """The number of distinct identities with their sample ids; after `finish`.

        It is counted when the samples are read for the first time.
        """
        while self._sample_count is None:
            for _ in self.samples():
                pass
        return self._sample_count

    def add(self, rows: bytes, shift: int = 0, numbers: Sequence[int] = ()) -> None:
        """Add packed SampleRows, in any order.

        `shift` is added to their lines. With `numbers` their groups are indices into it, and it has
        the numbers of these groups in the run. Raises ValueError for a group without a number, or
        with too large a one, and for a part of a row.
        """
        if len(rows) % ROW_BYTES:
            raise ValueError("not whole rows")
        found = np.frombuffer(rows, ROW)
        kept = found.compress((found["high"] | found["low"]) != 0)
        self.without_identity += len(found) - len(kept)
        if not len(kept):
            return
        if shift:
            kept["line"] += np.uint64(shift)
        if len(numbers):
            if kept["group"].max() >= len(numbers):
                raise ValueError("a group has no number")
            if [*numbers] != [*range(len(numbers))]:
                kept["group"] = np.array(numbers, np.uint64)[kept["group"]]
        if kept["group"].max() >= MOST_GROUPS:
            raise ValueError("the number of a group is too large")
        self.records.add(kept)

    def finish(self) -> None:
        """Part the rows; then `samples` can be called."""
        self.records.finish()

    def samples(self) -> Iterator[Array]:
        """Iterate over arrays of SampleScores; see `read_samples`."""
        return (samples for (samples,) in read_samples([self]))

    def keep_count(self, samples: int) -> None:
        """Keep the number of samples, which was counted while they were read."""
        self._sample_count = samples

    def close(self) -> None:
        """Delete the rows."""
        self.records.close()


def read_samples(stores: Sequence[SampleStore]) -> Iterator[list[Array]]:
    """Iterate over the samples of runs: an array of SampleScores for each, by identity and group.

    All samples of one identity, in all runs, come at the same time. Any number of calls may read.
    """
    counts = [0] * len(stores)
    for rows in record_store.read_together([store.records for store in stores]):
        found = [reduce_rows(some) for some in rows]
        for at, samples in enumerate(found):
            counts[at] += int(
                record_store.mark_starts(*(samples[name] for name in _SAMPLE_KEYS)).sum()
            )
        yield found
    for store, count in zip(stores, counts, strict=True):
        store.keep_count(count)


def reduce_rows(rows: Array) -> Array:
    """Return the samples of rows, as `SampleScore` says, sorted by identity, id and group.

    The mean does not depend on the order of the rows. A sample is RIGHT or WRONG if all its rows
    are, and AMBIGUOUS if its identity has several ids. It has the cluster that all its rows have,
    else none.
    """
    keys = (*_SAMPLE_KEYS, "group")
    columns = (rows[key] for key in (*keys, "line", "offset"))
    rows = rows.take(record_store.sort_rows(*columns, is_mixed=True))
    is_first = record_store.mark_starts(*(rows[key] for key in keys))
    starts, first = np.flatnonzero(is_first), record_store.select(rows, is_first)
    samples = np.empty(len(starts), SAMPLE)
    if not len(starts):
        return samples
    # The members of a sample begin with those of a row.
    samples.view("u8").reshape(len(starts), -1)[:, :ROW_WORDS] = first.view("u8").reshape(
        len(starts), -1
    )
    samples["rows"] = np.diff(np.append(starts, len(rows)))
    samples["failed"] = (first["flags"] & _FAILED) != 0
    samples["scored"] = ~np.isnan(first["score"])
    samples["spread"] = 0
    if len(starts) < len(rows):
        _reduce_repeats(samples, rows, starts)
    is_sample = record_store.mark_starts(*(samples[key] for key in _SAMPLE_KEYS))
    identities = np.flatnonzero(record_store.mark_starts(samples["high"], samples["low"]))
    ids = np.add.reduceat(is_sample.astype(np.int64), identities)
    sizes = np.diff(np.append(identities, len(samples)))
    samples["flags"] |= np.repeat(np.where(ids > 1, AMBIGUOUS, np.uint64(0)), sizes)
    return samples


def _reduce_repeats(samples: Array, rows: Array, starts: Array) -> None:
    """Set flags, score, spread and counts of samples that have several rows."""
    sizes = samples["rows"].astype(np.int64)
    is_failed = (rows["flags"] & _FAILED) != 0
    samples["failed"] = np.add.reduceat(is_failed.astype(np.int64), starts)
    samples["flags"] = np.bitwise_and.reduceat(rows["flags"] & _JUDGED, starts)
    samples["flags"] |= np.where(samples["failed"] != 0, _FAILED, np.uint64(0))
    # Where the clusters of a sample's rows differ, it has none.
    least, most = (one.reduceat(rows["cluster"], starts) for one in (np.minimum, np.maximum))
    samples["cluster"] = np.where(least == most, least, np.uint64(UNKNOWN))
    _reduce_scores(samples, rows["score"], starts, sizes)


def _reduce_scores(samples: Array, scores: Array, starts: Array, sizes: Array) -> None:
    """Set mean, spread and number of the scores of samples: sums in the order of the scores."""
    scores = scores[np.lexsort((scores, np.repeat(np.arange(len(starts)), sizes)))]
    is_known = ~np.isnan(scores)
    scored = np.add.reduceat(is_known.astype(np.int64), starts)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        means = np.add.reduceat(np.where(is_known, scores, 0.0), starts) / scored
        # The mean of equal scores is their value, to the bit.
        lowest, highest = (one.reduceat(scores, starts) for one in (np.fmin, np.fmax))
        samples["score"] = np.where(lowest == highest, lowest, means)
        gaps = np.where(is_known, scores - np.repeat(samples["score"], sizes), 0.0)
        samples["spread"] = np.add.reduceat(gaps * gaps, starts)
    samples["scored"] = scored

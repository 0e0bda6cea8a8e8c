"""The samples of one run, sorted by their identity: rows come in any order, and go to disk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Final, NamedTuple, Self

from evalstream.model.block import MEBIBYTE
from evalstream.model.sample_record import ROW_BYTES, ROW_WORDS
from evalstream.stats.samples.record_order import unpack_records
from evalstream.stats.samples.record_sorter import RecordSorter
from evalstream.stats.samples.reduction import GroupCount, KeptRow, new_keeper, new_reducer

MEMORY_BYTES: Final = 64 * MEBIBYTE
"""How much memory a run takes up while its rows are collected."""

MOST_GROUPS: Final = 1 << 24
"""The number of groups of one run; they are numbered from 0, without gaps."""


class SampleCounts(NamedTuple):
    """What the samples of a run amount to.

    `rows` counts rows with an identity, `samples` distinct identities with their sample ids, and
    `groups` tells it for each group; a sample counts for each of its groups.
    """

    rows: int
    samples: int
    groups: Sequence[GroupCount]


class SampleSpill:
    """Collects the rows of one run, and returns its samples in the order of their identities.

    Rows without an identity are counted in `without_identity`, and not kept. While rows are added,
    it takes up `memory_limit` bytes; what is more is in a temporary file, which `close` deletes.
    Raises OSError where the file cannot be written or read.
    """

    def __init__(self, memory_limit: int = MEMORY_BYTES) -> None:
        self.without_identity = 0
        self._keeper = new_keeper()
        self._sorter = RecordSorter(ROW_WORDS, memory_limit)
        self._counts: SampleCounts | None = None

    @property
    def rows(self) -> int:
        """The number of rows with an identity."""
        return self._sorter.count

    @property
    def sample_count(self) -> int:
        """The number of distinct identities with their sample ids; see `counts`."""
        return self.counts().samples

    def add(self, rows: bytes, shift: int = 0, numbers: Sequence[int] = ()) -> None:
        """Add packed SampleRows, in any order.

        `shift` is added to their lines. With `numbers` their groups are indices into it, and it has
        the numbers of these groups in the run. Raises ValueError for a group without a number, or
        with too large a one, and for a part of a row.
        """
        if len(rows) % ROW_BYTES:
            raise ValueError("not whole rows")
        kept = self._keeper.keep(rows, shift, numbers)
        if self._keeper.groups > MOST_GROUPS:
            raise ValueError("the number of a group is too large")
        self.without_identity += (len(rows) - len(kept)) // ROW_BYTES
        self._sorter.add(kept)

    def finish(self) -> None:
        """Sort the rows; then `samples` can be called."""
        self._sorter.finish()

    def rows_kept(self) -> Iterator[Iterator[KeptRow]]:
        """Iterate over the rows by identity, in chunks; any number of times, after `finish`."""
        for chunk in self._sorter.chunks():
            yield map(KeptRow._make, unpack_records(chunk, ROW_WORDS))

    def samples(self) -> Iterator[bytes]:
        """Iterate over packed SampleScores by identity, sample and group; any number of times.

        They come in chunks of some hundred KiB; one is longer only where a sample is.
        """
        reducer = new_reducer(self._keeper.groups)
        for chunk in self._sorter.chunks():
            if data := reducer.reduce(chunk, is_last=False):
                yield data
        if data := reducer.reduce(b"", is_last=True):
            yield data
        groups = tuple(GroupCount(*counts) for counts in reducer.groups())
        self._counts = SampleCounts(self.rows, reducer.samples, groups)

    def counts(self) -> SampleCounts:
        """Return what the samples amount to; this reads them unless it was done before."""
        while self._counts is None:
            for _ in self.samples():
                pass
        return self._counts

    def close(self) -> None:
        """Delete the rows."""
        self._sorter.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

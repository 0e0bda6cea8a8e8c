"""The samples of one run as a comparison needs them, collected while the run is checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evalstream.model.comparison import RunDescription
from evalstream.model.options import SampleRequest
from evalstream.model.sample_record import BlockSamples, GroupLabel
from evalstream.stats.row_counts import RowCounts
from evalstream.stats.row_places import RowPlaces

if TYPE_CHECKING:
    from evalstream.stats.samples.sample_store import SampleStore


class RunSamples:
    """The samples of a run, and the labels of its groups in the order of their numbers.

    `counts` has the rows of each sample where the request asks for no more, and `places` where they
    stand if it asks for that. `description` is set
    when the run is read. `unidentified` is the number of records without an identity, set by
    formats whose records are several rows here.
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

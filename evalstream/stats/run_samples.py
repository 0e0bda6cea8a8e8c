"""The samples of one run as a comparison needs them, collected while the run is checked."""

from __future__ import annotations

from typing import Any

from evalstream.model.comparison import RunDescription
from evalstream.model.sample_record import BlockSamples, GroupLabel
from evalstream.stats.samples.spill import SampleSpill


class RunSamples:
    """The samples of a run, and the labels of its groups in the order of their numbers.

    `description` is set when the run is read. `unidentified` is the number of records without an
    identity, set by formats whose records are several rows here.
    """

    def __init__(self) -> None:
        self.spill = SampleSpill()
        self.description: RunDescription | None = None
        self.unidentified: int | None = None
        self._groups: dict[GroupLabel, int] = {}

    @property
    def labels(self) -> tuple[GroupLabel, ...]:
        """The labels of the groups, by number."""
        return tuple(self._groups)

    @property
    def without_identity(self) -> int:
        """The number of rows or records that cannot be paired with those of another run."""
        return self.spill.without_identity if self.unidentified is None else self.unidentified

    def take(self, block: BlockSamples, shift: int) -> None:
        """Add the rows of the next block, whose lines start `shift` lines into the file."""
        numbers = [self._groups.setdefault(label, len(self._groups)) for label in block.labels]
        self.spill.add(block.rows, shift, numbers)

    def close(self) -> None:
        """Delete temporary files."""
        self.spill.close()

    def __reduce__(self) -> Any:
        """Refuse to be pickled: the samples are in this process and its temporary files."""
        raise TypeError("samples of a run do not leave their process")

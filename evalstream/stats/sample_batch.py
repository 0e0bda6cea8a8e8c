"""Collect samples one by one, and hand them on in blocks."""

from __future__ import annotations

from evalstream.model.sample_record import BlockSamples, GroupLabel, SampleRow


class SampleBatch:
    """Samples that wait to be handed on."""

    __slots__ = ("_groups", "_rows")

    def __init__(self) -> None:
        self._groups: dict[GroupLabel, int] = {}
        self._rows: list[bytes] = []

    def __len__(self) -> int:
        """Return the number of samples that wait."""
        return len(self._rows)

    def add(self, label: GroupLabel, row: SampleRow) -> None:
        """Add a sample of a group; the group that the row itself names does not count."""
        number = self._groups.setdefault(label, len(self._groups))
        self._rows.append(row._replace(group=number).pack())

    def take(self) -> BlockSamples:
        """Return the samples that wait, and forget them."""
        block = BlockSamples(tuple(self._groups), b"".join(self._rows))
        self._groups, self._rows = {}, []
        return block

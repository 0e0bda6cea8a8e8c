"""Which rows repeat earlier ones: digests of identity and content, on disk past a bound."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from evalstream.spill import DIGEST_BYTES, Group, Record, Repeat, Spill

BYTES_PER_ROW: Final = 190
"""What one row costs in memory: its record and its entry in a dict, measured on CPython."""


class Identities(NamedTuple):
    """The identities of a block's rows, column by column.

    `keys` and `contents` hold a 16-byte digest per row: of what the row scores and of its
    bytes. `marked` holds a byte per row: whether a repeat mark took part in the key. Lines
    count from 1 within the block, offsets are absolute.
    """

    keys: bytes
    contents: bytes
    lines: array[int]
    offsets: array[int]
    marked: bytes

    def records(self, shift: int) -> Iterator[Record]:
        """Iterate over the rows, `shift` added to their lines."""
        return (self.record(index, shift) for index in range(len(self.lines)))

    def record(self, index: int, shift: int) -> Record:
        """Return one row, `shift` added to its line."""
        cut = slice(index * DIGEST_BYTES, (index + 1) * DIGEST_BYTES)
        return Record(
            self.keys[cut],
            self.contents[cut],
            self.lines[index] + shift,
            self.offsets[index],
            bool(self.marked[index]),
        )


class IdentityColumns:
    """Identities that grow row by row, in few and large objects."""

    def __init__(self) -> None:
        self._keys, self._contents, self._marked = bytearray(), bytearray(), bytearray()
        self._lines, self._offsets = array("Q"), array("Q")

    def add(self, key: bytes, content: bytes, line: int, offset: int, marked: bool) -> None:
        """Take one row."""
        self._keys += key
        self._contents += content
        self._lines.append(line)
        self._offsets.append(offset)
        self._marked.append(marked)

    def columns(self) -> Identities:
        """Return what was taken."""
        return Identities(
            bytes(self._keys),
            bytes(self._contents),
            self._lines,
            self._offsets,
            bytes(self._marked),
        )


class IdentityIndex:
    """Finds repeats among rows that come block by block.

    While all rows fit in `memory_limit` bytes, `add` returns the repeats of each block at
    once. Past it the records go to a temporary file, `spilled` turns true, and `late` returns
    the repeats among everything that came after, ordered by line.
    """

    def __init__(self, memory_limit: int) -> None:
        self._capacity = max(1, memory_limit // BYTES_PER_ROW)
        self._first: dict[int, int] = {}
        self._starts: list[int] = []
        self._blocks: list[tuple[int, Identities]] = []
        self._rows = 0
        self._groups: dict[bytes, Group] = {}
        self._spill: Spill | None = None

    @property
    def spilled(self) -> bool:
        """Whether repeats come late from now on."""
        return self._spill is not None

    def add(self, block: Identities, shift: int) -> Iterable[Repeat]:
        """Take the rows of the next block, which start `shift` lines into the file."""
        if self._spill is None and self._rows + len(block.lines) > self._capacity:
            self._spill = self._moved_to_disk()
        if self._spill is not None:
            for record in block.records(shift):
                self._spill.add(record)
            return ()
        # The first half of a digest rarely collides, so the whole block is usually settled
        # by two set operations; whatever collides is looked at in full.
        prefixes = memoryview(block.keys).cast("Q")[::2].tolist()
        start = self._rows
        self._rows += len(prefixes)
        self._starts.append(start)
        self._blocks.append((shift, block))
        fresh = dict(zip(prefixes, range(start, self._rows), strict=True))
        if len(fresh) == len(prefixes) and self._first.keys().isdisjoint(fresh):
            self._first.update(fresh)
            return ()
        return list(self._repeats(prefixes, start))

    def late(self) -> Iterator[Repeat]:
        """Iterate over the repeats found only now, ordered by line."""
        return self._spill.repeats() if self._spill is not None else iter(())

    def close(self) -> None:
        """Let go of the temporary file."""
        if self._spill is not None:
            self._spill.close()

    def _repeats(self, prefixes: list[int], start: int) -> Iterator[Repeat]:
        for row, prefix in enumerate(prefixes, start):
            first = self._first.setdefault(prefix, row)
            if first == row:
                continue
            record = self._record(row)
            group = self._groups.get(record.key) or self._group_of(self._record(first), record)
            if group is not None:
                yield group.repeat(record)

    def _group_of(self, first: Record, record: Record) -> Group | None:
        """Open the group of a repeated key; None where only the prefixes are equal."""
        if first.key == record.key:
            return self._groups.setdefault(record.key, Group(first))
        self._groups[record.key] = Group(record)
        return None

    def _record(self, row: int) -> Record:
        block = bisect_right(self._starts, row) - 1
        shift, identities = self._blocks[block]
        return identities.record(row - self._starts[block], shift)

    def _moved_to_disk(self) -> Spill:
        """Move every record to disk; their repeats are reported already."""
        spill = Spill(self._capacity)
        for shift, block in self._blocks:
            for record in block.records(shift):
                spill.add(record, reported=True)
        self._blocks.clear()
        self._starts.clear()
        self._first.clear()
        self._groups.clear()
        return spill

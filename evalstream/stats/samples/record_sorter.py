"""External sort of records of 64-bit words: in memory, then in a temporary file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from evalstream.model.block import MEBIBYTE
from evalstream.stats.samples.piece_file import Piece, PieceFile
from evalstream.stats.samples.record_order import merged, sorted_pieces, sorting_bytes

FAN_IN: Final = 64
"""How many sorted pieces are merged at a time: more are merged to fewer ones first."""

CHUNK_BYTES: Final = 1 << 18
"""How much is returned, or written, at a time: it fits into the cache of a core."""

KEPT_BYTES: Final = 1 << 20
"""Up to this size, sorted records stay in memory."""

MERGE_BYTES: Final = 8 * MEBIBYTE
"""How much memory the windows of a merge have together, if the limit is not lower."""


class RecordSorter:
    """Sorts any number of records of `words` words as unsigned numbers, the first word first.

    While records are added, it takes up `memory_limit` bytes; what is more is in a temporary file,
    which `close` deletes. Raises OSError where the file cannot be written or read.
    """

    def __init__(self, words: int, memory_limit: int) -> None:
        self.count = 0
        self.words, self._size = words, 8 * words
        needed = self._size + sorting_bytes(words)
        self._capacity = self._size * max(1, memory_limit // needed)
        self._room = max(1, CHUNK_BYTES // self._size)
        self._window_bytes = min(memory_limit, MERGE_BYTES)
        self._buffer, self._filled = bytearray(), 0
        self._file: PieceFile | None = None
        self._pieces: list[Piece] = []
        self._kept = b""

    def add(self, records: bytes | memoryview) -> None:
        """Add packed records, in any order."""
        self.count += len(records) // self._size
        rest = memoryview(records)
        while rest:
            part = rest[: self._capacity - self._filled]
            self._fill(part)
            rest = rest[len(part) :]
            if self._filled == self._capacity:
                self._write_buffer()

    def finish(self) -> None:
        """Sort what was added, and give back the memory."""
        if not self._pieces and self._filled <= KEPT_BYTES:
            self._kept = b"".join(self._sorted())
        elif self._filled:
            self._write_buffer()
        self._buffer, self._filled = bytearray(), 0
        while self._file is not None and len(self._pieces) > FAN_IN:
            self._merge_pieces(self._file)

    def chunks(self) -> Iterator[bytes]:
        """Iterate over all records in their order, in chunks; any number of times."""
        size = self._size * self._room
        if self._file is not None:
            yield from self._merged(self._file, self._pieces)
        for start in range(0, len(self._kept), size):
            yield self._kept[start : start + size]

    def close(self) -> None:
        """Delete the records."""
        self._buffer, self._filled, self._kept = bytearray(), 0, b""
        if self._file is not None:
            self._file.close()
        self._file, self._pieces = None, []

    def _fill(self, part: memoryview) -> None:
        """Copy records to the buffer, which grows until it is full for the first time."""
        if self._filled == len(self._buffer):
            self._buffer += part
        else:
            with memoryview(self._buffer) as view:
                view[self._filled : self._filled + len(part)] = part
        self._filled += len(part)

    def _sorted(self) -> Iterator[bytes]:
        return sorted_pieces(self._buffer, self._filled // self._size, self.words, self._room)

    def _write_buffer(self) -> None:
        """Sort the records that are in memory into a new piece of the file."""
        if self._file is None:
            self._file = PieceFile()
        self._pieces.append(self._file.write(self._sorted()))
        self._filled = 0

    def _merge_pieces(self, before: PieceFile) -> None:
        """Merge the pieces to fewer, in a new file."""
        after = PieceFile()
        self._pieces = [
            after.write(self._merged(before, self._pieces[start : start + FAN_IN]))
            for start in range(0, len(self._pieces), FAN_IN)
        ]
        self._file = after
        before.close()

    def _merged(self, file: PieceFile, pieces: list[Piece]) -> Iterator[bytes]:
        share = min(self._window_bytes // len(pieces), MEBIBYTE)
        window = self._size * max(1, share // self._size)
        sources = [file.read(piece, window) for piece in pieces]
        return sources[0] if len(sources) == 1 else merged(sources, self.words, self._room)

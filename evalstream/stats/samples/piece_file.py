"""Temporary file of pieces, which are written one behind the other and read side by side."""

from __future__ import annotations

import errno
import os
import weakref
from collections.abc import Iterable, Iterator
from typing import NamedTuple


class Piece(NamedTuple):
    """A range of bytes in the file."""

    start: int
    size: int


class PieceFile:
    """Holds pieces on disk until it is closed, or no longer used.

    Raises OSError where the file cannot be made, written or read.
    """

    def __init__(self) -> None:
        import tempfile

        self._file = tempfile.TemporaryFile(prefix="evalstream-", buffering=0)  # noqa: SIM115 - lives as long as this
        self._finalizer = weakref.finalize(self, self._file.close)
        self._end = 0

    def write(self, chunks: Iterable[bytes]) -> Piece:
        """Write a piece, which comes in chunks."""
        start = self._end
        for chunk in chunks:
            rest = memoryview(chunk)
            while rest:
                rest = rest[self._file.write(rest) :]
            self._end += len(chunk)
        return Piece(start, self._end - start)

    def read(self, piece: Piece, window: int) -> Iterator[bytes]:
        """Iterate over a piece, `window` bytes at a time."""
        end = piece.start + piece.size
        for start in range(piece.start, end, window):
            yield self._read_at(start, min(window, end - start))

    def close(self) -> None:
        """Delete the file."""
        self._finalizer()

    def _read_at(self, start: int, size: int) -> bytes:
        data = os.pread(self._file.fileno(), size, start)
        while len(data) < size:
            more = os.pread(self._file.fileno(), size - len(data), start + len(data))
            if not more:
                raise OSError(errno.EIO, "a temporary file is shorter than it was")
            data += more
        return data

"""Bytes of a stream that are not in a block yet, and lines of array elements on disk."""

from __future__ import annotations

import sys
from array import array
from typing import IO

from evalstream.model.block import Bytes


class LineBuffer:
    """Collects bytes; `size` counts them, and `whole` those up to the last newline."""

    def __init__(self) -> None:
        self.size = self.whole = 0
        self._pieces: list[Bytes] = []

    def extend(self, data: bytes) -> None:
        """Add bytes."""
        newline = data.rfind(b"\n") + 1
        if newline:
            self.whole = self.size + newline
        self.size += len(data)
        self._pieces.append(data)

    def take(self, length: int) -> bytes:
        """Remove and return the first bytes; `length` is at least `whole`."""
        taken, kept, left = list[Bytes](), list[Bytes](), length
        for piece in self._pieces:
            view = memoryview(piece)
            if left:
                taken.append(view[:left])
            if len(view) > left:
                kept.append(view[left:])
            left -= min(left, len(view))
        self._pieces, self.whole = kept, 0
        self.size -= length
        return b"".join(taken)


class LineIndex:
    """The line of each element of a JSON array, on disk because their number is not bounded."""

    def __init__(self) -> None:
        import tempfile

        self._file: IO[bytes] = tempfile.TemporaryFile(prefix="evalstream-")  # noqa: SIM115 - closed by close()

    def extend(self, places: bytes) -> None:
        """Add the lines and offsets of the next elements, packed and alternating."""
        self._file.seek(0, 2)
        self._file.write(array("Q", places)[::2].tobytes())

    def line(self, number: int) -> int:
        """Return the line on which an element begins, by its number from 1."""
        self._file.seek((number - 1) * 8)
        return int.from_bytes(self._file.read(8), sys.byteorder)

    def close(self) -> None:
        """Delete the temporary file."""
        self._file.close()

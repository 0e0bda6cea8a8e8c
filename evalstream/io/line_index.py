"""Line numbers of the elements of a JSON array, in a temporary file."""

from __future__ import annotations

import sys
from array import array
from typing import IO


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

"""The bytes of a stream that are not in a block yet."""

from __future__ import annotations


class LineBuffer:
    """Collects bytes; `size` counts them, and `whole` those up to the last newline."""

    def __init__(self) -> None:
        self.whole = 0
        self._data = bytearray()

    @property
    def size(self) -> int:
        """The number of bytes."""
        return len(self._data)

    def extend(self, data: bytes) -> None:
        """Add bytes."""
        newline = data.rfind(b"\n") + 1
        if newline:
            self.whole = self.size + newline
        self._data += data

    def take(self, length: int) -> bytes:
        """Remove and return the first bytes; `length` is at least `whole`."""
        with memoryview(self._data) as view:
            data = bytes(view[:length])
        del self._data[:length]
        self.whole = 0
        return data

"""The bytes of a stream that are not in a block yet."""

from __future__ import annotations

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

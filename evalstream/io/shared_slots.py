"""Slots of shared memory, in which the blocks of a stream reach forked workers."""

from __future__ import annotations

import mmap

from evalstream.model.shared_bytes import SharedBytes, share, stop_sharing


class SharedSlots:
    """A number of slots of `size` bytes each; raises OSError if the memory is not available.

    Create them before the workers are forked. Memory is used from the first write on.
    """

    def __init__(self, count: int, size: int) -> None:
        self.size = size
        self._memory = mmap.mmap(-1, count * size)
        self._key = share(self._memory)
        self._free = list(range(0, count * size, size))

    def take(self) -> Slot | None:
        """Return a free slot, or None."""
        return Slot(self._memory, self._key, self._free.pop()) if self._free else None

    def give_back(self, start: int) -> None:
        """Take back the slot that begins at an index of the memory."""
        self._free.append(start)

    def close(self) -> None:
        """Stop sharing; the memory is released with the last view of it."""
        stop_sharing(self._key)


class Slot:
    """A slot, which begins at index `start` of its memory."""

    def __init__(self, memory: mmap.mmap, key: int, start: int) -> None:
        self.start = start
        self._memory, self._key = memory, key

    def write(self, data: bytes | memoryview, place: int) -> None:
        """Write bytes to a place in the slot."""
        start = self.start + place
        self._memory[start : start + len(data)] = data

    def read(self, start: int, stop: int) -> bytes:
        """Return a copy of some bytes of the slot."""
        return self._memory[self.start + start : self.start + stop]

    def view(self, start: int, stop: int) -> memoryview:
        """Return some bytes of the slot to write to."""
        return memoryview(self._memory)[self.start + start : self.start + stop]

    def last_newline(self, start: int, stop: int) -> int:
        """Return the index after the last newline among some bytes, 0 if there is none."""
        place = self._memory.rfind(b"\n", self.start + start, self.start + stop)
        return place - self.start + 1 if place >= 0 else 0

    def shared(self, length: int) -> SharedBytes:
        """Return the first bytes of the slot, not copied."""
        return SharedBytes(self._key, self.start, self.start + length)

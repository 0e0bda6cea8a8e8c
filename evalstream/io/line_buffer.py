"""The bytes of a stream that are not in a block yet."""

from __future__ import annotations

from typing import Final

from evalstream.io.shared_slots import SharedSlots, Slot
from evalstream.model.shared_bytes import SharedBytes

WORTH_SHARING_BYTES: Final = 1 << 16
"""Below this size a copy to a worker costs less than the slot it would take."""


class LineBuffer:
    """Collects bytes, in shared slots where some are free; `size` counts them.

    `whole` counts the bytes up to the last newline.
    """

    def __init__(self, slots: SharedSlots | None) -> None:
        self.size = self.whole = 0
        self._slots = slots
        self._slot: Slot | None = None
        self._private = bytearray()
        self._begin(b"")

    def extend(self, data: bytes) -> None:
        """Add bytes."""
        slot, size = self._slot, self.size + len(data)
        if slot is not None and self._slots is not None:
            if size <= self._slots.size:
                slot.write(data, self.size)
            else:
                self._private = bytearray(slot.read(0, self.size))
                self._slots.give_back(slot.start)
                self._slot = slot = None
        if slot is None:
            self._private += data
        newline = data.rfind(b"\n") + 1
        if newline:
            self.whole = self.size + newline
        self.size = size

    def room(self, least: int) -> memoryview | None:
        """Return the room that is left in a slot, for `add`; None if it is below `least` bytes."""
        if self._slot is None or self._slots is None or self._slots.size - self.size < least:
            return None
        return self._slot.view(self.size, self._slots.size)

    def add(self, count: int) -> None:
        """Add the first bytes of the room."""
        size = self.size + count
        if self._slot is not None:
            self.whole = self._slot.last_newline(self.size, size) or self.whole
        self.size = size

    def take(self, length: int) -> bytes | SharedBytes:
        """Remove and return the first bytes; `length` is at least `whole`."""
        slot = self._slot
        if slot is None or length < WORTH_SHARING_BYTES:
            data: bytes | SharedBytes = self.read(0, length)
            rest = self.read(length, self.size)
        else:
            data, rest = slot.shared(length), self.read(length, self.size)
            self._slot = None
        self._begin(rest)
        return data

    def read(self, start: int, stop: int) -> bytes:
        """Return a copy of some bytes."""
        if self._slot is not None:
            return self._slot.read(start, stop)
        with memoryview(self._private) as view:
            return bytes(view[start:stop])

    def clear(self) -> None:
        """Remove all bytes."""
        self._begin(b"")

    def _begin(self, data: bytes) -> None:
        """Hold these bytes alone, which do not contain a newline."""
        slots, self.size, self.whole = self._slots, len(data), 0
        if self._slot is None and slots is not None and len(data) <= slots.size // 2:
            self._slot = slots.take()
        if self._slot is None:
            self._private = bytearray(data)
        else:
            self._slot.write(data, 0)
            self._private = bytearray()

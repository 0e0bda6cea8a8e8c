"""Writing to descriptors whose reader may be slow, so that it is always known what was written."""

from __future__ import annotations

import os
import select
from typing import Final

from evalstream.model.block import MEBIBYTE, Bytes
from evalstream.model.signals import STOPPING

PATIENCE_SECONDS: Final = 1.0
"""How long a reader that takes nothing is waited for once the process is to stop."""

LOOK_SECONDS: Final = 0.1
"""How often a signal is looked for while a reader takes nothing."""

HELD_BYTES: Final = 1 << 16
"""How much is gathered before it is written."""


def write_all(descriptor: int, data: Bytes) -> None:
    """Write bytes to a descriptor, waiting as long as its reader takes none.

    Once the process is to stop, the reader is given PATIENCE_SECONDS. Raises Stopped where it
    takes nothing in that time, BrokenPipeError where it is gone, and OSError.
    """
    left = memoryview(data)
    if not left:
        return
    room = select.poll()
    room.register(descriptor, select.POLLOUT)
    while left:
        _await_room(room)
        # More than fits may never be taken, and only a signal that is yet to come ends that.
        most = select.PIPE_BUF if STOPPING.wish is not None else MEBIBYTE
        left = left[os.write(descriptor, left[:most]) :]


def _await_room(room: select.poll) -> None:
    """Wait until something can be written, an error of writing included. Raises Stopped."""
    waited = 0.0
    while not room.poll(LOOK_SECONDS * 1000):
        if STOPPING.wish is not None:
            waited += LOOK_SECONDS
        if waited >= PATIENCE_SECONDS:
            STOPPING.insist()


class PatientWriter:
    """A descriptor that takes bytes, some of them at a time; an `owned` one is closed in the end.

    After an error, what was not written yet is forgotten.
    """

    def __init__(self, descriptor: int, *, owned: bool = False) -> None:
        self._descriptor, self._owned = descriptor, owned
        self._held = bytearray()

    def write(self, data: Bytes) -> None:
        """Take bytes. Raises what `write_all` raises."""
        self._held += data
        if len(self._held) >= HELD_BYTES:
            self.flush()

    def flush(self) -> None:
        """Write what was taken. Raises what `write_all` raises."""
        held, self._held = self._held, bytearray()
        write_all(self._descriptor, bytes(held))

    def fileno(self) -> int:
        """Return the descriptor."""
        return self._descriptor

    def close(self) -> None:
        """Write what was taken, and close the descriptor if it is owned."""
        try:
            self.flush()
        finally:
            if self._owned:
                os.close(self._descriptor)
                self._owned = False

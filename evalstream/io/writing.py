"""Writes to descriptors with slow readers, where the number of written bytes is always known."""

from __future__ import annotations

import os
import select
from typing import Final

from evalstream.model.block import MEBIBYTE, Bytes
from evalstream.model.signals import STOPPING

STOP_WAIT_SECONDS: Final = 1.0
"""Seconds to wait for a reader that takes no bytes, once the process must stop."""

POLL_SECONDS: Final = 0.1
"""Seconds between two checks for a signal while a reader takes no bytes."""

BUFFER_BYTES: Final = 1 << 16
"""Number of bytes collected before they are written."""


def write_all(descriptor: int, data: Bytes) -> None:
    """Write bytes to a descriptor, waiting while its reader takes none.

    Once the process must stop, the reader has STOP_WAIT_SECONDS. Raises Stopped where it takes
    nothing in that time, BrokenPipeError where it is gone, and OSError.
    """
    left = memoryview(data)
    if not left:
        return
    poller = select.poll()
    poller.register(descriptor, select.POLLOUT)
    while left:
        _wait_until_writable(poller)
        # A write above the free space may block for good; only a later signal would end it.
        most = select.PIPE_BUF if STOPPING.last_signal is not None else MEBIBYTE
        left = left[os.write(descriptor, left[:most]) :]


def _wait_until_writable(poller: select.poll) -> None:
    """Wait until bytes can be written or writing fails. Raises Stopped."""
    waited = 0.0
    while not poller.poll(POLL_SECONDS * 1000):
        if STOPPING.last_signal is not None:
            waited += POLL_SECONDS
        if waited >= STOP_WAIT_SECONDS:
            STOPPING.check_again()


class PollingWriter:
    """Buffered writer to a descriptor; an `owned` one is closed at the end.

    After an error, the buffered bytes are discarded.
    """

    def __init__(self, descriptor: int, *, owned: bool = False) -> None:
        self._descriptor, self._owned = descriptor, owned
        self._buffer = bytearray()

    def write(self, data: Bytes) -> None:
        """Add bytes. Raises what `write_all` raises."""
        self._buffer += data
        if len(self._buffer) >= BUFFER_BYTES:
            self.flush()

    def flush(self) -> None:
        """Write the buffered bytes. Raises what `write_all` raises."""
        data, self._buffer = self._buffer, bytearray()
        write_all(self._descriptor, bytes(data))

    def fileno(self) -> int:
        """Return the descriptor."""
        return self._descriptor

    def close(self) -> None:
        """Write the buffered bytes, and close the descriptor if it is owned."""
        try:
            self.flush()
        finally:
            if self._owned:
                os.close(self._descriptor)
                self._owned = False

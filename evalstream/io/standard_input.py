"""Standard input, of which the first bytes can be seen before it is read."""

from __future__ import annotations

import io
import sys

from evalstream.io.stream import READ_BYTES, Descriptor, Rewound
from evalstream.model.block import ByteStream


class StandardInput:
    """The one standard input of the process; what was peeked at is not lost to its reader."""

    def __init__(self) -> None:
        self._seen = bytearray()
        self._reader: ByteStream | None = None

    @property
    def seen(self) -> bytes:
        """The bytes that were peeked at."""
        return bytes(self._seen)

    def peek(self) -> bytes | None:
        """Wait for more bytes, and return all that have come; None where no more come.

        Raises OSError where standard input is closed or cannot be read.
        """
        data = self._opened().read()
        self._seen += data
        return bytes(self._seen) if data else None

    def wait(self, seconds: float) -> bool:
        """Tell whether more comes within some seconds, the end included. Raises OSError."""
        return self._opened().wait(seconds)

    def reader(self) -> ByteStream:
        """Return what reads standard input from its first byte on. Raises OSError."""
        reader, seen = self._opened(), bytes(self._seen)
        self._seen.clear()
        self._reader = None
        return Rewound(seen, reader) if seen else reader

    def _opened(self) -> ByteStream:
        if sys.stdin is None:
            raise OSError("standard input is closed")
        if self._reader is None:
            try:
                self._reader = Descriptor(sys.stdin.fileno())
            except io.UnsupportedOperation:
                self._reader = _Buffered()
        return self._reader


class _Buffered:
    """Standard input that a program has put something else in the place of."""

    def read(self) -> bytes:
        return sys.stdin.buffer.read(READ_BYTES)

    def wait(self, _seconds: float) -> bool:
        return True

    def close(self) -> None:
        """Leave it open: it belongs to the program."""


STANDARD_INPUT = StandardInput()
"""A process has no other one."""

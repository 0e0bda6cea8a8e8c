"""Standard input, or what stands in its place, whose first bytes can be peeked at."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable

from evalstream.io.readers import READ_BYTES, DescriptorReader, PrefixedReader
from evalstream.model.block import ByteStream
from evalstream.model.run import HeldInput


class StandardInput:
    """The standard input of the process; its reader also gets the peeked bytes.

    With `opened` it is another stream that is read once.
    """

    def __init__(self, opened: Callable[[], ByteStream] | None = None) -> None:
        self._open = opened or _open_standard_input
        self._seen = bytearray()
        self._reader: ByteStream | None = None

    @property
    def seen(self) -> bytes:
        """The bytes that were peeked at."""
        return bytes(self._seen)

    def peek(self) -> bytes | None:
        """Wait for more bytes, and return all bytes so far; None at the end.

        Raises OSError where standard input is closed or cannot be read.
        """
        data = self._open_stream().read()
        self._seen += data
        return bytes(self._seen) if data else None

    def wait(self, seconds: float) -> bool:
        """Tell whether more bytes arrive within some seconds, the end included. Raises OSError."""
        return self._open_stream().wait(seconds)

    def reader(self) -> ByteStream:
        """Return a reader of standard input from its first byte. Raises OSError."""
        reader, seen = self._open_stream(), bytes(self._seen)
        self._seen.clear()
        self._reader = None
        return PrefixedReader(seen, reader) if seen else reader

    def _open_stream(self) -> ByteStream:
        if self._reader is None:
            self._reader = self._open()
        return self._reader


def _open_standard_input() -> ByteStream:
    if sys.stdin is None:
        raise OSError("standard input is closed")
    try:
        return DescriptorReader(sys.stdin.fileno())
    except io.UnsupportedOperation:
        return _Buffered()


class _Buffered(ByteStream):
    """A replacement of sys.stdin without a file descriptor."""

    def read(self) -> bytes:
        return sys.stdin.buffer.read(READ_BYTES)

    def wait(self, _seconds: float) -> bool:
        return True

    def close(self) -> None:
        """Leave it open: it belongs to the program."""


STANDARD_INPUT = StandardInput()
"""The one instance of this process."""


def stream_at(path: str) -> StandardInput:
    """Return what the path of standard input stands for: it, or what the calling program holds."""
    stream: StandardInput = path.stream if isinstance(path, HeldInput) else STANDARD_INPUT
    return stream

"""Open inputs: files, objects, and standard input; and protect the standard streams."""

from __future__ import annotations

import io
import os
import stat
import sys
from collections.abc import Callable
from contextlib import nullcontext, suppress
from typing import Any, Final, NoReturn

from evalstream.io.codecs import refuse_pointer
from evalstream.io.names import is_remote
from evalstream.io.readers import READ_BYTES, DescriptorReader, FileReader, PrefixedReader, Watch
from evalstream.model.block import ByteStream
from evalstream.model.errors import CannotWrite
from evalstream.model.run import STDIN, HeldInput
from evalstream.model.signals import STOPPING
from evalstream.model.text import on_own_lines
from evalstream.parsing.limits import MOST_JSON_BYTES, read_bounded, read_regular


def open_stored(path: str) -> ByteStream:
    """Open the stored bytes of a file, wherever it is. Raises OSError and MissingExtra."""
    if path == STDIN:
        return stream_at(path).reader()
    if is_remote(path):
        from evalstream.io.remote import RemoteReader

        return RemoteReader(path)
    if is_regular(path):
        return FileReader(path)
    # Opening a named pipe waits for a writer.
    with STOPPING.interruptible():
        return DescriptorReader(os.open(path, os.O_RDONLY), owned=True)


def is_regular(path: str) -> bool:
    """Tell whether a path can be opened as a regular file; True if it does not exist."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return True
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode)


def document_bytes(path: str, watch: Watch | None = None, *, most: int = MOST_JSON_BYTES) -> bytes:
    """Return the bytes of a document, from a local or remote file or standard input.

    The state of a file is added to `watch`. Raises OSError, CannotCheck (also for more than
    `most` bytes, and for a pointer), and Stopped.
    """
    text = _document_bytes(path, watch, most)
    refuse_pointer(text)
    return text


def _document_bytes(path: str, watch: Watch | None, most: int) -> bytes:
    if is_remote(path):
        from evalstream.io.remote import read_whole

        return read_whole(path, most, watch)
    if path == STDIN:
        return read_bounded(stream_at(path).reader(), most)
    # Opening a named pipe blocks until a writer opens it.
    with nullcontext() if os.path.isfile(path) else STOPPING.interruptible():
        descriptor = os.open(path, os.O_RDONLY)
    try:
        status = os.fstat(descriptor)
        if watch is not None:
            watch.add(path, status)
        if stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode):
            return read_regular(descriptor, status, most)
        return read_bounded(DescriptorReader(descriptor), most)
    finally:
        os.close(descriptor)


class StandardInput:
    """Standard input, or another `opened` stream; its reader also gets the peeked bytes."""

    def __init__(self, opened: Callable[[], ByteStream] | None = None) -> None:
        self._open = opened or _open_standard_input
        self._seen = bytearray()
        self._reader: ByteStream | None = None

    @property
    def seen(self) -> bytes:
        """The bytes that were peeked at."""
        return bytes(self._seen)

    def peek(self) -> bytes | None:
        """Wait for more bytes; return all so far, None at the end. Raises OSError."""
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
    """A replacement of sys.stdin without a file descriptor, which stays open."""

    def read(self) -> bytes:
        return sys.stdin.buffer.read(READ_BYTES)


STANDARD_INPUT = StandardInput()
"""The one instance of this process."""


def stream_at(path: str) -> StandardInput:
    """Return the stream of the path of standard input, or one that the calling program holds."""
    stream: StandardInput = path.stream if isinstance(path, HeldInput) else STANDARD_INPUT
    return stream


CLOSED: Final = "standard output is closed; write to a file with --output, or open it"


def protect_standard_streams() -> None:
    """Occupy the descriptors 0 to 2, and let no failure of stderr change an outcome.

    A file that is opened while one of them is free becomes a standard stream, and what the program
    prints would go into that file. What is printed on a closed stderr is lost; `sys.stdin` stays
    None where it was closed, and a closed `sys.stdout` raises CannotWrite at its first use.
    """
    # In ascending order, as the lowest free descriptor is the next one. Streams that are closed
    # cannot be read or written by workers either.
    _occupy(0, os.O_WRONLY)
    if not _occupy(1, os.O_RDONLY) or sys.stdout is None:
        sys.stdout = _ClosedOutput()
    if not _occupy(2, os.O_WRONLY) or sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - lives as long as the process
    sys.stderr = _LenientOutput(sys.stderr)


def _occupy(number: int, flags: int) -> bool:
    """Tell whether a descriptor is open; open the null device in its place if it is not."""
    try:
        os.fstat(number)
    except OSError:
        os.set_inheritable(os.open(os.devnull, flags), True)
        return False
    return True


class _ClosedOutput(io.TextIOBase):
    """Standard output that was closed when the program began."""

    @property
    def buffer(self) -> NoReturn:
        """Raise CannotWrite: there is nothing to write to."""
        raise CannotWrite(CLOSED)

    def write(self, _text: str, /) -> NoReturn:
        """Raise CannotWrite."""
        raise CannotWrite(CLOSED)

    def fileno(self) -> NoReturn:
        """Raise CannotWrite."""
        raise CannotWrite(CLOSED)


class _LenientOutput:
    """A stream for messages: harmless to terminals and logs of CI, and never failing."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        """Return another attribute of the stream."""
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write a text, unless that fails; what does not print becomes a dot."""
        with suppress(OSError, ValueError):
            self._stream.write(on_own_lines(text))
        return len(text)

    def flush(self) -> None:
        """Write the buffered texts, unless that fails."""
        with suppress(OSError, ValueError):
            self._stream.flush()

"""Readers of bytes that arrive once: descriptors, files, documents, wrappers of other readers."""

from __future__ import annotations

import fcntl
import os
import select
import stat
from collections.abc import Callable
from contextlib import nullcontext, suppress
from typing import Final

from evalstream.io.file_state import Watch, describe_change
from evalstream.io.names import is_remote
from evalstream.model.block import MEBIBYTE, Bytes, ByteStream
from evalstream.model.run import STDIN
from evalstream.model.signals import STOPPING
from evalstream.parsing.limits import MOST_JSON_BYTES, read_bounded, read_regular

READ_BYTES: Final = MEBIBYTE
"""Most bytes that one `read` returns."""


class DescriptorReader:
    """Reads a file descriptor; an `owned` one is closed at the end.

    The end is reported again and again: a terminal would wait for a second one.
    """

    def __init__(self, descriptor: int, *, owned: bool = False) -> None:
        self._descriptor, self._owned = descriptor, owned
        self._ended = False
        self._poll = select.poll()
        self._poll.register(descriptor, select.POLLIN)
        with suppress(OSError, AttributeError):
            # The default buffer of a pipe is 64 KiB; a larger one saves context switches.
            fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, READ_BYTES)

    def read(self) -> bytes:
        """Return the available bytes, waiting until there are some; empty at the end."""
        if self._ended:
            return b""
        with STOPPING.interruptible():
            self._poll.poll()
        data = os.read(self._descriptor, READ_BYTES)
        self._ended = not data
        return data

    def wait(self, seconds: float) -> bool:
        """Tell whether bytes, or the end, can be read within some seconds."""
        with STOPPING.interruptible():
            return self._ended or bool(self._poll.poll(seconds * 1000))

    def close(self) -> None:
        """Close the descriptor, unless it belongs to the caller."""
        if self._owned:
            os.close(self._descriptor)


class FileReader(ByteStream):
    """Reads a regular file, which has `size` bytes, from its start. Raises OSError."""

    def __init__(self, path: str) -> None:
        self._file = open(path, "rb", buffering=0)  # noqa: SIM115 - closed by close()
        self._path, self.opened = path, os.fstat(self._file.fileno())
        self.size = self.opened.st_size
        self.close: Callable[[], None] = self._file.close

    def read(self) -> bytes:
        """Return the next bytes."""
        return self._file.read(READ_BYTES) or b""

    def describe_change(self) -> str | None:
        """Describe what changed since the file was opened, or return None."""
        return describe_change(self._path, self.opened)

    def reopen(self) -> FileReader:
        """Return a reader of the file from its start. Raises OSError."""
        return FileReader(self._path)


class StoppableReader:
    """Wraps a reader; once the process must stop, each read raises Stopped.

    It must be the innermost wrapper, below all readers that buffer bytes, so that no bytes are
    lost.
    """

    def __init__(self, reader: ByteStream) -> None:
        self._reader, self.close = reader, reader.close

    def read(self) -> bytes:
        """Return the next bytes. Raises Stopped."""
        STOPPING.check_again()
        data = self._reader.read()
        if not data:
            # The signal often ends the writing process as well, so this end may not be the true
            # one.
            STOPPING.check_again()
        return data

    def wait(self, seconds: float) -> bool:
        """Tell whether `read` would return or raise within some seconds, Stopped included."""
        return STOPPING.last_signal is not None or self._reader.wait(seconds)


class TappedReader:
    """Wraps a reader, and passes its bytes to a function as they are read."""

    def __init__(self, reader: ByteStream, tap: Callable[[Bytes], object]) -> None:
        self._reader, self._tap = reader, tap
        self.wait, self.close = reader.wait, reader.close

    def read(self) -> bytes:
        """Return the next bytes, after passing them to the function."""
        data = self._reader.read()
        if data:
            self._tap(data)
        return data


class PrefixedReader:
    """Wraps a reader, and first returns bytes that were already read from it."""

    def __init__(self, data: bytes, reader: ByteStream) -> None:
        self._data, self._reader = data, reader
        self.close = reader.close

    def read(self) -> bytes:
        """Return the bytes that were already read, then those of the reader."""
        data, self._data = self._data, b""
        return data or self._reader.read()

    def wait(self, seconds: float) -> bool:
        """Tell whether bytes can be read within some seconds."""
        return bool(self._data) or self._reader.wait(seconds)


MOST_AHEAD: Final = 2
"""Most pieces that are read before they are asked for."""


class ReadAhead(ByteStream):
    """Wraps a reader whose reads do not wait for anybody, such as one that unpacks a file.

    Start it only after workers are forked.
    """

    def __init__(self, reader: ByteStream) -> None:
        # A plain check does without.
        import threading
        from queue import SimpleQueue

        self._reader = reader
        self._pieces: SimpleQueue[bytes | BaseException] = SimpleQueue()
        self._room = threading.Semaphore(MOST_AHEAD)
        self._last: bytes | BaseException | None = None
        self._is_closed = False
        self._thread = threading.Thread(target=self._run, name="evalstream-reader", daemon=True)
        self._thread.start()

    def read(self) -> bytes:
        """Return the next bytes, or raise what the reader raised, again on each later call."""
        if self._last is None:
            piece = self._pieces.get()
            self._room.release()
            if isinstance(piece, bytes) and piece:
                return piece
            self._last = piece
        if isinstance(self._last, bytes):
            return self._last
        raise self._last

    def close(self) -> None:
        """End the thread and close the reader."""
        self._is_closed = True
        self._room.release()
        self._thread.join()
        self._reader.close()

    def _run(self) -> None:
        piece: bytes | BaseException = b"-"
        while piece and isinstance(piece, bytes):
            self._room.acquire()
            if self._is_closed:
                return
            try:
                piece = self._reader.read()
            except BaseException as error:  # noqa: BLE001 - whoever asks for the bytes gets it
                piece = error
            self._pieces.put(piece)


def open_stored(path: str) -> ByteStream:
    """Open the stored bytes of a file, wherever it is. Raises OSError and MissingExtra."""
    if path == STDIN:
        from evalstream.io.standard_input import stream_at

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

    The state of a local file is added to `watch`. Raises OSError, CannotCheck (also for more than
    `most` bytes), and Stopped.
    """
    if is_remote(path):
        from evalstream.io.remote import read_whole

        return read_whole(path, most)
    if path == STDIN:
        from evalstream.io.standard_input import stream_at

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

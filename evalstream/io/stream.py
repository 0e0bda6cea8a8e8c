"""Bytes that come once: standard input, a pipe, unpacked or remote bytes; blocks carry them."""

from __future__ import annotations

import fcntl
import os
import select
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import IO, Final

from evalstream.io.digest import RunningDigest
from evalstream.io.file_state import describe_change
from evalstream.model.block import MEBIBYTE, TOO_LONG_BY, Block, ByteStream
from evalstream.model.errors import CannotCheck
from evalstream.model.signals import STOPPING, Stopped

READ_BYTES: Final = MEBIBYTE
HEAD_BYTES: Final = 8 * MEBIBYTE

LULL_SECONDS: Final = 0.5
"""After how long without more bytes the rows that have come are looked at."""

LONGEST_LULLS: Final = 2
"""How many times as long a row waits at most, where others follow without a lull."""


class Descriptor:
    """The bytes of a file descriptor; an `owned` one is closed in the end."""

    def __init__(self, descriptor: int, *, owned: bool = False) -> None:
        self._descriptor, self._owned = descriptor, owned
        self._poll = select.poll()
        self._poll.register(descriptor, select.POLLIN)
        with suppress(OSError, AttributeError):
            # A pipe holds 64 KiB unless told; a larger one spares switches between programs.
            fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, READ_BYTES)

    def read(self) -> bytes:
        """Return what there is to read, waiting until there is something."""
        with STOPPING.waiting():
            self._poll.poll()
        return os.read(self._descriptor, READ_BYTES)

    def wait(self, seconds: float) -> bool:
        """Tell whether there is something to read within some seconds."""
        with STOPPING.waiting():
            return bool(self._poll.poll(seconds * 1000))

    def close(self) -> None:
        """Close the descriptor, unless it belongs to the caller."""
        if self._owned:
            os.close(self._descriptor)


class Stored:
    """The bytes of a regular file, one after the other. Raises OSError if it cannot be opened."""

    def __init__(self, path: str) -> None:
        self._file = open(path, "rb", buffering=0)  # noqa: SIM115 - closed by close()
        self._path, self._opened = path, os.fstat(self._file.fileno())
        self.close: Callable[[], None] = self._file.close

    def read(self) -> bytes:
        """Return the next bytes."""
        return self._file.read(READ_BYTES) or b""

    def wait(self, _seconds: float) -> bool:
        """Say yes: a file never keeps its reader waiting."""
        return True

    def changed(self) -> str | None:
        """Say what changed since the file was opened, None if nothing did."""
        return describe_change(self._path, self._opened)


class Stoppable:
    """A reader that reads no more once the process is to stop: it then raises Stopped each time.

    It stands before all readers that keep something of what they read, and never loses bytes.
    """

    def __init__(self, reader: ByteStream) -> None:
        self._reader, self.close = reader, reader.close

    def read(self) -> bytes:
        """Return the next bytes. Raises Stopped."""
        STOPPING.insist()
        data = self._reader.read()
        if not data:
            # What stops this process often ends the one that writes, so this may be no true end.
            STOPPING.insist()
        return data

    def wait(self, seconds: float) -> bool:
        """Tell whether `read` has something to say, Stopped included, within some seconds."""
        return STOPPING.wish is not None or self._reader.wait(seconds)


class Tapped:
    """A reader whose bytes are shown to somebody else as they pass."""

    def __init__(self, reader: ByteStream, tap: Callable[[bytes], object]) -> None:
        self._reader, self._tap = reader, tap
        self.wait, self.close = reader.wait, reader.close

    def read(self) -> bytes:
        """Return the next bytes, once they were shown."""
        data = self._reader.read()
        if data:
            self._tap(data)
        return data


class Rewound:
    """A reader that begins with bytes which were read before."""

    def __init__(self, data: bytes, reader: ByteStream) -> None:
        self._data, self._reader = data, reader
        self.close = reader.close

    def read(self) -> bytes:
        """Return the bytes that were read before, then the reader's own."""
        data, self._data = self._data, b""
        return data or self._reader.read()

    def wait(self, seconds: float) -> bool:
        """Tell whether there is something to read within some seconds."""
        return bool(self._data) or self._reader.wait(seconds)


class StreamSource:
    """Rows out of a reader, in blocks of whole lines, with digests of all that was read.

    `size` counts the bytes so far. Rows are handed on after `lull` seconds without more of
    them. Where reading fails, or the process is to stop, the whole lines before come first, then
    the error or Stopped; the line that it broke is then `unfinished`. With `keeps_rests`, what is
    cut off a line that is too long is kept on disk (`rest`).
    """

    def __init__(
        self,
        reader: ByteStream,
        name: str,
        longest: int,
        *,
        lull: float = LULL_SECONDS,
        keeps_rests: bool = False,
    ) -> None:
        self.path = name
        self.size = 0
        self._reader, self._kept, self._lull = reader, longest + TOO_LONG_BY, lull
        self._head = bytearray()
        self._ended = False
        self._error: OSError | CannotCheck | Stopped | None = None
        self._digest: RunningDigest | None = None
        self._rests: dict[int, IO[bytes]] | None = {} if keeps_rests else None
        self.unfinished = b""

    @property
    def ended(self) -> bool:
        """Whether the input has ended already."""
        return self._ended

    @property
    def has_more(self) -> bool:
        """Whether more can be read at once, or the end of the input."""
        return self._wait(0)

    def head(self, size: int = HEAD_BYTES) -> bytes:
        """Return the first bytes, at most `size`, or the lines that come before a lull.

        They are kept for the blocks.
        """
        latest = None
        while len(self._head) < size and not self._ended and self._goes_on(latest):
            data = self._read()
            self._head += data
            if latest is None and b"\n" in data:
                latest = self._latest()
        return bytes(self._head[:size])

    def pieces(self) -> Iterator[bytes]:
        """Iterate over the bytes as they come, from the first on; then raise what went wrong."""
        data, self._head = bytes(self._head), bytearray()
        while data or not self._ended:
            if data:
                yield data
            data = b"" if self._ended else self._read()
        self._fail()

    def blocks(self, length: int) -> Iterator[Block | None]:
        """Iterate over blocks of whole lines of about `length` bytes; None stands for a lull.

        Of a line longer than is allowed only so much is kept that it shows as too long. Raises
        what kept the input from being read to its end, once the lines before were handed on.
        """
        buffer, offset = self._head, 0
        self._head = bytearray()
        while True:
            latest = self._latest() if b"\n" in buffer else None
            while len(buffer) < (length if latest else max(length, self._kept)):
                if latest is None and not self._ended and not self._wait(0):
                    yield None
                if self._ended or not self._goes_on(latest):
                    break
                data = self._read()
                buffer += data
                if latest is None and b"\n" in data:
                    latest = self._latest()
            cut = self._cut(buffer, length)
            if not buffer or (self._error and not cut):
                break
            keeps = self._kept if self._rests is not None else TOO_LONG_BY
            with memoryview(buffer) as view:
                data = bytes(view[: cut or keeps])
            taken = cut or self._skip_line(buffer, offset)
            if cut:
                del buffer[:cut]
            final = self._ended and not buffer and not self._error
            yield Block(self.path, offset, taken, 0, data=data, final=final, overlong=not cut)
            if latest is not None and len(data) < length and not self._ended:
                yield None
            offset += taken
        self.unfinished = bytes(buffer)
        self._fail()

    def rest(self, offset: int) -> IO[bytes] | None:
        """Return what was cut off the line at an offset, if it was cut; the caller closes it."""
        return None if self._rests is None else self._rests.pop(offset, None)

    def start_digest(self, algorithms: Sequence[str]) -> None:
        """Digest what was read and all that is to come."""
        self._digest = RunningDigest(algorithms)
        self._digest.update(bytes(self._head))

    def checksums(self) -> dict[str, str]:
        """Return the digests of everything read, by algorithm."""
        return self._digest.result() if self._digest is not None else {}

    def diagnose(self, declared: str, algorithm: str) -> str | None:
        """Return None: a stream cannot be read again."""
        del declared, algorithm
        return None

    def close(self) -> None:
        """Let go of the reader, and of what was kept on disk."""
        for rest in (self._rests or {}).values():
            rest.close()
        self._reader.close()

    def _latest(self) -> float:
        """Return until when a row waits at most that is complete now."""
        return time.monotonic() + LONGEST_LULLS * self._lull

    def _goes_on(self, latest: float | None) -> bool:
        """Tell whether to read on: while no row is complete, or none has waited enough."""
        if latest is None:
            return True
        left = min(self._lull, latest - time.monotonic())
        return left >= 0 and self._wait(left)

    def _wait(self, seconds: float) -> bool:
        """Tell whether `_read` has something to say within some seconds, Stopped included."""
        try:
            return self._reader.wait(seconds)
        except Stopped:
            return True

    def _read(self) -> bytes:
        """Read more; an error ends the input and is kept until all before it was handed on."""
        try:
            data = self._reader.read()
        except (OSError, CannotCheck, Stopped) as error:
            self._error, data = error, b""
        self._ended = not data
        self.size += len(data)
        if self._digest is not None:
            self._digest.update(data)
        return data

    def _fail(self) -> None:
        if self._error is not None:
            raise self._error

    def _cut(self, buffer: bytearray, length: int) -> int:
        """Return how many bytes of the buffer are to be a block of whole lines."""
        if len(buffer) > 2 * length:
            newline = buffer.rfind(b"\n", 0, length)
            newline = buffer.find(b"\n", length) if newline < 0 else newline
            if newline >= 0:
                return newline + 1
        if self._ended and not self._error:
            return len(buffer)
        return buffer.rfind(b"\n") + 1

    def _skip_line(self, buffer: bytearray, offset: int) -> int:
        """Drop everything up to and with the next newline; return how many bytes that was."""
        dropped, rest = 0, self._new_rest(offset)
        start = self._kept
        while (newline := buffer.find(b"\n")) < 0 and not self._ended:
            dropped += len(buffer)
            if rest is not None:
                rest.write(buffer[start:])
            start = 0
            buffer.clear()
            buffer += self._read()
        cut = newline + 1 if newline >= 0 else len(buffer)
        if rest is not None:
            rest.write(buffer[start:cut])
        del buffer[:cut]
        return dropped + cut

    def _new_rest(self, offset: int) -> IO[bytes] | None:
        if self._rests is None:
            return None
        import tempfile

        rest = self._rests[offset] = tempfile.TemporaryFile(prefix="evalstream-")  # noqa: SIM115 - closed by close() or by whoever takes it
        return rest

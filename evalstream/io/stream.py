"""Readers of bytes that arrive once, and their division into blocks of whole lines."""

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
from evalstream.io.line_buffer import LineBuffer
from evalstream.io.shared_slots import SharedSlots
from evalstream.model.block import MEBIBYTE, TOO_LONG_BY, Block, Bytes, ByteStream
from evalstream.model.errors import CannotCheck
from evalstream.model.shared_bytes import SharedBytes
from evalstream.model.signals import STOPPING, Stopped

READ_BYTES: Final = MEBIBYTE
HEAD_BYTES: Final = 8 * MEBIBYTE

IDLE_SECONDS: Final = 0.5
"""Seconds without more bytes after which the rows so far are checked."""

MOST_IDLE_PERIODS: Final = 2
"""Longest wait of a complete row, in idle periods, while more rows keep arriving."""


class DescriptorReader:
    """Reads a file descriptor; an `owned` one is closed at the end."""

    def __init__(self, descriptor: int, *, owned: bool = False) -> None:
        self._descriptor, self._owned = descriptor, owned
        self._poll = select.poll()
        self._poll.register(descriptor, select.POLLIN)
        with suppress(OSError, AttributeError):
            # The default buffer of a pipe is 64 KiB; a larger one saves context switches.
            fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, READ_BYTES)

    def read(self) -> bytes:
        """Return the available bytes, waiting until there are some."""
        with STOPPING.interruptible():
            self._poll.poll()
        return os.read(self._descriptor, READ_BYTES)

    def read_into(self, buffer: memoryview) -> int:
        """Write the available bytes into a buffer, waiting until there are some."""
        with STOPPING.interruptible():
            self._poll.poll()
        return os.readv(self._descriptor, [buffer])

    def wait(self, seconds: float) -> bool:
        """Tell whether bytes can be read within some seconds."""
        with STOPPING.interruptible():
            return bool(self._poll.poll(seconds * 1000))

    def close(self) -> None:
        """Close the descriptor, unless it belongs to the caller."""
        if self._owned:
            os.close(self._descriptor)


class FileReader:
    """Reads a regular file from its start. Raises OSError if it cannot be opened."""

    def __init__(self, path: str) -> None:
        self._file = open(path, "rb", buffering=0)  # noqa: SIM115 - closed by close()
        self._path, self._opened = path, os.fstat(self._file.fileno())
        self.close: Callable[[], None] = self._file.close

    def read(self) -> bytes:
        """Return the next bytes."""
        return self._file.read(READ_BYTES) or b""

    def read_into(self, buffer: memoryview) -> int:
        """Write the next bytes into a buffer."""
        return self._file.readinto(buffer) or 0

    def wait(self, _seconds: float) -> bool:
        """Return True: reading a file does not block."""
        return True

    def changed(self) -> str | None:
        """Describe what changed since the file was opened, or return None."""
        return describe_change(self._path, self._opened)


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

    def read_into(self, buffer: memoryview) -> int:
        """Write the next bytes into a buffer. Raises Stopped."""
        STOPPING.check_again()
        count = self._reader.read_into(buffer)
        if not count:
            STOPPING.check_again()
        return count

    def wait(self, seconds: float) -> bool:
        """Tell whether `read` would return or raise within some seconds, Stopped included."""
        return STOPPING.received is not None or self._reader.wait(seconds)


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

    def read_into(self, buffer: memoryview) -> int:
        """Write the next bytes into a buffer, and pass them to the function."""
        count = self._reader.read_into(buffer)
        if count:
            self._tap(buffer[:count])
        return count


class PrefixedReader:
    """Wraps a reader, and first returns bytes that were already read from it."""

    def __init__(self, data: bytes, reader: ByteStream) -> None:
        self._data, self._reader = data, reader
        self.close = reader.close

    def read(self) -> bytes:
        """Return the bytes that were already read, then those of the reader."""
        data, self._data = self._data, b""
        return data or self._reader.read()

    def read_into(self, buffer: memoryview) -> int:
        """Write the bytes that were already read into a buffer, then those of the reader."""
        if not self._data:
            return self._reader.read_into(buffer)
        data, self._data = self._data[: len(buffer)], self._data[len(buffer) :]
        buffer[: len(data)] = data
        return len(data)

    def wait(self, seconds: float) -> bool:
        """Tell whether bytes can be read within some seconds."""
        return bool(self._data) or self._reader.wait(seconds)


class StreamSource:
    """Divides the bytes of a reader into blocks of whole lines, and digests all of them.

    `size` counts the bytes so far. Complete rows are yielded after `idle_seconds` without more of
    them. Where reading fails, or the process must stop, the whole lines before come first, then the
    error or Stopped; the broken line is then `unfinished`. With `keep_rests`, the end of a line
    above the length limit is kept on disk (`rest`).
    """

    def __init__(
        self,
        reader: ByteStream,
        name: str,
        longest: int,
        *,
        idle_seconds: float = IDLE_SECONDS,
        keep_rests: bool = False,
    ) -> None:
        self.path = name
        self.size = 0
        self._reader, self._kept_bytes, self._idle_seconds = (
            reader,
            longest + TOO_LONG_BY,
            idle_seconds,
        )
        self._head = bytearray()
        self._ended = False
        self._error: OSError | CannotCheck | Stopped | None = None
        self._digest: RunningDigest | None = None
        self._rests: dict[int, IO[bytes]] | None = {} if keep_rests else None
        self._slots: SharedSlots | None = None
        self.unfinished = b""

    @property
    def ended(self) -> bool:
        """Whether the input has ended."""
        return self._ended

    @property
    def has_more(self) -> bool:
        """Whether a read would return at once, the end of the input included."""
        return self._wait(0)

    def head(self, size: int = HEAD_BYTES) -> bytes:
        """Return the first bytes, at most `size`, or the lines that arrive before an idle period.

        They are kept for the blocks.
        """
        deadline = None
        while len(self._head) < size and not self._ended and self._should_read_on(deadline):
            data = self._read()
            self._head += data
            if deadline is None and b"\n" in data:
                deadline = self._deadline()
        return bytes(self._head[:size])

    def pieces(self) -> Iterator[bytes]:
        """Iterate over all bytes as they arrive; then raise the error, if there is one."""
        data, self._head = bytes(self._head), bytearray()
        while data or not self._ended:
            if data:
                yield data
            data = b"" if self._ended else self._read()
        self._fail()

    def blocks(self, length: int) -> Iterator[Block | None]:
        """Iterate over blocks of whole lines of about `length` bytes; None means an idle period.

        Of a line above the limit only the beginning is kept, one byte or more above the limit.
        Raises the error that ended the input after all whole lines were yielded.
        """
        buffer, offset = LineBuffer(self._slots), 0
        while True:
            deadline = self._deadline() if buffer.whole else None
            while buffer.size < (length if deadline else max(length, self._kept_bytes)):
                if not self._head:
                    if deadline is None and not self._ended and not self._wait(0):
                        yield None
                    if self._ended or not self._should_read_on(deadline):
                        break
                self._fill(buffer, length)
                if deadline is None and buffer.whole:
                    deadline = self._deadline()
            is_final = self._is_over and not self._error
            taken = buffer.size if is_final else buffer.whole
            if not buffer.size or (self._is_over and not taken):
                break
            data: bytes | SharedBytes
            if taken:
                data, is_overlong = buffer.take(taken), False
            else:
                kept = self._kept_bytes if self._rests is not None else TOO_LONG_BY
                data, is_overlong = buffer.read(0, kept), True
                taken = self._skip_line(buffer, offset)
            final = self._is_over and not buffer.size and not self._error
            yield Block(self.path, offset, taken, 0, data=data, final=final, overlong=is_overlong)
            if deadline is not None and len(data) < length and not self._is_over:
                yield None
            offset += taken
        self.unfinished = buffer.read(0, buffer.size)
        self._fail()

    def share(self, slots: SharedSlots) -> None:
        """Place blocks in these slots, which `close` closes; call `release` for each block."""
        self._slots = slots

    def release(self, block: Block) -> None:
        """Take back the memory of a block that is done with."""
        if isinstance(block.data, SharedBytes) and self._slots is not None:
            self._slots.give_back(block.data.start)

    def rest(self, offset: int) -> IO[bytes] | None:
        """Return the rest of an overlong line by its offset, or None; the caller closes it."""
        return None if self._rests is None else self._rests.pop(offset, None)

    def start_digest(self, algorithms: Sequence[str]) -> None:
        """Begin digests of all bytes, including those already read."""
        self._digest = RunningDigest(algorithms)
        self._digest.update(bytes(self._head))

    def checksums(self) -> dict[str, str]:
        """Return the digests of all bytes read, by algorithm."""
        return self._digest.result() if self._digest is not None else {}

    def diagnose(self, declared: str, algorithm: str) -> str | None:
        """Return None: a stream cannot be read again."""
        del declared, algorithm
        return None

    def close(self) -> None:
        """Close the reader, and delete the rests on disk."""
        for rest in (self._rests or {}).values():
            rest.close()
        if self._slots is not None:
            self._slots.close()
            self._slots = None
        self._reader.close()

    def _deadline(self) -> float:
        """Return the time until which a row that is complete now may wait."""
        return time.monotonic() + MOST_IDLE_PERIODS * self._idle_seconds

    def _should_read_on(self, deadline: float | None) -> bool:
        """Tell whether to read on: while no row is complete, or the wait is not over."""
        if deadline is None:
            return True
        left = min(self._idle_seconds, deadline - time.monotonic())
        return left >= 0 and self._wait(left)

    def _wait(self, seconds: float) -> bool:
        """Tell whether `_read` would return within some seconds, Stopped included."""
        try:
            return self._reader.wait(seconds)
        except Stopped:
            return True

    @property
    def _is_over(self) -> bool:
        """Whether `_next` has no more bytes."""
        return self._ended and not self._head

    def _next(self, most: int) -> bytes:
        """Return bytes of the head, at most `most`, or read more bytes."""
        if not self._head:
            return self._read()
        data = bytes(self._head[:most])
        del self._head[:most]
        return data

    def _fill(self, buffer: LineBuffer, most: int) -> None:
        """Add more bytes to a buffer, without a copy where it has room for them."""
        room = None if self._head else buffer.room(READ_BYTES)
        if room is None:
            buffer.extend(self._next(most))
        else:
            with room:
                buffer.add(self._read_into(room))

    def _read(self) -> bytes:
        """Read more bytes; an error ends the input, and is raised after the lines before it."""
        try:
            data = self._reader.read()
        except (OSError, CannotCheck, Stopped) as error:
            self._error, data = error, b""
        self._note(data)
        return data

    def _read_into(self, buffer: memoryview) -> int:
        """Read more bytes into a buffer, as `_read` does, and return their number."""
        try:
            count = self._reader.read_into(buffer)
        except (OSError, CannotCheck, Stopped) as error:
            self._error, count = error, 0
        self._note(buffer[:count])
        return count

    def _note(self, data: Bytes) -> None:
        """Count and digest bytes; without any, the input has ended."""
        self._ended = not data
        self.size += len(data)
        if self._digest is not None:
            self._digest.update(data)

    def _fail(self) -> None:
        if self._error is not None:
            raise self._error

    def _skip_line(self, buffer: LineBuffer, offset: int) -> int:
        """Remove everything through the next newline; return the number of removed bytes."""
        dropped, rest = buffer.size, self._new_rest(offset)
        if rest is not None:
            rest.write(buffer.read(self._kept_bytes, dropped))
        buffer.clear()
        while not self._is_over:
            data = self._next(READ_BYTES)
            taken = data.find(b"\n") + 1 or len(data)
            if rest is not None:
                rest.write(data[:taken])
            dropped += taken
            if data.endswith(b"\n", 0, taken):
                buffer.extend(data[taken:])
                break
        return dropped

    def _new_rest(self, offset: int) -> IO[bytes] | None:
        if self._rests is None:
            return None
        import tempfile

        rest = self._rests[offset] = tempfile.TemporaryFile(prefix="evalstream-")  # noqa: SIM115 - closed by close() or by the caller of rest()
        return rest

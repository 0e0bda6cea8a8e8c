"""The rows of a byte stream: their division into blocks of whole lines."""

from __future__ import annotations

import sys
import time
from array import array
from collections.abc import Callable, Iterator, Sequence
from typing import IO, Final

from evalstream.io.digest import BackgroundDigest, RunningDigest, explain_end, explain_mismatch
from evalstream.io.file import HEAD_LINES, SHORT_HEAD_BYTES
from evalstream.io.readers import READ_BYTES
from evalstream.model.block import MEBIBYTE, TOO_LONG_BY, Block, ByteStream
from evalstream.model.errors import CannotCheck
from evalstream.model.signals import Stopped
from evalstream.model.temporary_file import open_temporary_file

HEAD_BYTES: Final = 8 * MEBIBYTE

IDLE_SECONDS: Final = 0.5
"""Seconds without more bytes after which the rows so far are checked."""

REREAD_BYTES: Final = 1024 * MEBIBYTE
"""Most bytes of a stream that are read again to explain a checksum mismatch."""

MOST_IDLE_PERIODS: Final = 2
"""Longest wait of a complete row, in idle periods, while more rows keep arriving."""


class StreamSource:
    """Divides the bytes of a reader into blocks of whole lines, and digests all of them.

    `size` counts the bytes so far. Complete rows are yielded after `idle_seconds` without more of
    them. Where reading fails, or the process must stop, the whole lines before come first, then the
    error or Stopped; the broken line is then `unfinished`. With `keep_rests`, the end of a line
    above the length limit is kept on disk (`rest`). `reopen` reads the same bytes a second time,
    where that is possible.
    """

    def __init__(
        self,
        reader: ByteStream,
        name: str,
        longest: int,
        *,
        idle_seconds: float = IDLE_SECONDS,
        keep_rests: bool = False,
        reopen: Callable[[], ByteStream] | None = None,
    ) -> None:
        self.path = name
        self.size = 0
        self._reopen = reopen
        self._reader = reader
        self._kept_bytes = longest + TOO_LONG_BY
        self._idle_seconds = idle_seconds
        self._head = bytearray()
        self._ended = False
        self._error: OSError | CannotCheck | Stopped | None = None
        self._digest: BackgroundDigest | None = None
        self._rests: dict[int, IO[bytes]] | None = {} if keep_rests else None
        self.unfinished = b""

    @property
    def is_at_end(self) -> bool:
        """Whether the input has ended."""
        return self._ended

    @property
    def has_more(self) -> bool:
        """Whether a read would return at once, the end of the input included."""
        return self._wait(0)

    def head(self, size: int = HEAD_BYTES) -> bytes:
        """Return the first bytes, at most `size`, or the lines that arrive before an idle period.

        Of rows that are short it returns fewer. They are kept for the blocks.
        """
        deadline = None
        while len(self._head) < size and not self._ended and self._should_read_on(deadline):
            if len(self._head) >= SHORT_HEAD_BYTES and _has_many_rows(self._head):
                break
            data = self._read()
            self._head += data
            if deadline is None and b"\n" in data:
                deadline = self._deadline()
        with memoryview(self._head) as view:
            return bytes(view[:size])

    def pieces(self) -> Iterator[bytes]:
        """Iterate over all bytes as they arrive; then raise the error, if there is one."""
        while not self._is_over:
            data = self._next(READ_BYTES)
            if data:
                self._note(data)
                yield data
        self._fail()

    def blocks(self, length: int) -> Iterator[Block | None]:
        """Iterate over blocks of whole lines of about `length` bytes; None means an idle period.

        Of a line above the limit only the beginning is kept, one byte or more above the limit.
        Raises the error that ended the input after all whole lines were yielded.
        """
        buffer, offset = LineBuffer(), 0
        while True:
            yield from self._gather(buffer, length)
            is_idle = buffer.size < length and not self._is_over
            block = self._cut_block(buffer, offset)
            if block is None:
                break
            yield block
            if is_idle and not block.overlong:
                yield None
            offset += block.length
        self.unfinished = buffer.take(buffer.size)
        self._fail()

    def digest_in_thread(self) -> None:
        """Digest in a thread from now on; call this only after workers are forked."""
        if self._digest is not None:
            self._digest.start()

    def rest(self, offset: int) -> IO[bytes] | None:
        """Return the rest of an overlong line by its offset, or None; the caller closes it."""
        return None if self._rests is None else self._rests.pop(offset, None)

    def start_digest(self, algorithms: Sequence[str]) -> None:
        """Begin digests of all bytes that `pieces` or `blocks` yields."""
        self._digest = BackgroundDigest(RunningDigest(algorithms))

    def checksums(self, *, without_newline: bool = False) -> dict[str, str]:
        """Return the digests of all yielded bytes, perhaps `without_newline` at their end."""
        if self._digest is None:
            return {}
        return self._digest.finish().without_newline() if without_newline else self._digest.result()

    def diagnose(self, algorithm: str, declared: str, *, grew: bool) -> str | None:
        """Explain a checksum mismatch; None if there is no explanation.

        A file or an object is read again if it is small, or `grew`: if it may have more rows than
        were sealed.
        """
        if self._digest is None:
            return None
        digest, known = self._digest.finish(), (declared, algorithm)
        if self._reopen is not None and self.size <= REREAD_BYTES:
            return explain_mismatch(self._reopen, self.size, digest, *known, grew=grew)
        large = f"not read again to find out why, because it has more than {REREAD_BYTES:,} bytes"
        return explain_end(digest, *known) or (large if self._reopen is not None else None)

    def close(self) -> None:
        """Close the reader, and delete the rests on disk."""
        for rest in (self._rests or {}).values():
            rest.close()
        if self._digest is not None:
            self._digest.close()
        self._reader.close()

    def _gather(self, buffer: LineBuffer, length: int) -> Iterator[None]:
        """Read until a block can be cut; yield None for an idle period before the first row."""
        deadline = self._deadline() if buffer.whole else None
        while buffer.size < (length if deadline else max(length, self._kept_bytes)):
            if not self._head:
                if deadline is None and not self._ended and not self._wait(0):
                    yield None
                if self._ended or not self._should_read_on(deadline):
                    break
            buffer.extend(self._next(length))
            if deadline is None and buffer.whole:
                deadline = self._deadline()

    def _cut_block(self, buffer: LineBuffer, offset: int) -> Block | None:
        if not buffer.size:
            return None
        taken = buffer.size if self._is_over and not self._error else buffer.whole
        if not taken:
            return None if self._is_over else self._cut_overlong(buffer, offset)
        data = buffer.take(taken)
        self._note(data)
        final = self._is_over and not buffer.size and not self._error
        return Block(self.path, offset, taken, data, final=final)

    def _cut_overlong(self, buffer: LineBuffer, offset: int) -> Block:
        """Remove everything through the next newline; return the beginning as a block."""
        start, rest = buffer.take(buffer.size), self._new_rest(offset)
        self._note(start)
        if rest is not None:
            rest.write(start[self._kept_bytes :])
        length = len(start)
        while not self._is_over:
            data = self._next(READ_BYTES)
            taken = data.find(b"\n") + 1 or len(data)
            self._note(data[:taken])
            if rest is not None:
                rest.write(data[:taken])
            length += taken
            if data.endswith(b"\n", 0, taken):
                buffer.extend(data[taken:])
                break
        start = start[: TOO_LONG_BY if rest is None else self._kept_bytes]
        final = self._is_over and not buffer.size and not self._error
        return Block(self.path, offset, length, start, final=final, overlong=True)

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
        with memoryview(self._head) as view:
            data = bytes(view[:most])
        del self._head[:most]
        return data

    def _read(self) -> bytes:
        """Read more bytes; an error ends the input, and is raised after the lines before it."""
        try:
            data = self._reader.read()
        except (OSError, CannotCheck, Stopped) as error:
            self._error, data = error, b""
        self._ended = not data
        self.size += len(data)
        return data

    def _note(self, data: bytes) -> None:
        """Digest the next bytes."""
        if self._digest is not None:
            self._digest.add(data)

    def _fail(self) -> None:
        if self._error is not None:
            raise self._error

    def _new_rest(self, offset: int) -> IO[bytes] | None:
        if self._rests is None:
            return None
        rest = self._rests[offset] = open_temporary_file()
        return rest


def _has_many_rows(head: bytearray) -> bool:
    """Tell whether some bytes surely begin with lines of rows, and have all that formats read."""
    return head.startswith(b"{") and b"}\n{" in head and head.count(b"\n") > HEAD_LINES


class LineBuffer:
    """Collects bytes; `size` counts them, and `whole` those up to the last newline."""

    def __init__(self) -> None:
        self.size = self.whole = 0
        self._pieces: list[bytes] = []

    def extend(self, data: bytes) -> None:
        """Add bytes."""
        newline = data.rfind(b"\n") + 1
        if newline:
            self.whole = self.size + newline
        self.size += len(data)
        self._pieces.append(data)

    def take(self, length: int) -> bytes:
        """Remove and return the first bytes; `length` is at least `whole`."""
        kept = list[bytes]()
        self.size -= length
        left, self.whole = self.size, 0
        while left:
            piece = self._pieces.pop()
            if len(piece) > left:
                self._pieces.append(piece[:-left])
                piece = piece[-left:]
            kept.append(piece)
            left -= len(piece)
        taken, self._pieces = self._pieces, kept[::-1]
        # Other threads run meanwhile, as no piece is a view.
        return b"".join(taken)


class LineIndex:
    """The line of each element of a JSON array, on disk because their number is not bounded."""

    def __init__(self) -> None:
        self._file: IO[bytes] = open_temporary_file()

    def extend(self, places: bytes) -> None:
        """Add the lines and offsets of the next elements, packed and alternating."""
        self._file.seek(0, 2)
        self._file.write(array("Q", places)[::2].tobytes())

    def line(self, number: int) -> int:
        """Return the line on which an element begins, by its number from 1."""
        self._file.seek((number - 1) * 8)
        return int.from_bytes(self._file.read(8), sys.byteorder)

    def close(self) -> None:
        """Delete the temporary file."""
        self._file.close()

"""Decompression of an input stream, in pieces of bounded size."""

from __future__ import annotations

import time
from typing import Final

from evalstream.io.codecs import COMPRESSIONS, Codec
from evalstream.model.block import MEBIBYTE, Bytes, ByteStream
from evalstream.model.errors import BrokenCompression, CannotCheck

STEP_BYTES: Final = 1 << 17
"""Bytes passed to a library, and requested of it, per call; so many a `read` returns at most.

A library that fails discards what it decompressed during that call.
"""

REPLAY_BYTES: Final = MEBIBYTE
"""Most bytes, compressed and decompressed, of a member that is kept to be decompressed again."""

HEAD_BYTES: Final = 4
"""Number of bytes of a member that are read before its decompressor is created."""


class DecompressingReader:
    """Decompresses another reader; `members` counts the members begun so far.

    Consecutive members form one stream, whether the format calls them members, frames or streams;
    skippable frames count as members. Memory use does not depend on the compressed content.
    """

    def __init__(self, compressed: ByteStream, kind: str) -> None:
        """Wrap a reader of a kind from `detect_compression`. Raises MissingExtra."""
        self.members = 0
        self._compressed, self._kind, self._codec = compressed, kind, COMPRESSIONS[kind].load()
        self._member: _Member | None = None
        self._input = memoryview(b"")
        self._start, self._position = 0, 0
        self._padding = 0
        self._output = b""
        self._error: Exception | None = None
        self._ended = False

    def read(self) -> bytes:
        """Return the next decompressed bytes, at most `STEP_BYTES`; empty at the end.

        Raises BrokenCompression where the compressed bytes are damaged, truncated or followed by
        other bytes, and what the wrapped reader raises; always after all bytes before the error,
        and again on each later call. Of a damaged member larger than `REPLAY_BYTES`, up to
        `STEP_BYTES` before the damage may be missing.
        """
        while not self._can_return():
            self._read_compressed()
        if not self._output and self._error is not None:
            raise self._error
        piece, self._output = self._output, b""
        return piece

    def wait(self, seconds: float) -> bool:
        """Tell whether `read` would return within some seconds, the end included."""
        deadline = time.monotonic() + seconds
        while not self._can_return():
            if not self._compressed.wait(max(0.0, deadline - time.monotonic())):
                return False
            self._read_compressed()
        return True

    def close(self) -> None:
        """Close the wrapped reader."""
        self._compressed.close()

    def _can_return(self) -> bool:
        """Decompress input read so far, up to a first output; tell whether `read` can return."""
        while not self._output and self._error is None and self._step():
            pass
        return bool(self._output) or self._ended or self._error is not None

    @property
    def _offset(self) -> int:
        return self._start + self._position

    def _read_compressed(self) -> None:
        """Read the next compressed bytes, or the end, once all previous ones are decompressed."""
        try:
            piece = self._compressed.read()
        except (OSError, CannotCheck) as error:
            self._error = error
            return
        # The remainder is at most a part of a member's head.
        left = bytes(self._input[self._position :])
        self._input, self._start, self._position = memoryview(left + piece), self._offset, 0
        self._ended = not piece
        if self._ended and (self._member is not None or left):
            self._set_error(f"is truncated after {self._offset + len(left):,} compressed bytes")
        elif self._ended:
            self._check_padding()

    def _step(self) -> bool:
        """Decompress the next of the input read so far; tell whether it made progress."""
        member = self._member
        if member is None:
            return self._begin()
        library = member.library
        chunk = self._next(STEP_BYTES if library.needs_input else 0)
        if library.needs_input and not chunk:
            return False
        self._position += len(chunk)
        try:
            self._output = member.decompress(chunk)
        except self._codec.errors as error:
            self._handle_failure(member, error)
            return False
        if library.eof:
            self._position -= len(library.unused_data)
            self._member = None
        return True

    def _begin(self) -> bool:
        """Begin the next member, or skip padding; tell whether enough bytes are available."""
        head = bytes(self._next(HEAD_BYTES))
        if self.members and head[:1] == b"\0" and COMPRESSIONS[self._kind].padding_unit:
            self._skip_padding()
            return True
        magic = COMPRESSIONS[self._kind].magic
        if self.members and not any(one.startswith(head[: len(one)]) for one in magic):
            self._set_trailing_error(self._offset)
        if self._error is not None or len(head) < HEAD_BYTES or not self._check_padding():
            return False
        self._member = _Member(self._codec, head, self._offset)
        self.members += 1
        self._padding = 0
        return True

    def _next(self, count: int) -> memoryview:
        return self._input[self._position : self._position + count]

    def _skip_padding(self) -> None:
        ahead = bytes(self._next(STEP_BYTES))
        count = len(ahead) - len(ahead.lstrip(b"\0"))
        self._padding += count
        self._position += count

    def _check_padding(self) -> bool:
        """Tell whether the padding is complete; record an error if not."""
        if self._padding % (COMPRESSIONS[self._kind].padding_unit or 1):
            self._set_trailing_error(self._offset - self._padding)
        return self._error is None

    def _handle_failure(self, member: _Member, error: Exception) -> None:
        """Add the bytes that the failed step decompressed, if known, and record the error."""
        self._output, offset = member.salvage_output() or (b"", self._offset)
        # The libraries distinguish this from damage only in the text of the error.
        if "memory" in str(error).lower():
            limit = self._codec.limit_bytes // MEBIBYTE
            self._set_error(f"needs more than {limit} MiB of memory to decompress")
        else:
            self._set_error(f"is damaged near byte {offset:,} of the compressed bytes: {error}")

    def _set_trailing_error(self, offset: int) -> None:
        self._set_error(
            f"is followed by bytes outside any {self._kind} member, from byte {offset:,} "
            "of the compressed bytes"
        )

    def _set_error(self, reason: str) -> None:
        self._error = BrokenCompression(f"the {self._kind} stream {reason}")


class _Member:
    """A member being decompressed; while it is small, its bytes are kept for a second attempt."""

    def __init__(self, codec: Codec, head: bytes, offset: int) -> None:
        self._codec, self._head, self._offset = codec, head, offset
        self.library = codec.begin(head)
        self._replay: bytearray | None = bytearray()
        self._returned = 0

    def decompress(self, data: Bytes) -> bytes:
        """Return at most `STEP_BYTES` decompressed. Raises the codec's exceptions."""
        if self._replay is not None:
            self._replay += data
        output = self.library.decompress(data, STEP_BYTES)
        self._returned += len(output)
        if self._replay is not None and max(self._returned, len(self._replay)) > REPLAY_BYTES:
            self._replay = None
        return output

    def salvage_output(self) -> tuple[bytes, int] | None:
        """Return the output of a failed `decompress`, and the compressed offset of the failure."""
        if self._replay is None:
            return None
        second, output = self._codec.begin(self._head), bytearray()
        for place in range(len(self._replay)):
            chunk = bytes(self._replay[place : place + 1])
            try:
                while not second.eof and (chunk or not second.needs_input):
                    output += second.decompress(chunk, 1)
                    chunk = b""
            except self._codec.errors:
                return bytes(output[self._returned :]), self._offset + place
        return None

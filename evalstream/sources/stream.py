"""Standard input, a pipe or a device: blocks carry their bytes."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Final

from evalstream.digest import RunningDigest
from evalstream.model import MEBIBYTE, TOO_LONG_BY, Block

READ_BYTES: Final = MEBIBYTE


class StreamSource:
    """Bytes that come once, from a file descriptor; an `owned` one is closed in the end."""

    def __init__(self, descriptor: int, name: str, longest: int, *, owned: bool = False) -> None:
        self.path = name
        self.size = 0
        self._descriptor, self._kept, self._owned = descriptor, longest + TOO_LONG_BY, owned
        self._head = bytearray()
        self._ended = False
        self._digest: RunningDigest | None = None

    @property
    def ended(self) -> bool:
        """Whether the input has ended already."""
        return self._ended

    def head(self, size: int = 8 * MEBIBYTE) -> bytes:
        """Return the first bytes, at most `size`; they are kept for the blocks."""
        while len(self._head) < size and not self._ended:
            self._head += self._read()
        return bytes(self._head[:size])

    def blocks(self, length: int) -> Iterator[Block]:
        """Iterate over blocks of whole lines of about `length` bytes.

        Of a line longer than is allowed only so much is kept that it shows as too long.
        """
        buffer, offset, wanted = self._head, 0, length
        self._head = bytearray()
        while True:
            while len(buffer) < wanted and not self._ended:
                buffer += self._read()
            if not buffer:
                return
            cut = len(buffer) if self._ended else buffer.rfind(b"\n") + 1
            if not cut and len(buffer) < self._kept:
                wanted = len(buffer) + READ_BYTES
                continue
            wanted = length
            data = bytes(buffer[:cut] if cut else buffer[: self._kept])
            taken = cut or self._skip_line(buffer)
            if cut:
                del buffer[:cut]
            final = self._ended and not buffer
            yield Block(self.path, offset, taken, 0, data=data, final=final)
            offset += taken

    def start_digest(self, algorithms: Sequence[str]) -> None:
        """Digest what was read and all that is to come."""
        self._digest = RunningDigest(algorithms)
        self._digest.update(bytes(self._head))

    def checksums(self) -> dict[str, str]:
        """Return the digests of everything read, by algorithm."""
        return self._digest.result() if self._digest is not None else {}

    def changed(self) -> str | None:
        """Return None: a stream cannot change behind the reader."""
        return None

    def diagnose(self, declared: str, algorithm: str) -> str | None:
        """Return None: a stream cannot be read again."""
        del declared, algorithm
        return None

    def close(self) -> None:
        """Close the descriptor, unless it belongs to the caller."""
        if self._owned:
            os.close(self._descriptor)

    def _read(self) -> bytes:
        data = os.read(self._descriptor, READ_BYTES)
        self._ended = not data
        self.size += len(data)
        if self._digest is not None:
            self._digest.update(data)
        return data

    def _skip_line(self, buffer: bytearray) -> int:
        """Drop everything up to and with the next newline; return how many bytes that was."""
        dropped = 0
        while (newline := buffer.find(b"\n")) < 0 and not self._ended:
            dropped += len(buffer)
            buffer.clear()
            buffer += self._read()
        cut = newline + 1 if newline >= 0 else len(buffer)
        del buffer[:cut]
        return dropped + cut

"""Digests of a file's blocks, which show that the checked bytes are the hashed bytes.

Workers read the lines of a file while another process hashes the whole file. Both compute an
XXH3-128 of the lines that start in each block's range. Equal digests show that the parsed bytes are
the hashed bytes. This does not protect against a writer who can forge a collision of XXH3 within
one check.
"""

from __future__ import annotations

from typing import Any, Final

from xxhash import xxh3_128, xxh3_128_digest

from evalstream.model.block import Bytes, Lines
from evalstream.model.data_class import NamedTuple

DIGEST_BYTES: Final = 16
NOT_COMPARED: Final = b"\0" * DIGEST_BYTES
"""The digest of a block with a line above the length limit, which was not read in full."""

_EMPTY: Final = xxh3_128_digest(b"")


class BlockLayout(NamedTuple):
    """The blocks of a file: `length` bytes each; the first `head` bytes are digested as well."""

    length: int
    head: int


class BlockDigests(NamedTuple):
    """Digests of a file: of its head, and of each block's lines, concatenated."""

    head: bytes
    blocks: bytes


def digest_of_lines(lines: Lines) -> bytes:
    """Return the digest of the checked bytes of a block's lines."""
    checked = memoryview(lines.data)[lines.start :]
    last = lines.tail or checked
    if last and not lines.final and last[-1] != ord("\n"):
        return NOT_COMPARED
    digest = xxh3_128(checked)
    digest.update(lines.tail)
    return digest.digest()


def digest_of_head(head: Bytes) -> bytes:
    """Return the digest of the first bytes of a file."""
    return xxh3_128_digest(head)


def first_difference(digested: bytes, checked: bytes) -> int | None:
    """Return the index of the first block whose digests differ, or None."""
    if digested == checked:
        return None
    for start in range(0, max(len(digested), len(checked)), DIGEST_BYTES):
        expected, actual = (
            digests[start : start + DIGEST_BYTES] for digests in (digested, checked)
        )
        if actual not in (expected, NOT_COMPARED):
            return start // DIGEST_BYTES
    return None


class RunningBlockDigests:
    """Computes the digests of a file's blocks from consecutive pieces of its bytes."""

    def __init__(self, size: int, layout: BlockLayout) -> None:
        self._size, self._layout = size, layout
        self._head: Any = xxh3_128()
        self._running: Any = xxh3_128()
        self._blocks = bytearray()
        self._done = self._block = 0

    def update(self, buffer: bytes | bytearray, count: int) -> None:
        """Add the first `count` bytes of a buffer, which follow the previous ones."""
        with memoryview(buffer) as view:
            if self._done < self._layout.head:
                self._head.update(view[: min(count, self._layout.head - self._done)])
            start = 0
            while (stop := self._end(buffer, start, count)) >= 0:
                self._running.update(view[start:stop])
                self._finish((self._done + stop) // self._layout.length)
                start = stop
            self._running.update(view[start:count])
        self._done += count

    def result(self) -> BlockDigests:
        """Return the digests of all blocks, after the last byte."""
        self._finish(-(-self._size // self._layout.length))
        return BlockDigests(self._head.digest(), bytes(self._blocks))

    def _end(self, buffer: bytes | bytearray, start: int, count: int) -> int:
        """Return the index in a buffer where the lines of the current block end, or -1.

        They end with the first newline at or after the last byte of the block's range.
        """
        last = (self._block + 1) * self._layout.length - 1 - self._done
        return buffer.find(b"\n", max(start, last), count) + 1 or -1

    def _finish(self, block: int) -> None:
        """Finish all blocks before `block`; a block without the start of a line is empty."""
        if block > self._block:
            self._blocks += self._running.digest()
            self._blocks += _EMPTY * (block - self._block - 1)
            self._block, self._running = block, xxh3_128()

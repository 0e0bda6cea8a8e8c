"""Whether the bytes that were checked are those that were digested, where two reads took them.

Workers read the lines of a file by themselves while another process digests the whole of it. Both
take an XXH3-128 of the same stretches, the lines that start in a block's range, and equal ones say
that what was parsed is what was hashed. It does not defend against a writer who can forge a
collision of XXH3 within one check.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from xxhash import xxh3_128, xxh3_128_digest

from evalstream.model.block import Bytes, Lines

DIGEST_BYTES: Final = 16
UNCOMPARED: Final = b"\0" * DIGEST_BYTES
"""Stands for a block with a line that is too long, of which not all was read."""

_EMPTY: Final = xxh3_128_digest(b"")


class Cuts(NamedTuple):
    """How the digests of a file are cut: by blocks of `length` bytes; the first `head` apart."""

    length: int
    head: int


class Stretches(NamedTuple):
    """Digests of a file's stretches: of its head, and of each block's lines one after the other."""

    head: bytes
    blocks: bytes


def digest_of_lines(lines: Lines) -> bytes:
    """Return the digest of the bytes that are checked of a block's lines."""
    checked = memoryview(lines.data)[lines.start :]
    last = lines.tail or checked
    if last and not lines.final and last[-1] != ord("\n"):
        return UNCOMPARED
    digest = xxh3_128(checked)
    digest.update(lines.tail)
    return digest.digest()


def digest_of_head(head: Bytes) -> bytes:
    """Return the digest of the first bytes of a file."""
    return xxh3_128_digest(head)


def first_difference(digested: bytes, checked: bytes) -> int | None:
    """Return the number of the first block whose digests differ, None where none do."""
    if digested == checked:
        return None
    for start in range(0, max(len(digested), len(checked)), DIGEST_BYTES):
        one, other = (some[start : start + DIGEST_BYTES] for some in (digested, checked))
        if other not in (one, UNCOMPARED):
            return start // DIGEST_BYTES
    return None


class RunningStretches:
    """The digests of a file's stretches, of bytes that come piece by piece."""

    def __init__(self, size: int, cuts: Cuts) -> None:
        self._size, self._cuts = size, cuts
        self._head: Any = xxh3_128()
        self._running: Any = xxh3_128()
        self._blocks = bytearray()
        self._done = self._block = 0

    def update(self, buffer: bytes | bytearray, count: int) -> None:
        """Take the first `count` bytes of a buffer, which come next."""
        with memoryview(buffer) as view:
            if self._done < self._cuts.head:
                self._head.update(view[: min(count, self._cuts.head - self._done)])
            start = 0
            while (stop := self._end(buffer, start, count)) >= 0:
                self._running.update(view[start:stop])
                self._finish((self._done + stop) // self._cuts.length)
                start = stop
            self._running.update(view[start:count])
        self._done += count

    def result(self) -> Stretches:
        """Return the digests of all stretches, after the last byte."""
        self._finish(-(-self._size // self._cuts.length))
        return Stretches(self._head.digest(), bytes(self._blocks))

    def _end(self, buffer: bytes | bytearray, start: int, count: int) -> int:
        """Return where in a buffer the lines end that start in the block, -1 if not in it.

        They end with the first newline that is not before the last byte of the block's range.
        """
        last = (self._block + 1) * self._cuts.length - 1 - self._done
        return buffer.find(b"\n", max(start, last), count) + 1 or -1

    def _finish(self, block: int) -> None:
        """Bring the blocks before one to their end; where a line covers several they are empty."""
        if block > self._block:
            self._blocks += self._running.digest()
            self._blocks += _EMPTY * (block - self._block - 1)
            self._block, self._running = block, xxh3_128()

"""Rows from a local file: blocks are byte ranges that workers read themselves."""

import os
from collections.abc import Iterator, Sequence
from functools import partial
from io import RawIOBase
from typing import Final

from evalstream.io.block_digests import BlockDigests, BlockLayout, digest_of_head, first_difference
from evalstream.io.digest import FileDigest
from evalstream.io.file_state import describe_change
from evalstream.io.readers import FileReader
from evalstream.model.block import MEBIBYTE, TOO_LONG_BY, Block, Lines

TAIL_BYTES: Final = 1 << 14
SHORTER: Final = "the file became shorter while it was read"


class FileSource:
    """A regular file, read up to the size it has when it is opened.

    Raises OSError when the file cannot be opened.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._file = open(path, "rb", buffering=0)  # noqa: SIM115 - closed by close()
        self._opened = os.fstat(self._file.fileno())
        self.size = self._opened.st_size
        self._digest: FileDigest | None = None
        self._head = b""
        self._length = 0
        self._checked = bytearray()
        self._block_digests: BlockDigests | None = None

    def head(self, size: int = 8 * MEBIBYTE) -> bytes:
        """Return the first bytes, at most `size`."""
        self._file.seek(0)
        self._head = self._file.read(min(size, self.size)) or b""
        return self._head

    def lines(self, length: int, longest: int) -> Iterator[Block]:
        """Iterate over blocks of whole lines with their bytes, about `length` bytes each.

        The head is not read again, and the digest is computed from the same bytes that the blocks
        hold. Of a line above `longest` bytes only the beginning is kept, one byte or more above the
        limit. Raises OSError.
        """
        pending: list[bytes] = []
        size = offset = 0
        for piece, final in self._pieces(length):
            start = 0
            while start < len(piece):
                is_long = size > longest
                stop = (piece.find if is_long else piece.rfind)(b"\n", start) + 1
                if final and not (is_long and stop):
                    stop = len(piece)
                chunk = piece[start : stop or None]
                start, size = start + len(chunk), size + len(chunk)
                if not is_long:
                    pending.append(chunk)
                if stop:
                    data, ends = b"".join(pending), final and start == len(piece)
                    yield Block(
                        self.path, offset, size, self.size, data=data, final=ends, overlong=is_long
                    )
                    offset, size, pending = offset + size, 0, []

    def blocks(self, length: int) -> Iterator[Block]:
        """Iterate over byte ranges of `length` bytes that cover the file."""
        for offset in range(0, self.size, length):
            size = min(length, self.size - offset)
            yield Block(self.path, offset, size, self.size, self._opened.st_ino)

    def start_digest(self, algorithms: Sequence[str]) -> None:
        """Begin a digest of the bytes that `lines` reads."""
        self._digest = FileDigest(self._file, self.size, algorithms)

    def digest_in_thread(
        self, algorithms: Sequence[str], length: int, blocks: Iterator[Block]
    ) -> Iterator[Block]:
        """Yield blocks of `length` bytes, and digest the file in a thread at the same time.

        The thread starts after the first block, because that block forks the workers.
        """
        digest = FileDigest(self._file, self.size, algorithms, self._layout(length))
        self._digest = digest
        for block in blocks:
            yield block
            if not block.offset:
                digest.start()

    def note_checked(self, digest: bytes) -> None:
        """Add the digest of the lines that a worker read of the next block."""
        self._checked += digest

    def checksums(self) -> dict[str, str]:
        """Wait for the digest and return it, by algorithm. Raises OSError."""
        if self._digest is None:
            return {}
        digests, self._block_digests = self._digest.result()
        return digests

    def changed(self) -> str | None:
        """Describe what changed since the file was opened, or return None.

        Different bytes in the check and in the digest are a change, even if the file's times are
        equal.
        """
        return describe_change(self.path, self._opened) or self._first_mismatch()

    def diagnose(self, declared: str, algorithm: str) -> str | None:
        """Read the file again to explain a checksum mismatch; None if there is no explanation."""
        from evalstream.io.mismatch import explain_mismatch

        actual = self.checksums().get(algorithm, "")
        reopen = partial(FileReader, self.path)
        return explain_mismatch(reopen, self.size, declared, algorithm, actual)

    def close(self) -> None:
        """Stop digesting and close the file."""
        if self._digest is not None:
            self._digest.cancel()
        self._file.close()

    def _pieces(self, length: int) -> Iterator[tuple[bytes, bool]]:
        """Iterate over the bytes with an end flag, adding them to the digest. Raises OSError."""
        digest = self._digest
        done = 0
        while done < self.size:
            piece = self._head[done : done + length]
            if not piece:
                self._file.seek(done)
                piece = self._file.read(min(length, self.size - done)) or b""
            if not piece:
                raise OSError(SHORTER)
            if digest is not None:
                digest.take(piece)
            done += len(piece)
            yield piece, done == self.size

    def _layout(self, length: int) -> BlockLayout:
        self._length = length
        return BlockLayout(length, len(self._head))

    def _first_mismatch(self) -> str | None:
        """Return the position of bytes that differ between check and digest, or None."""
        if self._block_digests is None:
            return None
        head, blocks = self._block_digests
        block = first_difference(blocks, bytes(self._checked))
        if block is None and head == digest_of_head(self._head):
            return None
        place = (block or 0) * self._length
        return f"the bytes from byte {place:,} on changed between the check and the checksum"


def read_lines(block: Block, longest: int) -> Lines:
    """Read the lines that start in the range of a block.

    Of a last line above `longest` bytes only the beginning is read, one byte or more above the
    limit. Raises OSError when the file cannot be read or was replaced since it was opened.
    """
    end = block.offset + block.length
    before = 1 if block.offset else 0
    with open(block.path, "rb", buffering=0) as file:
        _check_identity(file, block.inode)
        file.seek(block.offset - before)
        data = _read_exactly(file, block.length + before)
        start = data.find(b"\n") + 1 if before else 0
        if before and not start:
            return Lines(b"")
        tail = b""
        if end < block.size and start < len(data) and not data.endswith(b"\n"):
            unfinished = len(data) - max(start, data.rfind(b"\n") + 1)
            tail = _rest_of_line(file, min(block.size - end, longest + TOO_LONG_BY - unfinished))
    final = end + len(tail) >= block.size
    return Lines(data, start, block.offset - before, tail, final)


def _check_identity(file: RawIOBase, inode: int) -> None:
    """Raise OSError for a file with another inode."""
    if os.fstat(file.fileno()).st_ino != inode:
        raise OSError("the file was replaced while it was read")


def _read_exactly(file: RawIOBase, size: int) -> bytes:
    """Read `size` bytes. Raises OSError when the file ends before."""
    data = file.read(size) or b""
    while len(data) < size:
        piece = file.read(size - len(data))
        if not piece:
            raise OSError(SHORTER)
        data += piece
    return data


def _rest_of_line(file: RawIOBase, most: int) -> bytes:
    """Read to the end of the line, at most `most` bytes."""
    pieces: list[bytes] = []
    size = TAIL_BYTES
    while most > 0 and (piece := file.read(min(size, most))):
        newline = piece.find(b"\n")
        if newline >= 0:
            pieces.append(piece[: newline + 1])
            break
        pieces.append(piece)
        most -= len(piece)
        size = min(2 * size, MEBIBYTE)
    return b"".join(pieces)

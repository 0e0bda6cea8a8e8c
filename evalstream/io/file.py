"""A file on disk: blocks are byte ranges that workers read themselves."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from io import RawIOBase
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from evalstream.io.block_digests import Cuts, Stretches, digest_of_head, first_difference
from evalstream.io.digest import Digested, DistantDigest, FileDigest, RunningDigest
from evalstream.io.file_state import describe_change
from evalstream.model.block import MEBIBYTE, TOO_LONG_BY, Block, Lines

TAIL_BYTES: Final = 1 << 14
DIAGNOSED_LINE_BYTES: Final = 16 * MEBIBYTE
SHORTER: Final = "the file became shorter while it was read"

if TYPE_CHECKING:
    from concurrent.futures import Future

Beside = Callable[[Callable[[Any], Any], Any], "Future[Any]"]
"""Runs a function over something in another process."""


class Whole(NamedTuple):
    """A whole file that is to be digested: its first `size` bytes, in some algorithms.

    `inode` and `modified`, in nanoseconds, tell it from a later one of the same name. `cuts` says
    of which stretches digests are wanted as well.
    """

    path: str
    size: int
    inode: int
    modified: int
    algorithms: tuple[str, ...]
    cuts: Cuts


class FileSource:
    """A regular file, read up to the size it has when it is opened.

    Raises OSError when the file cannot be opened.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._file = open(path, "rb", buffering=0)  # noqa: SIM115 - closed by close()
        self._opened = os.fstat(self._file.fileno())
        self.size = self._opened.st_size
        self._digest: FileDigest | DistantDigest | None = None
        self._head = b""
        self._length = 0
        self._checked = bytearray()
        self._stretches: Stretches | None = None

    def head(self, size: int = 8 * MEBIBYTE) -> bytes:
        """Return the first bytes, at most `size`."""
        self._file.seek(0)
        self._head = self._file.read(min(size, self.size)) or b""
        return self._head

    def lines(self, length: int, longest: int) -> Iterator[Block]:
        """Iterate over blocks of whole lines with their bytes, about `length` of them.

        What was read for the head is not read again, and the digest is taken of the very bytes
        that the blocks hold. Of a line longer than `longest` bytes only so much is kept that it
        shows as too long. Raises OSError.
        """
        held: list[bytes] = []
        size = offset = 0
        for piece, final in self._pieces(length):
            start = 0
            while start < len(piece):
                is_long = size > longest
                stop = (piece.find if is_long else piece.rfind)(b"\n", start) + 1
                if final and not (is_long and stop):
                    stop = len(piece)
                more = piece[start : stop or None]
                start, size = start + len(more), size + len(more)
                if not is_long:
                    held.append(more)
                if stop:
                    data, ends = b"".join(held), final and start == len(piece)
                    yield Block(
                        self.path, offset, size, self.size, data=data, final=ends, overlong=is_long
                    )
                    offset, size, held = offset + size, 0, []

    def blocks(self, length: int, *, abroad: bool = False) -> Iterator[Block]:
        """Iterate over byte ranges of `length` bytes that cover the file.

        Those that are read `abroad`, on other machines, are told by the file's time as well: some
        network file systems number files anew on each machine.
        """
        inode, modified = self._opened.st_ino, self._opened.st_mtime_ns if abroad else 0
        for offset in range(0, self.size, length):
            size = min(length, self.size - offset)
            yield Block(self.path, offset, size, self.size, inode, modified=modified)

    def start_digest(self, algorithms: Sequence[str]) -> None:
        """Begin a digest of the file, of bytes that are read here."""
        self._digest = FileDigest(self._file, self.size, algorithms)

    def digest_beside(
        self, algorithms: Sequence[str], length: int, blocks: Iterator[Block]
    ) -> Iterator[Block]:
        """Yield blocks of `length` bytes, and digest the file in a thread beside the workers.

        The thread begins behind the first block: with it workers are forked.
        """
        digest = FileDigest(self._file, self.size, algorithms, self._cuts(length))
        self._digest = digest
        for block in blocks:
            yield block
            if not block.offset:
                digest.start()

    def digest_abroad(self, algorithms: Sequence[str], length: int, beside: Beside) -> None:
        """Begin a digest of the file in one task more, which `beside` runs.

        `length` is that of the blocks which workers check.
        """
        status, cuts = self._opened, self._cuts(length)
        numbers = self.size, status.st_ino, status.st_mtime_ns
        whole = Whole(self.path, *numbers, tuple(algorithms), cuts)
        self._digest = DistantDigest(beside(digest_whole, whole), self.path)

    def note_checked(self, digest: bytes) -> None:
        """Take the digest of the lines that a worker read of the next block."""
        self._checked += digest

    def checksums(self) -> dict[str, str]:
        """Wait for the digest and return it, by algorithm. Raises OSError."""
        if self._digest is None:
            return {}
        digests, self._stretches = self._digest.result()
        return digests

    def changed(self) -> str | None:
        """Say what changed since the file was opened, None if nothing did.

        Bytes that were other ones when they were checked than when they were digested are a
        change, whatever the file's times say.
        """
        return describe_change(self.path, self._opened) or self._differing()

    def diagnose(self, declared: str, algorithm: str) -> str | None:
        """Find out in one more pass why the file has not the declared digest, if that can be."""
        return _diagnosis(self.path, self.size, declared, algorithm)

    def close(self) -> None:
        """Stop digesting and close the file."""
        if self._digest is not None:
            self._digest.cancel()
        self._file.close()

    def _pieces(self, length: int) -> Iterator[tuple[bytes, bool]]:
        """Iterate over the bytes, which are digested; say which are the last. Raises OSError."""
        digest = self._digest if isinstance(self._digest, FileDigest) else None
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

    def _cuts(self, length: int) -> Cuts:
        self._length = length
        return Cuts(length, len(self._head))

    def _differing(self) -> str | None:
        """Say where other bytes were checked than digested, None where there are no such."""
        if self._stretches is None:
            return None
        head, blocks = self._stretches
        block = first_difference(blocks, bytes(self._checked))
        if block is None and head == digest_of_head(self._head):
            return None
        place = (block or 0) * self._length
        return f"from byte {place:,} on other bytes were checked than digested"


def read_lines(block: Block, longest: int) -> Lines:
    """Read the lines that start in the range of a block.

    Of a last line longer than `longest` bytes only so much is read that it shows as too long.
    Raises OSError when the file cannot be read or is no longer the one that was opened.
    """
    end = block.offset + block.length
    before = 1 if block.offset else 0
    with open(block.path, "rb", buffering=0) as file:
        _refuse_another(file, block.inode, block.modified)
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


def digest_whole(whole: Whole) -> Digested:
    """Return the digests of a file; the task that takes them elsewhere.

    Raises OSError when the file cannot be read or is no longer the one that was opened.
    """
    with open(whole.path, "rb", buffering=0) as file:
        _refuse_another(file, whole.inode, whole.modified)
        return FileDigest(file, whole.size, whole.algorithms, whole.cuts).result()


def _refuse_another(file: RawIOBase, inode: int, modified: int) -> None:
    """Raise OSError for a file that has another inode and, where one is told, another time."""
    status = os.fstat(file.fileno())
    if status.st_ino != inode and not (modified and status.st_mtime_ns == modified):
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
    """Read on to the end of the line, at most `most` bytes."""
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


def _diagnosis(path: str, size: int, declared: str, algorithm: str) -> str | None:
    """Compare a declared digest with those of what the file may have been before."""
    plain, unix, dos = (RunningDigest([algorithm]) for _ in range(3))

    def matches(digest: RunningDigest, more: bytes = b"") -> bool:
        return digest.with_more(more)[algorithm] == declared

    left, lines, line = size, 0, b""
    with open(path, "rb") as file:
        while left > 0 and (line := file.readline(min(left, DIAGNOSED_LINE_BYTES))):
            left -= len(line)
            ended = line.endswith(b"\n")
            lines += ended
            if left == 0 and ended and matches(plain, line[:-1]):
                return "a final newline was added"
            plain.update(line)
            text = line[:-1].removesuffix(b"\r") if ended else line
            unix.update(text + b"\n" if ended else text)
            dos.update(text + b"\r\n" if ended else text)
            if left > 0 and ended and matches(plain):
                return f"its first {lines:,} lines match, so rows were appended"
    if matches(unix):
        return "its line ends were turned from LF into CR LF"
    if matches(dos):
        return "its line ends were turned from CR LF into LF"
    if not line.endswith(b"\n") and matches(plain, b"\n"):
        return "its final newline is missing"
    return None

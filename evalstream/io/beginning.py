"""The beginning of a file, unpacked, as formats look at it to tell whether it is theirs."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cached_property
from typing import Any, Final

from evalstream.io.compression import Unpacked, compression_of
from evalstream.io.file_names import is_rows_name
from evalstream.io.stream import Rewound
from evalstream.model.block import ByteStream
from evalstream.model.errors import CannotCheck
from evalstream.parsing.json import UTF8_MARK, fast
from evalstream.parsing.peek import LINES, PEEK_BYTES, Peek, peek


class Beginning:
    """The beginning of a file, unpacked, as formats look at it to tell whether it is theirs.

    `name` is that of the file, "" for a stream. `whole` returns all of its bytes, None where
    they cannot be had or are too many to be held.
    """

    def __init__(
        self, name: str, head: bytes, whole: Callable[[], bytes | None] = lambda: None
    ) -> None:
        self.name, self.head = name, head
        self._whole = whole

    @cached_property
    def seen(self) -> Peek:
        """Return what the first bytes show."""
        seen = peek(self.head)
        return seen._replace(kind=LINES) if is_rows_name(self.name) else seen

    @cached_property
    def document(self) -> Any:
        """Return what the fast parser makes of the whole file, None for nothing."""
        text = self._whole()
        try:
            return None if text is None else fast(text.removeprefix(UTF8_MARK))
        except ValueError:
            return None


LARGEST_LOOK: Final = 64 << 20
"""How many bytes of a document are parsed to recognise it by its shape."""


def beginning_of(path: str) -> Beginning:
    """Look at the beginning of a local file, unpacked; empty where it cannot be read.

    A FIFO or a device shows nothing, and is not waited for.
    """
    return Beginning(path, b"".join(_pieces(path, PEEK_BYTES))[:PEEK_BYTES], _whole(path))


def lines_of(path: str) -> Iterator[bytes]:
    """Iterate over the lines of a local file, unpacked. Raises OSError, CannotCheck.

    Of a line of more than LARGEST_LOOK bytes only the beginning is given, as the last one.
    """
    held: list[bytes] = []
    size = 0
    for piece in _unpacked(path, sys.maxsize):
        *lines, rest = piece.split(b"\n")
        if lines:
            yield b"".join([*held, lines[0]])
            yield from lines[1:]
            held, size = [], 0
        held.append(rest)
        size += len(rest)
        if size > LARGEST_LOOK:
            break
    yield b"".join(held)


def _whole(path: str) -> Any:
    def whole() -> bytes | None:
        text = b"".join(_pieces(path, LARGEST_LOOK + 1))
        return text if len(text) <= LARGEST_LOOK else None

    return whole


def _pieces(path: str, most: int) -> Iterator[bytes]:
    """Iterate over the first bytes of a local file, unpacked, as far as it can be read."""
    with suppress(OSError, ValueError, CannotCheck):
        yield from _unpacked(path, most)


def _unpacked(path: str, most: int) -> Iterator[bytes]:
    """Iterate over the first bytes of a local file, unpacked, until there are `most`.

    Raises OSError, CannotCheck, and ValueError for a path that is none.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            yield from _first(_Plain(descriptor), most)
    finally:
        os.close(descriptor)


def _first(reader: ByteStream, most: int) -> Iterator[bytes]:
    start = reader.read()
    packed = compression_of(start)
    reader = Rewound(start, reader)
    if packed is not None:
        reader = Unpacked(reader, packed)
    size = 0
    while size < most and (piece := reader.read()):
        size += len(piece)
        yield piece


class _Plain:
    """The bytes of a regular file, a few at a time."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def read(self) -> bytes:
        return os.read(self._descriptor, PEEK_BYTES)

    def wait(self, _seconds: float) -> bool:
        return True

    def close(self) -> None:
        """Leave the descriptor to who opened it."""

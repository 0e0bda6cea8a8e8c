"""Which format a file is of, by its content: the one detector that all searches share."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Collection, Iterator
from contextlib import suppress
from importlib import import_module
from typing import Any, Final, NamedTuple

from evalstream.engine.harness_logs import log_of
from evalstream.formats import NAMES
from evalstream.formats.eee import row_view
from evalstream.io.compression import Unpacked, compression_of
from evalstream.io.stream import Rewound
from evalstream.model.block import ByteStream
from evalstream.model.errors import CannotCheck
from evalstream.parsing.peek import PEEK_BYTES, Beginning

FOREIGN: Final = "foreign"
"""What stands for the format of a log that a harness wrote."""

_ORDER: Final = ("eee", "infereval", "evalguard", FOREIGN, "harpia")
"""The surest first: HarpIA Lab's members are known by their shape alone."""

LARGEST_LOOK: Final = 64 << 20
"""How many bytes of a document are parsed to recognise it by its shape."""


class Kind(NamedTuple):
    """What a file is: the format, and which of its documents; of a harness's log, what it is."""

    format: str
    document: str


def kind_of(file: Beginning, formats: Collection[str] = NAMES) -> Kind | None:
    """Return what a file shows to be, None where it shows none of the formats."""
    for name in _ORDER:
        if name == FOREIGN:
            log = log_of(file)
            if log is not None:
                return Kind(FOREIGN, f"{log.harness}: {log.what}")
        elif name in formats:
            document = _format(name).recognised(file)
            if document is not None:
                return Kind(name, document)
    return None


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


def _format(name: str) -> Any:
    return (
        row_view if name == row_view.NAME else import_module(f"evalstream.formats.{name}.documents")
    )

"""Unpack a member of an archive in pieces of bounded size."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from evalstream.formats.inspect.documents import EXTRA
from evalstream.io.codecs import COMPRESSIONS, Codec
from evalstream.model.block import MEBIBYTE, ByteStream
from evalstream.model.errors import CannotCheck, MissingExtra
from evalstream.model.extras import install_command

STORED: Final = 0
DEFLATED: Final = 8
ZSTANDARD: Final = 93
METHODS: Final = (STORED, DEFLATED, ZSTANDARD)
"""The methods that releases of inspect_ai write, as zip archives number them."""


class DamagedMember(CannotCheck):
    """A member of an archive whose bytes are not those that the archive declares."""


def unpack(descriptor: int, start: int, packed: int, method: int) -> Iterator[bytes]:
    """Iterate over the unpacked bytes of a member, given where its packed bytes lie.

    Raises Damaged after all bytes before the damage, MissingExtra, and OSError.
    """
    reader = _Range(descriptor, start, packed)
    if method == STORED:
        yield from iter(reader.read, b"")
    elif method == DEFLATED:
        yield from _inflate(reader)
    else:
        yield from _from_zstandard(reader)


class _Range(ByteStream):
    """The bytes of a range of a file, in pieces."""

    def __init__(self, descriptor: int, start: int, length: int) -> None:
        self._descriptor, self._place, self._stop = descriptor, start, start + length

    def read(self) -> bytes:
        data = os.pread(self._descriptor, min(MEBIBYTE, self._stop - self._place), self._place)
        self._place += len(data)
        return data

    def wait(self, _seconds: float) -> bool:
        return True

    def close(self) -> None:
        """Leave the descriptor open; the caller closes it."""


def _inflate(reader: _Range) -> Iterator[bytes]:
    library = zlib.decompressobj(-zlib.MAX_WBITS)
    try:
        while data := reader.read():
            while data and not library.eof:
                yield library.decompress(data, MEBIBYTE)
                data = library.unconsumed_tail
            if library.unused_data or (data and library.eof):
                raise DamagedMember("has bytes behind its packed content")
        while not library.eof and (rest := library.decompress(b"", MEBIBYTE)):
            yield rest
    except zlib.error as error:
        raise DamagedMember(f"cannot be unpacked: {error}") from error
    if not library.eof:
        raise DamagedMember("cannot be unpacked: it is cut off")


def _from_zstandard(reader: _Range) -> Iterator[bytes]:
    codec = _zstandard()
    library = codec.begin(b"")
    try:
        while data := reader.read():
            pending: bytes | None = data
            while pending is not None:
                # A member may consist of several frames, one behind another.
                library = codec.begin(b"") if library.eof else library
                yield library.decompress(pending, MEBIBYTE)
                pending = b""
                if library.eof:
                    pending = library.unused_data or None
                elif library.needs_input:
                    pending = None
    except codec.errors as error:
        raise DamagedMember(f"cannot be unpacked: {error}") from error
    if not library.eof:
        raise DamagedMember("cannot be unpacked: it is cut off")


@lru_cache(maxsize=1)
def _zstandard() -> Codec:
    """Return the codec of zstandard. Raises MissingExtra if it is not installed.

    It is kept, since the search for its library takes longer than unpacking a sample.
    """
    try:
        return COMPRESSIONS["zstandard"].load()
    except MissingExtra as error:
        message = "its members are packed with zstandard, which is not installed; install it with: "
        raise MissingExtra(f"{message}{install_command(EXTRA)}") from error

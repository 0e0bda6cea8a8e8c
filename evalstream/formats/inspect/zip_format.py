"""The parts of a zip archive beside its directory: its end, and members in bounded pieces."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import lru_cache
from struct import Struct
from typing import Final

from evalstream.formats.inspect.format import EXTRA
from evalstream.io.codecs import COMPRESSIONS, Codec, Decompressor, deflate
from evalstream.model.block import MEBIBYTE
from evalstream.model.data_class import NamedTuple
from evalstream.model.errors import CannotCheck, MissingExtra, install_command
from evalstream.model.text import count_noun

STORED: Final = 0
DEFLATED: Final = 8
ZSTANDARD: Final = 93
METHODS: Final = (STORED, DEFLATED, ZSTANDARD)
"""The methods that releases of inspect_ai write, as zip archives number them."""


class DamagedMember(CannotCheck):
    """A member of an archive whose bytes are not those that the archive declares."""


def unpack(descriptor: int, start: int, packed: int, method: int) -> Iterator[bytes]:
    """Iterate over the unpacked bytes of a member, given where its packed bytes lie.

    Raises DamagedMember after all bytes before the damage, MissingExtra, and OSError.
    """
    pieces = _read_range(descriptor, start, packed)
    if method == STORED:
        return pieces
    return _decompress(pieces, _DEFLATE if method == DEFLATED else _zstandard())


def _read_range(descriptor: int, start: int, length: int) -> Iterator[bytes]:
    """Iterate over the bytes of a range of a file, in pieces."""
    stop = start + length
    while start < stop and (data := os.pread(descriptor, min(MEBIBYTE, stop - start), start)):
        yield data
        start += len(data)


def _decompress(pieces: Iterator[bytes], codec: Codec) -> Iterator[bytes]:
    library = codec.begin(b"")
    try:
        for data in pieces:
            pending: bytes | None = data
            while pending is not None:
                if library.eof:
                    library = _next_frame(codec)
                yield library.decompress(pending, MEBIBYTE)
                if library.eof:
                    pending = library.unused_data or None
                else:
                    pending = None if library.needs_input else b""
    except codec.errors as error:
        raise DamagedMember(f"cannot be unpacked: {error}") from error
    if not library.eof:
        raise DamagedMember("cannot be unpacked: it is cut off")


def _next_frame(codec: Codec) -> Decompressor:
    """Begin the next frame of zstandard; what is deflated ends with its only stream."""
    if codec is _DEFLATE:
        raise DamagedMember("has bytes behind its packed content")
    return codec.begin(b"")


_DEFLATE: Final = deflate()


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


_END: Final = Struct("<4sHHHHIIH")
_END_SIGN: Final = b"PK\x05\x06"
_LOCATOR: Final = Struct("<4sIQI")
_LOCATOR_SIGN: Final = b"PK\x06\x07"
_WIDE: Final = Struct("<4sQHHIIQQQQ")
_WIDE_SIGN: Final = b"PK\x06\x06"
_MOST_COMMENT: Final = 0xFFFF


class ArchiveEnd(NamedTuple):
    """Where the central directory lies, in bytes of the file, and how many entries it declares.

    `shift` is the number of bytes before the archive, by which all its offsets are wrong.
    """

    directory: int
    size: int
    entries: int
    shift: int


def find_end(
    descriptor: int, size: int, damage: Callable[[str, str | None], None]
) -> ArchiveEnd | None:
    """Return the end of an archive, or None if it has none; report its defects."""
    tail_size = min(size, _END.size + _MOST_COMMENT)
    tail = os.pread(descriptor, tail_size, size - tail_size)
    place = _find_record(tail)
    if place is None:
        reason = "the end of the archive is missing: the file is cut off or not a zip archive"
        damage(reason, None)
        return None
    _, disk, first, _, entries, length, start, comment = _END.unpack_from(tail, place)
    position = size - tail_size + place
    behind = len(tail) - place - _END.size
    if behind != comment:
        more = count_noun(behind - comment, "byte")
        damage(f"the archive ends {more} before the file", None)
    elif comment:
        more = count_noun(comment, "byte")
        damage(f"the archive has a comment of {more}, which no log has", None)
    if disk or first:
        damage("the archive is one of several parts", None)
    wide = _wide_end(descriptor, position)
    if wide is not None:
        position, entries, length, start = wide
    shift = position - length - start
    if shift < 0:
        damage("the directory is not where the end of the archive says", None)
        return None
    if shift:
        more = count_noun(shift, "byte")
        damage(f"the archive or its directory begins {more} too late", None)
    return ArchiveEnd(start + shift, length, entries, shift)


def _find_record(tail: bytes) -> int | None:
    """Return where the end record begins; the last one that the file can hold whole."""
    place = tail.rfind(_END_SIGN)
    while place >= 0:
        if place + _END.size <= len(tail):
            comment = _END.unpack_from(tail, place)[-1]
            if place + _END.size + comment <= len(tail):
                return place
        place = tail.rfind(_END_SIGN, 0, place)
    return None


def _wide_end(descriptor: int, position: int) -> tuple[int, int, int, int] | None:
    """Return the ZIP64 end record: its position, and entries, size and start of the directory."""
    before = os.pread(descriptor, _LOCATOR.size, max(0, position - _LOCATOR.size))
    if len(before) < _LOCATOR.size or not before.startswith(_LOCATOR_SIGN):
        return None
    # The record lies before its locator; a wrong offset in the locator is that of bytes before.
    for place in (_LOCATOR.unpack(before)[2], position - _LOCATOR.size - _WIDE.size):
        found = os.pread(descriptor, _WIDE.size, place) if 0 <= place < position else b""
        if len(found) == _WIDE.size and found.startswith(_WIDE_SIGN):
            fields = _WIDE.unpack(found)
            return place, fields[7], fields[8], fields[9]
    return None

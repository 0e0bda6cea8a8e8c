"""Find the end of a zip archive, which says where its central directory lies."""

from __future__ import annotations

import os
from collections.abc import Callable
from struct import Struct
from typing import Final, NamedTuple

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
        damage("the end of the archive is missing: the file is cut off or not a zip archive", None)
        return None
    _, disk, first, _, entries, length, start, comment = _END.unpack_from(tail, place)
    position = size - tail_size + place
    behind = len(tail) - place - _END.size
    if behind != comment:
        damage(f"{behind - comment:,} bytes follow the archive", None)
    elif comment:
        damage(f"the archive has a comment of {comment:,} bytes, which no log has", None)
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
        damage(f"{shift:,} bytes precede the archive or its directory", None)
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

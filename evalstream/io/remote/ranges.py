"""Parts of objects as HTTP sends them: the one that was asked for, and every byte of it."""

import re
from collections.abc import Awaitable, Callable
from typing import Final

from evalstream.io.remote import limits
from evalstream.io.remote.errors import CHANGED, Reason, StoreError

_CONTENT_RANGE: Final = re.compile(r"bytes (?:(\d+)-(\d+)|\*)/(\d+|\*)")


def check_range(told: str | None, start: int, end: int, size: int | None) -> None:
    """Check that a server sends the part that it was asked for, of an object of that size."""
    match = _CONTENT_RANGE.fullmatch(told or "")
    if match is None:
        raise StoreError(Reason("the server did not send the part that was asked for"))
    first, last, total = match.groups()
    if total not in {"*", str(size)}:
        raise StoreError(CHANGED)
    if (first, last) != (str(start), str(end - 1)):
        raise StoreError(Reason("the server sent another part than was asked for"))


def total_of(told: str) -> str:
    """Return the size of the whole object as a range tells it, which may be `*` or nothing."""
    match = _CONTENT_RANGE.fullmatch(told)
    return match[3] if match is not None else ""


async def drained(read: Callable[[int], Awaitable[bytes]], size: int) -> bytes:
    """Read a body that should have so many bytes, and not much more than them."""
    pieces: list[bytes] = []
    left = size
    while left >= 0 and (piece := await read(min(left + 1, limits.PIECE_BYTES))):
        pieces.append(piece)
        left -= len(piece)
    return whole(b"".join(pieces), size)


def whole(data: bytes, size: int) -> bytes:
    """Return a block if it has so many bytes."""
    if len(data) != size:
        raise StoreError(Reason(f"a block of {size:,} bytes came back with {len(data):,}"))
    return data

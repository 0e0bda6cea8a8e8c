"""HTTP range requests: the response must be the requested range, complete."""

import re
from collections.abc import Awaitable, Callable
from typing import Final

from evalstream.io.remote import limits
from evalstream.io.remote.errors import CHANGED, FailureReason, StoreError

_CONTENT_RANGE: Final = re.compile(r"bytes (?:(\d+)-(\d+)|\*)/(\d+|\*)")


def check_range(reported: str | None, start: int, end: int, size: int | None) -> None:
    """Check that a response is the requested range of an object of this size."""
    match = _CONTENT_RANGE.fullmatch(reported or "")
    if match is None:
        raise StoreError(FailureReason("the server did not send the requested range"))
    first, last, total = match.groups()
    if total not in {"*", str(size)}:
        raise StoreError(CHANGED)
    if (first, last) != (str(start), str(end - 1)):
        raise StoreError(FailureReason("the server sent another range than the requested one"))


def read_total(reported: str) -> str:
    """Return the size of the whole object from a range header; it may be `*` or empty."""
    match = _CONTENT_RANGE.fullmatch(reported)
    return match[3] if match is not None else ""


async def read_range(read: Callable[[int], Awaitable[bytes]], size: int) -> bytes:
    """Read a body that should have `size` bytes, and at most one byte more."""
    pieces: list[bytes] = []
    left = size
    while left >= 0 and (piece := await read(min(left + 1, limits.PIECE_BYTES))):
        pieces.append(piece)
        left -= len(piece)
    return check_length(b"".join(pieces), size)


def check_length(data: bytes, size: int) -> bytes:
    """Return a block if it has `size` bytes. Raises StoreError."""
    if len(data) != size:
        raise StoreError(
            FailureReason(f"the server sent {len(data):,} of the {size:,} bytes of a block")
        )
    return data

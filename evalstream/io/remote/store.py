"""The interface of all stores, the properties of their objects, and checks of byte ranges."""

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, NamedTuple, Protocol

from evalstream.io.remote import limits
from evalstream.io.remote.errors import CHANGED, FailureReason, StoreError

ETAG: Final = "ETag"
GENERATION: Final = "generation"
MODIFIED: Final = "modification time"


class ObjectInfo(NamedTuple):
    """The properties of an object: its size, whether it supports ranges, and its version marks.

    Version marks distinguish it from another object under the same URL.
    """

    size: int | None
    ranged: bool
    marks: Mapping[str, str]


class Listed(NamedTuple):
    """An object by its path below the listed prefix.

    `size` is in bytes, and `mark` differs from that of another object under the same name: the
    ETag, else the generation, else the modification time. Both are None where the store does not
    report them.
    """

    path: str
    size: int | None = None
    mark: str | None = None


class ObjectStream(Protocol):
    """An object that is read from its first byte."""

    def read(self) -> bytes:
        """Return the next bytes, empty at the end."""

    def close(self) -> None:
        """Close the connection or the file."""


class Store(Protocol):
    """Access to an object in one kind of store; `pins`: each block is checked for the version.

    An `is_immutable` one cannot change, as at a commit.

    All methods raise StoreError or exceptions of their libraries.
    """

    pins: bool
    is_immutable: bool

    def get_info(self) -> ObjectInfo:
        """Request the properties of the object."""

    def fetch(self, start: int, end: int, opened: ObjectInfo, /) -> bytes:
        """Return the bytes from `start` to before `end` of the opened object."""

    def stream(self, opened: ObjectInfo) -> ObjectStream:
        """Begin to read the opened object from its first byte."""

    def close(self) -> None:
        """Release what `get_info` left open for `stream`, if that was not called."""


def version_marks(reported: Mapping[str, Any]) -> dict[str, str]:
    """Return the version marks among the properties that a store reports."""
    marks: dict[str, str] = {}
    for key, mark in _MARKS.items():
        if reported.get(key):
            marks.setdefault(mark, str(reported[key]))
    return marks


def check_marks(now: Mapping[str, str], opened: Mapping[str, str]) -> None:
    """Raise StoreError where a response belongs to another version than the opened one."""
    mark = next((mark for mark in (ETAG, MODIFIED) if mark in now and mark in opened), None)
    if mark is not None and _differs(mark, now, opened):
        raise StoreError(CHANGED)


def difference(before: ObjectInfo, now: ObjectInfo) -> str | None:
    """Describe the difference between two states of an object, or return None."""
    if None not in (before.size, now.size) and before.size != now.size:
        return f"{before.size:,} bytes when it was opened, {now.size:,} at the end"
    for mark in before.marks:
        if mark in now.marks and _differs(mark, before.marks, now.marks):
            return f"its {mark} changed since it was opened"
    return None


def _differs(mark: str, now: Mapping[str, str], before: Mapping[str, str]) -> bool:
    # A server that compresses the response marks the same ETag as weak.
    return now[mark].removeprefix("W/") != before[mark].removeprefix("W/")


_MARKS: Final = {
    "ETag": ETAG,
    "etag": ETAG,
    "blob_id": ETAG,
    "generation": GENERATION,
    "Last-Modified": MODIFIED,
    "LastModified": MODIFIED,
    "last_modified": MODIFIED,
    "updated": MODIFIED,
    "mtime": MODIFIED,
    "created": MODIFIED,
}
"""The names of version marks in the stores; of several for one mark the first counts."""


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

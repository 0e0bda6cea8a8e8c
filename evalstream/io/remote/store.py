"""The interface of all stores, and the properties of their objects."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple, Protocol

from evalstream.io.remote.errors import CHANGED, StoreError

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

"""What every kind of store says of an object and does for its readers."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple, Protocol

from evalstream.io.remote.errors import CHANGED, StoreError

ETAG: Final = "ETag"
GENERATION: Final = "generation"
MODIFIED: Final = "modification time"


class Facts(NamedTuple):
    """What a server says of an object: its bytes, whether it gives parts, and its marks.

    Marks are what tells it from another object under the same URL.
    """

    size: int | None
    ranged: bool
    marks: Mapping[str, str]


class Stream(Protocol):
    """An object that is read from its first byte on."""

    def read(self) -> bytes:
        """Return what comes next, nothing at the end."""

    def close(self) -> None:
        """End the connection or close the file."""


class Store(Protocol):
    """How an object is had from one kind of store; it `pins` where each block is told apart.

    All raise Fault or what their libraries raise.
    """

    pins: bool

    def look(self) -> Facts:
        """Ask what the server says of the object."""

    def fetch(self, start: int, end: int, opened: Facts) -> bytes:
        """Return the bytes from one offset to before another, of the opened object."""

    def stream(self, opened: Facts) -> Stream:
        """Begin to read the opened object from its first byte on."""


def marks_among(told: Mapping[str, Any]) -> dict[str, str]:
    """Return the marks among what a store tells."""
    marks: dict[str, str] = {}
    for key, mark in _MARKS.items():
        if told.get(key):
            marks.setdefault(mark, str(told[key]))
    return marks


def check_marks(now: Mapping[str, str], opened: Mapping[str, str]) -> None:
    """Check that bytes are of the object that was opened, as far as a server tells."""
    mark = next((mark for mark in (ETAG, MODIFIED) if mark in now and mark in opened), None)
    if mark is not None and _differs(mark, now, opened):
        raise StoreError(CHANGED)


def difference(before: Facts, now: Facts) -> str | None:
    """Say what differs between two looks at an object."""
    if None not in (before.size, now.size) and before.size != now.size:
        return f"{before.size:,} bytes when it was opened, {now.size:,} at the end"
    for mark in before.marks:
        if mark in now.marks and _differs(mark, before.marks, now.marks):
            return f"its {mark} is another than when it was opened"
    return None


def _differs(mark: str, some: Mapping[str, str], other: Mapping[str, str]) -> bool:
    # A server that packs what it sends calls the same ETag weak.
    return some[mark].removeprefix("W/") != other[mark].removeprefix("W/")


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
"""What the stores call their marks; of several for one thing the first counts."""

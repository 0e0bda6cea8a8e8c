"""The interface of all stores, checks of byte ranges, and the stores that fsspec opens."""

import re
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from importlib import import_module
from typing import Any, Final, Protocol, TypeVar

from evalstream.io.remote import retry
from evalstream.io.remote.retry import (
    CHANGED,
    FOLDER,
    BackgroundCall,
    FailureReason,
    StoreError,
    with_timeout,
)
from evalstream.model.data_class import NamedTuple

ETAG: Final = "ETag"
GENERATION: Final = "generation"
MODIFIED: Final = "modification time"


class ObjectInfo(NamedTuple):
    """The properties of an object: its size, whether it supports ranges, and its version marks.

    Version marks distinguish it from another object under the same URL. A server may send a page
    of HTML for each name that it does not have.
    """

    size: int | None
    ranged: bool
    marks: Mapping[str, str]
    is_page: bool = False


class Listed(NamedTuple):
    """An object by its path below the listed prefix.

    `size` is in bytes, and `mark` differs from that of another object under the same name: the
    ETag, or the generation, and after a space the modification time. Both are None where the store
    does not report them.
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

    pins: bool = False
    is_immutable: bool = False

    def get_info(self) -> ObjectInfo:
        """Request the properties of the object."""

    def fetch(self, start: int, end: int, opened: ObjectInfo, /) -> bytes:
        """Return the bytes from `start` to before `end` of the opened object."""

    def stream(self, opened: ObjectInfo) -> ObjectStream:
        """Begin to read the opened object from its first byte."""

    def close(self) -> None:
        """Release what `get_info` left open for `stream`, if that was not called."""
        return  # mypy takes a method without a body for an abstract one


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
    while left >= 0 and (piece := await read(min(left + 1, retry.PIECE_BYTES))):
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


_Returned = TypeVar("_Returned")


def open_filesystem(url: str, **options: Any) -> tuple[Any, str]:
    """Return the fsspec file system of a URL, and the path in it."""
    found: tuple[Any, str] = import_module("fsspec.core").url_to_fs(
        url, use_listings_cache=False, **options
    )
    return found


def fsspec_settings(scheme: str, option: str) -> dict[str, Any]:
    """Return the user's fsspec settings of an option, which our own value would replace."""
    return dict(import_module("fsspec.config").conf.get(scheme, {}).get(option, {}))


def run_on(
    loop: Any,
    function: Callable[..., Awaitable[_Returned]],
    *arguments: Any,
    seconds: float | None = None,
) -> _Returned:
    """Run a coroutine on the event loop of fsspec, with a timeout."""
    returned: _Returned = import_module("fsspec.asyn").sync(
        loop, function, *arguments, timeout=seconds or retry.BLOCK_SECONDS
    )
    return returned


def object_info(found: Mapping[str, Any]) -> ObjectInfo:
    """Return the properties of an object from the answer of a file system."""
    if found.get("type") == "directory":
        raise StoreError(FOLDER)
    size = found.get("size")
    return ObjectInfo(size, size is not None, version_marks(found))


class AnyObject(Store):
    """An object in a store of any kind."""

    def __init__(self, url: str, _scheme: str) -> None:
        self._files, self._path = open_filesystem(url)
        self._options: dict[str, Any] = {}
        if not self._files.async_impl:
            self._options["cache_type"] = "none"

    def get_info(self) -> ObjectInfo:
        """Request the properties of the object."""
        self._files.invalidate_cache()
        request = partial(self._files.info, self._path)
        return object_info(with_timeout(request, retry.INFO_SECONDS))

    def fetch(self, start: int, end: int, opened: ObjectInfo) -> bytes:
        """Request a byte range, of the opened generation where the store has generations."""
        options = dict(self._options)
        known = self._files.protocol
        is_google = "gs" in ((known,) if isinstance(known, str) else known)
        if is_google and GENERATION in opened.marks:
            options[GENERATION] = opened.marks[GENERATION]
        data = with_timeout(partial(self._files.cat_file, self._path, start, end, **options))
        return check_length(data, end - start)

    def stream(self, opened: ObjectInfo) -> ObjectStream:
        """Open the object as a file."""
        del opened
        return _FileStream(with_timeout(partial(self._files.open, self._path, "rb")))


class _FileStream:
    """A file of fsspec, read from its first byte."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def read(self) -> bytes:
        """Return the next bytes."""
        piece: bytes = with_timeout(partial(self._file.read, retry.PIECE_BYTES))
        return piece

    def close(self) -> None:
        """Close the file, in the background because it may stall."""
        BackgroundCall(self._file.close)


class S3Object(Store):
    """An object in S3, or in a store with the same protocol."""

    pins = True

    def __init__(self, url: str, scheme: str) -> None:
        self._files, self._path = open_s3(url, scheme)
        bucket, key, version = self._files.split_path(self._path)
        self._names = {"Bucket": bucket, "Key": key}
        if version:
            self._names["VersionId"] = version

    def get_info(self) -> ObjectInfo:
        """Request the head of the object."""
        found = self._files.info(self._path, refresh=True, timeout=retry.INFO_SECONDS)
        return object_info(found)

    def fetch(self, start: int, end: int, opened: ObjectInfo) -> bytes:
        """Request a range, by ETag: readers may lack the permission to name a version."""
        request = {**self._names, "Range": f"bytes={start}-{end - 1}"}
        if ETAG in opened.marks:
            request["IfMatch"] = opened.marks[ETAG]
        answer = self._files.call_s3("get_object", timeout=retry.BLOCK_SECONDS, **request)
        return run_on(self._files.loop, _read_part, answer, start, end, opened)

    def stream(self, opened: ObjectInfo) -> ObjectStream:
        """Raise StoreError: range requests are part of the protocol."""
        del opened
        raise StoreError(
            FailureReason("the server does not report the size of the object", permanent=True)
        )


def open_s3(url: str, scheme: str) -> tuple[Any, str]:
    """Return the fsspec file system of a URL, and the path in it."""
    # Attempts are counted in one place, not in three layers of libraries.
    config = {
        "connect_timeout": retry.STALL_SECONDS,
        "read_timeout": retry.STALL_SECONDS,
        "retries": {"total_max_attempts": 1},
    }
    kind: Any = import_module("fsspec").get_filesystem_class(scheme)
    # A URL would be cut at each `::`, which is part of a key here.
    files = kind(
        use_listings_cache=False,
        config_kwargs=config | fsspec_settings(scheme, "config_kwargs"),
        **kind._get_kwargs_from_urls(url),  # noqa: SLF001 - the version that a URL names
    )
    files.retries = 1
    return files, kind._strip_protocol(url)  # noqa: SLF001 - as fsspec does with URLs


async def _read_part(answer: Any, start: int, end: int, opened: ObjectInfo) -> bytes:
    try:
        check_marks(version_marks(answer), opened.marks)
        check_range(answer.get("ContentRange"), start, end, opened.size)
        return await read_range(answer["Body"].read, end - start)
    finally:
        answer["Body"].close()

"""Access to fsspec, imported when the first URL is opened, and to S3 and its likes through it."""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from importlib import import_module
from typing import Any, TypeVar

from evalstream.io.remote import limits, store
from evalstream.io.remote.errors import FOLDER, FailureReason, StoreError
from evalstream.io.remote.retry import BackgroundCall, with_timeout

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
        loop, function, *arguments, timeout=seconds or limits.BLOCK_SECONDS
    )
    return returned


def object_info(found: Mapping[str, Any]) -> store.ObjectInfo:
    """Return the properties of an object from the answer of a file system."""
    if found.get("type") == "directory":
        raise StoreError(FOLDER)
    size = found.get("size")
    return store.ObjectInfo(size, size is not None, store.version_marks(found))


class AnyObject:
    """An object in a store of any kind."""

    pins = False
    is_immutable = False

    def __init__(self, url: str, _scheme: str) -> None:
        self._files, self._path = open_filesystem(url)
        self._options: dict[str, Any] = {}
        if not self._files.async_impl:
            self._options["cache_type"] = "none"

    def get_info(self) -> store.ObjectInfo:
        """Request the properties of the object."""
        self._files.invalidate_cache()
        request = partial(self._files.info, self._path)
        return object_info(with_timeout(request, limits.INFO_SECONDS))

    def close(self) -> None:
        """Do nothing: no request is left open."""

    def fetch(self, start: int, end: int, opened: store.ObjectInfo) -> bytes:
        """Request a byte range, of the opened generation where the store has generations."""
        options = dict(self._options)
        if self._speaks("gs") and store.GENERATION in opened.marks:
            options[store.GENERATION] = opened.marks[store.GENERATION]
        data = with_timeout(partial(self._files.cat_file, self._path, start, end, **options))
        return store.check_length(data, end - start)

    def stream(self, opened: store.ObjectInfo) -> store.ObjectStream:
        """Open the object as a file."""
        del opened
        return _FileStream(with_timeout(partial(self._files.open, self._path, "rb")))

    def _speaks(self, protocol: str) -> bool:
        known = self._files.protocol
        return protocol in ((known,) if isinstance(known, str) else known)


class _FileStream:
    """A file of fsspec, read from its first byte."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def read(self) -> bytes:
        """Return the next bytes."""
        piece: bytes = with_timeout(partial(self._file.read, limits.PIECE_BYTES))
        return piece

    def close(self) -> None:
        """Close the file, in the background because it may stall."""
        BackgroundCall(self._file.close)


class S3Object:
    """An object in S3, or in a store with the same protocol."""

    pins = True
    is_immutable = False

    def __init__(self, url: str, scheme: str) -> None:
        self._files, self._path = open_s3(url, scheme)
        bucket, key, version = self._files.split_path(self._path)
        self._names = {"Bucket": bucket, "Key": key}
        if version:
            self._names["VersionId"] = version

    def get_info(self) -> store.ObjectInfo:
        """Request the head of the object."""
        found = self._files.info(self._path, refresh=True, timeout=limits.INFO_SECONDS)
        return object_info(found)

    def close(self) -> None:
        """Do nothing: no request is left open."""

    def fetch(self, start: int, end: int, opened: store.ObjectInfo) -> bytes:
        """Request a byte range, only of the opened object.

        The condition is its ETag, because requesting a version needs a permission that readers may
        lack.
        """
        request = {**self._names, "Range": f"bytes={start}-{end - 1}"}
        if store.ETAG in opened.marks:
            request["IfMatch"] = opened.marks[store.ETAG]
        answer = self._files.call_s3("get_object", timeout=limits.BLOCK_SECONDS, **request)
        return run_on(self._files.loop, _read_part, answer, start, end, opened)

    def stream(self, opened: store.ObjectInfo) -> store.ObjectStream:
        """Raise StoreError: range requests are part of the protocol."""
        del opened
        raise StoreError(
            FailureReason("the server does not report the size of the object", permanent=True)
        )


def open_s3(url: str, scheme: str) -> tuple[Any, str]:
    """Return the fsspec file system of a URL, and the path in it."""
    # Attempts are counted in one place, not in three layers of libraries.
    config = {
        "connect_timeout": limits.STALL_SECONDS,
        "read_timeout": limits.STALL_SECONDS,
        "retries": {"total_max_attempts": 1},
    }
    files, path = open_filesystem(
        url, config_kwargs=config | fsspec_settings(scheme, "config_kwargs")
    )
    files.retries = 1
    return files, path


async def _read_part(answer: Any, start: int, end: int, opened: store.ObjectInfo) -> bytes:
    try:
        store.check_marks(store.version_marks(answer), opened.marks)
        store.check_range(answer.get("ContentRange"), start, end, opened.size)
        return await store.read_range(answer["Body"].read, end - start)
    finally:
        answer["Body"].close()

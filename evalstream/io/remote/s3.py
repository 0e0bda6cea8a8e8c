"""Objects in S3, and in stores with the same protocol."""

from typing import Any

from evalstream.io.remote import limits
from evalstream.io.remote.errors import FailureReason, StoreError
from evalstream.io.remote.filesystem import fsspec_settings, object_info, open_filesystem, run_on
from evalstream.io.remote.store import (
    ETAG,
    ObjectInfo,
    ObjectStream,
    check_marks,
    check_range,
    read_range,
    version_marks,
)


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

    def get_info(self) -> ObjectInfo:
        """Request the head of the object."""
        found = self._files.info(self._path, refresh=True, timeout=limits.INFO_SECONDS)
        return object_info(found)

    def close(self) -> None:
        """Do nothing: no request is left open."""

    def fetch(self, start: int, end: int, opened: ObjectInfo) -> bytes:
        """Request a byte range, only of the opened object.

        The condition is its ETag, because requesting a version needs a permission that readers may
        lack.
        """
        request = {**self._names, "Range": f"bytes={start}-{end - 1}"}
        if ETAG in opened.marks:
            request["IfMatch"] = opened.marks[ETAG]
        answer = self._files.call_s3("get_object", timeout=limits.BLOCK_SECONDS, **request)
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
        "connect_timeout": limits.STALL_SECONDS,
        "read_timeout": limits.STALL_SECONDS,
        "retries": {"total_max_attempts": 1},
    }
    files, path = open_filesystem(
        url, config_kwargs=config | fsspec_settings(scheme, "config_kwargs")
    )
    files.retries = 1
    return files, path


async def _read_part(answer: Any, start: int, end: int, opened: ObjectInfo) -> bytes:
    try:
        check_marks(version_marks(answer), opened.marks)
        check_range(answer.get("ContentRange"), start, end, opened.size)
        return await read_range(answer["Body"].read, end - start)
    finally:
        answer["Body"].close()

"""Objects in S3, and in stores that speak as S3 does."""

from typing import Any

from evalstream.io.remote import limits
from evalstream.io.remote.errors import Reason, StoreError
from evalstream.io.remote.filesystem import configured, facts_of, located, run_on
from evalstream.io.remote.ranges import check_range, drained
from evalstream.io.remote.store import ETAG, Facts, Stream, check_marks, marks_among


class S3Object:
    """An object in S3, or in a store that speaks as S3 does."""

    pins = True

    def __init__(self, url: str, scheme: str) -> None:
        self._files, self._path = files_of(url, scheme)
        bucket, key, version = self._files.split_path(self._path)
        self._names = {"Bucket": bucket, "Key": key}
        if version:
            self._names["VersionId"] = version

    def look(self) -> Facts:
        """Ask for the head of the object."""
        found = self._files.info(self._path, refresh=True, timeout=limits.BLOCK_SECONDS)
        return facts_of(found)

    def fetch(self, start: int, end: int, opened: Facts) -> bytes:
        """Ask for a part, only of the object that was opened.

        By its ETag: who asks for a version needs a right that not everybody has who may read.
        """
        asked = {**self._names, "Range": f"bytes={start}-{end - 1}"}
        if ETAG in opened.marks:
            asked["IfMatch"] = opened.marks[ETAG]
        answer = self._files.call_s3("get_object", timeout=limits.BLOCK_SECONDS, **asked)
        return run_on(self._files.loop, _part_of, answer, start, end, opened)

    def stream(self, opened: Facts) -> Stream:
        """Refuse: parts are part of the protocol."""
        del opened
        raise StoreError(Reason("the server does not say how large it is", lasting=True))


def files_of(url: str, scheme: str) -> tuple[Any, str]:
    """Return the file system of a URL, and the path in it."""
    # Tries are counted in one place, not by three layers of libraries on top of each other.
    config = {
        "connect_timeout": limits.STALL_SECONDS,
        "read_timeout": limits.STALL_SECONDS,
        "retries": {"total_max_attempts": 1},
    }
    files, path = located(url, config_kwargs=config | configured(scheme, "config_kwargs"))
    files.retries = 1
    return files, path


async def _part_of(answer: Any, start: int, end: int, opened: Facts) -> bytes:
    try:
        check_marks(marks_among(answer), opened.marks)
        check_range(answer.get("ContentRange"), start, end, opened.size)
        return await drained(answer["Body"].read, end - start)
    finally:
        answer["Body"].close()

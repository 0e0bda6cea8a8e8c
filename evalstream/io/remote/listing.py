"""Objects of stores, listed in pages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from threading import Event
from typing import Any, Final

from evalstream.io.names import HUB, S3, WEB, redact_url
from evalstream.io.remote import retry
from evalstream.io.remote.reader import open_url
from evalstream.io.remote.retry import FailureReason, StoreError, with_retries, with_timeout
from evalstream.io.remote.store import (
    ETAG,
    GENERATION,
    MODIFIED,
    Listed,
    open_filesystem,
    open_s3,
    version_marks,
)
from evalstream.model.signals import STOPPING

_NO_LISTS: Final = FailureReason("a web server cannot list its files", permanent=True)
_NO_LIST: Final = FailureReason("the server did not send a list of objects")
_NO_NEXT: Final = FailureReason(
    "the server did not send the token of the next page", permanent=True
)
_NUL: Final = FailureReason("the name of an object contains a NUL character", permanent=True)


def list_objects(prefix: str) -> Iterator[list[Listed]]:
    """List the objects below `prefix`, in any order, without hidden names.

    S3 is listed in pages of at most 1,000 objects, so memory does not grow with their number; other
    stores are listed folder by folder. Raises OSError where a page cannot be read, and MissingExtra
    where a library for the store is not installed.
    """
    pages: Iterator[list[Listed]] = open_url(as_prefix(prefix), _iterate_pages)
    while True:
        with STOPPING.interruptible():
            page = next(pages, None)
        if page is None:
            return
        if any("\0" in entry.path for entry in page):
            raise _NUL.error()
        yield [entry for entry in page if not _is_hidden(entry.path)]


def as_prefix(url: str) -> str:
    """Return a URL with exactly one slash at its end."""
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.rstrip('/')}/"


def _iterate_pages(url: str, scheme: str) -> Iterator[list[Listed]]:
    if scheme in WEB:
        raise StoreError(_NO_LISTS)
    if scheme == HUB:
        from evalstream.io.remote.hub import hub_pages

        return hub_pages(url)
    if scheme in S3:
        files, path = open_s3(url, scheme)
        bucket, key, _ = files.split_path(path)
        return _s3_pages(files, bucket, f"{key.rstrip('/')}/" if key.strip("/") else "")
    return _folder_pages(*open_filesystem(url), redact_url(url))


def _s3_pages(files: Any, bucket: str, prefix: str) -> Iterator[list[Listed]]:
    request, shown = {"Bucket": bucket, "Prefix": prefix}, f"s3://{bucket}/{prefix}"
    while True:
        found, token = with_retries(partial(_s3_page, files, request), Event(), name=shown)
        yield found
        if token is None:
            return
        request["ContinuationToken"] = token


def _s3_page(files: Any, request: Mapping[str, str]) -> tuple[list[Listed], str | None]:
    """Request a page; return its objects and the token of the next page, if there is one."""
    answer = files.call_s3("list_objects_v2", timeout=retry.BLOCK_SECONDS, **request)
    if "IsTruncated" not in answer:
        # The page of a proxy, read as a list, would be the last one.
        raise StoreError(_NO_LIST)
    reported = [
        (entry["Key"].removeprefix(request["Prefix"]), entry)
        for entry in answer.get("Contents", ())
    ]
    # A key that ends with a slash marks a folder; stores display it as one.
    found = [
        _make_listed(path, entry) for path, entry in reported if path and not path.endswith("/")
    ]
    token = answer.get("NextContinuationToken")
    if not answer.get("IsTruncated"):
        return found, None
    if not token or token == request.get("ContinuationToken"):
        raise StoreError(_NO_NEXT)
    return found, str(token)


def _folder_pages(files: Any, root: str, shown: str) -> Iterator[list[Listed]]:
    remaining = [""]
    while remaining:
        list_next = partial(_folder, files, root, remaining.pop())
        found, folders = with_retries(list_next, Event(), name=shown)
        remaining += folders
        yield found


def _folder(files: Any, root: str, prefix: str) -> tuple[list[Listed], list[str]]:
    """List a folder: its files, and its folders, which end with a slash.

    Only the last part of each name is used, because some stores spell the path differently.
    """
    folder = "/".join((root.rstrip("/"), prefix)).rstrip("/")
    files.invalidate_cache()
    found, folders = [], []
    for entry in with_timeout(partial(files.ls, folder or root, detail=True)):
        path = str(entry["name"]).rstrip("/")
        name = prefix + path.rpartition("/")[2]
        if path.lstrip("/") == folder.lstrip("/") or entry.get("islink") or _is_hidden(name):
            continue
        if entry.get("type") == "directory":
            folders.append(f"{name}/")
        elif entry.get("type") == "file":
            found.append(_make_listed(name, entry))
    return found, folders


def _make_listed(path: str, reported: Mapping[str, Any]) -> Listed:
    size, marks = reported.get("size", reported.get("Size")), version_marks(reported)
    mark = next((marks[name] for name in (ETAG, GENERATION) if name in marks), "")
    # An object that is as it was before has its old ETag, and another time.
    mark = f"{mark} {marks.get(MODIFIED, '')}".strip()
    return Listed(path, size if isinstance(size, int) else None, mark or None)


def _is_hidden(path: str) -> bool:
    return path.startswith(".") or "/." in path

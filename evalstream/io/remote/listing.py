"""What lies below a prefix in a store, listed a page at a time, and read a few at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from threading import Event
from typing import Any, Final, NamedTuple

from evalstream.io.remote import limits
from evalstream.io.remote.errors import Reason, StoreError
from evalstream.io.remote.filesystem import located
from evalstream.io.remote.reader import read_whole
from evalstream.io.remote.retry import Running, tried, within
from evalstream.io.remote.store import ETAG, GENERATION, MODIFIED, marks_among
from evalstream.io.remote.stores import opened
from evalstream.io.remote.urls import S3, WEB
from evalstream.model.signals import STOPPING

READERS: Final = 8
"""How many small objects are read at once."""

_NO_LISTS: Final = Reason("a web server does not list what it holds", lasting=True)
_NO_NEXT: Final = Reason("the server does not say how its list goes on", lasting=True)
_NUL: Final = Reason("it holds an object with a NUL in its name", lasting=True)


class Listed(NamedTuple):
    """A file by its path below what was listed.

    A store that lists tells the `size` in bytes, and a `mark` that another object under the
    same name does not have: its ETag, else its generation, else when it was modified.
    """

    path: str
    size: int | None = None
    mark: str | None = None


def listed(prefix: str) -> Iterator[list[Listed]]:
    """List the objects below `prefix`, in any order, those with hidden names left out.

    S3 is asked for pages of at most 1,000 objects, so memory does not grow with their number;
    other stores for a folder at a time. Raises OSError where a page cannot be had, and
    MissingExtra where a library for the store is not installed.
    """
    pages: Iterator[list[Listed]] = opened(as_prefix(prefix), _pages_of)
    while True:
        with STOPPING.waiting():
            page = next(pages, None)
        if page is None:
            return
        if any("\0" in one.path for one in page):
            raise _NUL.error()
        yield [one for one in page if not _is_hidden(one.path)]


def as_prefix(url: str) -> str:
    """Return a URL with one slash at its end."""
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.rstrip('/')}/"


def read_each(urls: Iterable[str], most: int) -> Iterator[bytes | None]:
    """Read objects of at most `most` bytes, some at once; None for what cannot be read."""
    ahead: deque[Running[bytes | None]] = deque()
    for url in urls:
        ahead.append(Running(partial(_read, url, most)))
        if len(ahead) == READERS:
            yield _ended(ahead.popleft())
    while ahead:
        yield _ended(ahead.popleft())


def _read(url: str, most: int) -> bytes | None:
    try:
        return read_whole(url, most)
    except OSError:
        return None


def _ended(running: Running[bytes | None]) -> bytes | None:
    with STOPPING.waiting():
        return running.result()


def _pages_of(url: str, scheme: str) -> Iterator[list[Listed]]:
    if scheme in WEB:
        raise StoreError(_NO_LISTS)
    if scheme in S3:
        from evalstream.io.remote.s3 import files_of

        files, path = files_of(url, scheme)
        bucket, key, _ = files.split_path(path)
        return _s3_pages(files, bucket, f"{key.strip('/')}/" if key.strip("/") else "")
    return _folders(*located(url))


def _s3_pages(files: Any, bucket: str, below: str) -> Iterator[list[Listed]]:
    asked = {"Bucket": bucket, "Prefix": below}
    while True:
        found, token = tried(partial(_s3_page, files, asked), Event())
        yield found
        if token is None:
            return
        asked["ContinuationToken"] = token


def _s3_page(files: Any, asked: Mapping[str, str]) -> tuple[list[Listed], str | None]:
    """Ask for a page, and how to ask for the next if there is one."""
    answer = files.call_s3("list_objects_v2", timeout=limits.BLOCK_SECONDS, **asked)
    told = [(one["Key"].removeprefix(asked["Prefix"]), one) for one in answer.get("Contents", ())]
    # What ends with a slash marks a folder; stores show it as one.
    found = [_listed(path, one) for path, one in told if path and not path.endswith("/")]
    token = answer.get("NextContinuationToken")
    if not answer.get("IsTruncated"):
        return found, None
    if not token or token == asked.get("ContinuationToken"):
        raise StoreError(_NO_NEXT)
    return found, str(token)


def _folders(files: Any, root: str) -> Iterator[list[Listed]]:
    waiting = [""]
    while waiting:
        found, folders = tried(partial(_folder, files, root, waiting.pop()), Event())
        waiting += folders
        yield found


def _folder(files: Any, root: str, below: str) -> tuple[list[Listed], list[str]]:
    """List a folder: its files, and its folders, which end with a slash.

    Entries are known by their last names alone: not all stores tell them as they were asked.
    """
    folder = "/".join((root.rstrip("/"), below)).rstrip("/")
    files.invalidate_cache()
    found, folders = [], []
    for one in within(partial(files.ls, folder or root, detail=True)):
        path = str(one["name"]).rstrip("/")
        name = below + path.rpartition("/")[2]
        if path.lstrip("/") == folder.lstrip("/") or one.get("islink") or _is_hidden(name):
            continue
        if one.get("type") == "directory":
            folders.append(f"{name}/")
        elif one.get("type") == "file":
            found.append(_listed(name, one))
    return found, folders


def _listed(path: str, told: Mapping[str, Any]) -> Listed:
    size, marks = told.get("size", told.get("Size")), marks_among(told)
    mark = next((marks[name] for name in (ETAG, GENERATION, MODIFIED) if name in marks), None)
    return Listed(path, size if isinstance(size, int) else None, mark)


def _is_hidden(path: str) -> bool:
    return path.startswith(".") or "/." in path

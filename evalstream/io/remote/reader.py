"""Objects of stores, read in order, with requests that fetch blocks ahead."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from importlib import import_module
from threading import Event
from typing import Final, TypeVar

from evalstream.io.names import HUB, S3, WEB, redact_url, url_scheme
from evalstream.io.readers import Watch
from evalstream.io.remote import retry
from evalstream.io.remote.retry import (
    BackgroundCall,
    FailureReason,
    Patience,
    StoreError,
    classify_error,
    with_retries,
)
from evalstream.io.remote.store import (
    ETAG,
    AnyObject,
    ObjectInfo,
    ObjectStream,
    S3Object,
    Store,
    difference,
)
from evalstream.model.block import ByteStream
from evalstream.model.errors import MissingExtra, install_command
from evalstream.model.signals import STOPPING

UNKNOWN: Final = (
    "no store has the scheme {}://; use s3://, gs://, hf://, http:// or https://, or one of those "
    "that fsspec knows"
)

_Opened = TypeVar("_Opened")


def find_store(url: str) -> Store:
    """Return the store of a URL. Raises OSError, MissingExtra."""
    return open_url(url, _open_store)


def open_url(url: str, open_as: Callable[[str, str], _Opened]) -> _Opened:
    """Call `open_as` with a URL and its scheme. Raises OSError, MissingExtra."""
    scheme = url_scheme(url)
    try:
        _load_filesystem("https" if scheme == HUB else scheme)
        return open_as(scheme + url[len(scheme) :], scheme)
    except ImportError as cause:
        error: Exception = _missing(cause, scheme)
    except Exception as cause:  # noqa: BLE001 - libraries of stores raise any type
        error = classify_error(cause).error()
    # Raised outside the handler, so that the library's message is not part of the traceback.
    raise error


def _load_filesystem(scheme: str) -> None:
    """Import the file system of a scheme. Raises ImportError, and StoreError for an unknown one."""
    fsspec = import_module("fsspec")
    try:
        fsspec.get_filesystem_class(scheme)
    except ValueError as error:
        raise StoreError(FailureReason(UNKNOWN.format(scheme), permanent=True)) from error


def _open_store(url: str, scheme: str) -> Store:
    """Return the store of a URL; each kind is imported on first use."""
    if scheme in WEB:
        from evalstream.io.remote.http import WebObject

        return WebObject(url, scheme)
    if scheme == HUB:
        from evalstream.io.remote.hub import HubObject

        return HubObject(url, scheme)
    if scheme in S3:
        return S3Object(url, scheme)
    return AnyObject(url, scheme)


def _missing(error: ImportError, scheme: str) -> MissingExtra:
    """Return an error that names the package to install."""
    cause = error.__cause__
    module = (cause.name if isinstance(cause, ImportError) else error.name) or f"for {scheme}://"
    package = module.partition(".")[0]
    own = "" if scheme in WEB | S3 | {HUB} or package == "fsspec" else f" {package}"
    command = install_command("remote")
    return MissingExtra(f"{package} is not installed; install it with: {command}{own}")


_Returned = TypeVar("_Returned")


def exists(url: str) -> bool:
    """Tell whether an object exists, and no page of a web server stands for it.

    Raises OSError where that is not known, MissingExtra.
    """
    store = find_store(url)
    try:
        info = _get_info(store, redact_url(url))
    except (FileNotFoundError, IsADirectoryError):
        return False
    store.close()
    return not info.is_page


def read_whole(url: str, most: int, watch: Watch | None = None) -> bytes:
    """Return an object of at most `most` bytes, added to `watch`. Raises OSError, MissingExtra."""
    reader = RemoteReader(url)
    data = bytearray()
    try:
        while len(data) <= most >= reader.size and (piece := reader.read()):
            data += piece
    finally:
        reader.close()
    if max(len(data), reader.size) > most:
        raise OSError(f"the object has more than {most:,} bytes")
    if watch is not None:
        watch.add_remote(url, reader.describe_change)
    return bytes(data)


class RemoteReader(ByteStream):
    """Reads an object in a store; `size` counts its bytes, 0 where the server does not report it.

    Messages never contain texts of a library or a server, which may hold credentials.
    """

    def __init__(self, url: str) -> None:
        """Request the properties of the object.

        Raises FileNotFoundError, PermissionError, IsADirectoryError or another OSError where it
        cannot be read, and MissingExtra where a library for its store is not installed.
        """
        self.reopen = partial(RemoteReader, url)
        self._store, self._shown = find_store(url), redact_url(url)
        self._opened = _get_info(self._store, self._shown)
        self.size = self._opened.size or 0
        self._closed = Event()
        self._patience = Patience()
        self._stream: ObjectStream | None = None
        self._fetches = self._ranges() if self._opened.ranged else self._pieces()
        self._most_ahead = retry.WORKERS if self._opened.ranged else 1
        self._ahead: deque[BackgroundCall[bytes]] = deque()
        self._block = memoryview(b"")
        self._delivered = 0

    def read(self) -> bytes:
        """Return the next bytes, at most `PIECE_BYTES`; empty at the end.

        Raises OSError where a block cannot be read in full, or where a block shows that the object
        changed since it was opened; then again on each later call.
        """
        if not self._block:
            self._next_block()
        piece = bytes(self._block[: retry.PIECE_BYTES])
        self._block = self._block[retry.PIECE_BYTES :]
        self._delivered += len(piece)
        return piece

    def wait(self, seconds: float) -> bool:
        """Tell whether the next block, the end or an error is available within some seconds."""
        self._fill()
        if self._block or not self._ahead:
            return True
        with STOPPING.interruptible():
            has_ended = self._ahead[0].wait(seconds)
        if not has_ended:
            self._patience.tell(self._shown)
        return has_ended

    def describe_change(self) -> str | None:
        """Describe what changed since the object was opened, or return None.

        Where the server does not answer any more, the version marks of the blocks decide.
        """
        if self._store.is_immutable:
            return None
        try:
            now = _get_info(self._store, self._shown)
        except FileNotFoundError:
            return "it no longer exists"
        except OSError as error:
            pinned = self._store.pins and ETAG in self._opened.marks
            return None if pinned else f"it could not be read again: {error}"
        return difference(self._opened, now)

    def close(self) -> None:
        """Stop fetching; running requests end by themselves and are dropped."""
        self._closed.set()
        self._ahead.clear()
        self._block = memoryview(b"")
        self._fetches = iter(())
        self._store.close()
        if self._stream is not None:
            self._stream.close()

    def _next_block(self) -> None:
        self._fill()
        if self._ahead:
            self._block = memoryview(_wait_for(self._ahead[0], self._patience, self._shown))
            self._ahead.popleft()
            self._patience = Patience()
            self._fill()
        known = self._opened.size is not None and not self._closed.is_set()
        if not self._block and known and self._delivered != self.size:
            raise OSError(f"the object ended after {self._delivered:,} of {self.size:,} bytes")

    def _fill(self) -> None:
        """Start requests up to the limit of blocks fetched ahead."""
        while len(self._ahead) < self._most_ahead and (fetch := next(self._fetches, None)):
            self._ahead.append(BackgroundCall(fetch))

    def _ranges(self) -> Iterator[Callable[[], bytes]]:
        for start in range(0, self.size, retry.BLOCK_BYTES):
            end = min(start + retry.BLOCK_BYTES, self.size)
            fetch = partial(self._store.fetch, start, end, self._opened)
            yield partial(with_retries, fetch, self._closed, name=self._shown)

    def _pieces(self) -> Iterator[Callable[[], bytes]]:
        """Iterate over functions that fetch the next bytes of an object without range support."""
        ended = False

        def fetch() -> bytes:
            nonlocal ended
            if self._stream is None:
                self._stream = with_retries(
                    partial(self._store.stream, self._opened), self._closed, name=self._shown
                )
            piece = with_retries(self._stream.read, self._closed, tries=1)
            ended = not piece
            return piece

        while not ended:
            yield fetch


def _get_info(store: Store, name: str) -> ObjectInfo:
    call = BackgroundCall(partial(with_retries, store.get_info, Event(), name=name))
    return _wait_for(call, Patience(), name)


def _wait_for(call: BackgroundCall[_Returned], patience: Patience, name: str) -> _Returned:
    """Return what a call returns, and tell people that it takes long. Raises what it raises."""
    with STOPPING.interruptible():
        while not call.wait(retry.NOTICE_SECONDS):
            patience.tell(name)
        return call.result()


READERS: Final = 8
"""Number of small objects read in parallel."""


def read_each(urls: Iterable[str], most: int) -> Iterator[bytes | OSError]:
    """Read objects of at most `most` bytes in parallel; some are errors, as they cannot be read."""
    ahead: deque[BackgroundCall[bytes | OSError]] = deque()
    for url in urls:
        ahead.append(BackgroundCall(partial(_read, url, most)))
        if len(ahead) == READERS:
            yield _finish_call(ahead.popleft())
    while ahead:
        yield _finish_call(ahead.popleft())


def _read(url: str, most: int) -> bytes | OSError:
    try:
        return read_whole(url, most)
    except OSError as error:
        return error


def _finish_call(running: BackgroundCall[bytes | OSError]) -> bytes | OSError:
    with STOPPING.interruptible():
        return running.result()

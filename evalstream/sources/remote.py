"""Objects in stores, by URL: their bytes in order, out of blocks that threads fetch ahead."""

from __future__ import annotations

import os
import random
import re
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Mapping
from functools import partial
from http import HTTPStatus
from importlib import import_module
from threading import Event, Thread
from typing import Any, Final, Generic, NamedTuple, Protocol, TypeVar

from evalstream.errors import MissingExtra
from evalstream.model import MEBIBYTE
from evalstream.stopping import STOPPING

BLOCK_BYTES: Final = 8 * MEBIBYTE
WORKERS: Final = 4
"""How many blocks are fetched at once; one more is being handed on."""

PIECE_BYTES: Final = MEBIBYTE
"""The most that one `read` returns."""

TRIES: Final = 5
PAUSE_SECONDS: Final = 1.0
"""How long the first pause between two tries is, give or take half; each is twice the last."""

STALL_SECONDS: Final = 30.0
"""After how long without a byte a connection is given up."""

BLOCK_SECONDS: Final = 120.0
"""After how long a block is given up although its bytes trickle in, or nobody can see them."""

INSTALL: Final = "pip install 'evalstream[remote]'"

_URL: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/?#]*)([^?#]*)")
_READY_TO_SEND: Final = re.compile(r"(?:[\w.~:/?#\[\]@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*", re.ASCII)
_CONTENT_RANGE: Final = re.compile(r"bytes (?:(\d+)-(\d+)|\*)/(\d+|\*)")

_WEB: Final = frozenset({"http", "https"})
_S3: Final = frozenset({"s3", "s3a"})

_Returned = TypeVar("_Returned")


def is_remote(path: str) -> bool:
    """Tell whether a path is a URL, as `s3://bucket/key`."""
    return _URL.match(path) is not None


def shown(url: str) -> str:
    """Return a URL as reports may show it: without user, password, query and fragment."""
    match = _URL.match(url)
    if match is None:
        return url
    scheme, server, path = match.groups()
    server = server.rpartition("@")[2]
    _, colon, port = server.rpartition(":")
    if colon and not (port.isdecimal() or port.endswith("]") or server.startswith("arn:")):
        # No port: a password with a character that ends the server's part of the URL.
        return f"{scheme}://…"
    return f"{scheme}://{server}{path}"


def exists(url: str) -> bool:
    """Tell whether there is an object. Raises OSError where that cannot be said, MissingExtra."""
    try:
        _looked_at(_store_of(url))
    except (FileNotFoundError, IsADirectoryError):
        return False
    return True


def read_whole(url: str, most: int) -> bytes:
    """Return an object of at most `most` bytes. Raises OSError, MissingExtra."""
    reader = RemoteReader(url)
    data = bytearray()
    try:
        while len(data) <= most >= reader.size and (piece := reader.read()):
            data += piece
    finally:
        reader.close()
    if max(len(data), reader.size) > most:
        raise OSError(f"it has more than {most:,} bytes")
    return bytes(data)


class RemoteReader:
    """The bytes of an object in a store; `size` counts them, 0 where the server does not say.

    Nothing that a library or a server says in its own words becomes part of a message: there
    may be credentials in it.
    """

    def __init__(self, url: str) -> None:
        """Look at the object.

        Raises FileNotFoundError, PermissionError, IsADirectoryError or another OSError where
        it cannot be read, and MissingExtra where a library for its store is not installed.
        """
        self._store = _store_of(url)
        self._opened = _looked_at(self._store)
        self.size = self._opened.size or 0
        self._closed = Event()
        self._stream: _Stream | None = None
        self._fetches = self._ranges() if self._opened.ranged else self._pieces()
        self._most_ahead = WORKERS if self._opened.ranged else 1
        self._ahead: deque[_Running[bytes]] = deque()
        self._block = memoryview(b"")
        self._delivered = 0

    def read(self) -> bytes:
        """Return the next bytes, `PIECE_BYTES` at most; nothing at the end.

        Raises OSError where a block cannot be had whole, or the object changed since it was
        opened, as far as the server tells with each block; then again and again.
        """
        if not self._block:
            self._next_block()
        piece = bytes(self._block[:PIECE_BYTES])
        self._block = self._block[PIECE_BYTES:]
        self._delivered += len(piece)
        return piece

    def wait(self, seconds: float) -> bool:
        """Tell whether the next block is there, or the end or a fault, within some seconds."""
        self._fill()
        if self._block or not self._ahead:
            return True
        with STOPPING.waiting():
            return self._ahead[0].ended(seconds)

    def changed(self) -> str | None:
        """Say what changed since the object was opened, None if nothing did.

        Where the server cannot be asked any more, the marks it sent with each block count.
        """
        try:
            now = _looked_at(self._store)
        except FileNotFoundError:
            return "it is gone"
        except OSError as error:
            pinned = self._store.pins and ETAG in self._opened.marks
            return None if pinned else f"it could not be looked at again: {error}"
        return _difference(self._opened, now)

    def close(self) -> None:
        """Stop fetching; what is under way ends by itself and is dropped."""
        self._closed.set()
        self._ahead.clear()
        self._block = memoryview(b"")
        self._fetches = iter(())
        if self._stream is not None:
            self._stream.close()

    def _next_block(self) -> None:
        self._fill()
        if self._ahead:
            with STOPPING.waiting():
                self._block = memoryview(self._ahead[0].result())
            self._ahead.popleft()
            self._fill()
        known = self._opened.size is not None and not self._closed.is_set()
        if not self._block and known and self._delivered != self.size:
            raise OSError(f"it ended after {self._delivered:,} of {self.size:,} bytes")

    def _fill(self) -> None:
        """Begin to fetch what may be fetched ahead."""
        while len(self._ahead) < self._most_ahead and (fetch := next(self._fetches, None)):
            self._ahead.append(_Running(fetch))

    def _ranges(self) -> Iterator[Callable[[], bytes]]:
        for start in range(0, self.size, BLOCK_BYTES):
            end = min(start + BLOCK_BYTES, self.size)
            fetch = partial(self._store.fetch, start, end, self._opened)
            yield partial(_tried, fetch, self._closed)

    def _pieces(self) -> Iterator[Callable[[], bytes]]:
        """Iterate over what fetches the next bytes, where they come only from the first on."""
        ended = False

        def fetch() -> bytes:
            nonlocal ended
            if self._stream is None:
                self._stream = _tried(partial(self._store.stream, self._opened), self._closed)
            piece = _tried(self._stream.read, self._closed, tries=1)
            ended = not piece
            return piece

        while not ended:
            yield fetch


ETAG: Final = "ETag"
GENERATION: Final = "generation"
MODIFIED: Final = "modification time"


class _Facts(NamedTuple):
    """What a server says of an object: its bytes, whether it gives parts, and its marks.

    Marks are what tells it from another object under the same URL.
    """

    size: int | None
    ranged: bool
    marks: Mapping[str, str]


class _Stream(Protocol):
    """An object that is read from its first byte on."""

    def read(self) -> bytes: ...

    def close(self) -> None: ...


class _Store(Protocol):
    """How an object is had from one kind of store; it `pins` where each block is told apart.

    All raise _Fault or what their libraries raise.
    """

    pins: bool

    def look(self) -> _Facts: ...

    def fetch(self, start: int, end: int, opened: _Facts) -> bytes:
        """Return the bytes from one offset to before another, of the opened object."""

    def stream(self, opened: _Facts) -> _Stream: ...


class _Running(Generic[_Returned]):
    """A call in a thread of its own, for which nobody waits at the end of the process."""

    def __init__(self, call: Callable[[], _Returned]) -> None:
        self._call = call
        self._ended = Event()
        self._returned: list[_Returned] = []
        self._error: BaseException | None = None
        Thread(target=self._run, name="evalstream-remote", daemon=True).start()

    def ended(self, seconds: float | None = None) -> bool:
        """Tell whether the call returns or raises within some seconds."""
        return self._ended.wait(seconds)

    def result(self, seconds: float | None = None) -> _Returned:
        """Return what the call returned. Raises what it raised, and TimeoutError."""
        if not self._ended.wait(seconds):
            raise TimeoutError
        if self._error is not None:
            raise self._error
        return self._returned[0]

    def _run(self) -> None:
        try:
            self._returned.append(self._call())
        except BaseException as error:  # noqa: BLE001 - raised where the result is taken
            self._error = error
        self._ended.set()


class _Fault(Exception):
    """Why a try failed, in our words; a `lasting` reason is not tried again."""

    def __init__(
        self, reason: str, kind: type[OSError] = OSError, *, lasting: bool = False
    ) -> None:
        super().__init__(reason)
        self.reason, self.kind, self.lasting = reason, kind, lasting

    def error(self, tries: int) -> OSError:
        """Return what is told in the end."""
        return self.kind(self.reason if tries == 1 else f"{self.reason} (tried {tries} times)")


class _Web:
    """An object behind an HTTP server."""

    pins = True

    def __init__(self, url: str, scheme: str) -> None:
        aiohttp = import_module("aiohttp")
        timeout = aiohttp.ClientTimeout(
            total=None, sock_connect=STALL_SECONDS, sock_read=STALL_SECONDS
        )
        # Proxies and netrc count as they do for other programs; bytes come as they are stored.
        client = {"trust_env": True, "timeout": timeout, "auto_decompress": False}
        self._files = import_module("fsspec").filesystem(
            scheme,
            use_listings_cache=False,
            encoded=_READY_TO_SEND.fullmatch(url) is not None,
            client_kwargs=client | _configured(scheme, "client_kwargs"),
        )
        self._url = url

    def look(self) -> _Facts:
        """Ask for the first byte: servers say more of a part than of the whole."""
        return self._run(self._look)

    def fetch(self, start: int, end: int, opened: _Facts) -> bytes:
        """Ask for a part."""
        block: bytes = self._run(self._fetch, start, end, opened)
        return block

    def stream(self, opened: _Facts) -> _Stream:
        """Ask for the whole."""
        answer = self._run(self._asked, None)
        try:
            _check_status(answer.status, HTTPStatus.OK)
            _check_marks(_marks(answer.headers), opened.marks)
        except _Fault:
            self._files.loop.call_soon_threadsafe(answer.close)
            raise
        return _WebStream(self._files.loop, answer)

    def _run(self, function: Callable[..., Awaitable[_Returned]], *arguments: Any) -> _Returned:
        return _run_on(self._files.loop, function, *arguments)

    async def _asked(self, part: str | None) -> Any:
        options = dict(self._files.kwargs)
        headers = {**options.pop("headers", {}), "Accept-Encoding": "identity"}
        if part is not None:
            headers["Range"] = f"bytes={part}"
        session = await self._files.set_session()
        return await session.get(self._files.encode_url(self._url), headers=headers, **options)

    async def _look(self) -> _Facts:
        answer = await self._asked("0-0")
        try:
            # What is empty has no first byte, and is had as a whole.
            _check_status(
                answer.status,
                HTTPStatus.OK,
                HTTPStatus.PARTIAL_CONTENT,
                HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE,
            )
            size = _size_told(answer.status, answer.headers)
            ranged = answer.status == HTTPStatus.PARTIAL_CONTENT and size is not None
            return _Facts(size, ranged, _marks(answer.headers))
        finally:
            answer.close()

    async def _fetch(self, start: int, end: int, opened: _Facts) -> bytes:
        answer = await self._asked(f"{start}-{end - 1}")
        try:
            _check_status(answer.status, HTTPStatus.OK, HTTPStatus.PARTIAL_CONTENT)
            _check_marks(_marks(answer.headers), opened.marks)
            _check_range(answer.headers.get("Content-Range"), start, end, opened.size)
            return await _drained(answer.content.read, end - start)
        finally:
            # Keeps the connection if everything was read, ends it if not.
            answer.release()


class _WebStream:
    """An answer of an HTTP server that is read from its first byte on."""

    def __init__(self, loop: Any, answer: Any) -> None:
        self._loop, self._answer = loop, answer

    def read(self) -> bytes:
        """Return what comes next."""
        piece: bytes = _run_on(self._loop, self._answer.content.readany)
        return piece

    def close(self) -> None:
        """End the connection."""
        self._loop.call_soon_threadsafe(self._answer.close)


class _S3Object:
    """An object in S3, or in a store that speaks as S3 does."""

    pins = True

    def __init__(self, url: str, scheme: str) -> None:
        # Tries are counted here, not by three layers of libraries on top of each other.
        config = {
            "connect_timeout": STALL_SECONDS,
            "read_timeout": STALL_SECONDS,
            "retries": {"total_max_attempts": 1},
        }
        self._files, self._path = import_module("fsspec.core").url_to_fs(
            url,
            use_listings_cache=False,
            config_kwargs=config | _configured(scheme, "config_kwargs"),
        )
        self._files.retries = 1
        bucket, key, version = self._files.split_path(self._path)
        self._names = {"Bucket": bucket, "Key": key}
        if version:
            self._names["VersionId"] = version

    def look(self) -> _Facts:
        """Ask for the head of the object."""
        found = self._files.info(self._path, refresh=True, timeout=BLOCK_SECONDS)
        return _facts_of(found)

    def fetch(self, start: int, end: int, opened: _Facts) -> bytes:
        """Ask for a part, only of the object that was opened.

        By its ETag: who asks for a version needs a right that not everybody has who may read.
        """
        asked = {**self._names, "Range": f"bytes={start}-{end - 1}"}
        if ETAG in opened.marks:
            asked["IfMatch"] = opened.marks[ETAG]
        answer = self._files.call_s3("get_object", timeout=BLOCK_SECONDS, **asked)

        async def drained() -> bytes:
            try:
                _check_marks(_marks(answer), opened.marks)
                _check_range(answer.get("ContentRange"), start, end, opened.size)
                return await _drained(answer["Body"].read, end - start)
            finally:
                answer["Body"].close()

        return _run_on(self._files.loop, drained)

    def stream(self, opened: _Facts) -> _Stream:
        """Refuse: parts are part of the protocol."""
        del opened
        raise _Fault("the server does not say how large it is", lasting=True)


class _Object:
    """An object in any other store that fsspec knows, by what all of them have in common."""

    pins = False

    def __init__(self, url: str, _scheme: str) -> None:
        self._files, self._path = import_module("fsspec.core").url_to_fs(
            url, use_listings_cache=False
        )
        self._options: dict[str, Any] = {}
        if not self._files.async_impl:
            self._options["cache_type"] = "none"

    def look(self) -> _Facts:
        """Ask for what is known of the object."""
        options = {"expand_info": True, "refresh": True} if self._speaks("hf") else {}
        self._files.invalidate_cache()
        return _facts_of(_within(partial(self._files.info, self._path, **options)))

    def fetch(self, start: int, end: int, opened: _Facts) -> bytes:
        """Ask for a part, of the generation that was opened where there are such."""
        options = dict(self._options)
        if self._speaks("gs") and GENERATION in opened.marks:
            options[GENERATION] = opened.marks[GENERATION]
        data = _within(partial(self._files.cat_file, self._path, start, end, **options))
        return _whole(data, end - start)

    def stream(self, opened: _Facts) -> _Stream:
        """Open the object as a file."""
        del opened
        return _FileStream(_within(partial(self._files.open, self._path, "rb")))

    def _speaks(self, protocol: str) -> bool:
        known = self._files.protocol
        return protocol in ((known,) if isinstance(known, str) else known)


class _FileStream:
    """A file of fsspec that is read from its first byte on."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def read(self) -> bytes:
        """Return what comes next."""
        piece: bytes = _within(partial(self._file.read, PIECE_BYTES))
        return piece

    def close(self) -> None:
        """Close the file, in the background as it may stall."""
        _Running(self._file.close)


def _store_of(url: str) -> _Store:
    """Return the store of a URL. Raises OSError, MissingExtra."""
    match = _URL.match(url)
    scheme = match[1].lower() if match is not None else ""
    if match is None or ("::" in url and scheme not in _WEB):
        raise OSError("URLs within URLs are not read")
    kind = _Web if scheme in _WEB else _S3Object if scheme in _S3 else _Object
    try:
        import_module("fsspec").get_filesystem_class(scheme)
        return kind(scheme + url[len(scheme) :], scheme)
    except ImportError as error:
        fault: Exception = _missing(error, scheme)
    except Exception as error:  # noqa: BLE001 - libraries of stores raise what they like
        fault = _fault_of(error).error(1)
    # Raised here, so that what a library said does not hang on it.
    raise fault


def _missing(error: ImportError, scheme: str) -> MissingExtra:
    """Name the package that is not installed."""
    cause = error.__cause__
    module = (cause.name if isinstance(cause, ImportError) else error.name) or f"for {scheme}://"
    package = module.partition(".")[0]
    own = "" if scheme in _WEB | _S3 or package == "fsspec" else f" {package}"
    return MissingExtra(f"{package} is not installed; install it with: {INSTALL}{own}")


def _configured(scheme: str, option: str) -> dict[str, Any]:
    """Return what fsspec is configured to use; what is handed over would take its place."""
    return dict(import_module("fsspec.config").conf.get(scheme, {}).get(option, {}))


def _looked_at(store: _Store) -> _Facts:
    """Look at an object. Raises OSError."""
    with STOPPING.waiting():
        return _tried(store.look, Event())


def _tried(call: Callable[[], _Returned], closed: Event, *, tries: int | None = None) -> _Returned:
    """Return what a call returns, tried several times, with pauses. Raises OSError."""
    most = tries or TRIES
    tried = 0
    while True:
        tried += 1
        try:
            return call()
        except Exception as error:  # noqa: BLE001 - libraries of stores raise what they like
            fault = _fault_of(error)
        pause = PAUSE_SECONDS * 2 ** (tried - 1) * random.uniform(0.5, 1.5)
        if fault.lasting or tried == most or closed.wait(pause):
            break
    raise fault.error(tried)


def _within(call: Callable[[], _Returned]) -> _Returned:
    """Return what a call returns; one that stalls cannot be ended and is left behind."""
    return _Running(call).result(BLOCK_SECONDS)


def _run_on(loop: Any, function: Callable[..., Awaitable[_Returned]], *arguments: Any) -> _Returned:
    """Run a coroutine on the event loop of fsspec, and end it where it takes too long."""
    returned: _Returned = import_module("fsspec.asyn").sync(
        loop, function, *arguments, timeout=BLOCK_SECONDS
    )
    return returned


async def _drained(read: Callable[[int], Awaitable[bytes]], size: int) -> bytes:
    """Read a body that should have so many bytes, and not much more than them."""
    pieces: list[bytes] = []
    left = size
    while left >= 0 and (piece := await read(min(left + 1, PIECE_BYTES))):
        pieces.append(piece)
        left -= len(piece)
    return _whole(b"".join(pieces), size)


def _whole(data: bytes, size: int) -> bytes:
    """Return a block if it has so many bytes."""
    if len(data) != size:
        raise _Fault(f"a block of {size:,} bytes came back with {len(data):,}")
    return data


def _check_status(status: int, *wanted: int) -> None:
    if status not in wanted:
        raise _refusal(status)


def _check_range(told: str | None, start: int, end: int, size: int | None) -> None:
    """Check that a server sends the part that it was asked for, of an object of that size."""
    match = _CONTENT_RANGE.fullmatch(told or "")
    if match is None:
        raise _Fault("the server did not send the part that was asked for")
    first, last, total = match.groups()
    if total not in {"*", str(size)}:
        raise _changed()
    if (first, last) != (str(start), str(end - 1)):
        raise _Fault("the server sent another part than was asked for")


def _check_marks(now: Mapping[str, str], opened: Mapping[str, str]) -> None:
    """Check that bytes are of the object that was opened, as far as a server tells."""
    mark = next((mark for mark in (ETAG, MODIFIED) if mark in now and mark in opened), None)
    if mark is not None and now[mark].removeprefix("W/") != opened[mark].removeprefix("W/"):
        raise _changed()


def _changed() -> _Fault:
    return _Fault("it changed while it was read", lasting=True)


def _difference(before: _Facts, now: _Facts) -> str | None:
    """Say what differs between two looks at an object."""
    if None not in (before.size, now.size) and before.size != now.size:
        return f"{before.size:,} bytes when it was opened, {now.size:,} at the end"
    for mark, told in before.marks.items():
        if mark in now.marks and now.marks[mark].removeprefix("W/") != told.removeprefix("W/"):
            return f"its {mark} is another than when it was opened"
    return None


def _size_told(status: int, headers: Mapping[str, str]) -> int | None:
    """Return the size of the whole object, if an answer to the question for a part tells it."""
    told = headers.get("Content-Length", "")
    if status != HTTPStatus.OK:
        match = _CONTENT_RANGE.fullmatch(headers.get("Content-Range", ""))
        told = match[3] if match is not None else ""
    return int(told) if told.isdecimal() else None


def _facts_of(found: Mapping[str, Any]) -> _Facts:
    """Return what is needed of what a file system of fsspec tells."""
    if found.get("type") == "directory":
        raise _Fault("it is a folder", IsADirectoryError, lasting=True)
    size = found.get("size")
    return _Facts(size, size is not None, _marks(found))


def _marks(told: Mapping[str, Any]) -> dict[str, str]:
    """Return the marks among what a store tells."""
    marks: dict[str, str] = {}
    for key, mark in _MARKS.items():
        if told.get(key):
            marks.setdefault(mark, str(told[key]))
    return marks


def _fault_of(error: BaseException) -> _Fault:
    """Say in our words why something failed, by the kind of an exception and its numbers."""
    if isinstance(error, _Fault):
        return error
    status = _status_of(error)
    if status is not None:
        return _refusal(status)
    for kind in type(error).__mro__:
        if kind.__name__ in _REASONS:
            return _REASONS[kind.__name__]
    # gcsfs tells this in no other way.
    if isinstance(error, OSError) and str(error).startswith("Forbidden"):
        return _refusal(HTTPStatus.FORBIDDEN)
    if isinstance(error, OSError) and error.errno is not None:
        return _Fault(os.strerror(error.errno).lower())
    return _Fault(f"it failed with {type(error).__name__}", lasting=isinstance(error, _LASTING))


def _status_of(error: BaseException | None) -> int | None:
    """Return the status of the HTTP answer that an exception came from, if it did."""
    while error is not None:
        answer = getattr(error, "response", None)
        told = getattr(answer, "status_code", None)
        if isinstance(answer, dict):
            told = answer.get("ResponseMetadata", {}).get("HTTPStatusCode")
        elif type(error).__name__ == "HttpError":
            # Only of gcsfs: aiohttp's faults of parsing have a code that nobody answered.
            told = getattr(error, "code", None)
        if str(told).isdecimal():
            return int(str(told))
        error = error.__cause__
    return None


def _refusal(status: int) -> _Fault:
    """Say what a status of HTTP means."""
    if status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
        return _Fault("access is denied", PermissionError, lasting=True)
    if status in {HTTPStatus.NOT_FOUND, HTTPStatus.GONE}:
        return _Fault("it was not found", FileNotFoundError, lasting=True)
    if status in {HTTPStatus.PRECONDITION_FAILED, HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE}:
        return _changed()
    phrase = f" ({HTTPStatus(status).phrase})" if status in _STATUSES else ""
    return _Fault(f"the server answered {status}{phrase}", lasting=status not in _PASSING)


_STATUSES: Final = frozenset(HTTPStatus)
_PASSING: Final = frozenset({408, 425, 429, *range(500, 600)}) - {501}
"""The statuses after which another try may go well."""

_LASTING: Final = (
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    NotImplementedError,
    MemoryError,
)

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

_NO_CREDENTIALS: Final = _Fault("no credentials were found", PermissionError, lasting=True)
_NOT_SECURE: Final = _Fault("no secure connection could be made", lasting=True)
_NO_SENSE: Final = _Fault("the URL makes no sense to its store", lasting=True)
_UNREACHABLE: Final = _Fault("the server cannot be reached", ConnectionError)
_BROKEN: Final = _Fault("the connection broke off", ConnectionError)
_TIMED_OUT: Final = _Fault("the server took too long", TimeoutError)

_REASONS: Final = {
    "FileNotFoundError": _refusal(HTTPStatus.NOT_FOUND),
    "PermissionError": _refusal(HTTPStatus.FORBIDDEN),
    "IsADirectoryError": _Fault("it is a folder", IsADirectoryError, lasting=True),
    "NoCredentialsError": _NO_CREDENTIALS,
    "PartialCredentialsError": _NO_CREDENTIALS,
    "CredentialRetrievalError": _NO_CREDENTIALS,
    "TokenRetrievalError": _NO_CREDENTIALS,
    "ProfileNotFound": _NO_CREDENTIALS,
    "GoogleAuthError": _NO_CREDENTIALS,
    "SSLError": _NOT_SECURE,
    "ClientSSLError": _NOT_SECURE,
    "ClientConnectorCertificateError": _NOT_SECURE,
    "InvalidURL": _NO_SENSE,
    "ParamValidationError": _NO_SENSE,
    "TimeoutError": _TIMED_OUT,
    "ReadTimeoutError": _TIMED_OUT,
    "ConnectTimeoutError": _TIMED_OUT,
    "TimeoutException": _TIMED_OUT,
    "ClientConnectorError": _UNREACHABLE,
    "EndpointConnectionError": _UNREACHABLE,
    "ConnectError": _UNREACHABLE,
    "ClientPayloadError": _BROKEN,
    "ClientOSError": _BROKEN,
    "ServerDisconnectedError": _BROKEN,
    "HTTPClientError": _BROKEN,
    "IncompleteReadError": _BROKEN,
    "IncompleteRead": _BROKEN,
    "ConnectionError": _BROKEN,
}
"""Exceptions by name, as the packages that they are from may not be installed."""

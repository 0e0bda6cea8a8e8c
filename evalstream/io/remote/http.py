"""Objects behind HTTP servers, in parts where a server gives parts."""

import re
from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from importlib import import_module
from typing import Any, Final, TypeVar

from evalstream.io.remote import limits
from evalstream.io.remote.errors import StoreError, refusal
from evalstream.io.remote.filesystem import configured, run_on
from evalstream.io.remote.ranges import check_range, drained, total_of
from evalstream.io.remote.store import Facts, Stream, check_marks, marks_among

_READY_TO_SEND: Final = re.compile(r"(?:[\w.~:/?#\[\]@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*", re.ASCII)

_Returned = TypeVar("_Returned")


class WebObject:
    """An object behind an HTTP server."""

    pins = True

    def __init__(self, url: str, scheme: str) -> None:
        aiohttp = import_module("aiohttp")
        timeout = aiohttp.ClientTimeout(
            total=None, sock_connect=limits.STALL_SECONDS, sock_read=limits.STALL_SECONDS
        )
        # Proxies and netrc count as they do for other programs; bytes come as they are stored.
        client = {"trust_env": True, "timeout": timeout, "auto_decompress": False}
        self._files = import_module("fsspec").filesystem(
            scheme,
            use_listings_cache=False,
            encoded=_READY_TO_SEND.fullmatch(url) is not None,
            client_kwargs=client | configured(scheme, "client_kwargs"),
        )
        self._url = url

    def look(self) -> Facts:
        """Ask for the first byte: servers say more of a part than of the whole."""
        return self._run(self._look)

    def fetch(self, start: int, end: int, opened: Facts) -> bytes:
        """Ask for a part."""
        return self._run(self._fetch, start, end, opened)

    def stream(self, opened: Facts) -> Stream:
        """Ask for the whole."""
        answer = self._run(self._asked, None)
        stream = _WebStream(self._files.loop, answer)
        try:
            _check_status(answer.status, HTTPStatus.OK)
            check_marks(marks_among(answer.headers), opened.marks)
        except StoreError:
            stream.close()
            raise
        return stream

    def _run(self, function: Callable[..., Awaitable[_Returned]], *arguments: Any) -> _Returned:
        return run_on(self._files.loop, function, *arguments)

    async def _asked(self, part: str | None) -> Any:
        options = dict(self._files.kwargs)
        headers = {**options.pop("headers", {}), "Accept-Encoding": "identity"}
        if part is not None:
            headers["Range"] = f"bytes={part}"
        session = await self._files.set_session()
        return await session.get(self._files.encode_url(self._url), headers=headers, **options)

    async def _look(self) -> Facts:
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
            return Facts(size, ranged, marks_among(answer.headers))
        finally:
            answer.close()

    async def _fetch(self, start: int, end: int, opened: Facts) -> bytes:
        answer = await self._asked(f"{start}-{end - 1}")
        try:
            _check_status(answer.status, HTTPStatus.OK, HTTPStatus.PARTIAL_CONTENT)
            check_marks(marks_among(answer.headers), opened.marks)
            check_range(answer.headers.get("Content-Range"), start, end, opened.size)
            return await drained(answer.content.read, end - start)
        finally:
            # Keeps the connection if everything was read, ends it if not.
            answer.release()


class _WebStream:
    """An answer of an HTTP server that is read from its first byte on."""

    def __init__(self, loop: Any, answer: Any) -> None:
        self._loop, self._answer = loop, answer

    def read(self) -> bytes:
        """Return what comes next."""
        piece: bytes = run_on(self._loop, self._answer.content.readany)
        return piece

    def close(self) -> None:
        """End the connection."""
        self._loop.call_soon_threadsafe(self._answer.close)


def _check_status(status: int, *wanted: int) -> None:
    if status not in wanted:
        raise StoreError(refusal(status))


def _size_told(status: int, headers: Mapping[str, str]) -> int | None:
    """Return the size of the whole object, if an answer to the question for a part tells it."""
    if status == HTTPStatus.OK:
        told = headers.get("Content-Length", "")
    else:
        told = total_of(headers.get("Content-Range", ""))
    return int(told) if told.isdecimal() else None

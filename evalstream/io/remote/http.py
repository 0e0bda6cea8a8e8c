"""Objects on HTTP servers, read in byte ranges where the server supports them."""

import re
from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from importlib import import_module
from types import MappingProxyType
from typing import Any, Final, TypeVar

from evalstream.io.remote import retry, store
from evalstream.io.remote.retry import StoreError, refusal
from evalstream.io.remote.store import fsspec_settings, run_on

_READY_TO_SEND: Final = re.compile(r"(?:[\w.~:/?#\[\]@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*", re.ASCII)

_Returned = TypeVar("_Returned")


class WebObject(store.Store):
    """An object on an HTTP server."""

    pins = True
    headers: Mapping[str, str] = MappingProxyType({})

    def __init__(self, url: str, scheme: str) -> None:
        aiohttp = import_module("aiohttp")
        timeout = aiohttp.ClientTimeout(
            total=None, sock_connect=retry.STALL_SECONDS, sock_read=retry.STALL_SECONDS
        )
        # Proxies and netrc apply as in other programs; bytes arrive as they are stored.
        client = {"trust_env": True, "timeout": timeout, "auto_decompress": False}
        self._files = import_module("fsspec").filesystem(
            scheme,
            use_listings_cache=False,
            encoded=_READY_TO_SEND.fullmatch(url) is not None,
            client_kwargs=client | fsspec_settings(scheme, "client_kwargs"),
        )
        self._url = url

    def get_info(self) -> store.ObjectInfo:
        """Request the first byte: servers report more with a range than with the whole object."""
        return run_on(self._files.loop, self._get_info, seconds=retry.INFO_SECONDS)

    def fetch(self, start: int, end: int, opened: store.ObjectInfo) -> bytes:
        """Request a byte range."""
        return self._run(self._fetch, start, end, opened)

    def stream(self, opened: store.ObjectInfo) -> store.ObjectStream:
        """Request the whole object."""
        answer = self._run(self._get, None)
        stream = _WebStream(self._files.loop, answer)
        try:
            _check_status(answer.status, HTTPStatus.OK)
            store.check_marks(store.version_marks(answer.headers), opened.marks)
        except StoreError:
            stream.close()
            raise
        return stream

    def _run(self, function: Callable[..., Awaitable[_Returned]], *arguments: Any) -> _Returned:
        return run_on(self._files.loop, function, *arguments)

    async def _get(self, part: str | None) -> Any:
        options = dict(self._files.kwargs)
        headers = {**options.pop("headers", {}), **self.headers, "Accept-Encoding": "identity"}
        if part is not None:
            headers["Range"] = f"bytes={part}"
        session = await self._files.set_session()
        return await session.get(self._files.encode_url(self._url), headers=headers, **options)

    async def _get_info(self) -> store.ObjectInfo:
        answer = await self._get("0-0")
        try:
            # An empty object has no first byte, and is read as a whole.
            _check_status(
                answer.status,
                HTTPStatus.OK,
                HTTPStatus.PARTIAL_CONTENT,
                HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE,
            )
            size = _object_size(answer.status, answer.headers)
            ranged = answer.status == HTTPStatus.PARTIAL_CONTENT and size is not None
            is_page = answer.content_type == "text/html"
            return store.ObjectInfo(size, ranged, store.version_marks(answer.headers), is_page)
        finally:
            answer.close()

    async def _fetch(self, start: int, end: int, opened: store.ObjectInfo) -> bytes:
        answer = await self._get(f"{start}-{end - 1}")
        try:
            _check_status(answer.status, HTTPStatus.OK, HTTPStatus.PARTIAL_CONTENT)
            store.check_marks(store.version_marks(answer.headers), opened.marks)
            store.check_range(answer.headers.get("Content-Range"), start, end, opened.size)
            return await store.read_range(answer.content.read, end - start)
        finally:
            # Keeps the connection if the body was read to its end, else closes it.
            answer.release()


class _WebStream:
    """The response of an HTTP server, read from its first byte."""

    def __init__(self, loop: Any, answer: Any) -> None:
        self._loop, self._answer = loop, answer

    def read(self) -> bytes:
        """Return the next bytes."""
        piece: bytes = run_on(self._loop, self._answer.content.readany)
        return piece

    def close(self) -> None:
        """Close the connection."""
        self._loop.call_soon_threadsafe(self._answer.close)


def _check_status(status: int, *expected: int) -> None:
    if status not in expected:
        raise StoreError(refusal(status))


def _object_size(status: int, headers: Mapping[str, str]) -> int | None:
    """Return the size of the whole object from the response to a range request, or None."""
    if status == HTTPStatus.OK:
        reported = headers.get("Content-Length", "")
    else:
        reported = store.read_total(headers.get("Content-Range", ""))
    return int(reported) if reported.isdecimal() else None

"""Repositories on a hub: listed once at one commit, and one request for each file that is read."""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from collections.abc import Iterator, Mapping
from functools import partial
from threading import Event, Lock
from typing import Any, Final
from urllib.parse import quote, unquote, urljoin, urlsplit

from evalstream.io.names import redact_url
from evalstream.io.remote.http import WebObject
from evalstream.io.remote.retry import CHANGED, FailureReason, StoreError, refusal, with_retries
from evalstream.io.remote.store import ETAG, Listed, ObjectInfo, ObjectStream, run_on
from evalstream.io.spill_table import SpillTable, encode_name
from evalstream.model.data_class import NamedTuple

ENDPOINT: Final = "https://huggingface.co"
MOST_PAUSE_SECONDS: Final = 300.0
"""Longest pause that a hub may ask for: the window of its limits."""

SHA256: Final = "sha256:"
BLOB: Final = "blob:"
"""The beginnings of marks: the digest of the content, or the id that git gives it."""

_URL: Final = re.compile(
    r"hf://(?:(datasets|spaces)/)?([^/@]+/[^/@]+)"
    r"(?:@(refs/(?:pr|convert)/[^/]+|[^/]+))?(?:/+(.*))?",
    re.DOTALL,
)
_NEXT: Final = re.compile(r'<([^>]*)>;\s*rel="?next"?')
_LIMIT: Final = re.compile(r"\br=(\d+).*?\bt=(\d+)")
_NO_HUB: Final = FailureReason("not a repository, such as hf://datasets/ORG/NAME", permanent=True)
_NO_SENSE: Final = FailureReason("the hub's answer makes no sense", permanent=True)
_BROKEN: Final = FailureReason("the connection was interrupted", ConnectionError)
_FAILED: Final = FailureReason("the bytes are not those of the hub's listing", permanent=True)


class HubPath(NamedTuple):
    """A place in a repository: its kind in URLs of the API, its name, revision, and path."""

    kind: str
    name: str
    revision: str
    path: str

    @property
    def api(self) -> str:
        """The URL of the repository in the API."""
        return f"{_endpoint()}/api/{self.kind}/{self.name}"

    def file_url(self, commit: str) -> str:
        """Return the URL of the file at a commit."""
        kind = "" if self.kind == "models" else f"{self.kind}/"
        return f"{_endpoint()}/{kind}{self.name}/resolve/{commit}/{quote(self.path)}"


def parse_hub(url: str) -> HubPath:
    """Return the place of a URL. Raises StoreError."""
    found = _URL.fullmatch(url)
    if found is None:
        raise StoreError(_NO_HUB)
    kind, name, revision, path = found.groups()
    return HubPath(kind or "models", name, unquote(revision or "main"), (path or "").rstrip("/"))


def _endpoint() -> str:
    return os.environ.get("HF_ENDPOINT", ENDPOINT).rstrip("/")


class _Listings:
    """The repositories that this process has listed: their commits, and the files at them."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.commits: dict[tuple[str, ...], str] = {}
        self.tables: dict[str, SpillTable] = {}
        self.process = os.getpid()
        self.not_before = 0.0


_KNOWN: Final = _Listings()


def find_commit(place: HubPath) -> str:
    """Return the commit of a revision, which stays the same for this process. Raises StoreError."""
    if re.fullmatch("[0-9a-f]{40}", place.revision):
        return place.revision
    key = (place.api, place.revision)
    if key not in _KNOWN.commits:
        answer, _ = _ask(f"{place.api}/revision/{quote(place.revision, safe='')}")
        commit = answer.get("sha") if isinstance(answer, dict) else None
        if not isinstance(commit, str) or not re.fullmatch("[0-9a-f]{40}", commit):
            raise StoreError(_NO_SENSE)
        _KNOWN.commits[key] = commit
    return _KNOWN.commits[key]


def hub_pages(url: str) -> Iterator[list[Listed]]:
    """List the files below a URL at the commit of its revision, by pages of a recursive listing.

    What was listed answers later requests for properties. Raises StoreError; OSError from the
    iterator.
    """
    place = parse_hub(url)
    shown = redact_url(url)
    commit = with_retries(partial(find_commit, place), Event(), name=shown)
    return _iterate_pages(place, commit, shown)


def _iterate_pages(place: HubPath, commit: str, shown: str) -> Iterator[list[Listed]]:
    below = f"{place.path}/" if place.path else ""
    table = SpillTable("CREATE TABLE file (path BLOB PRIMARY KEY, size INTEGER, mark TEXT)")
    path = f"/{quote(place.path)}" if place.path else ""
    page: str | None = f"{place.api}/tree/{commit}{path}?recursive=true"
    while page is not None:
        found, following = with_retries(partial(_ask, page), Event(), name=shown)
        listed = list(_read_page(found))
        table.change(
            "INSERT OR REPLACE INTO file VALUES (?, ?, ?)",
            [(encode_name(one.path), one.size, one.mark) for one in listed],
        )
        yield [one._replace(path=one.path[len(below) :]) for one in listed]
        if following is not None and (following == page or not following.startswith(_endpoint())):
            raise _NO_SENSE.error()
        page = following
    with _KNOWN.lock:
        _KNOWN.tables[f"{place.api}@{commit}/{below}"] = table


def _read_page(found: Any) -> Iterator[Listed]:
    try:
        for one in found:
            if one["type"] == "file":
                large = (one.get("lfs") or {}).get("oid")
                mark = f"{SHA256}{large}" if large else f"{BLOB}{one['oid']}"
                yield Listed(str(one["path"]), int(one["size"]), mark)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise _NO_SENSE.error() from error


def _find_listed(place: HubPath, commit: str) -> ObjectInfo | None:
    """Return a listed file of this process, None without a listing. Raises StoreError."""
    with _KNOWN.lock:
        if _KNOWN.process != os.getpid():
            return None
        for below, table in _KNOWN.tables.items():
            if f"{place.api}@{commit}/{place.path}".startswith(below):
                query = "SELECT size, mark FROM file WHERE path = ?"
                found = table.rows(query, encode_name(place.path))
                if not found:
                    raise StoreError(refusal(404))
                return ObjectInfo(found[0][0], False, {ETAG: found[0][1]})
    return None


def _ask(url: str) -> tuple[Any, str | None]:
    """Return a JSON answer of the API, and the URL of the next page. Raises StoreError."""
    asked = _HubRequest(url)
    answer = asked.open()
    try:
        text = run_on(asked.loop, answer.read)
    finally:
        asked.release(answer)
    found = _NEXT.search(answer.headers.get("Link", ""))
    try:
        return json.loads(text), urljoin(url, found[1]) if found else None
    except ValueError as error:
        raise StoreError(_NO_SENSE) from error


class _HubRequest(WebObject):
    """A GET request to a hub, which waits where the hub's limits ask for it."""

    def __init__(self, url: str) -> None:
        super().__init__(url, urlsplit(url).scheme)
        self.shown = redact_url(url)
        token = os.environ.get("HF_TOKEN")
        if token:
            self.headers = {"Authorization": f"Bearer {token}"}

    @property
    def loop(self) -> Any:
        """The event loop of its connection."""
        return self._files.loop

    def open(self, start: int = 0) -> Any:
        """Return the answer with a status of success. Raises StoreError."""
        pause = min(_KNOWN.not_before - time.monotonic(), MOST_PAUSE_SECONDS)
        if pause > 0:
            time.sleep(pause)
        answer = self._run(self._get, f"{start}-" if start else None)
        pause = _asked_pause(answer.headers)
        if answer.status not in (200, 206) or (start and answer.status != 206):
            self.release(answer)
            reason = refusal(answer.status) if answer.status >= 300 else CHANGED
            raise StoreError(reason._replace(pause=pause))
        _KNOWN.not_before = time.monotonic() + pause
        return answer

    def release(self, answer: Any) -> None:
        """Close the connection of an answer that was not read to its end, else keep it."""
        self.loop.call_soon_threadsafe(answer.release)


def _asked_pause(headers: Mapping[str, str]) -> float:
    """Return the seconds that a hub asks to wait before the next request."""
    after = headers.get("Retry-After", "")
    if after.isdecimal():
        return min(float(after), MOST_PAUSE_SECONDS)
    found = _LIMIT.search(headers.get("RateLimit", ""))
    is_spent = found is not None and found[1] == "0"
    return min(float(found[2]), MOST_PAUSE_SECONDS) if found and is_spent else 0.0


class HubObject:
    """A file in a repository, at the commit of its revision."""

    pins = True
    is_immutable = True

    def __init__(self, url: str, _scheme: str) -> None:
        self._place = parse_hub(url)
        self._request: _HubRequest | None = None
        self._answer: Any = None

    def get_info(self) -> ObjectInfo:
        """Return the properties from the listing; without one, begin to read the file."""
        commit = find_commit(self._place)
        listed = _find_listed(self._place, commit)
        if listed is not None:
            return listed
        self._answer = self._open()
        history = (*self._answer.history, self._answer)
        headers = {name: value for one in reversed(history) for name, value in one.headers.items()}
        large = headers.get("X-Linked-Etag", "").strip('"')
        blob = history[0].headers.get("ETag", "").strip('"').removeprefix("W/")
        mark = (
            f"{SHA256}{large}" if len(large) == 64 else f"{BLOB}{blob}" if len(blob) == 40 else ""
        )
        size = self._answer.headers.get("Content-Length", "")
        return ObjectInfo(
            int(size) if size.isdecimal() else None, False, {ETAG: mark} if mark else {}
        )

    def fetch(self, _start: int, _end: int, _opened: ObjectInfo) -> bytes:
        """Raise StoreError: a file is read in one request."""
        raise StoreError(_NO_SENSE)

    def stream(self, opened: ObjectInfo) -> ObjectStream:
        """Read the file from its first byte, and compare its bytes with its mark at the end."""
        answer, self._answer = self._answer or self._open(), None
        if self._request is None:
            raise StoreError(_NO_SENSE)
        return _HubStream(self._request, answer, opened)

    def close(self) -> None:
        """Close what `get_info` began to read."""
        if self._request is not None and self._answer is not None:
            self._request.release(self._answer)

    def _open(self) -> Any:
        self._request = _HubRequest(self._place.file_url(find_commit(self._place)))
        return self._request.open()


class _HubStream:
    """The bytes of a file; a broken connection is opened again where it broke."""

    def __init__(self, request: _HubRequest, answer: Any, opened: ObjectInfo) -> None:
        self._request, self._answer, self._opened = request, answer, opened
        self._place = 0
        kind, _, self._expected = opened.marks.get(ETAG, "").partition(":")
        self._digest: Any = None
        if kind == SHA256[:-1]:
            self._digest = hashlib.sha256()
        elif kind == BLOB[:-1] and opened.size is not None:
            header = f"blob {opened.size}\0".encode()
            self._digest = hashlib.sha1(header, usedforsecurity=False)

    def read(self) -> bytes:
        """Return the next bytes."""
        try:
            piece: bytes = with_retries(self._read_piece, Event(), name=self._request.shown)
        except OSError as error:
            raise StoreError(FailureReason(str(error), type(error), permanent=True)) from error
        self._place += len(piece)
        if self._digest is not None:
            self._digest.update(piece)
            if not piece and self._digest.hexdigest() != self._expected:
                raise StoreError(_FAILED)
        return piece

    def _read_piece(self) -> bytes:
        if self._answer is None:
            self._answer = self._request.open(self._place)
        try:
            piece: bytes = run_on(self._request.loop, self._answer.content.readany)
        except Exception:
            self.close()
            raise
        if not piece and self._opened.size is not None and self._place < self._opened.size:
            self.close()
            raise StoreError(_BROKEN)
        return piece

    def close(self) -> None:
        """Close the connection."""
        answer, self._answer = self._answer, None
        if answer is not None:
            self._request.release(answer)

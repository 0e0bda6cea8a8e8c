"""A hub on loopback that serves a folder as a repository, counts requests, and can do wrong."""

import hashlib
import json
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from stores import Answer, Server

COMMIT, REQUESTED = "c" * 40, "d" * 40
LARGE = 2_000
"""Files of so many bytes, unless they are JSON, are stored as large ones, with their SHA-256."""


@dataclass
class FakeHub(Server):
    """A hub with one repository, `org/name`, whose files are those of `folder`.

    `page` is the number of files in a page of the listing. `limits` are answers with a limit that
    come first, by their headers, `broken` the number of answers after them that are errors of the
    hub, and `spoiled` is a path whose bytes are not those of the listing. `request` has the
    files at the revision of a request.
    """

    folder: Path = Path()
    page: int = 1000
    limits: list[dict[str, str]] = field(default_factory=list)
    broken: int = 0
    spoiled: str | None = None
    request: Path | None = None

    @property
    def url(self) -> str:
        """The URL of the repository."""
        return "hf://datasets/org/name"

    def count(self, part: str) -> int:
        """Return how many requests had a part in their path."""
        return sum(part in path for path in self.paths)

    def answer(self, handler: BaseHTTPRequestHandler) -> Answer:
        """Answer as a hub does."""
        if self.limits:
            return Answer(429, self.limits.pop(0), b"{}")
        if self.broken:
            self.broken -= 1
            return Answer(502, {}, b"{}")
        url, folder = urlsplit(handler.path), self.folder
        path, query = unquote(url.path), parse_qs(url.query)
        if path.startswith("/api/datasets/org/name/revision/"):
            is_request = self.request is not None and path.endswith("refs/pr/7")
            return _json({"sha": REQUESTED if is_request else COMMIT})
        if self.request is not None and REQUESTED in path:
            path, folder = path.replace(REQUESTED, COMMIT), self.request
        listing = f"/api/datasets/org/name/tree/{COMMIT}"
        if path.startswith(listing):
            below = path.removeprefix(listing).strip("/")
            return self._list(folder, below, int(query.get("cursor", ["0"])[0]), handler.path)
        files = f"/datasets/org/name/resolve/{COMMIT}/"
        if path.startswith(files):
            return self._send(folder, path.removeprefix(files), handler.headers.get("Range"))
        return Answer(404, {}, b"{}")

    def _list(self, folder: Path, below: str, first: int, asked: str) -> Answer:
        found = sorted(one for one in (folder / below).rglob("*") if one.is_file())
        if not found:
            return Answer(404, {}, b"{}")
        page = [_describe(folder, one) for one in found[first : first + self.page]]
        headers = {}
        if first + self.page < len(found):
            base = asked.partition("?")[0]
            target = f"http://{self.address}{base}?recursive=true&cursor={first + self.page}"
            headers["Link"] = f'<{target}>; rel="next"'
        return Answer(200, headers, json.dumps(page).encode())

    def _send(self, folder: Path, name: str, part: str | None) -> Answer:
        path = folder / name
        if not path.is_file():
            return Answer(404, {}, b"")
        data = path.read_bytes()
        headers = {"ETag": f'"{blob_id(data)}"'}
        if _is_large(name, data):
            headers["X-Linked-Etag"] = f'"{hashlib.sha256(data).hexdigest()}"'
        if name == self.spoiled:
            data = data[:-2] + b"?\n"
        if part is None:
            return Answer(200, headers, data)
        start = int(part.removeprefix("bytes=").rstrip("-"))
        headers["Content-Range"] = f"bytes {start}-{len(data) - 1}/{len(data)}"
        return Answer(206, headers, data[start:])


def _describe(folder: Path, path: Path) -> dict[str, Any]:
    data = path.read_bytes()
    name = path.relative_to(folder).as_posix()
    one: dict[str, Any] = {"type": "file", "path": name, "size": len(data), "oid": blob_id(data)}
    if _is_large(name, data):
        digest = hashlib.sha256(data).hexdigest()
        pointer = f"oid sha256:{digest}".encode()
        one |= {"oid": blob_id(pointer), "lfs": {"oid": digest, "size": len(data)}}
    return one


def blob_id(data: bytes) -> str:
    """Return the id that git gives to a file."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


def _is_large(name: str, data: bytes) -> bool:
    return len(data) >= LARGE and not name.endswith(".json")


def _json(value: Any) -> Answer:
    return Answer(200, {}, json.dumps(value).encode())

"""Servers of objects on loopback that do wrong what servers of objects do wrong."""

import hashlib
import http.client
import re
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Lock, Thread
from typing import NamedTuple

SIGNED = "AWS4-HMAC-SHA256 Credential=a/20260101/us-east-1/s3/aws4_request, Signature=0"
STALL_SECONDS = 600
"""A server that stalls does so for longer than any test."""

HOP_HEADERS = {"connection", "content-length", "date", "server", "transfer-encoding"}


@dataclass
class Faults:
    """What a server does wrong; numbers say how many answers with a body are concerned.

    `spares` answers come before that are not. `status` is the answer to everything.
    """

    refuses: int = 0
    cuts: int = 0
    shortens: int = 0
    shifts: int = 0
    stalls: int = 0
    spares: int = 0
    status: int = 0
    ignores_ranges: bool = False
    hides_size: bool = False
    hides_marks: bool = False


class Answer(NamedTuple):
    """What a server would say if it did nothing wrong."""

    status: int
    headers: dict[str, str]
    body: bytes


@dataclass
class Server:
    """A server on a free port; `asked`, `paths` and `headers` list what was asked for."""

    faults: Faults = field(default_factory=Faults)
    asked: list[str | None] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._released, self._lock = Event(), Lock()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler_for(self))
        self._http.daemon_threads = True
        self.address = f"127.0.0.1:{self._http.server_address[1]}"
        Thread(target=self._http.serve_forever, args=(0.02,), daemon=True).start()

    def answer(self, handler: BaseHTTPRequestHandler) -> Answer:
        """Return what is right to say to a request."""
        raise NotImplementedError

    def reset(self) -> None:
        """Do everything right again, and forget what was asked."""
        self._released.set()
        self._released = Event()
        self.faults = Faults()
        self.asked.clear()
        self.paths.clear()
        self.headers.clear()

    def close(self) -> None:
        """Stop serving."""
        self._released.set()
        self._http.shutdown()
        self._http.server_close()

    def serve(self, handler: BaseHTTPRequestHandler) -> None:
        """Answer a request, wrongly where it is its turn."""
        part, faults = handler.headers.get("Range"), self.faults
        with self._lock:
            self.asked.append(part)
            self.paths.append(handler.path)
            self.headers.append(dict(handler.headers))
            wrong = self._turn() if handler.command == "GET" else ""
        if faults.status or wrong == "refuses":
            _send(handler, Answer(faults.status or 503, {}, b"the secret is in the body"))
            return
        if faults.ignores_ranges:
            del handler.headers["Range"]
        answer = self.answer(handler)
        if faults.hides_marks:
            for name in ("etag", "last-modified"):
                answer.headers.pop(name, None)
        self._send_wrongly(handler, answer, wrong)

    def _turn(self) -> str:
        """Name what goes wrong with the next answer, if anything does."""
        if self.faults.spares:
            self.faults.spares -= 1
            return ""
        for wrong in ("refuses", "cuts", "shortens", "shifts", "stalls"):
            left = getattr(self.faults, wrong)
            if left:
                setattr(self.faults, wrong, left - 1)
                return wrong
        return ""

    def _send_wrongly(self, handler: BaseHTTPRequestHandler, answer: Answer, wrong: str) -> None:
        half = len(answer.body) // 2
        if wrong == "shortens":
            _send(handler, answer._replace(body=answer.body[:half]))
        elif wrong == "shifts":
            told = re.sub(r"bytes \d+", "bytes 1", answer.headers.get("content-range", ""))
            _send(handler, answer._replace(headers={**answer.headers, "content-range": told}))
        elif wrong in {"cuts", "stalls"}:
            _send(handler, answer, upto=half)
            if wrong == "stalls":
                self._released.wait(STALL_SECONDS)
            handler.close_connection = True
        else:
            length = None if self.faults.hides_size else len(answer.body)
            _send(handler, answer, length=length)


class ObjectServer(Server):
    """A web server of objects by path."""

    def __post_init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        super().__post_init__()

    def answer(self, handler: BaseHTTPRequestHandler) -> Answer:
        """Answer with an object, or a part of it."""
        data = self.objects.get(handler.path.partition("?")[0])
        if data is None:
            return Answer(404, {}, b"nothing here")
        headers = {"etag": f'"{hashlib.md5(data).hexdigest()}"', "accept-ranges": "bytes"}
        part = re.fullmatch(r"bytes=(\d+)-(\d+)", handler.headers.get("Range", ""))
        if part is None:
            return Answer(200, headers, data)
        start, end = int(part[1]), min(int(part[2]) + 1, len(data))
        if start >= len(data):
            return Answer(416, {**headers, "content-range": f"bytes */{len(data)}"}, b"")
        headers["content-range"] = f"bytes {start}-{end - 1}/{len(data)}"
        return Answer(206, headers, data[start:end])


class ForwardingServer(Server):
    """A server before another one, `behind`."""

    behind: str = ""

    def answer(self, handler: BaseHTTPRequestHandler) -> Answer:
        """Answer what the server behind answers."""
        length = int(handler.headers.get("Content-Length") or 0)
        connection = http.client.HTTPConnection(self.behind, timeout=10)
        try:
            connection.request(
                handler.command, handler.path, handler.rfile.read(length), dict(handler.headers)
            )
            answer = connection.getresponse()
            told = {name.lower(): value for name, value in answer.getheaders()}
            headers = {name: told[name] for name in told if name not in HOP_HEADERS}
            if handler.command == "HEAD":
                headers["content-length"] = answer.getheader("Content-Length", "0")
            return Answer(answer.status, headers, answer.read())
        finally:
            connection.close()


def put(address: str, path: str, data: bytes) -> None:
    """Store an object, or a bucket where the path has one part, in a store that is open."""
    connection = http.client.HTTPConnection(address, timeout=10)
    try:
        connection.request("PUT", path, data, {"Authorization": SIGNED})
        answer = connection.getresponse()
        answer.read()
        assert answer.status == 200, answer.status
    finally:
        connection.close()


def _handler_for(server: Server) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # Headers and body go out apart, and the second would wait 40 ms for word of the first.
        disable_nagle_algorithm = True

        def handle(self) -> None:
            """Answer until whoever asks is gone."""
            with suppress(ConnectionError):
                super().handle()

        def do_GET(self) -> None:
            """Answer."""
            server.serve(self)

        do_HEAD = do_GET  # noqa: N815 - theirs

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - theirs
            """Say nothing."""

    return Handler


def _send(
    handler: BaseHTTPRequestHandler,
    answer: Answer,
    *,
    upto: int | None = None,
    length: int | None = -1,
) -> None:
    """Send an answer, or the first bytes of it; `length` is what is told, -1 the truth."""
    handler.send_response(answer.status)
    told = len(answer.body) if length == -1 else length
    headers = {k: v for k, v in answer.headers.items() if v}
    if told is None:
        handler.close_connection = True
        handler.send_header("Connection", "close")
    else:
        headers.setdefault("content-length", str(told))
    for name, value in headers.items():
        handler.send_header(name, value)
    handler.end_headers()
    if handler.command != "HEAD":
        handler.wfile.write(answer.body[:upto])
        handler.wfile.flush()

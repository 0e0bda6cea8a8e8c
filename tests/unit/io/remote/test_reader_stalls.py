"""Servers that stall or drip: each check ends by itself, with a reason."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest
from depth import deep
from each import each

import evalstream
from evalstream.io.remote import retry
from evalstream.model.exit_codes import ExitCode

pytest.importorskip("aiohttp")

pytestmark = pytest.mark.leaves_threads

SIZE = 4000
NOT_IN_TIME = "the server did not answer in time (tried 3 times)"


class StallingServer:
    """Accepts connections, and lets a function speak on each in its own thread."""

    def __init__(self, speak: Callable[[socket.socket, bytes], None]) -> None:
        self._speak = speak
        self.ended = threading.Event()
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}/x_samples.jsonl"
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Stop; connections that stall are closed."""
        self.ended.set()
        self._listening.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection = self._listening.accept()[0]
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):
            while request := connection.recv(1 << 16):
                self._speak(connection, request)

    def drip(self, connection: socket.socket, data: bytes) -> None:
        """Send some bytes again and again, until the client or the server ends."""
        while not self.ended.wait(0.02):
            connection.sendall(data)


@pytest.fixture(autouse=True)
def notices(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Give up soon, and collect what people are told."""
    for name, value in (
        ("STALL_SECONDS", 0.15),
        ("INFO_SECONDS", 0.3),
        ("BLOCK_SECONDS", 0.3),
        ("NOTICE_SECONDS", 0.05),
        ("PAUSE_SECONDS", 0.001),
    ):
        monkeypatch.setattr(retry, name, value)
    told: list[str] = []
    monkeypatch.setattr(retry, "notify", told.append)
    return told


@pytest.fixture
def serve() -> Iterator[Callable[[str], StallingServer]]:
    """A function that starts a server which stalls in a way."""
    servers: list[StallingServer] = []

    def start(way: str) -> StallingServer:
        def speak(connection: socket.socket, request: bytes) -> None:
            if way == "drips headers":
                connection.sendall(b"HTTP/1.1 200 OK\r\n")
                server.drip(connection, b"X: y\r\n")
            elif way == "stalls in headers":
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Le")
            elif b"bytes=0-0" in request and way != "says nothing":
                connection.sendall(_part(0, 1) + b" ")
            elif way == "stalls in the body":
                connection.sendall(_part(0, SIZE) + b" " * 100)
            elif way == "drips the body":
                connection.sendall(_part(0, SIZE))
                server.drip(connection, b" ")

        server = StallingServer(speak)
        servers.append(server)
        return server

    yield start
    for server in servers:
        server.close()


def _part(start: int, stop: int) -> bytes:
    """Return the headers of an answer with a range of the object."""
    lines = (
        "HTTP/1.1 206 Partial Content",
        f"Content-Length: {stop - start}",
        f"Content-Range: bytes {start}-{stop - 1}/{SIZE}",
        'ETag: "one"',
    )
    return "\r\n".join(lines).encode() + b"\r\n\r\n"


@each(
    "way",
    [
        "says nothing",
        deep("stalls in headers"),
        "drips headers",
        "stalls in the body",
        "drips the body",
    ],
)
def test_a_check_ends_where_a_server_stalls(
    serve: Callable[[str], StallingServer], notices: list[str], way: str
) -> None:
    report = evalstream.check(serve(way).url, jobs=1)
    assert report.exit_code == ExitCode.UNCHECKED
    (run,) = report.runs
    assert NOT_IN_TIME in str(run.incomplete_reason)
    assert any("waiting for the server for" in told for told in notices)
    assert any("attempt 3 of 3 follows" in told for told in notices)


def test_a_check_ends_where_a_server_does_not_accept(notices: list[str]) -> None:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(0)
        address = listening.getsockname()
        waiting = [socket.socket() for _ in range(4)]
        for one in waiting:  # they fill the queue of connections, which nobody accepts
            one.setblocking(False)
            one.connect_ex(address)
        report = evalstream.check(f"http://127.0.0.1:{address[1]}/x_samples.jsonl", jobs=1)
        for one in waiting:
            one.close()
    assert report.exit_code == ExitCode.UNCHECKED
    assert NOT_IN_TIME in str(report.runs[0].incomplete_reason)
    assert any("waiting for the server for" in told for told in notices)


def test_stalls_count_apart_from_other_faults() -> None:
    faults = [ConnectionError, TimeoutError, ConnectionError, TimeoutError]

    def call() -> str:
        if faults:
            raise faults.pop(0)
        return "read"

    assert retry.with_retries(call, threading.Event()) == "read"
    faults += [TimeoutError] * 3
    with pytest.raises(TimeoutError, match="tried 3 times"):
        retry.with_retries(call, threading.Event())

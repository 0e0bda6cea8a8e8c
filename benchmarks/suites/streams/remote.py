"""Checks a file behind a web server on this machine."""

from __future__ import annotations

import http
import os
import sys
from contextlib import suppress
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

from benchmarks.contenders.evalstream import CHECK, REPORT
from benchmarks.harness.rounds import Task
from benchmarks.harness.tables import Section, speed_columns
from benchmarks.suites.streams.runs import TWO_WORKERS, Scale, mixed, sees_all

FETCH = """
import sys
from evalstream.io.remote import RemoteReader
reader = RemoteReader(sys.argv[1])
while reader.read():
    pass
"""
"""Reads a file as a check does, and drops it."""


def remote(folder: Path, scale: Scale) -> Section:
    """Check a file behind a web server, beside reading its bytes alone."""
    run = mixed(folder.parent / "run", scale.size, scale.seed)
    columns = speed_columns("reading", floor="reading alone")
    section = Section("Remote storage, on loopback", columns)
    missing = [package for package in ("aiohttp", "fsspec") if find_spec(package) is None]
    if missing:
        section.skip("http", f"skipped: {', '.join(missing)} is not installed")
        return section
    context = get_context("spawn")
    here, there = context.Pipe()
    server = context.Process(target=serve, args=(there, str(run.rows_path.parent)), daemon=True)
    server.start()
    try:
        there.close()
        prefix = f"http://{here.recv()}"
        rows, aggregate = (f"{prefix}/{path.name}" for path in (run.rows_path, run.aggregate_path))
        check = [*CHECK, rows, "--aggregate", aggregate, *REPORT, *TWO_WORKERS]
        alone = Task("http, reading alone", [sys.executable, "-c", FETCH, rows], run.bytes)
        task = Task("http", check, run.bytes, alone, sees_all(run))
        section.measure_with_floor(task, scale.rounds)
    finally:
        server.terminate()
        server.join()
    return section


def serve(connection: Connection, folder: str) -> None:
    """Serve a folder with ranges until the process is terminated; send its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(FilesHandler, directory=folder))
    connection.send(f"127.0.0.1:{server.server_address[1]}")
    server.serve_forever()


class FilesHandler(SimpleHTTPRequestHandler):
    """Answers with files and with parts of them, from the page cache."""

    protocol_version = "HTTP/1.1"

    def handle(self) -> None:
        """Answer until the client closes the connection."""
        with suppress(ConnectionError):
            super().handle()

    def do_GET(self) -> None:
        """Answer with a file, or with the range of it that is requested."""
        with open(self.translate_path(self.path), "rb") as file:
            facts = os.fstat(file.fileno())
            start, end = 0, facts.st_size
            requested = self.headers.get("Range", "").removeprefix("bytes=")
            if requested:
                first, _, last = requested.partition("-")
                start, end = int(first), min(int(last or end) + 1, end)
            self.send_response(http.HTTPStatus.PARTIAL_CONTENT if requested else http.HTTPStatus.OK)
            if requested:
                self.send_header("Content-Range", f"bytes {start}-{end - 1}/{facts.st_size}")
            self.send_header("Accept-Ranges", "bytes")
            self.send_header("Content-Length", str(end - start))
            self.send_header("ETag", f'"{facts.st_size:x}-{facts.st_mtime_ns:x}"')
            self.end_headers()
            if self.command == "GET":
                self.wfile.flush()
                self.connection.sendfile(file, start, end - start)

    do_HEAD = do_GET  # noqa: N815 - the name is that of the base class

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as above
        """Log nothing."""

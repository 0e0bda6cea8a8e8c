"""Checks an object in a store and behind a web server, both on this machine."""

from __future__ import annotations

import http.client
import logging
import multiprocessing
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from importlib.util import find_spec
from multiprocessing.connection import Connection
from pathlib import Path
from time import sleep

from benchmarks.contenders.evalstream import CHECK
from benchmarks.generate.runs import Run
from benchmarks.harness.judging import WrongAnswer
from benchmarks.harness.section import Section
from benchmarks.suites.streams.runs import REPORT, sees_all
from benchmarks.suites.streams.scale import PATIENCE_SECONDS, Scale
from benchmarks.suites.streams.tasks import SPEEDS, Task, tell_with_floor

BUCKET = "results"
SIGNED = "AWS4-HMAC-SHA256 Credential=a/20260101/us-east-1/s3/aws4_request, Signature=0"
CREDENTIALS = (
    "AWS_ACCESS_KEY_ID=benchmark",
    "AWS_SECRET_ACCESS_KEY=benchmark",
    "AWS_DEFAULT_REGION=us-east-1",
    "AWS_EC2_METADATA_DISABLED=true",
)
FETCH = """
import sys
from evalstream.sources.remote import RemoteReader
reader = RemoteReader(sys.argv[1])
while reader.read():
    pass
"""
"""Has an object as a check does, and drops it."""


def remote(folder: Path, scale: Scale, run: Run) -> Section:
    """Check an object in a store and behind a web server, both on this machine."""
    del folder
    title = "From afar, by loopback; the floor is having the bytes alone"
    section = Section(title, SPEEDS)
    stores = {"s3": ("moto", "s3fs", "flask"), "http": ("aiohttp", "fsspec")}
    for name, needed in stores.items():
        missing = [package for package in needed if find_spec(package) is None]
        if missing:
            section.skip(name, f"skipped: {', '.join(missing)} is not installed")
            continue
        with store_of(name, run) as (prefix, environment):
            prepared = ["env", *environment]
            paths = (run.rows_path, run.aggregate_path)
            rows, aggregate = (f"{prefix}/{path.name}" for path in paths)
            check = [*prepared, *CHECK, rows, "--aggregate", aggregate, *REPORT, "--jobs", "2"]
            alone = [*prepared, sys.executable, "-c", FETCH, rows]
            task = Task(name, check, run.bytes, alone, sees_all(run))
            tell_with_floor(section, task, scale.rounds, f"{name}, the bytes alone")
    return section


@contextmanager
def store_of(name: str, run: Run) -> Iterator[tuple[str, list[str]]]:
    """Serve a run's files in a process of its own; give what URLs and environments begin with."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    serve = serve_bucket if name == "s3" else serve_files
    process = context.Process(target=serve, args=(there, str(run.rows_path.parent)), daemon=True)
    process.start()
    try:
        if not here.poll(PATIENCE_SECONDS):
            raise WrongAnswer(f"the server of {name} does not start")
        address = here.recv()
        if name == "http":
            yield f"http://{address}", []
        else:
            put(address, f"/{BUCKET}")
            for path in (run.rows_path, run.aggregate_path):
                put(address, f"/{BUCKET}/{path.name}", path)
            yield f"s3://{BUCKET}", [f"AWS_ENDPOINT_URL=http://{address}", *CREDENTIALS]
    finally:
        process.terminate()
        process.join()


def put(address: str, path: str, source: Path | None = None) -> None:
    """Store a file as an object, or make a bucket, in a store that is open."""
    connection = http.client.HTTPConnection(address, timeout=PATIENCE_SECONDS)
    with Path(source or os.devnull).open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        headers = {"Authorization": SIGNED, "Content-Length": str(size)}
        connection.request("PUT", path, file, headers)
        answer = connection.getresponse()
        answer.read()
    connection.close()
    if answer.status != http.HTTPStatus.OK:
        raise WrongAnswer(f"the store answered {answer.status} to an object")


def serve_bucket(connection: Connection, folder: str) -> None:
    """Serve a store that speaks S3 until the process is ended."""
    del folder
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = import_module("moto.server").ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    address, port = server.get_host_and_port()
    connection.send(f"{address}:{port}")
    while True:
        sleep(PATIENCE_SECONDS)


def serve_files(connection: Connection, folder: str) -> None:
    """Serve a folder with ranges until the process is ended."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(FilesHandler, directory=folder))
    connection.send(f"127.0.0.1:{server.server_address[1]}")
    server.serve_forever()


class FilesHandler(SimpleHTTPRequestHandler):
    """Answers with files and with parts of them, from the page cache."""

    protocol_version = "HTTP/1.1"

    def handle(self) -> None:
        """Answer until whoever asks is gone."""
        with suppress(ConnectionError):
            super().handle()

    def do_GET(self) -> None:
        """Answer with a file, or with the part that is asked for."""
        with open(self.translate_path(self.path), "rb") as file:
            facts = os.fstat(file.fileno())
            start, end = 0, facts.st_size
            asked = self.headers.get("Range", "").removeprefix("bytes=")
            if asked:
                first, _, last = asked.partition("-")
                start, end = int(first), min(int(last or end) + 1, end)
            self.send_response(http.HTTPStatus.PARTIAL_CONTENT if asked else http.HTTPStatus.OK)
            if asked:
                told = f"bytes {start}-{end - 1}/{facts.st_size}"
                self.send_header("Content-Range", told)
            self.send_header("Accept-Ranges", "bytes")
            self.send_header("Content-Length", str(end - start))
            self.send_header("ETag", f'"{facts.st_size:x}-{facts.st_mtime_ns:x}"')
            self.end_headers()
            if self.command == "GET":
                self.wfile.flush()
                self.connection.sendfile(file, start, end - start)

    do_HEAD = do_GET  # noqa: N815 - theirs

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - theirs
        """Say nothing."""

"""Blocks of streams: the same report however workers get them and die."""

from __future__ import annotations

import gzip
import hashlib
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import orjson
import pytest
from commands import started
from depth import deep, examples
from hypothesis import given
from hypothesis import strategies as st
from odd_files import LONGEST, odd_files
from rows import bounded, bytes_of, reported, sound_rows, write_run
from worker_tasks import check_or_die, check_or_die_once

import evalstream
from evalstream.engine import row_pass
from evalstream.executors import pool
from evalstream.formats.eee import row_engine
from evalstream.io import readers
from evalstream.io.readers import DescriptorReader
from evalstream.io.stream import StreamSource
from evalstream.model.block import Block

ROWS = bytes_of(sound_rows(count=40))
BLOCK_BYTES = 4000


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_pass, "BLOCK_BYTES", BLOCK_BYTES)


def _packed_run(folder: Path, data: bytes) -> tuple[Path, Path]:
    rows, aggregate = write_run(folder, data)
    packed = folder / f"{rows.name}.gz"
    packed.write_bytes(gzip.compress(data))
    rows.unlink()
    return packed, aggregate


def _array_run(folder: Path, data: bytes) -> tuple[Path, Path]:
    array = b"[" + b",\n".join(data.splitlines()) + b"]"
    return write_run(folder, array)


@pytest.mark.parametrize(
    ("method", "make"),
    [
        (method, make) if (method == "fork") == (make is _array_run) else deep(method, make)
        for method in multiprocessing.get_all_start_methods()
        for make in (_packed_run, _array_run)
    ],
)
def test_all_start_methods_report_the_same(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    method: str,
    make: Callable[[Path, bytes], tuple[Path, Path]],
) -> None:
    broken = ROWS.replace(b'"score": 1.0', b'"score": "1.0"', 3) + ROWS[:700]
    rows, aggregate = make(tmp_path, broken)
    serial = reported(rows, tmp_path, "jsonl", aggregate, executor="serial")
    monkeypatch.setattr(pool, "_start_method", lambda: method)
    pooled = reported(rows, tmp_path, "jsonl", aggregate, executor="pool", jobs=2)
    assert pooled == serial
    assert serial[0] == 1


@pytest.mark.parametrize("settings", [{"jobs": 2}, {"jobs": 2, "executor": "pool"}])
@pytest.mark.parametrize("cut", [deep(None), -20, deep(-3000)], ids=["whole", "end", "middle"])
def test_workers_report_the_same_of_damaged_streams(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cut: int | None, settings: dict[str, Any]
) -> None:
    broken = ROWS.replace(b'"score": 1.0', b'"score": "1.0"', 3) + ROWS * 9
    rows, aggregate = _packed_run(tmp_path, broken)
    rows.write_bytes(rows.read_bytes()[:cut])
    serial = reported(rows, tmp_path, "jsonl", aggregate, executor="serial")
    started: list[str] = []
    start = threading.Thread.start
    monkeypatch.setattr(
        threading.Thread, "start", lambda self: started.append(self.name) or start(self)
    )
    monkeypatch.setattr(row_pass, "_is_small", lambda *_: False)
    monkeypatch.setattr(row_engine, "WORTH_A_SCANNER_BYTES", 0)
    assert reported(rows, tmp_path, "jsonl", aggregate, **settings) == serial
    assert "evalstream-digest" in started
    # One more than there are workers unpacks.
    assert started.count("evalstream-worker") == (0 if "executor" in settings else 3)
    left = {thread.name for thread in threading.enumerate()}
    assert not any(name.startswith("evalstream") for name in left)


def test_a_worker_that_dies_once_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, aggregate = _packed_run(tmp_path, ROWS)
    flag = tmp_path / "died"
    monkeypatch.setattr(row_pass, "check_block", partial(check_or_die_once, str(flag)))
    report = evalstream.check(rows, aggregate=aggregate, executor="pool", jobs=2)
    assert flag.exists()
    assert (report.exit_code, report.runs[0].rows) == (0, 40)


def test_rows_of_a_stream_whose_worker_is_lost_do_not_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, aggregate = _packed_run(tmp_path, ROWS)
    monkeypatch.setattr(row_pass, "check_block", check_or_die)
    report = evalstream.check(rows, aggregate=aggregate, executor="pool", jobs=2)
    assert report.exit_code == 3
    assert report.runs[0].verdict == "incomplete"
    assert "these rows were not checked" in (report.runs[0].incomplete_reason or "")
    assert "evalstream-digest" not in {thread.name for thread in threading.enumerate()}


def test_rows_are_passed_on(tmp_path: Path) -> None:
    rows, aggregate = _packed_run(tmp_path, ROWS + b"{}\n" + ROWS[:300])
    routing = {"accepted": str(tmp_path / "good"), "rejected": str(tmp_path / "bad")}
    evalstream.check(rows, aggregate=aggregate, executor="pool", jobs=2, **routing)
    assert (tmp_path / "good").read_bytes() == ROWS
    assert (tmp_path / "bad").read_bytes() == b"{}\n" + ROWS[:300]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux forks workers")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_stream_with_what_was_read(tmp_path: Path, number: signal.Signals) -> None:
    write_run(tmp_path, ROWS)
    arguments = ("check", "-", "--executor", "pool", "--jobs", "2", "--format", "json")
    with started(*arguments, "--pass", "valid", "-o", "said", folder=tmp_path) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(ROWS * 40)
        process.stdin.flush()
        seen = b""
        while len(seen) < len(ROWS) * 40:
            seen += os.read(process.stdout.fileno(), 1 << 16)
        process.send_signal(number)
        assert process.wait(60) == 128 + number
    (run,) = orjson.loads((tmp_path / "said").read_bytes())["runs"]
    assert (seen, run["rows"], run["verdict"]) == (ROWS * 40, 1600, "failed")


@bounded(max_examples=examples(100))
@given(
    data=odd_files(),
    length=st.integers(1, 4000),
    head=st.integers(0, 3000),
    piece=st.integers(1, 3000),
)
def test_any_cut_gives_the_same_bytes(data: bytes, length: int, head: int, piece: int) -> None:
    at = 0
    for block in _cut(data, length, head, piece):
        content, size = block.data, block.length
        # Of a line that is too long only the beginning is needed.
        assert data[at : at + size].startswith(content)
        assert len(content) == size or block.overlong
        assert not (block.overlong and b"\n" in data[at : at + size - 1])
        at += size
    assert at == len(data)


def _cut(data: bytes, length: int, head: int, piece: int) -> list[Block]:
    """Cut a stream into blocks."""
    reading, writing = os.pipe()

    def write() -> None:
        with open(writing, "wb") as file:
            file.write(data)

    writer = threading.Thread(target=write)
    writer.start()
    source = StreamSource(DescriptorReader(reading), "x", LONGEST, idle_seconds=0.0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(readers, "READ_BYTES", piece)
        patch.setattr("evalstream.io.stream.READ_BYTES", piece)
        source.head(head)
        source.start_digest(["sha256"])
        blocks = [block for block in source.blocks(length) if block is not None]
    assert source.checksums() == {"sha256": hashlib.sha256(data).hexdigest()}
    writer.join()
    source.close()
    os.close(reading)
    return blocks

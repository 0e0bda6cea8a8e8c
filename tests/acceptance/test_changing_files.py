"""Files that change while they are read: what was parsed is what was hashed, or nothing passes."""

import json
import os
import tempfile
import threading
import time
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from depth import deep, examples
from hypothesis import given
from hypothesis import strategies as st
from rows import bounded, bytes_of, sound_rows, write_run

import evalstream
from evalstream.engine import row_pass
from evalstream.engine.row_pass import RowPass
from evalstream.formats.eee import row_engine
from evalstream.io import readers
from evalstream.io.digest import RunningDigest
from evalstream.io.file import FileSource
from evalstream.model.block import Block

DATA = bytes_of(sound_rows(count=40))
SERIAL = {"jobs": 1}
THREADS = {"jobs": 2}
POOL = {"jobs": 2, "executor": "pool"}
EXECUTORS = pytest.mark.parametrize(
    "settings", [SERIAL, THREADS, POOL], ids=["serial", "threads", "pool"]
)

Change = Callable[[Path], object]


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a small file be read as a large one is: in many blocks, most of them behind its head."""
    head = FileSource.head
    monkeypatch.setattr(FileSource, "head", lambda source, size=5000: head(source, size))
    monkeypatch.setattr(row_pass, "BLOCK_BYTES", 1000)
    monkeypatch.setattr(row_pass, "SMALLEST_BLOCK_BYTES", 1000)
    monkeypatch.setattr(row_pass, "WORTH_A_POOL_BYTES", 0)
    monkeypatch.setattr(row_engine, "WORTH_A_SCANNER_BYTES", 0)


def again(path: Path, edit: Callable[[bytes], bytes]) -> None:
    """Write a file anew in its place, and put its times back."""
    before = path.stat()
    time.sleep(0.02)  # longer than the clock of any file system of Linux ticks
    with path.open("r+b") as file:
        text = edit(file.read())
        file.seek(0)
        file.write(text)
        file.truncate()
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def flipped(path: Path) -> None:
    """Change one letter in the middle, so that nothing but the bytes shows it."""
    again(path, lambda text: text.replace(b"Question 20", b"Question 2O", 1))


def appended(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"{}\n")


def replaced(path: Path) -> None:
    other = path.with_name("other")
    other.write_bytes(path.read_bytes())
    other.replace(path)


def before(
    monkeypatch: pytest.MonkeyPatch, owner: type, step: str, change: Callable[[], object]
) -> None:
    """Let something happen right before a step of a check."""
    original = getattr(owner, step)

    def changed_first(*arguments: Any) -> Any:
        change()
        return original(*arguments)

    monkeypatch.setattr(owner, step, changed_first)


def verdict(report: evalstream.Report) -> tuple[int, str, int]:
    return report.exit_code, report.runs[0].verdict, report.counts.get("ES004", 0)


@pytest.mark.parametrize(
    ("settings", "step", "change"),
    # Each executor, each step and each change; all of them together in a deep search.
    [
        case if place % 6 in (0, 4) else deep(*case)
        for place, case in enumerate(
            product([SERIAL, THREADS, POOL], ["run", "note"], [flipped, appended, replaced])
        )
    ],
)
def test_rows_that_change_never_pass(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    settings: dict[str, Any],
    change: Change,
    step: str,
) -> None:
    rows, aggregate = write_run(tmp_path, DATA)
    assert verdict(evalstream.check(rows, aggregate=aggregate, **settings)) == (0, "passed", 0)
    if step == "run":
        before(monkeypatch, RowPass, "run", lambda: change(rows))
    else:
        before(monkeypatch, FileSource, "checksums", lambda: change(rows))
    report = evalstream.check(rows, aggregate=aggregate, **settings)
    assert verdict(report) == (3, "incomplete", 1)
    assert report.runs[0].incomplete_reason is not None
    left_out = evalstream.check(rows, aggregate=aggregate, ignore=("ES004",), **settings)
    assert left_out.runs[0].verdict != "passed"


@EXECUTORS
@pytest.mark.parametrize("change", [flipped, replaced])
def test_an_aggregate_that_changes_never_passes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any], change: Change
) -> None:
    rows, aggregate = write_run(tmp_path, DATA)
    before(monkeypatch, RowPass, "run", lambda: change(aggregate))
    report = evalstream.check(rows, aggregate=aggregate, **settings)
    assert verdict(report) == (3, "incomplete", 1)
    assert [one.file for one in report if one.code == "ES004"] == [str(aggregate)]


@pytest.mark.parametrize("name", ["rows", "aggregate"])
def test_other_permissions_cannot_be_told_from_a_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    rows, aggregate = write_run(tmp_path, DATA)
    path = {"rows": rows, "aggregate": aggregate}[name]

    def other_permissions() -> None:
        time.sleep(0.02)
        path.chmod(0o600)

    before(monkeypatch, RowPass, "run", other_permissions)
    report = evalstream.check(rows, aggregate=aggregate)
    assert verdict(report) == (3, "incomplete", 1)
    assert [one for one in report if "permissions" in one.message]


@EXECUTORS
def test_a_file_that_others_only_read_is_not_accused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any]
) -> None:
    rows, aggregate = write_run(tmp_path, DATA)
    os.utime(rows, ns=(0, rows.stat().st_mtime_ns))
    before(monkeypatch, RowPass, "run", lambda: rows.read_bytes() + aggregate.read_bytes())
    report = evalstream.check(rows, aggregate=aggregate, **settings)
    assert verdict(report) == (0, "passed", 0)


def blind(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no time, size or inode show a change, as where a clock is too coarse."""
    monkeypatch.setattr("evalstream.io.file.describe_change", lambda *_: None)


@EXECUTORS
def test_the_head_that_showed_what_a_file_is_belongs_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any]
) -> None:
    rows, aggregate = write_run(tmp_path, DATA)
    rows.write_bytes(DATA.replace(b"Question 0", b"Question O", 1))
    blind(monkeypatch)
    before(monkeypatch, RowPass, "run", lambda: rows.write_bytes(DATA))
    report = evalstream.check(rows, aggregate=aggregate, **settings)
    assert report.runs[0].verdict == "failed"
    assert report.counts["ES501"] == 1


@pytest.mark.parametrize("settings", [SERIAL, THREADS], ids=["serial", "threads"])
def test_the_bytes_that_are_digested_are_those_that_are_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any]
) -> None:
    rows, aggregate = write_run(tmp_path, DATA)
    checked: dict[int, bytes] = {}
    digested: list[bytes] = []
    threads: set[str] = set()
    run, update = row_pass.check_block, RunningDigest.update

    def check_block(context: Any, block: Block, **more: Any) -> Any:
        checked[block.offset] = block.data
        threads.add(threading.current_thread().name)
        return run(context, block, **more)

    monkeypatch.setattr(row_pass, "check_block", check_block)
    monkeypatch.setattr(
        RunningDigest, "update", lambda self, data: digested.append(data) or update(self, data)
    )
    # Whoever read the file a second time would see other bytes.
    before(monkeypatch, FileSource, "checksums", lambda: rows.write_bytes(b"other"))
    blind(monkeypatch)
    report = evalstream.check(rows, aggregate=aggregate, **settings)
    assert verdict(report) == (0, "passed", 0)
    assert b"".join(checked[offset] for offset in sorted(checked)) == b"".join(digested) == DATA
    assert threads == {"MainThread" if settings is SERIAL else "evalstream-worker"}


@bounded(max_examples=examples(200))
@given(
    st.lists(st.sampled_from([b"\n", b"a", b"bcd", b"long" * 9]), max_size=40).map(b"".join),
    st.integers(1, 20),
    st.integers(1, 30),
    st.integers(0, 30),
)
def test_blocks_of_whole_lines_are_the_file(
    data: bytes, length: int, longest: int, head: int
) -> None:
    path = Path(tempfile.gettempdir()) / f"evalstream-{os.getpid()}"
    path.write_bytes(data)
    try:
        source = FileSource(str(path), longest)
        source.start_digest(["sha256"])
        source.head(head)
        blocks = list(source.blocks(length))
        expected = RunningDigest(["sha256"])
        expected.update(data)
        assert source.checksums() == expected.result()
        source.close()
    finally:
        path.unlink()
    ends = 0
    for block in blocks:
        assert block.offset == ends
        ends += block.length
        whole = data[block.offset : ends]
        assert whole.endswith(b"\n") or ends == len(data)
        assert block.final == (ends == len(data))
        if block.overlong:
            line = whole.removesuffix(b"\n")
            assert b"\n" not in line
            assert len(line) > longest
            assert block.data
            assert line.startswith(block.data.removesuffix(b"\n"))
        else:
            assert block.data == whole
    assert ends == len(data)


def test_long_lines_are_told_alike_whoever_reads_them(tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_bytes(DATA + b'"' + b"x" * 9000 + b'"\n' + DATA)
    reports = [
        [
            (finding.code, finding.line, finding.offset)
            for finding in evalstream.check(rows, max_line_bytes=4000, ignore=("ES4",), **settings)
        ]
        for settings in (SERIAL, THREADS, POOL)
    ]
    assert reports[0] == reports[1] == reports[2]
    assert ("ES003", 41, len(DATA)) in reports[0]


def test_documents_of_other_formats_are_watched_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    evaluation = tmp_path / "evaluation.json"
    evaluation.write_text('{"framework_version": "0.1", "items": [], "benchmark_id": "a"}')
    watched: list[str] = []
    add = readers.Watch.add

    def added(watch: readers.Watch, path: str, status: os.stat_result) -> None:
        add(watch, path, status)
        if path not in watched:
            watched.append(path)
            replaced(Path(path))

    monkeypatch.setattr(readers.Watch, "add", added)
    metric = tmp_path / "metric.yaml"
    metric.write_text("id: m\ntype: metric\n")
    given_to = tmp_path / "input.json"
    given_to.write_text(json.dumps({"instances": [], "metrics": []}))
    for path, name in ((evaluation, "infereval"), (metric, "evalguard"), (given_to, "harpia")):
        report = evalstream.check(path, input_format=name)
        assert verdict(report) == (3, "incomplete", 1), name
        assert str(path) in watched


def test_a_document_that_is_read_twice_has_the_same_bytes_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from evalstream.formats.infereval.files import RereadDocument

    path = tmp_path / "evaluation.json"
    path.write_text('{"items": []}')
    document = RereadDocument(str(path))
    assert document.whole() == document.whole()
    assert document.difference() is None
    path.write_text('{"itemz": []}')
    document.whole()
    assert document.difference() is not None
    document.close()

"""Files that change while they are read: what was parsed is what was hashed, or nothing passes."""

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rows import bounded, bytes_of, sound_rows, write_run

import evalstream
from evalstream.engine import block_tasks, row_pass
from evalstream.engine.row_pass import RowPass
from evalstream.io import file_state
from evalstream.io.block_digests import (
    NOT_COMPARED,
    BlockLayout,
    RunningBlockDigests,
    digest_of_head,
    digest_of_lines,
    first_difference,
)
from evalstream.io.digest import FileDigest, RunningDigest
from evalstream.io.file import FileSource, read_lines
from evalstream.model.block import Lines

DATA = bytes_of(sound_rows(count=40))
POOL = {"jobs": 2, "executor": "pool"}
EXECUTORS = pytest.mark.parametrize("settings", [{"jobs": 1}, POOL], ids=["serial", "pool"])

Change = Callable[[Path], object]


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a small file be read as a large one is: in many blocks, most of them behind its head."""
    head = FileSource.head
    monkeypatch.setattr(FileSource, "head", lambda source: head(source, 5000))
    monkeypatch.setattr(block_tasks, "BLOCK_BYTES", 1000)
    monkeypatch.setattr(block_tasks, "SMALLEST_BLOCK_BYTES", 1000)


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


@EXECUTORS
@pytest.mark.parametrize("change", [flipped, appended, replaced])
@pytest.mark.parametrize("step", ["run", "note"])
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


@pytest.mark.parametrize("place", [b"Question 20", b"Question 0", b"Question 39"])
def test_other_bytes_were_digested_than_workers_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: bytes
) -> None:
    spoiled = DATA.replace(place, place[:-1] + b"O", 1)
    rows, aggregate = write_run(tmp_path, DATA)
    rows.write_bytes(spoiled)
    blind(monkeypatch)
    monkeypatch.setattr(FileDigest, "start", lambda _: None)
    before(monkeypatch, FileSource, "checksums", lambda: rows.write_bytes(DATA))
    options = {"ignore": ("ES4", "ES506"), "aggregate": aggregate, **POOL}
    # Only ES004 stands between this and a pass: the checksum is that of the sound bytes.
    report = evalstream.check(rows, **options, select=("ES5", "ES1", "ES2"))
    assert report.runs[0].verdict == "incomplete"
    rows.write_bytes(spoiled)
    report = evalstream.check(rows, aggregate=aggregate, **POOL)
    (finding,) = (finding for finding in report if finding.code == "ES004")
    assert "changed between the check and the checksum" in finding.message
    assert verdict(report) == (3, "incomplete", 1)


def test_bytes_change_between_the_reads_of_workers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, aggregate = write_run(tmp_path, DATA)
    flag = tmp_path / "flag"

    def read(block: Any, longest: int) -> Any:
        if block.offset == 0:
            lines = read_lines(block, longest)
            rows.write_bytes(DATA.replace(b"Question 20", b"Question 2O", 1))
            flag.touch()
            return lines
        end = time.monotonic() + 20
        while not flag.exists() and time.monotonic() < end:
            time.sleep(0.01)
        return read_lines(block, longest)

    blind(monkeypatch)
    monkeypatch.setattr(block_tasks, "read_lines", read)
    monkeypatch.setattr(FileDigest, "start", lambda _: None)
    before(monkeypatch, FileSource, "checksums", lambda: rows.write_bytes(DATA))
    report = evalstream.check(rows, aggregate=aggregate, **POOL)
    assert verdict(report) == (3, "incomplete", 1)


def test_the_head_that_showed_what_a_file_is_belongs_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, aggregate = write_run(tmp_path, DATA)
    other = DATA.replace(b"Question 0", b"Question O", 1)
    rows.write_bytes(other)
    blind(monkeypatch)
    before(monkeypatch, RowPass, "run", lambda: rows.write_bytes(DATA))
    assert verdict(evalstream.check(rows, aggregate=aggregate, **POOL)) == (3, "incomplete", 1)


def test_in_one_process_the_bytes_that_are_digested_are_those_that_are_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, aggregate = write_run(tmp_path, DATA)
    checked, digested = [], []
    run, update = row_pass.check_block, RunningDigest.update
    monkeypatch.setattr(
        row_pass, "check_block", lambda *given: checked.append(given[1].data) or run(*given)
    )
    monkeypatch.setattr(
        RunningDigest, "update", lambda self, data: digested.append(data) or update(self, data)
    )
    # Both reads of a file that is read twice would see other bytes.
    before(monkeypatch, FileSource, "checksums", lambda: rows.write_bytes(b"other"))
    blind(monkeypatch)
    assert verdict(evalstream.check(rows, aggregate=aggregate, jobs=1)) == (0, "passed", 0)
    assert b"".join(checked) == b"".join(digested) == DATA


@bounded(max_examples=200)
@given(
    st.lists(st.sampled_from([b"\n", b"a", b"bcd", b"\r\n", b"long" * 5]), max_size=40).map(
        b"".join
    ),
    st.integers(1, 20),
    st.integers(1, 9),
    st.integers(0, 30),
)
def test_both_digests_are_of_the_same_stretches(
    data: bytes, length: int, piece: int, head: int
) -> None:
    path = Path("/dev/shm" if Path("/dev/shm").is_dir() else "/tmp") / f"evalstream-{os.getpid()}"
    path.write_bytes(data)
    try:
        source = FileSource(str(path))
        checked = b"".join(
            digest_of_lines(read_lines(block, 1000)) for block in source.blocks(length)
        )
        source.close()
    finally:
        path.unlink()
    running = RunningBlockDigests(len(data), BlockLayout(length, min(head, len(data))))
    for start in range(0, len(data), piece):
        some = data[start : start + piece]
        running.update(some + b"\n\n", len(some))
    block_digests = running.result()
    assert block_digests.blocks == checked
    assert block_digests.head == digest_of_head(data[:head])


@bounded(max_examples=200)
@given(
    st.lists(st.sampled_from([b"\n", b"a", b"bcd", b"long" * 9]), max_size=40).map(b"".join),
    st.integers(1, 20),
    st.integers(1, 30),
)
def test_blocks_of_whole_lines_are_the_file(data: bytes, length: int, longest: int) -> None:
    path = Path("/dev/shm" if Path("/dev/shm").is_dir() else "/tmp") / f"evalstream-{os.getpid()}"
    path.write_bytes(data)
    try:
        source = FileSource(str(path))
        source.start_digest(["sha256"])
        blocks = list(source.lines(length, longest))
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


def test_a_line_that_is_too_long_is_not_compared() -> None:
    assert digest_of_lines(Lines(b"a\nbcd", tail=b"efg")) == NOT_COMPARED
    assert digest_of_lines(Lines(b"a\nbcd", tail=b"efg", final=True)) != NOT_COMPARED
    one, other = b"1" * 16, b"2" * 16
    assert first_difference(one + other, one + NOT_COMPARED) is None
    assert first_difference(one + other, one + one) == 1
    assert first_difference(one + other, one) == 1
    assert first_difference(one, one + other) == 1


def test_long_lines_are_told_alike_whoever_reads_them(tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_bytes(DATA + b'"' + b"x" * 9000 + b'"\n' + DATA)
    reports = [
        [
            (finding.code, finding.line, finding.offset)
            for finding in evalstream.check(rows, max_line_bytes=4000, ignore=("ES4",), **settings)
        ]
        for settings in ({"jobs": 1}, POOL)
    ]
    assert reports[0] == reports[1]
    assert ("ES003", 41, len(DATA)) in reports[0]


def test_documents_of_other_formats_are_watched_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    evaluation = tmp_path / "evaluation.json"
    evaluation.write_text('{"framework_version": "0.1", "items": [], "benchmark_id": "a"}')
    watched: list[str] = []
    add = file_state.Watch.add

    def added(watch: file_state.Watch, path: str, status: os.stat_result) -> None:
        add(watch, path, status)
        if path not in watched:
            watched.append(path)
            replaced(Path(path))

    monkeypatch.setattr(file_state.Watch, "add", added)
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
    from evalstream.formats.infereval.files import Document

    path = tmp_path / "evaluation.json"
    path.write_text('{"items": []}')
    document = Document(str(path))
    assert document.whole() == document.whole()
    assert document.difference() is None
    path.write_text('{"itemz": []}')
    document.whole()
    assert document.difference() is not None
    document.close()

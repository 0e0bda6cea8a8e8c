"""Rows that are rewritten: every stored form, any cut into blocks, any number of workers."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import lzma
import signal
import threading
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from depth import deep, examples
from each import each
from hypothesis import given
from hypothesis import strategies as st
from row_rewriters import BAD, NEW, OLD, REASON, RENAMING, Deadly, Meddling, Renaming, Unchanged
from rows import bounded

from evalstream.engine import row_pass
from evalstream.engine.block_rewriting import BlockRewriter, LeftRow, LineRepairs, RewrittenBlock
from evalstream.engine.rewriting import RewrittenRows, rewrite_rows
from evalstream.executors import pool
from evalstream.model.changes import ARRAY_TO_LINES, BLANK_LINES, FINAL_NEWLINE, LINE_ENDS, Change
from evalstream.model.options import Options
from evalstream.model.signals import STOPPING, Stopped

SERIAL = Options(executor="serial")
POOL = Options(executor="pool", jobs=2)
ROW = b'{"schema_version": "0.2.0", "old": %d}'
ROWS = b"".join(ROW % number + b"\n" for number in range(400))
WANTED = ROWS.replace(OLD, NEW)
PACK: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
}
UNPACK: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.decompress,
    "bzip2": bz2.decompress,
    "xz": lzma.decompress,
}
ALL = LineRepairs()


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    cut_at(monkeypatch, 1000)


def cut_at(patch: pytest.MonkeyPatch, size: int) -> None:
    """Cut small inputs into blocks of a size, and give them to workers."""
    patch.setattr(row_pass, "WORTH_A_POOL_BYTES", 0)
    patch.setattr(row_pass, "SMALLEST_BLOCK_BYTES", size)
    patch.setattr(row_pass, "BLOCK_BYTES", size)


class Run:
    """Rewrites one file, and holds the bytes of the target and the outcome."""

    def __init__(
        self,
        path: Path,
        data: bytes,
        options: Options = SERIAL,
        rewriter: BlockRewriter | None = None,
        **more: Any,
    ) -> None:
        path.write_bytes(data)
        target = io.BytesIO()
        how = rewriter or Renaming()
        self.outcome: RewrittenRows = rewrite_rows(str(path), target, how, options, **more)
        self.data = target.getvalue()
        self.counts = {
            change: (seen.times, seen.lines) for change, seen in self.outcome.tally.seen.items()
        }


def unpacked(data: bytes) -> bytes:
    """Return rows, which may be compressed with gzip."""
    return gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


class Asked(Renaming):
    """A rewriter that counts how often it is asked whether compiled code does its work."""

    times = 0

    def is_native(self, sample: bytes) -> bool:
        """Count the question."""
        self.times += 1
        return super().is_native(sample)


def test_only_work_for_threads_is_tried_on_a_sample(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "rows.jsonl"
    source.write_bytes(ROWS)
    auto = Options(jobs=2)
    asked = {}
    for least in (0, len(ROWS) + 1):
        monkeypatch.setattr(row_pass, "WORTH_A_POOL_BYTES", least)
        for name, options in (("serial", SERIAL), ("pool", POOL), ("auto", auto)):
            rewriter = Asked()
            assert rewrite_rows(str(source), None, rewriter, options).rows == 400
            asked[name, bool(least)] = rewriter.times
    assert {key for key, times in asked.items() if times} == {("auto", False)}


@each("options", [SERIAL, POOL, Options(executor="pool", jobs=1)])
def test_rows_are_rewritten_in_order(tmp_path: Path, options: Options) -> None:
    run = Run(tmp_path / "rows.jsonl", ROWS, options)
    outcome = run.outcome
    assert run.data == WANTED
    assert outcome.is_whole
    assert (outcome.rows, outcome.layout, outcome.codec) == (400, "jsonl", None)
    assert outcome.source == {"stored": {"sha256": sha256(ROWS)}}
    assert outcome.target == {"sha256": sha256(WANTED)}
    assert run.counts == {RENAMING: (400, (1, 2, 3))}
    assert outcome.tally.seen[RENAMING].example is not None
    assert "evalstream-digest" not in {thread.name for thread in threading.enumerate()}


LINES = [
    ROW % 1,
    b'{"schema_version": "0.2.0", "other": 1}',
    BAD,
    b"",
    b" \t",
    b"x" * 300,
    b"\r",
    b"\xef\xbb\xbf",
]


@bounded(max_examples=examples(80))
@given(
    lines=st.lists(
        st.tuples(st.sampled_from(LINES), st.sampled_from([b"\n", b"\r\n"])), max_size=30
    ),
    mark=st.booleans(),
    is_torn=st.booleans(),
    size=st.integers(20, 400),
    chosen=st.tuples(*[st.booleans()] * 4),
    stored=st.sampled_from(["plain", "gzip", "workers", "workers and gzip"]),
)
def test_any_cut_gives_what_one_look_at_the_whole_gives(
    tmp_path_factory: pytest.TempPathFactory,
    lines: list[tuple[bytes, bytes]],
    mark: bool,
    is_torn: bool,
    size: int,
    chosen: tuple[bool, ...],
    stored: str,
) -> None:
    data = b"\xef\xbb\xbf" * mark + b"".join(line + end for line, end in lines)
    if is_torn:
        data = data.removesuffix(b"\n")
    repairs = LineRepairs(*chosen)
    folder = tmp_path_factory.mktemp("cut")
    content = gzip.compress(data) if "gzip" in stored else data
    with pytest.MonkeyPatch.context() as patch:
        cut_at(patch, 1 << 20)
        serial = Options(executor="serial", max_line_bytes=250)
        whole = Run(folder / "whole", data, serial, repairs=repairs)
        cut_at(patch, size)
        name = "pool" if "workers" in stored else "serial"
        options = Options(executor=name, jobs=2, max_line_bytes=250)
        cut = Run(folder / "cut", content, options, repairs=repairs)
    assert unpacked(cut.data) == whole.data
    assert cut.counts == whole.counts
    assert cut.outcome.left == whole.outcome.left
    assert cut.outcome.left_count == whole.outcome.left_count
    assert cut.outcome.rows == whole.outcome.rows
    assert cut.outcome.source["stored"] == {"sha256": sha256(content)}
    assert cut.outcome.target == {"sha256": sha256(cut.data)}
    expect(whole, data, repairs)


def expect(whole: Run, data: bytes, repairs: LineRepairs) -> None:
    """Compare an outcome with what the lines say."""
    lines = data.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    filled = [(number, line) for number, line in enumerate(lines, 1) if line.strip(b" \t\r")]
    left = [(n, line) for n, line in filled if len(line) > 250 or BAD in line]
    rows = [(n, line) for n, line in filled if (n, line) not in left]
    assert whole.outcome.left_count == len(left)
    assert [row.line for row in whole.outcome.left] == [n for n, _ in left][:20]
    assert whole.outcome.rows == len(rows)
    renamed = [n for n, line in rows if OLD in line]
    assert whole.counts.get(RENAMING, (0, ())) == (len(renamed), tuple(renamed[:3]))
    if repairs == ALL:
        made = [line.rstrip(b"\r").replace(OLD, NEW) + b"\n" for _, line in rows]
        assert whole.data == b"".join(made)


@each(
    ("kind", "options"),
    [
        (kind, options) if options is SERIAL or kind == "gzip" else deep(kind, options)
        for kind in sorted(PACK)
        for options in (SERIAL, POOL)
    ],
)
def test_compressed_rows_stay_compressed(tmp_path: Path, kind: str, options: Options) -> None:
    packed = PACK[kind](ROWS)
    run = Run(tmp_path / "rows", packed, options)
    assert UNPACK[kind](run.data) == WANTED
    assert run.outcome.codec == kind
    assert run.outcome.target == {"sha256": sha256(run.data)}
    assert run.outcome.source == {
        "stored": {"sha256": sha256(packed)},
        "unpacked": {"sha256": sha256(ROWS)},
    }


def test_a_compressed_target_does_not_depend_on_the_workers(tmp_path: Path) -> None:
    made = {
        Run(tmp_path / "rows", gzip.compress(ROWS, mtime=0), options).data
        for options in (SERIAL, POOL, Options(executor="pool", jobs=3))
    }
    assert len(made) == 1
    assert gzip.decompress(made.pop()) == WANTED


def test_digests_are_computed_in_the_algorithms_that_are_asked_for(tmp_path: Path) -> None:
    run = Run(tmp_path / "rows", ROWS, algorithms=("sha256", "md5"), target_algorithms=("md5",))
    assert run.outcome.source["stored"]["md5"] == hashlib.md5(ROWS).hexdigest()
    assert run.outcome.target == {"md5": hashlib.md5(WANTED).hexdigest()}


ARRAY = b"""[
{"schema_version": "0.2.0",
  "other": 1},
  {\r
"old": 1}, {"old": 2},
{"x": "BAD"}
]
"""


@pytest.mark.parametrize("options", [SERIAL, POOL])
def test_an_array_becomes_lines(tmp_path: Path, options: Options) -> None:
    run = Run(tmp_path / "rows.json", ARRAY, options)
    assert run.data == (
        b'{"schema_version": "0.2.0",   "other": 1}\n{  "newer": 1}\n{"newer": 2}\n'
    )
    assert run.counts == {Change(ARRAY_TO_LINES): (1, ()), RENAMING: (2, (4, 5))}
    assert run.outcome.left == (LeftRow(6, REASON),)
    assert run.outcome.layout == "json"


def test_a_broken_array_is_not_whole(tmp_path: Path) -> None:
    run = Run(tmp_path / "rows.json", ARRAY.replace(b"]", b""))
    assert not run.outcome.is_whole
    assert run.outcome.left == (LeftRow(6, REASON),)
    assert "the array is not closed (line 8, byte" in (run.outcome.unsuited or "")


@each(
    ("data", "reason", "more"),
    [
        (ARRAY, "the rows are in a JSON array", {"repairs": LineRepairs(array_to_lines=False)}),
        (ROWS.decode().encode("utf-16"), "UTF-16", {}),
        (ROWS.decode().encode("utf-32-le"), "UTF-32", {}),
    ],
)
def test_what_does_not_hold_rows_on_lines_is_not_rewritten(
    tmp_path: Path, data: bytes, reason: str, more: dict[str, Any]
) -> None:
    run = Run(tmp_path / "rows", data, **more)
    assert (run.data, run.outcome.rows, run.outcome.source) == (b"", 0, {})
    assert reason in (run.outcome.unsuited or "")
    assert not run.outcome.is_whole


def test_rows_that_are_left_are_counted_and_the_first_are_named(tmp_path: Path) -> None:
    data = b"".join(b"BAD\n" if number % 2 else ROW % 1 + b"\n" for number in range(100))
    run = Run(tmp_path / "rows", data, POOL)
    assert (run.outcome.rows, run.outcome.left_count) == (50, 50)
    assert run.outcome.left == tuple(LeftRow(2 * number, REASON) for number in range(1, 21))


def test_without_a_target_the_bytes_are_digested(tmp_path: Path) -> None:
    source = tmp_path / "rows"
    source.write_bytes(ROWS)
    outcome = rewrite_rows(str(source), None, Renaming(), POOL)
    assert outcome.target == {"sha256": sha256(WANTED)}


def test_rows_that_cannot_be_read_are_no_rows(tmp_path: Path) -> None:
    target = io.BytesIO()
    outcome = rewrite_rows(str(tmp_path / "none"), target, Renaming(), SERIAL)
    assert outcome.incomplete_reason == "cannot be opened: No such file or directory"
    assert not outcome.is_whole
    assert not target.getvalue()


@pytest.mark.parametrize("options", [SERIAL, POOL])
def test_a_truncated_compressed_file_is_incomplete(tmp_path: Path, options: Options) -> None:
    source = tmp_path / "rows.gz"
    source.write_bytes(gzip.compress(ROWS)[:-20])
    outcome = rewrite_rows(str(source), None, Renaming(), options)
    assert "truncated" in (outcome.incomplete_reason or "")
    assert outcome.source == {}
    assert not outcome.is_whole


@pytest.mark.parametrize("options", [SERIAL, POOL])
def test_a_source_that_changes_meanwhile_is_not_whole(tmp_path: Path, options: Options) -> None:
    source = tmp_path / "rows"
    source.write_bytes(ROWS)
    outcome = rewrite_rows(str(source), None, Meddling(str(source)), options)
    assert "bytes when it was opened" in (outcome.changed or "")
    assert not outcome.is_whole


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_worker_that_dies_once_changes_nothing(
    tmp_path: Path, pack: Callable[[bytes], bytes]
) -> None:
    flag = tmp_path / "died"
    run = Run(tmp_path / "rows", pack(ROWS), POOL, Deadly(str(flag)))
    assert flag.exists()
    assert unpacked(run.data) == ROWS
    assert run.outcome.is_whole


def test_rows_whose_worker_is_lost_are_incomplete(tmp_path: Path) -> None:
    source = tmp_path / "rows"
    source.write_bytes(ROWS)
    outcome = rewrite_rows(str(source), None, Deadly(), POOL)
    assert "the worker process died" in (outcome.incomplete_reason or "")
    assert not outcome.is_whole


class Losing(Unchanged):
    """Loses one row of each block."""

    def rewrite(self, data: bytes) -> RewrittenBlock:
        """Rewrite nothing."""
        block = super().rewrite(data)
        rows = data.partition(b"\n")[2]
        return block._replace(data=rows, rows=block.rows - 1)


class Miscounting(Losing):
    """Loses one row of each block, and counts it."""

    def rewrite(self, data: bytes) -> RewrittenBlock:
        """Rewrite nothing."""
        block = super().rewrite(data)
        return block._replace(rows=block.rows + 1)


@pytest.mark.parametrize("rewriter", [Losing(), Miscounting()])
def test_a_rewriter_that_loses_rows_gives_nothing(tmp_path: Path, rewriter: BlockRewriter) -> None:
    source = tmp_path / "rows"
    source.write_bytes(ROWS)
    outcome = rewrite_rows(str(source), None, rewriter, SERIAL)
    assert "evalstream has an error" in (outcome.incomplete_reason or "")
    assert not outcome.is_whole


@pytest.mark.parametrize(
    ("method", "pack"),
    [
        ("fork", gzip.compress),
        ("spawn", bytes),
        deep("spawn", gzip.compress),
        deep("fork", bytes),
        deep("forkserver", bytes),
        deep("forkserver", gzip.compress),
    ],
)
def test_workers_start_in_any_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str, pack: Callable[[bytes], bytes]
) -> None:
    monkeypatch.setattr(pool, "_start_method", lambda: method)
    assert unpacked(Run(tmp_path / "rows", pack(ROWS), POOL).data) == WANTED


class Stopper(Unchanged):
    """Receives a signal while it rewrites."""

    def rewrite(self, data: bytes) -> Any:
        """Rewrite nothing."""
        STOPPING._handle(signal.SIGTERM, None)
        return super().rewrite(data)


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_signal_ends_the_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pack: Callable[[bytes], bytes]
) -> None:
    for name in ("_received", "raised"):
        monkeypatch.setattr(STOPPING, name, None)
    source, target = tmp_path / "rows", io.BytesIO()
    source.write_bytes(pack(ROWS * 1000))
    with pytest.raises(Stopped):
        rewrite_rows(str(source), target, Stopper(), SERIAL)
    assert len(target.getvalue()) < len(pack(ROWS * 1000))


def test_repairs_are_counted_with_the_lines_of_the_file(tmp_path: Path) -> None:
    lines = [ROW % number for number in range(300)]
    lines[100] = lines[250] = b""
    lines[120] += b"\r"
    run = Run(tmp_path / "rows", b"\n".join(lines), POOL)
    assert run.counts == {
        RENAMING: (298, (1, 2, 3)),
        Change(BLANK_LINES): (2, (101, 251)),
        Change(LINE_ENDS): (1, (121,)),
        Change(FINAL_NEWLINE): (1, (300,)),
    }
    assert (run.outcome.rows, run.data.count(b"\n")) == (298, 298)


@pytest.mark.parametrize(
    ("options", "pack"),
    [(SERIAL, gzip.compress), deep(POOL, gzip.compress), deep(SERIAL, bytes), deep(POOL, bytes)],
)
def test_memory_does_not_grow_with_the_rows(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: Options,
    pack: Callable[[bytes], bytes],
) -> None:
    cut_at(monkeypatch, 1 << 18)
    source, target = tmp_path / "rows", tmp_path / "target"
    source.write_bytes(pack((ROW % 1 + b" " * 20_000 + b"\n") * 2_600))
    tracemalloc.start()
    try:
        with target.open("wb") as file:
            outcome = rewrite_rows(str(source), file, Renaming(), options)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert outcome.rows == 2_600
    assert len(unpacked(target.read_bytes())) > 48 << 20
    assert peak < 32 << 20  # the first 8 MiB are held twice while the layout is recognised

"""Rows on their way: let through, taken apart, followed, stopped, and never lost."""

import bz2
import gzip
import hashlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from commands import (
    SECONDS,
    Process,
    command,
    environment,
    filtered,
    filtered_arguments,
    run_command,
    started,
    until,
    wait_for,
)
from each import each
from rows import aggregate_of, write_run
from sound_lines import FAULTY, GOOD, LINES
from turned_clock import TurnedClock

import evalstream
from evalstream.engine import row_pass
from evalstream.executors import pool
from evalstream.executors.base import SERIAL, run_in_order
from evalstream.io import file as file_module
from evalstream.io import stream
from evalstream.io.file import FollowedFile
from evalstream.io.readers import DescriptorReader, PrefixedReader, TappedReader
from evalstream.io.stream import StreamSource
from evalstream.model.block import Block

TORN = b'{"schema_version": "0.2.0", torn\n'
MIXED = b"".join([*LINES[:3], b"INFO next\n", TORN, LINES[3], b"\n", FAULTY, *LINES[4:]])


@pytest.mark.parametrize("jobs", ["1", "2"])
@pytest.mark.parametrize("passing", ["all", "valid"])
def test_a_row_goes_through_before_the_next_one_comes(
    tmp_path: Path, passing: str, jobs: str
) -> None:
    with started("check", "-", "--pass", passing, "--jobs", jobs, folder=tmp_path) as process:
        assert process.stdin is not None
        for line in LINES:
            process.stdin.write(line)
            assert until(process, len(line)) == line
        process.stdin.close()
        assert process.wait(SECONDS) == 0


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_only_valid_rows_go_through(tmp_path: Path, jobs: str) -> None:
    code, out, said = filtered(MIXED, "--pass", "valid", "--jobs", jobs, folder=tmp_path)
    assert (code, out) == (1, GOOD)
    assert "ES103 invalid-json: <stdin>:4: error" in said
    assert "FAILED: <stdin>: 11 rows, 3 errors" in said


@pytest.mark.skipif(not Path("/dev/stdout").exists(), reason="there is no /dev/stdout")
def test_rows_are_copied_to_a_pipe_by_the_name_of_standard_output(tmp_path: Path) -> None:
    code, out, _ = filtered(GOOD, "--tee", "/dev/stdout", "--output", "said", folder=tmp_path)
    assert (code, out) == (0, GOOD)


def test_everything_goes_through_byte_for_byte(tmp_path: Path) -> None:
    odd = b"\xff\r\n\0" + MIXED + b'{"torn'
    code, out, _ = filtered(odd, "--pass", "all", "--tee", "copy.jsonl", folder=tmp_path)
    assert (code, out, (tmp_path / "copy.jsonl").read_bytes()) == (1, odd, odd)


def test_accepted_rows_have_their_name_when_they_are_complete(tmp_path: Path) -> None:
    with started("check", "-", "--pass", "all", "--accepted", "good", folder=tmp_path) as process:
        assert process.stdin is not None
        process.stdin.write(GOOD)
        assert until(process, len(GOOD)) == GOOD
        assert not (tmp_path / "good").exists()
        process.communicate(timeout=SECONDS)
    assert (tmp_path / "good").read_bytes() == GOOD


@pytest.mark.parametrize("report", [[], ["--output", "said"], ["--format", "jsonl"]])
def test_findings_come_while_the_stream_goes_on(tmp_path: Path, report: list[str]) -> None:
    (tmp_path / "errors").write_bytes(b"")
    said = tmp_path / ("said" if "--output" in report else "errors")
    with (
        (tmp_path / "errors").open("wb") as errors,
        Process(
            command("check", "-", "--pass", "valid", *report),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            cwd=tmp_path,
            env=environment(),
            bufsize=0,
        ) as process,
    ):
        assert process.stdin is not None
        process.stdin.write(FAULTY)
        wait_for(lambda: said.exists() and b"ES202" in said.read_bytes())
        process.stdin.close()
        assert process.wait(SECONDS) == 1


@pytest.mark.parametrize("jobs", [1, 2])
def test_rows_are_taken_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jobs: int) -> None:
    monkeypatch.setattr(row_pass, "BLOCK_BYTES", 1500)
    rows, good, bad = (tmp_path / name for name in ("rows.jsonl", "good.jsonl", "bad.jsonl"))
    rows.write_bytes(MIXED)
    report = evalstream.check(
        rows, accepted=str(good), rejected=str(bad), jobs=jobs, max_findings=1, ignore=("ES506",)
    )
    assert report.exit_code == 1
    assert good.read_bytes() == GOOD
    assert bad.read_bytes() == b"INFO next\n" + TORN + FAULTY
    told = [json.loads(line) for line in Path(f"{bad}.findings.jsonl").read_bytes().splitlines()]
    seen = [(finding["row"], finding["code"], finding["line"]) for finding in told]
    assert seen == [(1, "ES103", 4), (2, "ES103", 5), (3, "ES202", 8)]
    assert evalstream.check(good).counts == {"ES506": 1, "ES805": 1}
    assert rows.read_bytes() == MIXED


def test_an_overlong_row_keeps_its_bytes(tmp_path: Path) -> None:
    long = b'{"note": "' + b"x" * 3_000_000 + b'"}\n'
    rows, good, bad = (tmp_path / name for name in ("rows.jsonl", "good.jsonl", "bad.jsonl"))
    rows.write_bytes(LINES[0] + long + LINES[1] + long[:-1])
    report = evalstream.check(rows, accepted=str(good), rejected=str(bad), max_line_bytes=10_000)
    assert report.counts["ES003"] == 2
    assert good.read_bytes() == LINES[0] + LINES[1]
    assert bad.read_bytes() == long + long[:-1]


def test_rows_are_compressed_as_their_files_are_named(tmp_path: Path) -> None:
    rows, good, bad = (tmp_path / name for name in ("rows.jsonl", "good.jsonl.gz", "bad.jsonl.bz2"))
    rows.write_bytes(MIXED)
    report = evalstream.check(rows, accepted=str(good), rejected=str(bad), ignore=("ES506",))
    assert report.exit_code == 1
    assert gzip.decompress(good.read_bytes()) == GOOD
    assert bz2.decompress(bad.read_bytes()) == b"INFO next\n" + TORN + FAULTY


def test_noise_is_stepped_over_and_counted(tmp_path: Path) -> None:
    noisy = b"loading model\n" + LINES[0] + b"  50%|####\n[1, 2]\n" + b"".join(LINES[1:])
    report = checked_run(tmp_path, noisy, GOOD, skip_noise=True)
    assert (report.exit_code, report.counts, report.runs[0].rows) == (0, {"ES006": 3}, 8)
    assert report.runs[0].covers == "rows"
    # The checksum may also be that of the file as it is, noise and all.
    report = checked_run(tmp_path, noisy, noisy, skip_noise=True)
    assert (report.exit_code, report.runs[0].covers) == (0, "stored")
    assert checked_run(tmp_path, noisy, GOOD).exit_code == 1
    assert checked_run(tmp_path, noisy, GOOD, noise="^loading|^ .*#").counts["ES109"] == 1


def checked_run(folder: Path, data: bytes, sealed: bytes, **settings: Any) -> evalstream.Report:
    """Check rows against an aggregate that seals some bytes as eight rows."""
    rows, aggregate = write_run(folder, data)
    aggregate.write_text(json.dumps(aggregate_of("0.2.0", sealed, 8, rows.name)))
    return evalstream.check(rows, aggregate=aggregate, **settings)


def test_a_row_behind_a_log_prefix_is_no_noise(tmp_path: Path) -> None:
    report = checked_run(tmp_path, b"INFO " + GOOD, GOOD, skip_noise=True)
    assert report.exit_code == 1
    assert "ES006" not in report.counts


def test_copies_hold_no_noise_that_is_skipped(tmp_path: Path) -> None:
    noisy = LINES[0] + b"warming up\n" + b"".join(LINES[1:])
    more = ("--skip-noise", "--tee", "copy.jsonl", "--pass", "all", "--ignore", "ES506", "-v")
    code, out, said = filtered(noisy, *more, folder=tmp_path)
    assert (code, out, (tmp_path / "copy.jsonl").read_bytes()) == (0, GOOD, GOOD)
    assert "ES006 noise-skipped" in said


@pytest.mark.parametrize("read", [b"", GOOD], ids=["at once", "later"])
@pytest.mark.parametrize("copy", [("--pass", "all"), ("--tee", "/dev/stdout")])
def test_a_reader_that_goes_away_ends_the_filter_quietly(
    copy: tuple[str, str], read: bytes, tmp_path: Path
) -> None:
    with started("check", "-", *copy, "--output", "said", folder=tmp_path) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(read)
        until(process, len(read))
        process.stdout.close()
        with suppress(BrokenPipeError):
            while process.poll() is None:
                process.stdin.write(GOOD)
                time.sleep(0.01)
        assert process.wait(SECONDS) == 141
        assert process.stderr is not None
        assert process.stderr.read() == b""


@pytest.mark.parametrize(
    ("more", "is_whole"),
    [
        (("--tee", "copy.jsonl"), True),
        (("--accepted", "copy.jsonl"), True),
        (("--tee", "copy.jsonl", "--end-with-reader"), False),
    ],
)
def test_files_of_rows_are_written_on_without_the_reader(
    more: tuple[str, ...], *, is_whole: bool, tmp_path: Path
) -> None:
    with started("check", "-", "--pass", "all", *more, folder=tmp_path) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(GOOD)
        until(process, len(GOOD))
        process.stdout.close()
        with suppress(BrokenPipeError):
            for _ in range(3):
                process.stdin.write(GOOD)
                time.sleep(0.2)
            process.stdin.close()
        said = process.stderr.read().decode()
        assert process.wait(SECONDS) == (1 if is_whole else 141)
    assert said.count("the reader of the rows is gone") == is_whole
    if is_whole and more[0] == "--tee":
        assert (tmp_path / "copy.jsonl").read_bytes() == GOOD * 4
        assert "32 rows" in said


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)], ids=["term", "int"]
)
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_signal_flushes_what_is_known(
    tmp_path: Path, number: signal.Signals, code: int, jobs: str
) -> None:
    ways = ("--pass", "valid", "--accepted", "good", "--rejected", "bad", "--tee", "copy")
    arguments = ("check", "-", *ways, "--jobs", jobs, "--format", "jsonl", "--output", "said")
    with started(*arguments, folder=tmp_path) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        process.stdin.write(TORN + GOOD)
        assert until(process, len(GOOD)) == GOOD
        process.send_signal(number)
        errors = process.stderr.read()
        assert process.wait(SECONDS) == code
    assert errors == b"evalstream: stopped by a signal; the verdict is partial\n"
    assert (tmp_path / "good").read_bytes() == GOOD
    assert (tmp_path / "bad").read_bytes() == TORN
    assert (tmp_path / "copy").read_bytes() == TORN + GOOD
    (*findings, run, summary) = map(json.loads, (tmp_path / "said").read_bytes().splitlines())
    assert [finding["code"] for finding in findings] == ["ES103"]
    assert (run["run"]["verdict"], summary["summary"]["total"]) == ("failed", 1)


def test_sound_rows_that_were_stopped_do_not_pass(tmp_path: Path) -> None:
    write_run(tmp_path, GOOD)
    (aggregate,) = tmp_path.glob("*.json")
    with started(
        "check", "-", "--aggregate", aggregate.name, "--pass", "valid", folder=tmp_path
    ) as process:
        assert process.stdin is not None
        process.stdin.write(GOOD)
        until(process, len(GOOD))
        process.terminate()
        assert process.wait(SECONDS) == 143
        assert process.stderr is not None
        assert b"incomplete: <stdin> with " in process.stderr.read()


def test_a_stuck_reader_does_not_keep_the_filter_from_ending(tmp_path: Path) -> None:
    with started("check", "-", "--pass", "all", folder=tmp_path) as process:
        assert process.stdin is not None
        process.stdin.write(GOOD)
        until(process, len(GOOD))
        os.set_blocking(process.stdin.fileno(), False)
        quiet = 0
        while quiet < 20:
            try:
                os.write(process.stdin.fileno(), GOOD)
                quiet = 0
            except BlockingIOError:
                quiet += 1
                time.sleep(0.05)
        process.terminate()
        assert process.wait(SECONDS) == 143


def test_back_pressure_holds(tmp_path: Path) -> None:
    """Whoever reads slowly slows the writer: not more than some pipes and blocks are held."""
    with started("check", "-", "--pass", "all", "--jobs", "1", folder=tmp_path) as process:
        assert process.stdin is not None
        os.set_blocking(process.stdin.fileno(), False)
        taken, quiet = 0, 0
        while quiet < 20:
            try:
                taken += os.write(process.stdin.fileno(), GOOD * 8)
                quiet = 0
            except BlockingIOError:
                quiet += 1
                time.sleep(0.05)
        assert taken < 16 << 20
        process.kill()


def test_an_aggregate_may_come_after_its_rows(tmp_path: Path) -> None:
    rows, aggregate = write_run(tmp_path, GOOD)
    later = tmp_path / "later.json"

    def checked(data: bytes, *more: str) -> tuple[int, list[str], dict[str, Any]]:
        ways = ("--pass", "all", "--format", "jsonl", "--output", "said", *more)
        with started("check", "-", "--aggregate", later.name, *ways, folder=tmp_path) as process:
            assert process.stdin is not None
            process.stdin.write(data)
            assert until(process, len(data)) == data
            later.write_bytes(aggregate.read_bytes())
            process.communicate(timeout=SECONDS)
        later.unlink()
        said = (tmp_path / "said").read_bytes()
        *findings, run, _ = map(json.loads, said.splitlines())
        codes = [finding["code"] for finding in findings]
        return process.returncode, codes, run["run"]

    code, codes, run = checked(GOOD, "--tee", rows.name, "--force")
    assert (code, codes, run["verdict"]) == (0, [], "passed")
    assert run["claims"]["list"][0]["recomputed"] == 0.75
    foreign = GOOD.replace(b"1760000000", b"1760000001", 1)
    code, codes, run = checked(FAULTY + foreign, "--tee", rows.name, "--force")
    # What was told as it came is not told again.
    assert (code, codes) == (1, ["ES202", "ES601", "ES501", "ES503", "ES804", "ES805"])
    code, codes, run = checked(GOOD)
    assert (code, codes, run["verdict"]) == (3, [], "incomplete")
    assert run["checksum"]["actual"] == hashlib.sha256(GOOD).hexdigest()


def test_noise_before_an_aggregate_that_comes_later_is_counted(tmp_path: Path) -> None:
    rows, aggregate = write_run(tmp_path, GOOD)
    sealed = aggregate.read_bytes()
    rows.unlink()
    aggregate.unlink()
    ways = ("--aggregate", aggregate.name, "--skip-noise", "--tee", rows.name, "--format", "json")
    with started("check", "-", *ways, folder=tmp_path) as process:
        assert process.stdin is not None
        process.stdin.write(b"warming up\n" + LINES[0] + b"  50%|####\n" + b"".join(LINES[1:]))
        wait_for(lambda: rows.exists() and rows.stat().st_size == len(GOOD))
        aggregate.write_bytes(sealed)
        out, _ = process.communicate(timeout=SECONDS)
    (run,) = json.loads(out)["runs"]
    assert (process.returncode, run["verdict"], run["rows"]) == (0, "passed", 8)
    assert (run["counts"], run["severities"]) == ({"ES006": 2}, {"info": 2})


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def test_a_growing_file_is_followed_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, aggregate = write_run(tmp_path, GOOD)
    rows.write_bytes(LINES[0][:100])
    starts = range(100, len(GOOD), 2000)
    clock = TurnedClock(
        *(
            (1.5 * number, partial(append, rows, GOOD[start : start + 2000]))
            for number, start in enumerate(starts, 1)
        )
    )
    monkeypatch.setattr(file_module, "time", clock)
    report = evalstream.check(rows, aggregate=aggregate, follow=True, idle_timeout=2)
    assert (report.exit_code, report.runs[0].verdict, report.runs[0].rows) == (0, "passed", 8)
    assert 2 <= clock.now - 1.5 * len(starts) <= 3


def test_a_file_that_appears_later_is_followed(tmp_path: Path) -> None:
    rows, copy = tmp_path / "new" / "later.jsonl", tmp_path / "copy"
    arguments = ("check", "new/later.jsonl", "--follow", "--tee", copy.name, "--output", "said")
    with started(*arguments, folder=tmp_path) as process:
        assert process.stderr is not None
        notice = process.stderr.readline()
        rows.parent.mkdir()
        for start, end in ((0, 0), (0, 6), (6, len(GOOD))):
            append(rows, GOOD[start:end])
            wait_for(lambda: not end or (copy.exists() and copy.stat().st_size == end))  # noqa: B023
        process.terminate()
        assert process.wait(SECONDS) == 143
    assert notice.startswith(b"evalstream: waiting for the first row of new/later.jsonl;")
    assert "incomplete: new/later.jsonl: 8 rows" in (tmp_path / "said").read_text()


@pytest.mark.parametrize("progress", ["--progress", "--no-progress"])
def test_a_file_that_never_appears_is_not_checked(tmp_path: Path, progress: str) -> None:
    arguments = ("check", "none.jsonl", "--follow", "--idle-timeout", "0.2", progress)
    with started(*arguments, folder=tmp_path) as process:
        out, errors = process.communicate(timeout=SECONDS)
    assert process.returncode == 3
    assert b"incomplete: none.jsonl: 0 rows" in out
    assert (b"waiting for" in errors) == (progress == "--progress")


def test_a_signal_ends_the_wait_for_a_file(tmp_path: Path) -> None:
    with started("check", "none.jsonl", "--follow", folder=tmp_path) as process:
        assert process.stderr is not None
        assert process.stderr.readline().startswith(b"evalstream: waiting")
        process.terminate()
        assert process.wait(SECONDS) == 143


def test_a_followed_file_that_shrinks_is_told(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(GOOD)
    growing = FollowedFile(str(path), 0.1)
    assert growing.read() == GOOD
    path.write_bytes(LINES[0])
    with pytest.raises(OSError, match="became shorter"):
        growing.read()
    path.unlink()
    assert growing.describe_change() == "it no longer exists"
    growing.close()


def test_a_followed_file_that_is_written_over_never_passes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(GOOD)
    growing = FollowedFile(str(path), 0.1)
    assert growing.read() == GOOD
    assert growing.describe_change() is None
    with path.open("ab") as file:
        file.write(b"more")
    assert growing.describe_change() == "it grew after its last bytes were read"
    growing.close()

    path.write_bytes(GOOD)
    wait = FollowedFile.wait

    def written_over(followed: FollowedFile, seconds: float) -> bool:
        grew = wait(followed, seconds)
        if not grew:
            with path.open("r+b") as file:
                file.write(b"[")
        return grew

    monkeypatch.setattr(FollowedFile, "wait", written_over)
    report = evalstream.check(path, follow=True, idle_timeout=0.1)
    assert (report.exit_code, report.counts["ES004"], report.runs[0].rows) == (3, 1, 8)
    assert "bytes were written over that had been read" in str(report)


USAGE = [
    (["a.jsonl", "b.jsonl", "--tee", "c"], "exactly one rows file"),
    (["."], None),
    ([".", "--accepted", "c"], "exactly one rows file"),
    (["a.jsonl", "--tee", "a.jsonl"], "would overwrite the input a.jsonl"),
    (["a.jsonl", "--accepted", "link.jsonl"], "would overwrite the input a.jsonl"),
    (["a.jsonl", "--accepted", "c", "--rejected", "c"], "would overwrite c"),
    (
        ["a.jsonl", "--aggregate", "b.jsonl", "--rejected", "b.jsonl"],
        "would overwrite the input b.jsonl",
    ),
    (["-", "--seal-to", "c.json"], "name one with --tee"),
    (["-", "--follow"], "a pipe is always read to its end"),
    (["s3://bucket/none.jsonl", "--follow"], "needs a local file"),
    ([".", "--follow"], "exactly one rows file"),
    (["a.jsonl", "--idle-timeout", "3"], "--idle-timeout requires --follow"),
    (["a.jsonl", "--file-path", "b.jsonl"], "--file-path requires --seal-to"),
    (["a.jsonl", "--noise", "("], "not a valid regular expression"),
    (["a.jsonl", "--idle-timeout", "0"], "more than 0 seconds"),
]


@each(("arguments", "message"), USAGE)
def test_rows_cannot_go_where_it_makes_no_sense(
    tmp_path: Path, arguments: list[str], message: str | None
) -> None:
    for name in ("a.jsonl", "b.jsonl"):
        (tmp_path / name).write_bytes(GOOD)
    (tmp_path / "link.jsonl").symlink_to("a.jsonl")
    code, _, said = filtered_arguments(arguments, tmp_path)
    assert (code == 2) == (message is not None)
    assert (message or "") in said
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes() == GOOD


@pytest.mark.parametrize("backend", [SERIAL, pool.backend(2)])
def test_what_is_under_way_is_handed_out_at_a_lull(backend: Any) -> None:
    seen: list[int] = []

    def tasks() -> Iterator[Block | None]:
        for number in range(6):
            yield Block("x", number, 1, b"\n")
            if number % 3 == 2:
                yield None
                assert seen == list(range(number + 1))

    for offset in run_in_order(backend, _offset, tasks()):
        seen.append(offset)  # noqa: PERF402 - the tasks look at what was seen so far
    assert seen == list(range(6))


def _offset(block: Block) -> int:
    return block.offset


class Pieces:
    """A reader of given pieces; an exception among them is raised, None stands for a lull."""

    def __init__(self, *pieces: bytes | Exception | None) -> None:
        self._pieces = list(pieces)

    def read(self) -> bytes:
        """Return the next piece."""
        while self._pieces:
            piece = self._pieces.pop(0)
            if isinstance(piece, Exception):
                raise piece
            if piece is not None:
                return piece
        return b""

    def wait(self, seconds: float) -> bool:
        """Tell whether the next piece is not a lull."""
        return not self._pieces or self._pieces[0] is not None

    def close(self) -> None:
        """Have nothing to close."""


def blocks_of(*pieces: bytes | Exception | None) -> tuple[list[bytes | None], Exception | None]:
    """Return the bytes of the blocks that come of some pieces, and how it ends."""
    source = StreamSource(Pieces(*pieces), "x", 100)
    seen: list[bytes | None] = []
    try:
        for block in source.blocks(1000):
            seen.append(block and block.data)  # noqa: PERF401 - an error may come between
    except OSError as error:
        return seen, error
    return seen, None


def test_lines_are_handed_on_at_a_lull_and_before_an_error() -> None:
    error = OSError("gone")
    assert blocks_of(b"a\nb", None, b"c\nd") == ([b"a\n", None, None, b"bc\nd"], None)
    assert blocks_of(b"a\nb\nc", error) == ([b"a\nb\n"], error)
    assert blocks_of(b"a", error) == ([], error)
    assert blocks_of(error) == ([], error)
    assert blocks_of(b"a", None, None, b"b") == ([None, b"ab"], None)
    assert blocks_of() == ([], None)


def test_a_head_waits_for_a_line_and_no_longer_than_a_lull() -> None:
    for pieces, head in (
        ((b"a", None, b"b\nc", None, b"d"), b"ab\nc"),
        ((b"a\n", b"b\n", b"c"), b"a\nb\nc"),
    ):
        source = StreamSource(Pieces(*pieces), "x", 100)
        assert source.head() == head
        assert b"".join(source.pieces()) == b"".join(filter(None, pieces))


def test_readers_can_be_wrapped() -> None:
    seen: list[bytes] = []
    reader = PrefixedReader(b"ab", TappedReader(Pieces(b"c", None, b"d"), seen.append))
    assert [reader.read() for _ in range(4)] == [b"ab", b"c", b"d", b""]
    assert seen == [b"c", b"d"]
    assert PrefixedReader(b"a", Pieces(None)).wait(0)
    assert not PrefixedReader(b"", Pieces(None)).wait(0)


def test_a_descriptor_is_read_as_it_fills() -> None:
    reading, writing = os.pipe()
    descriptor = DescriptorReader(reading, owned=True)
    assert not descriptor.wait(0.01)
    os.write(writing, b"abc")
    assert descriptor.wait(0.01)
    assert descriptor.read() == b"abc"
    os.close(writing)
    assert descriptor.read() == b""
    descriptor.close()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(reading)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
@pytest.mark.parametrize("way", ["--tee", "--accepted", "--rejected"])
def test_what_cannot_be_written_is_not_taken_for_a_violation_of_the_rows(
    tmp_path: Path, way: str
) -> None:
    data = TORN + GOOD * 50
    (tmp_path / "full").symlink_to("/dev/full")
    code, out, said = filtered(data, way, "full", "--select", "ES1", folder=tmp_path)
    assert (code, out) == (3, b"")
    assert said == (
        "evalstream: full cannot be written: No space left on device; make room on its disk, or "
        "name a file on another\n"
    )
    code, _, said = filtered(data, way, "missing/rows", folder=tmp_path)
    assert (code, said) == (
        3,
        "evalstream: missing/rows cannot be written: No such file or directory\n",
    )


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_a_full_standard_output_is_not_taken_for_rows_that_cannot_be_opened(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_bytes(GOOD * 50)
    with open(tmp_path / "rows.jsonl", "rb") as rows, open("/dev/full", "wb") as full:
        done = run_command(
            command("check", "-", "--pass", "all"),
            stdin=rows,
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert done.returncode == 3
    assert done.stderr.decode() == (
        "evalstream: standard output cannot be written: No space left on device; make room on its "
        "disk, or name a file on another\n"
    )


def test_a_report_is_never_written_over_its_input(tmp_path: Path) -> None:
    rows, aggregate = write_run(tmp_path, GOOD)
    for name in (rows.name, aggregate.name):
        before = (tmp_path / name).read_bytes()
        arguments = [rows.name, "--aggregate", aggregate.name, "--output", name]
        code, _, said = filtered_arguments(arguments, tmp_path)
        assert (code, "would overwrite" in said) == (2, True)
        assert (tmp_path / name).read_bytes() == before


@pytest.mark.parametrize("packed", [False, True])
def test_a_streamed_file_that_changes_while_it_is_read_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, packed: bool
) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(gzip.compress(GOOD) if packed else GOOD)
    head = StreamSource.head

    def head_then_more(source: StreamSource, *size: int) -> bytes:
        start = head(source, *size)
        os.utime(path, ns=(1, 1))
        return start

    monkeypatch.setattr(StreamSource, "head", head_then_more)
    report = evalstream.check(path, accepted=str(tmp_path / "good"), ignore=("ES506",))
    assert report.counts == {"ES004": 1}


def test_rows_that_come_without_a_lull_do_not_wait_for_one(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(1000))
    monkeypatch.setattr(stream.time, "monotonic", lambda: 0.3 * next(clock))
    source = StreamSource(Pieces(*[b"a\n"] * 20), "x", 100, idle_seconds=0.5)
    assert len(source.head()) < 20
    sizes = [block.length for block in source.blocks(1000) if block is not None]
    assert sum(sizes) == 40
    assert max(sizes) < 20

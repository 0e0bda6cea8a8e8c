"""Signals: what was let through is counted and told, and a seal's exit code says if it is there."""

import gzip
import json
import os
import signal
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from commands import SECONDS, Process, command, environment, started, until, wait_for
from depth import deep
from each import each
from paths import EXAMPLES
from rows import DETAILS, bytes_of, line_of, sound_rows, write_run

import evalstream
from evalstream.engine.row_pass import RowPass, RowsRead
from evalstream.io.output import PollingWriter, write_all
from evalstream.io.readers import StoppableReader, TappedReader
from evalstream.io.stream import StreamSource
from evalstream.model.claim import Reason
from evalstream.model.signals import STOPPING, Stopped

SIGNALS = [(signal.SIGTERM, 143), (signal.SIGINT, 130)]
MANY = bytes_of(sound_rows(count=4000))
SOME = bytes_of(sound_rows(count=33))
WAYS = [
    ("--tee", "copy"),
    ("--tee", "copy", "--pass", "all"),
    ("--tee", "copy", "--pass", "valid"),
    ("--tee", "copy", "--accepted", "good", "--rejected", "bad"),
    ("--tee", "copy", "--skip-noise"),
]


def run_of(report: Path) -> dict[str, Any]:
    """Return what a report of JSON lines says of its one run."""
    line = report.read_bytes().splitlines()[-2]
    run: dict[str, Any] = json.loads(line)["run"]
    return run


def lines_in(path: Path) -> int:
    """Count the whole lines of a file, none where it is missing."""
    return path.read_bytes().count(b"\n") if path.exists() else 0


def signalled(folder: Path, data: bytes, number: int, when: int, *arguments: str) -> Process:
    """Send rows through a check, and a signal once so many bytes are in the copy."""
    with (folder / "out").open("wb") as out, (folder / "errors").open("wb") as errors:
        process = Process(
            command("check", "-", "--format", "jsonl", "--output", "said", *arguments),
            stdin=subprocess.PIPE,
            stdout=out,
            stderr=errors,
            cwd=folder,
            env=environment(),
            bufsize=0,
        )
    feeder = threading.Thread(target=_fed, args=(process, data))
    feeder.start()
    copy = folder / "copy"
    wait_for(lambda: copy.exists() and copy.stat().st_size >= when)
    process.send_signal(number)
    process.wait(SECONDS)
    feeder.join(SECONDS)
    return process


def _fed(process: Process, data: bytes) -> None:
    """Write rows, and keep the pipe open while the process lives."""
    assert process.stdin is not None
    try:
        process.stdin.write(data)
        process.wait(SECONDS)
    except BrokenPipeError:
        pass
    finally:
        process.stdin.close()


@each("ways", WAYS, ids=" ".join)
@pytest.mark.parametrize(
    ("data", "jobs"), [(SOME, "1"), (MANY, "2"), deep(SOME, "2"), deep(MANY, "1")]
)
def test_what_went_through_is_counted(
    tmp_path: Path, data: bytes, jobs: str, ways: tuple[str, ...]
) -> None:
    process = signalled(tmp_path, data, signal.SIGTERM, len(SOME), *ways, "--jobs", jobs)
    assert process.returncode == 143
    run, copied = run_of(tmp_path / "said"), lines_in(tmp_path / "copy")
    assert run["rows"] == copied >= 33
    assert run["verdict"] == "incomplete"
    if "--pass" in ways:
        assert lines_in(tmp_path / "out") == copied
    if "--accepted" in ways:
        assert (lines_in(tmp_path / "good"), lines_in(tmp_path / "bad")) == (copied, 0)


def test_a_line_that_is_under_way_is_told_and_not_judged(tmp_path: Path) -> None:
    cut = SOME[:-100]
    process = signalled(tmp_path, cut, signal.SIGINT, len(cut), "--tee", "copy")
    assert process.returncode == 130
    run = run_of(tmp_path / "said")
    assert (run["rows"], run["counts"].keys() - {"ES506"}) == (32, set())
    assert (tmp_path / "copy").read_bytes() == cut


def test_a_line_that_is_under_way_is_named(tmp_path: Path) -> None:
    cut = SOME[:-100]
    begun = len(cut) - cut.rfind(b"\n") - 1
    with started("check", "-", "--tee", "copy", folder=tmp_path) as process:
        assert process.stdin is not None
        process.stdin.write(cut)
        copy = tmp_path / "copy"
        wait_for(lambda: copy.exists() and copy.stat().st_size == len(cut))
        process.terminate()
        out, _ = process.communicate(timeout=SECONDS)
    said = (
        f"stopped by SIGTERM after 32 lines and {begun} bytes of the next: the verdict is partial"
    )
    assert said in out.decode()


def test_a_claim_is_not_judged_by_the_rows_before_the_signal(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_bytes((EXAMPLES / "aggregate.json").read_bytes())
    rows = (EXAMPLES / "run.jsonl").read_bytes().splitlines(keepends=True)
    data = b"".join(rows[:2])
    aggregate = ("--aggregate", "run.json", "--tee", "copy")
    process = signalled(tmp_path, data, signal.SIGINT, len(data), *aggregate)
    assert process.returncode == 130
    claims = run_of(tmp_path / "said")["claims"]["list"]
    assert {(one["state"], one["reason"]) for one in claims} == {("open", Reason.UNREAD.value)}


@pytest.mark.parametrize("packed", [False, True])
def test_rows_of_arrays_and_packed_rows_are_counted(tmp_path: Path, packed: bool) -> None:
    array = json.dumps(sound_rows(count=33), indent=1).encode()[:-40]
    data = gzip.compress(SOME) if packed else array
    process = signalled(tmp_path, data, signal.SIGTERM, len(data), "--tee", "copy")
    assert process.returncode == 143
    assert run_of(tmp_path / "said")["rows"] == (33 if packed else 32)
    assert run_of(tmp_path / "said")["verdict"] == "incomplete"


def test_a_followed_file_is_counted(tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_bytes(SOME)
    arguments = ("--follow", "--tee", "copy", "--format", "jsonl", "--output", "said")
    with started("check", rows.name, *arguments, folder=tmp_path) as process:
        copy = tmp_path / "copy"
        wait_for(lambda: copy.exists() and copy.stat().st_size == len(SOME))
        process.terminate()
        assert process.wait(SECONDS) == 143
    assert run_of(tmp_path / "said")["rows"] == 33


def test_what_a_stuck_reader_does_not_take_is_counted_all_the_same(tmp_path: Path) -> None:
    ways = ("--pass", "valid", "--tee", "copy", "--accepted", "good", "--rejected", "bad")
    arguments = ("check", "-", *ways, "--format", "jsonl", "--output", "said")
    with started(*arguments, folder=tmp_path) as process:
        feeder = threading.Thread(target=_fed, args=(process, MANY))
        feeder.start()
        copy = tmp_path / "copy"
        wait_for(lambda: copy.exists() and copy.stat().st_size > 2_000_000)
        time.sleep(0.2)
        process.terminate()
        assert process.wait(SECONDS) == 143
        feeder.join(SECONDS)
    copied = lines_in(tmp_path / "copy")
    assert run_of(tmp_path / "said")["rows"] == copied == lines_in(tmp_path / "good")


@each(("number", "code"), SIGNALS, ids=["term", "int"])
@pytest.mark.parametrize("late", [False, True], ids=["there", "late"])
def test_a_seal_that_was_not_written_says_so(
    tmp_path: Path, number: int, code: int, late: bool
) -> None:
    _, aggregate = write_run(tmp_path, SOME)
    text = aggregate.read_text()
    if late:
        aggregate.unlink()
    arguments = ("check", "-", "--seal-to", aggregate.name, "--tee", "copy", "--create")
    with started(*arguments, folder=tmp_path) as process:
        assert process.stdin is not None
        process.stdin.write(SOME)
        wait_for(lambda: lines_in(tmp_path / "copy") == 33)
        process.send_signal(number)
        out, errors = process.communicate(timeout=SECONDS)
    assert process.returncode == code
    assert b"33 rows" in out
    assert b"it was not sealed" in out
    assert errors == b"evalstream: stopped by a signal; the verdict is partial; it was not sealed\n"
    assert (aggregate.read_text() == text) if not late else not aggregate.exists()


@pytest.mark.parametrize(("number", "code"), [SIGNALS[0], deep(*SIGNALS[1])], ids=["term", "int"])
def test_a_seal_that_was_written_ends_with_its_own_code(
    tmp_path: Path, number: int, code: int
) -> None:
    """The report is too long for a pipe that nobody reads, and comes after the seal."""
    data = b"".join(line + b"\n" for line in bytes_of(sound_rows()).splitlines(keepends=True))
    rows, aggregate = write_run(tmp_path, data + b"\n" * 4000, count=0)
    more = ("--max-findings", "0", "--format", "json")
    for twice in (False, True):
        aggregate.write_text(aggregate.read_text().replace('"checksum": "', '"checksum": "0'))
        before = aggregate.read_text()
        with started(
            "seal", rows.name, "--aggregate", aggregate.name, *more, folder=tmp_path
        ) as process:
            wait_for(lambda: aggregate.read_text() != before)  # noqa: B023 - waited for here
            process.send_signal(number)
            if twice:
                process.send_signal(number)
            assert process.wait(SECONDS) == 0 != code
            assert process.stderr is not None
            assert b"was sealed" in process.stderr.read()
        assert evalstream.check(rows, aggregate=aggregate).exit_code == 0


def test_findings_that_nobody_reads_come_before_the_seal(tmp_path: Path) -> None:
    rows, aggregate = write_run(tmp_path, bytes_of(sound_rows()) + b"\n" * 4000, count=8)
    before = aggregate.read_text()
    arguments = ("seal", rows.name, "--aggregate", aggregate.name, "--format", "jsonl")
    with started(*arguments, "--max-findings", "0", folder=tmp_path) as process:
        assert process.stdout is not None
        until(process, 1)
        time.sleep(0.3)
        process.terminate()
        assert process.wait(SECONDS) == 143
        assert process.stderr is not None
        said = process.stderr.read().decode()
    assert said == f"evalstream: stopped by SIGTERM; {aggregate.name} was not sealed\n"
    assert aggregate.read_text() == before


def test_a_signal_before_the_seal_leaves_it_unwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, aggregate = write_run(tmp_path, bytes_of(sound_rows()))
    document = json.loads(aggregate.read_text())
    document.pop(DETAILS)
    aggregate.write_text(json.dumps(document))
    monkeypatch.setattr(STOPPING, "raised", None)
    run = RowPass.run

    def then_stopped(row_pass: RowPass, *arguments: Any) -> RowsRead:
        read = run(row_pass, *arguments)
        monkeypatch.setattr(STOPPING, "_received", signal.SIGTERM)
        return read

    monkeypatch.setattr(RowPass, "run", then_stopped)
    for force in (False, True):
        monkeypatch.setattr(STOPPING, "_received", None)
        monkeypatch.setattr(STOPPING, "raised", None)
        report = evalstream.check(
            rows, aggregate=aggregate, seal_to=str(aggregate), seal_anyway=force
        )
        (summary,) = report.runs
        assert (report.exit_code, summary.verdict, summary.sealed) == (143, "incomplete", None)
        assert summary.incomplete_reason == "it was not sealed: stopped by SIGTERM"
        assert DETAILS not in json.loads(aggregate.read_text())


class Endless:
    """A reader of one row after the other, which a signal comes to in between."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, after: int) -> None:
        self._monkeypatch, self._left = monkeypatch, after

    def read(self) -> bytes:
        """Return a row, and let a signal come while a later one is read."""
        self._left -= 1
        if not self._left:
            self._monkeypatch.setattr(STOPPING, "_received", signal.SIGINT)
        return line_of({"number": self._left})

    def wait(self, seconds: float) -> bool:
        """Have more at once."""
        return True

    def close(self) -> None:
        """Have nothing to close."""


def test_a_source_hands_out_what_was_read_before_it_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(STOPPING, "raised", None)
    seen: list[bytes] = []
    source = StreamSource(
        TappedReader(StoppableReader(Endless(monkeypatch, 20)), seen.append), "x", 1000
    )
    blocks = source.blocks(1 << 20)
    given = []
    with pytest.raises(Stopped):
        given.extend(block.data for block in blocks if block is not None)
    assert b"".join(filter(None, given)) == b"".join(seen)
    assert len(seen) == 20
    reader = StoppableReader(Endless(monkeypatch, 20))
    assert reader.wait(0)
    for _ in range(2):
        with pytest.raises(Stopped):
            reader.read()


def test_a_writer_waits_for_its_reader_until_it_is_to_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    data = os.urandom(3 << 20)
    got = bytearray()

    def read() -> None:
        while piece := os.read(reading, 1 << 12):
            got.extend(piece)

    thread = threading.Thread(target=read)
    thread.start()
    writer = PollingWriter(writing, owned=True)
    for start in range(0, len(data), 1000):
        writer.write(data[start : start + 1000])
    writer.close()
    thread.join(SECONDS)
    assert got == data
    os.close(reading)
    reading, writing = os.pipe()
    monkeypatch.setattr(STOPPING, "_received", signal.SIGTERM)
    monkeypatch.setattr(STOPPING, "raised", None)
    begun = time.monotonic()
    with pytest.raises(Stopped):
        write_all(writing, data)
    assert time.monotonic() - begun < SECONDS / 2
    os.close(reading)
    with pytest.raises(BrokenPipeError):
        write_all(writing, data)
    os.close(writing)


def test_a_named_pipe_that_nobody_reads_is_no_reason_to_stay(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    arguments = ("check", "-", "--tee", "fifo", "--output", "report")
    with started(*arguments, folder=tmp_path) as process:
        wait_for(lambda: len(os.listdir(tmp_path)) > 1)
        time.sleep(0.2)
        process.terminate()
        assert process.wait(SECONDS) == 143

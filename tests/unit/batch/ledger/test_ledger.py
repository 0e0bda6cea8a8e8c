"""The ledger: what has not changed is not checked again, whatever happens to those who write it."""

import csv
import hashlib
import io
import itertools
import json
import math
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from each import each
from paths import EXAMPLES
from stores import ObjectServer

import evalstream
from evalstream.batch import scheduler, serialize
from evalstream.batch.ledger import database, file_guard, run_state
from evalstream.batch.ledger.entries import FORMS, PAGE, LedgerEntry, entries, export_entries
from evalstream.batch.ledger.ledger import MOST_PENDING, CachedRun, Ledger
from evalstream.batch.ledger.records import CHUNK
from evalstream.batch.ledger.run_state import RunState, read_state
from evalstream.batch.single import check_any
from evalstream.io import readers
from evalstream.io.output import Output
from evalstream.io.progress import Progress
from evalstream.model.claim import JudgedClaim, Reason, State
from evalstream.model.data_class import replace
from evalstream.model.errors import CannotCheck, CannotWrite, UsageError
from evalstream.model.finding import Excerpt, Finding, Severity
from evalstream.model.options import Options, RowRouting
from evalstream.model.run import Run
from evalstream.model.run_summary import RunSummary
from evalstream.reporters import reporter_type

NOBODY = 65534
LINKS = [{"evaluation": "trivia", "samples": ["s1", "s2"]}, {"evaluation": "sums"}]

needs_no_root = pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")


CLAIMS = [
    JudgedClaim("/a", "recall", "mean", 0.5, None, State.OPEN, Reason.UNJOINED.value, 0, True),
    JudgedClaim("/b", "samples", "count", 8, 8, State.CONFIRMED, None, 8),
    JudgedClaim("/c", "interval", "interval", {"lower": 0.1}, [0.1, 0.2], State.OPEN, "why", 8),
]


@pytest.fixture
def path(tmp_path: Path) -> str:
    """Where a ledger is to be."""
    return str(tmp_path / "ledger.sqlite")


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """A run on disk."""
    return written(tmp_path / "runs", "first")


def written(folder: Path, stem: str) -> Run:
    """Write a run."""
    folder.mkdir(exist_ok=True)
    rows, aggregate = folder / f"{stem}.jsonl", folder / f"{stem}.json"
    rows.write_text('{"row": 1}\n')
    aggregate.write_text('{"evaluation_results": []}')
    return Run(str(rows), str(aggregate))


def await_later_times(folder: Path) -> None:
    """Wait until the clock of the file system is beyond the times in a folder; it ticks in ms."""
    latest, probe = max(one.stat().st_ctime_ns for one in folder.iterdir()), folder.parent / "probe"
    while not probe.exists() or probe.stat().st_ctime_ns <= latest:
        probe.touch()


def finding(**fields: Any) -> Finding:
    """Make a finding."""
    usual = dict.fromkeys(Finding._fields) | {
        "code": "ES202",
        "name": "wrong-type",
        "severity": Severity.ERROR,
        "file": "first.jsonl",
        "message": "no number",
    }
    return Finding(**{**usual, **fields})


def summary_of(run: Run, **fields: Any) -> RunSummary:
    """Make the summary of a run."""
    usual = {"rows": 8, "verdict": "passed", "bytes": 800, "version": "0.2.0", "seconds": 0.25}
    return RunSummary(run.rows, run.aggregate, run.format, **{**usual, **fields})


def remember(ledger: Ledger, run: Run, findings: Sequence[Finding] = (), **fields: Any) -> None:
    """Record a run."""
    links = fields.pop("links", None)
    ledger.record(ledger.begin(run), summary_of(run, **fields), findings, links)


def known(path: str, run: Run, options: Options | None = None) -> CachedRun | None:
    """Return what a ledger knows of a run when it is opened anew."""
    with Ledger(path, options or Options()) as ledger:
        return ledger.find_each([run])[0]


def recorded(path: str, run: Run, **fields: Any) -> None:
    """Record a run in a ledger, and close it."""
    with Ledger(path, Options()) as ledger:
        remember(ledger, run, **fields)


def state(number: int) -> RunState:
    """Make the standing of a run that is nowhere on disk."""
    key = hashlib.sha256(b"%d" % number).digest()
    return RunState(key, f"/runs/{number}.jsonl", f'["{number}"]', time.time_ns(), True)


def test_an_unchanged_run_comes_back_as_it_was(path: str, run: Run) -> None:
    findings = [
        finding(line=3, offset=120, pointer="/score", expected=["number"], found="four"),
        finding(line=4, found=Excerpt('{"a": tru}', 6), sample_id="\ud800 lone"),
        finding(severity=Severity.INFO, found=math.inf, expected=2**70, count=7),
        finding(severity=Severity.WARNING, file="é\N{BOM}.json", found={"a": [1, None, True]}),
    ]
    severities = {Severity.ERROR: 2, Severity.WARNING: 1, Severity.INFO: 7}
    told: dict[str, Any] = {"verdict": "failed", "counts": {"ES202": 10}, "severities": severities}
    told["claims"] = CLAIMS
    with Ledger(path, Options()) as ledger:
        assert ledger.find_each([run])[0] is None
        remember(ledger, run, findings, **told)
    seen = known(path, run)
    assert seen is not None
    assert seen.links is None
    told_again = list(seen.findings)
    assert told_again == findings
    assert [type(one.found) for one in told_again] == [str, Excerpt, float, dict]
    unchanged = seen.summary.unchanged
    assert unchanged is not None
    assert time.strptime(unchanged, "%Y-%m-%dT%H:%M:%SZ").tm_year >= 2026
    assert replace(seen.summary, unchanged=None) == summary_of(run, **told)
    assert known(path, run) is not None


def test_a_real_run_comes_back_as_it_was(path: str, tmp_path: Path) -> None:
    shutil.copytree(EXAMPLES / "tampered", tmp_path / "tampered")
    (rows,) = (tmp_path / "tampered").rglob("*.jsonl")
    (aggregate,) = (tmp_path / "tampered").rglob("*.json")
    run, findings = Run(str(rows), str(aggregate)), list[Finding]()
    with Ledger(path, Options()) as ledger, Progress(shown=False) as progress:
        before = ledger.begin(run)
        summary = check_any(run, Options(), findings.append, progress)
        ledger.record(before, summary, findings)
    seen = known(path, run)
    assert seen is not None
    assert findings
    assert list(seen.findings) == findings
    told = {**seen.summary.as_dict(), "seconds": 0}
    assert told.pop("unchanged")
    assert told == {**summary.as_dict(), "seconds": 0}


def _put_back(file: Path) -> None:
    """Edit a file, keep its size, and put its time back."""
    before = file.stat()
    file.write_bytes(file.read_bytes().replace(b"1", b"2").replace(b"[]", b"{}"))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert file.stat().st_size == before.st_size


def _replace(file: Path) -> None:
    """Put a copy in the place of a file."""
    copy = file.with_name("copy")
    shutil.copy2(file, copy)
    copy.replace(file)


def _turn(file: Path) -> None:
    """Put a folder in the place of a file."""
    file.unlink()
    file.mkdir()


CHANGES: dict[str, Callable[[Path], object]] = {
    "touched": os.utime,
    "grown": lambda file: file.write_bytes(file.read_bytes() + b"\n"),
    "edited, its time put back": _put_back,
    "replaced": _replace,
    "gone": lambda file: file.unlink(),
    "a folder": _turn,
}


@each("change", CHANGES)
@pytest.mark.parametrize("which", [0, 1, 2])
def test_every_change_of_a_file_causes_a_check(
    path: str, run: Run, change: str, which: int
) -> None:
    inputs = Path(run.rows or "").with_name("inputs.json")
    inputs.write_text('{"inputs": [1]}')
    run = replace(run, inputs=str(inputs))
    recorded(path, run)
    assert known(path, run) is not None
    time.sleep(0.02)  # the clock of a file system ticks some hundred times a second
    CHANGES[change](Path([run.rows, run.aggregate, run.inputs][which] or ""))
    assert known(path, run) is None


def test_rows_that_come_or_go_beside_the_aggregate_cause_a_check(path: str, run: Run) -> None:
    companion = Path(str(run.aggregate).removesuffix(".json") + "_samples.jsonl.gz")
    recorded(path, run)
    companion.write_bytes(b"")
    assert known(path, run) is None
    recorded(path, run)
    assert known(path, run) is not None
    companion.unlink()
    companion.symlink_to(str(run.rows))
    assert known(path, run) is None
    companion.unlink()
    assert known(path, run) is None


@each(
    "other",
    [
        {"missing": "the rows file that it declares was not found: x"},
        {"format": "harpia"},
        {"aggregate": None},
        {"rows": None},
    ],
)
def test_another_pairing_causes_a_check(path: str, run: Run, other: dict[str, Any]) -> None:
    recorded(path, run)
    assert known(path, replace(run, **other)) is None
    assert known(path, run) is not None


def test_names_are_those_of_the_call(
    path: str, run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A run under another name is the same run, and is told under the name that was given."""
    monkeypatch.chdir(tmp_path)
    recorded(path, run)
    relative = Run(os.path.relpath(run.rows or ""), os.path.relpath(run.aggregate or ""))
    assert known(path, relative) is None
    recorded(path, relative)
    assert [entry.file for entry in entries(path)] == [relative.rows]
    (tmp_path / "other").mkdir()
    await_later_times(tmp_path / "runs")
    shutil.copytree(tmp_path / "runs", tmp_path / "other" / "runs", copy_function=os.link)
    assert known(path, relative) is None  # a link more moves the change time
    recorded(path, relative)
    monkeypatch.chdir(tmp_path / "other")
    assert known(path, relative) is None
    recorded(path, relative)
    assert len(list(entries(path))) == 2


def test_names_that_are_no_utf8_are_told_apart(path: str, tmp_path: Path) -> None:
    runs = [Run(os.fsdecode(os.fsencode(tmp_path) + name), None) for name in (b"/\xff", b"/\xfe")]
    for run in runs:
        Path(run.rows or "").write_bytes(b"{}\n")
    with Ledger(path, Options()) as ledger:
        ledger.record(
            ledger.begin(runs[0]), RunSummary("a\N{REPLACEMENT CHARACTER}", None, "eee"), []
        )
    assert known(path, runs[0]) is not None
    assert known(path, runs[1]) is None


@each(
    ("field", "value", "matters"),
    [
        ("strict", True, True),
        ("ignore", ("ES1",), True),
        ("max_findings", 5, True),
        ("show_values", False, True),
        ("profile", "datastore", True),
        ("schema", '{"type": "object"}', True),
        ("fail_on", Severity.WARNING, True),
        ("jobs", 7, False),
        ("memory_limit", 1 << 30, False),
        ("executor", "serial", False),
        ("dask_address", "tls://localhost:8786", False),
    ],
)
def test_options_cause_a_check_where_they_matter(
    path: str, run: Run, field: str, value: Any, matters: bool
) -> None:
    recorded(path, run)
    changed = replace(Options(), **{field: value})
    assert (known(path, run, changed) is None) == matters


def test_another_version_causes_a_check(
    path: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded(path, run)
    monkeypatch.setattr(serialize, "__version__", "0.1.0.dev1")
    assert known(path, run) is None


def test_files_that_just_changed_are_checked_again(
    path: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file system's clock may be too coarse to tell of the next change."""
    monkeypatch.setattr(readers, "YOUNG_NANOSECONDS", 2_000_000_000)
    recorded(path, run)
    assert known(path, run) is None
    assert [entry.settled for entry in entries(path)] == [False]
    now = time.time_ns()
    later = SimpleNamespace(time_ns=lambda: now + 3_000_000_000)
    monkeypatch.setattr(run_state, "time", later)
    assert known(path, run) is None
    recorded(path, run)
    assert known(path, run) is not None
    os.utime(str(run.rows), ns=(0, now + 10**15))
    recorded(path, run)
    assert known(path, run) is None


@each(
    "fields",
    [
        {"incomplete_reason": "the rows cannot be read: Input/output error"},
        {"counts": {"ES001": 1}},
        {"counts": {"ES004": 1}},
        {"counts": {"ES005": 1}},
    ],
)
def test_what_was_not_seen_in_full_is_checked_again(
    path: str, run: Run, fields: dict[str, Any]
) -> None:
    recorded(path, run, **fields)
    assert known(path, run) is None
    assert [entry.settled for entry in entries(path)] == [False]


def test_rows_that_change_while_they_are_checked_are_checked_again(path: str, run: Run) -> None:
    with Ledger(path, Options()) as ledger:
        assert ledger.find_each([run])[0] is None
        before = ledger.begin(run)
        Path(run.rows or "").write_text("{}\n")
        ledger.record(before, summary_of(run), [])
    assert known(path, run) is None


def test_what_cannot_be_recognised_is_not_kept(path: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    aggregate = tmp_path / "a.json"
    aggregate.write_text("{}")
    runs = [
        Run("-", None),
        Run("-", str(aggregate)),
        Run(str(tmp_path / "pipe"), None),
        Run("https://localhost/a.jsonl?signature=secret", None),
        Run("s3://key:secret@bucket/a.jsonl", None, size=1, mark='"1"'),
        Run("a\0b.jsonl", None),
        Run("a\udfff\ud800.jsonl", None),
        Run(None, "a\0b.json"),
        Run(None, "a\udfff\ud800.json"),
    ]
    with Ledger(path, Options()) as ledger:
        for run in runs:
            assert ledger.find_each([run])[0] is None
            assert ledger.begin(run) is None
            ledger.record(None, summary_of(run), [])
    assert list(entries(path)) == []
    assert b"secret" not in Path(path).read_bytes()


def test_a_gone_working_directory_keeps_runs_from_being_known(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    with Ledger(path, Options()) as ledger:
        monkeypatch.chdir(gone)
        gone.rmdir()
        assert ledger.find_each([Run("a.jsonl", None)])[0] is None
    monkeypatch.chdir(tmp_path)


def _lead(link: Path, target: Path) -> None:
    """Let a link lead elsewhere."""
    link.unlink()
    link.symlink_to(target)


def test_a_folder_is_known_by_its_true_name(path: str, tmp_path: Path) -> None:
    folder, link = tmp_path / "tasks", tmp_path / "link"
    folder.mkdir()
    (folder / "a.json").write_text("{}")
    link.symlink_to(folder)
    run = Run(str(link), None, format="evalguard")
    recorded(path, run)
    assert known(path, run) is not None
    _lead(link, folder.rename(tmp_path / "metrics"))
    assert known(path, run) is None


def test_a_folder_is_known_by_all_that_lies_in_it(path: str, tmp_path: Path) -> None:
    folder = tmp_path / "guard"
    (folder / "tasks").mkdir(parents=True)
    deep, far = folder / "tasks" / "a.json", tmp_path / "far"
    deep.write_text("{}")
    far.mkdir()
    (far / "b.json").write_text("{}")
    (folder / "linked").symlink_to(far)
    (folder / "tasks" / "up").symlink_to(folder)
    (folder / "nowhere").symlink_to(tmp_path / "not there")
    run = Run(str(folder), None, format="evalguard")
    recorded(path, run)
    assert known(path, run) is not None
    time.sleep(0.02)
    changes: list[Callable[[], object]] = [
        lambda: deep.write_text("[]"),
        lambda: (far / "b.json").write_text("[]"),
        lambda: (folder / "c.json").write_text("{}"),
        lambda: deep.rename(folder / "a.json"),
        lambda: (tmp_path / "not there").write_text("{}"),
        (folder / "empty").mkdir,
        lambda: _lead(
            folder / "linked", shutil.copytree(far, tmp_path / "copy", copy_function=os.link)
        ),
        lambda: _lead(folder / "linked", (tmp_path / "copy").rename(tmp_path / "moved")),
    ]
    for change in changes:
        recorded(path, run)
        assert known(path, run) is not None
        change()
        assert known(path, run) is None


@pytest.fixture(scope="module")
def server() -> Iterator[ObjectServer]:
    """A web server of objects."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NO_PROXY", "127.0.0.1")
        served = ObjectServer()
        yield served
        served.close()


@pytest.mark.leaves_threads
def test_objects_are_known_by_their_marks(path: str, server: ObjectServer) -> None:
    server.reset()
    server.objects.update({"/a.jsonl": b"{}\n", "/a.json": b"{}"})
    run = Run(f"http://{server.address}/a.jsonl", f"http://{server.address}/a.json")
    recorded(path, run)
    assert known(path, run) is not None
    server.objects["/a.json"] = b"[]"
    assert known(path, run) is None
    server.faults.hides_marks = True
    recorded(path, run)
    assert known(path, run) is None
    server.reset()
    server.faults.status = 404
    recorded(path, run)
    assert known(path, run) is None


@pytest.mark.leaves_threads
def test_an_object_is_looked_at_once_for_a_check(path: str, server: ObjectServer) -> None:
    server.reset()
    server.objects["/b.jsonl"] = b"{}\n"
    run = Run(f"http://{server.address}/b.jsonl", None)
    with Ledger(path, Options()) as ledger:
        assert ledger.find_each([run])[0] is None
        assert ledger.begin(run) is not None
        assert len(server.asked) == 1
        assert ledger.begin(run) is not None
        assert len(server.asked) == 2


def test_what_a_list_of_s3_told_is_not_asked_again(path: str) -> None:
    run = Run("s3://bucket/a.jsonl", None, size=3, mark='"abc" 2026-11-21 10:00:00+00:00')
    recorded(path, run)
    assert known(path, run) is not None
    assert known(path, replace(run, mark='"abd" 2026-11-21 10:00:00+00:00')) is None
    # Other bytes were there when the check read them, and the old ones came back.
    assert known(path, replace(run, mark='"abc" 2026-11-21 10:00:02+00:00')) is None
    without_time = replace(run, mark='"abc"')
    recorded(path, without_time)
    assert known(path, without_time) is None


@each(
    "told",
    [
        "Sat, 21 Nov 2026 10:00:00 GMT",
        "2026-11-21 10:00:00+00:00",
        "2026-11-21T10:00:00",
        "1795255200.25",
    ],
)
def test_a_time_alone_tells_objects_apart_once_it_is_old(
    told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readers, "YOUNG_NANOSECONDS", 2_000_000_000)
    moment = 1795255200
    look = SimpleNamespace(size=3, marks={"modification time": told})
    monkeypatch.setattr(
        run_state,
        "find_store",
        lambda _: SimpleNamespace(get_info=lambda: look, close=lambda: None),
    )
    seen = []
    for seconds in (1, 3):
        now = (moment + seconds) * 1_000_000_000
        monkeypatch.setattr(run_state, "time", SimpleNamespace(time_ns=lambda now=now: now))
        looked = read_state(Run("gs://bucket/a.jsonl", None))
        assert looked is not None
        seen.append(looked.is_settled)
    assert seen == [False, True]
    look.marks["modification time"] = "last week"
    looked = read_state(Run("gs://bucket/a.jsonl", None))
    assert looked is not None
    assert not looked.is_settled


def test_links_are_kept_where_they_were_gathered(path: str, run: Run) -> None:
    recorded(path, run)
    assert known(path, run, Options(links=True)) is None
    with Ledger(path, Options(links=True)) as ledger:
        remember(ledger, run, [finding()], links=iter(LINKS))
    seen = known(path, run, Options(links=True))
    assert seen is not None
    assert seen.links is not None
    assert list(seen.links) == LINKS
    assert len(list(seen.findings)) == 1
    without = known(path, run)
    assert without is not None
    assert without.links is None
    with Ledger(path, Options(links=True)) as ledger:
        remember(ledger, run, links=[])
    seen = known(path, run, Options(links=True))
    assert seen is not None
    assert seen.links is not None
    assert (list(seen.links), list(seen.findings)) == ([], [])


def test_many_findings_are_kept_in_chunks_and_come_back_in_order(path: str, run: Run) -> None:
    count = 5 * CHUNK + 1
    findings = (finding(line=number + 1, message=f"{number}" * 9) for number in range(count))
    with Ledger(path, Options()) as ledger:
        remember(ledger, run, findings)  # type: ignore[arg-type]
    seen = known(path, run)
    assert seen is not None
    recorded(path, run)  # what is known is a copy
    assert [one.line for one in seen.findings] == list(range(1, count + 1))
    again = known(path, run)
    assert again is not None
    assert list(again.findings) == []
    with sqlite3.connect(path) as base:
        assert base.execute("SELECT count(*) FROM chunk").fetchone() == (0,)
    base.close()


def test_large_findings_make_small_chunks(path: str, run: Run) -> None:
    findings = [finding(found="x" * 700_000) for _ in range(5)]
    with Ledger(path, Options()) as ledger:
        remember(ledger, run, findings)
    seen = known(path, run)
    assert seen is not None
    assert list(seen.findings) == findings
    base = sqlite3.connect(path)
    assert base.execute("SELECT count(*) FROM chunk").fetchone() == (3,)
    base.close()


def test_only_a_large_run_has_the_records_before_it_written(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(6):
        written(tmp_path / "runs", f"{number}")
    monkeypatch.setattr("evalstream.batch.ledger.ledger.MOST_PENDING_SECONDS", math.inf)
    pending: list[int] = []
    flush = Ledger.flush
    monkeypatch.setattr(
        Ledger, "flush", lambda self: (pending.append(len(self._pending)), flush(self))[1]
    )
    evalstream.check(tmp_path / "runs", ledger=path, jobs=1)
    assert [count for count in pending if count] == [6]
    pending.clear()
    monkeypatch.setattr(scheduler, "BUNDLE_BYTES", 0)
    evalstream.check(tmp_path / "runs", ledger=f"{path}.2", jobs=1)
    assert [count for count in pending if count] == [1] * 6


def test_records_are_written_some_together(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(
        "evalstream.batch.ledger.ledger.time", SimpleNamespace(monotonic=lambda: now)
    )
    summary = RunSummary("a.jsonl", None, "eee")
    with Ledger(path, Options()) as ledger:

        def seen_after(number: int, findings: Sequence[Finding] = ()) -> int:
            ledger.record(state(number), summary, findings)
            return len(list(entries(path)))

        before = [0] * (MOST_PENDING - 1)
        assert [seen_after(number) for number in range(MOST_PENDING)] == [*before, MOST_PENDING]
        assert [seen_after(number) for number in range(MOST_PENDING, 200)][-1] == 200
        assert seen_after(200) == 200
        now += 1.0
        assert seen_after(201) == 202
        assert seen_after(202) == 202
        rng = random.Random(1)
        large = [finding(found=rng.randbytes(3000).hex()) for _ in range(2000)]
        assert seen_after(203, large) == 204
        assert seen_after(204) == 204
    assert len(list(entries(path))) == 205


def test_what_was_done_before_an_error_is_kept(path: str, run: Run) -> None:
    def fails() -> None:
        with Ledger(path, Options()) as ledger:
            remember(ledger, run)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fails()
    assert known(path, run) is not None


WRITER = """
import hashlib, os, signal, sqlite3, sys, time
from evalstream.batch.ledger import ledger
from evalstream.batch.ledger.ledger import Ledger
from evalstream.model.finding import Finding, Severity
from evalstream.model.options import Options
from evalstream.model.report import RunSummary
from evalstream.batch.ledger.run_state import RunState

path, first, last, dies = sys.argv[1], *map(int, sys.argv[2:])
ledger.MOST_PENDING = 10
writes = 0

class Dying(Ledger):
    def _write(self, pending):
        global writes
        writes += 1
        if writes == dies:
            # What was written so far reaches the file, and not all of it is to be there.
            os.kill(os.getpid(), signal.SIGKILL)
        super()._write(pending)

def finding(number):
    return Finding("ES202", "wrong-type", Severity.ERROR, "a", number, None, None, None, None,
                   "no number" * 50, None, os.urandom(400).hex(), None, None)

with Dying(path, Options(links=True)) as ledger:
    ledger._connection.execute("PRAGMA cache_size = 5")
    for number in range(first, last):
        key = hashlib.sha256(b"%d" % number).digest()
        standing = RunState(key, f"/runs/{number}.jsonl", f'["{number}"]', 0, True)
        summary = RunSummary(f"{number:06}.jsonl", None, "eee", rows=number, verdict="failed")
        findings = [finding(line + 1) for line in range(number % 40)]
        ledger.record(standing, summary, findings, [{"number": number}] * (number % 3))
        print(number, flush=True)
"""


def writer(path: str, first: int, last: int, dies: int = 0) -> subprocess.Popen[str]:
    """Start a process that writes many runs, and that dies in the middle if asked to."""
    command = [sys.executable, "-c", WRITER, path, str(first), str(last), str(dies)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def whole(path: str) -> list[int]:
    """Return the runs that a ledger knows, each of them with all that was recorded."""
    numbers = []
    with Ledger(path, Options(links=True)) as ledger:
        for entry in entries(path):
            seen = ledger._find_record(state(entry.rows))
            assert seen is not None
            assert [one.line for one in seen.findings] == list(range(1, entry.rows % 40 + 1))
            assert list(seen.links or ()) == [{"number": entry.rows}] * (entry.rows % 3)
            numbers.append(entry.rows)
        base = ledger._connection
        count = "SELECT count(*) FROM chunk WHERE run NOT IN (SELECT key FROM run)"
        assert base.execute(count).fetchone() == (0,)
        assert base.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    return numbers


def test_a_process_that_is_killed_while_it_writes_leaves_whole_records(path: str) -> None:
    with writer(path, 0, 1000, dies=75) as process:
        _, _ = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL
    assert os.path.getsize(f"{path}-journal")
    assert len(list(entries(path))) == 70
    assert not os.path.exists(f"{path}-journal")
    assert whole(path) == list(range(70))
    with writer(path, 60, 95) as process:
        process.communicate(timeout=60)
    assert process.returncode == 0
    assert whole(path) == list(range(95))


@each("after", [1, 37, 113])
def test_a_process_that_is_killed_at_any_moment_leaves_whole_records(path: str, after: int) -> None:
    with writer(path, 0, 100_000) as process:
        assert process.stdout is not None
        for _ in itertools.islice(process.stdout, after):
            pass
        process.kill()
        process.communicate(timeout=60)
    numbers = whole(path)
    assert numbers == list(range(len(numbers)))
    assert len(numbers) >= after - 10


def test_a_process_that_is_killed_while_it_begins_leaves_no_half_ledger(path: str) -> None:
    script = """
import os, signal, sys
from evalstream.batch.ledger import database, file_guard
# What was written so far reaches the file, and not all of it is to be there.
database._CREATE_TABLES = ("PRAGMA cache_size = 1", *database._CREATE_TABLES)
make = database._begin
def begin(connection, path):
    make(connection, path)
    os.kill(os.getpid(), signal.SIGKILL)
database._begin = begin
database.open_for_writing(sys.argv[1])
"""
    done = subprocess.run([sys.executable, "-c", script, path], check=False, timeout=60)
    assert done.returncode == -signal.SIGKILL
    with Ledger(path, Options()) as ledger:
        ledger.record(state(1), RunSummary("a", None, "eee"), [])
    assert len(list(entries(path))) == 1


def test_processes_share_a_ledger(path: str) -> None:
    """Two that begin it at once, and write different runs and the same ones."""
    with writer(path, 0, 120) as one, writer(path, 60, 180) as other:
        for process in (one, other):
            process.communicate(timeout=120)
            assert process.returncode == 0
    assert whole(path) == list(range(180))


def test_a_state_that_was_looked_up_long_ago_is_taken_again(
    path: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Ledger(path, Options()) as ledger:
        ledger.find_each([run])
        looked_up = ledger.begin(run)
        ledger.find_each([run])
        monkeypatch.setattr("evalstream.batch.ledger.ledger.FRESH_NANOSECONDS", -1)
        os.utime(run.rows or "", (1, 1))
        later = ledger.begin(run)
    assert looked_up is not None
    assert later is not None
    assert later.text != looked_up.text


@pytest.mark.parametrize("start", [bytes(12) + b"\1" * 16, bytes(28)])
def test_a_journal_that_another_process_is_writing_is_accepted(path: str, start: bytes) -> None:
    """SQLite writes the magic number of a journal last."""
    Path(path).touch()
    Path(f"{path}-journal").write_bytes(start.ljust(512, b"\0"))
    Ledger(path, Options()).close()
    assert not list(entries(path))


def test_no_ledger_begins_beside_a_journal_of_another_program(path: str) -> None:
    journal = Path(f"{path}-journal")
    journal.write_bytes(b"what another program wrote")
    with pytest.raises(CannotWrite, match="this journal has no ledger"):
        Ledger(path, Options())
    assert journal.read_bytes() == b"what another program wrote"
    assert not Path(path).exists()


def test_a_ledger_that_stays_locked_is_told(
    path: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.1)
    with Ledger(path, Options()) as ledger:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN EXCLUSIVE")
        said = "another process has locked the ledger"
        with pytest.raises(CannotWrite, match=said):
            Ledger(path, Options())
        with pytest.raises(CannotCheck, match=said):
            list(entries(path))
        with pytest.raises(CannotWrite, match=said):
            ledger.find_each([run])
        remember(ledger, run)
        with pytest.raises(CannotWrite, match=said):
            ledger.flush()
        other.execute("ROLLBACK")
        other.close()
        ledger.flush()
    assert known(path, run) is not None


def test_a_lock_that_is_let_go_is_waited_for(
    path: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Ledger(path, Options()) as ledger:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN EXCLUSIVE")

        def sleep(seconds: float) -> None:
            other.close()

        waiting = SimpleNamespace(sleep=sleep, monotonic=time.monotonic)
        monkeypatch.setattr(database, "time", waiting)
        remember(ledger, run)
    assert known(path, run) is not None


def _foreign(path: str) -> None:
    base = sqlite3.connect(path)
    base.execute("CREATE TABLE run (key)")
    base.close()


def _other_version(layout: int) -> Callable[[str], None]:
    def change(path: str) -> None:
        Ledger(path, Options()).close()
        base = sqlite3.connect(path, isolation_level=None)
        base.execute(f"PRAGMA user_version = {layout}")
        base.close()

    return change


NO_LEDGERS: dict[str, tuple[Callable[[str], object], str]] = {
    "another database": (_foreign, "not a ledger of evalstream"),
    "rows": (lambda path: Path(path).write_text('{"row": 1}\n' * 99), "not a ledger of evalstream"),
    "a short file": (lambda path: Path(path).write_bytes(b"SQLite format 3\0"), "not a ledger"),
    "a folder": (lambda path: Path(path).mkdir(), "must be a file"),
    "a pipe": (os.mkfifo, "must be a file"),
    "newer": (_other_version(file_guard.FORMAT_VERSION + 1), "a newer version of evalstream"),
    "older": (_other_version(file_guard.FORMAT_VERSION - 1), "an older version of evalstream"),
}


@each("kind", NO_LEDGERS)
def test_what_is_no_ledger_is_refused_and_left_as_it_is(
    path: str, kind: str, tmp_path: Path
) -> None:
    make, said = NO_LEDGERS[kind]
    make(path)
    before = Path(path).read_bytes() if Path(path).is_file() else b""
    with pytest.raises((CannotWrite, UsageError), match=said):
        Ledger(path, Options())
    with pytest.raises(CannotCheck, match=said):
        entries(path)
    assert (Path(path).read_bytes() if Path(path).is_file() else b"") == before
    assert [file.name for file in tmp_path.iterdir()] == [Path(path).name]


@each("name", ["none/ledger", "a\0b", "a\udfff\ud800/b", "file/ledger", ""])
def test_places_where_no_ledger_can_be_are_told(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(CannotWrite):
        Ledger(name, Options())
    with pytest.raises(CannotCheck):
        entries(name)
    assert [file.name for file in tmp_path.iterdir()] == ["file"]


def test_an_empty_file_becomes_a_ledger_and_is_none_before(path: str, run: Run) -> None:
    Path(path).touch()
    with pytest.raises(CannotCheck, match="not a ledger"):
        entries(path)
    recorded(path, run)
    assert known(path, run) is not None


def test_ledgers_may_have_odd_names(tmp_path: Path, run: Run) -> None:
    path = os.fsdecode(os.fsencode(tmp_path) + b"/a?b#c%20 \xff.db")
    recorded(path, run)
    assert known(path, run) is not None
    assert len(list(entries(path))) == 1
    assert sorted(os.listdir(os.fsencode(tmp_path))) == [b"a?b#c%20 \xff.db", b"runs"]


@needs_no_root
def test_a_read_only_ledger_is_told_and_can_be_listed(path: str, run: Run, tmp_path: Path) -> None:
    recorded(path, run)
    reason = "the ledger or its folder is read-only"
    Path(path).chmod(0o400)
    with pytest.raises(CannotWrite, match=reason):
        Ledger(path, Options())
    Path(path).chmod(0o600)
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(CannotWrite, match=reason):
            Ledger(path, Options())
        with pytest.raises(CannotWrite, match="cannot open the ledger"):
            Ledger(str(tmp_path / "new"), Options())
        assert len(list(entries(path))) == 1
    finally:
        tmp_path.chmod(0o700)


def test_flows_and_urls_go_with_no_ledger(path: str) -> None:
    with pytest.raises(UsageError, match="pass rows on or seal"):
        Ledger(path, Options(routing=RowRouting(tee="copy")))
    with pytest.raises(UsageError, match="not a URL"):
        Ledger("s3://bucket/ledger", Options())


def test_a_full_disk_is_told_and_nothing_is_lost(path: str, run: Run) -> None:
    recorded(path, run)
    ledger = Ledger(path, Options())
    (pages,) = ledger._connection.execute("PRAGMA page_count").fetchone()
    ledger._connection.execute(f"PRAGMA max_page_count = {pages}")
    rng = random.Random(1)
    ledger.record(
        state(1), summary_of(run), [finding(found=rng.randbytes(9000).hex()) for _ in range(9)]
    )
    with pytest.raises(CannotWrite, match="the disk is full"):
        ledger.flush()
    with pytest.raises(CannotWrite, match="the disk is full"):
        ledger.close()
    assert known(path, run) is not None
    assert len(list(entries(path))) == 1


DAMAGES = [
    "UPDATE run SET summary = substr(summary, 1, length(summary) - 1)",
    "UPDATE run SET summary = zeroblob(length(summary))",
    "UPDATE run SET summary = NULL",
    "UPDATE run SET verdict = 'passed'",
    "UPDATE run SET checked = '2020-01-01T00:00:00Z'",
    "UPDATE run SET findings = findings - 1",
    "UPDATE run SET links = 0",
    "UPDATE run SET digest = x'00'",
    "UPDATE run SET name = CAST(x'ff00fe' AS TEXT)",
    "UPDATE run SET place = 7, settled = 'yes'",
    "UPDATE chunk SET data = substr(data, 2) WHERE number = 1",
    "UPDATE chunk SET data = 'text'",
    "UPDATE chunk SET data = (SELECT data FROM chunk WHERE number = 0)",
    "DELETE FROM chunk WHERE number = 1",
    "UPDATE chunk SET kind = kind + 9",
    "UPDATE chunk SET number = 9 - number",
]


@each("damage", DAMAGES)
def test_what_is_damaged_counts_as_not_there(path: str, run: Run, damage: str) -> None:
    findings = [finding(line=number + 1) for number in range(CHUNK + 1)]
    with Ledger(path, Options(links=True)) as ledger:
        remember(ledger, run, findings, links=LINKS, verdict="failed")
    base = sqlite3.connect(path, isolation_level=None)
    base.execute(damage)
    base.close()
    assert known(path, run, Options(links=True)) is None
    (entry,) = entries(path)
    assert entry.verdict == ("damaged" if "UPDATE run" in damage else "failed")
    for form in ("text", "jsonl", "csv"):
        assert exported(path, form)
    recorded(path, run)
    assert known(path, run) is not None
    assert [entry.verdict for entry in entries(path)] == ["passed"]


@each("seed", range(12))
def test_no_damage_of_the_file_gives_a_false_answer(path: str, seed: int) -> None:
    summary = RunSummary("a.jsonl", None, "eee", rows=5, verdict="failed")
    with Ledger(path, Options()) as ledger:
        for number in range(60):
            ledger.record(state(number), summary, [finding(line=number + 1)] * 9)
    rng, data = random.Random(seed), bytearray(Path(path).read_bytes())
    for _ in range(10 ** rng.randrange(4)):
        data[rng.randrange(100, len(data))] = rng.randrange(256)
    if seed % 3 == 2:
        del data[rng.randrange(100, len(data)) :]
    Path(path).write_bytes(data)
    said: list[str] = []
    try:
        with Ledger(path, Options()) as ledger:
            for number in range(60):
                seen = known_of(ledger, state(number))
                if seen is not None:
                    assert list(seen.findings) == [finding(line=number + 1)] * 9
                    assert replace(seen.summary, unchanged=None) == summary
                ledger.record(state(number), summary, [])
    except CannotWrite as error:
        said.append(str(error))
    try:
        assert len(list(entries(path))) <= 120
    except CannotCheck as error:
        said.append(str(error))
    assert all("damaged" in reason for reason in said)


def known_of(ledger: Ledger, looked: RunState) -> CachedRun | None:
    """Ask a ledger for a run that is nowhere on disk."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("evalstream.batch.ledger.ledger.read_state", lambda *_: looked)
        return ledger.find_each([Run("a", None)])[0]


def listing(path: str, tmp_path: Path) -> None:
    """Record some runs that differ in what is listed."""
    told: list[tuple[str, dict[str, Any]]] = [
        ("b", {"verdict": "failed", "counts": {"ES202": 3, "ES401": 1}}),
        ("a", {"verdict": "passed"}),
        ("open", {"verdict": "unconfirmed", "claims": CLAIMS}),
        ("c/d", {"verdict": "incomplete", "incomplete_reason": "unread", "counts": {"ES004": 1}}),
    ]
    severities = {Severity.ERROR: 3, Severity.WARNING: 2, Severity.INFO: 1}
    (tmp_path / "c").mkdir()
    with Ledger(path, Options()) as ledger:
        for name, fields in told:
            rows = tmp_path / f"{name}.jsonl"
            rows.write_text("{}\n")
            summary = RunSummary(f"{name}.jsonl", None, "eee", severities=severities, **fields)
            ledger.record(ledger.begin(Run(str(rows), None)), summary, [])


def exported(path: str, form: str) -> str:
    """Return an export."""
    target = Path(path).with_name(f"exported.{form}")
    with Output(str(target)) as output:
        export_entries(entries(path), form, output)
    return target.read_text(encoding="utf-8")


def test_entries_are_listed_by_name_and_filtered(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listing(path, tmp_path)
    monkeypatch.chdir(tmp_path)

    def names(**filters: Any) -> list[str | None]:
        return [entry.file for entry in entries(path, **filters)]

    assert names() == ["a.jsonl", "b.jsonl", "c/d.jsonl", "open.jsonl"]
    assert names(verdict="failed") == ["b.jsonl"]
    assert names(verdict="unconfirmed") == ["open.jsonl"]
    assert names(verdict="damaged") == []
    assert names(codes=["es4"]) == ["b.jsonl"]
    assert names(codes=["sample-hash-mismatch"]) == ["b.jsonl"]
    assert names(codes=["ES004", "ES2"]) == ["b.jsonl", "c/d.jsonl"]
    assert names(codes=["ES9"]) == []
    assert names(under="c") == names(under="./c/") == ["c/d.jsonl"]
    assert names(under=str(tmp_path)) == names(under="/") == names()
    assert names(under="a.jsonl") == ["a.jsonl"]
    assert names(under="a") == []
    assert names(under="s3://bucket") == []
    assert names(under="c", verdict="failed") == []
    (first, *_) = entries(path, verdict="failed")
    assert (first.errors, first.warnings, first.notices, first.settled) == (3, 2, 1, True)
    with pytest.raises(UsageError, match="unknown verdict 'sound'"):
        entries(path, verdict="sound")
    with pytest.raises(UsageError, match="ES_"):
        entries(path, codes=["ES_"])


def test_entries_come_page_by_page_while_others_write(path: str) -> None:
    count = 2 * PAGE + 1
    with Ledger(path, Options()) as ledger:
        for number in range(count):
            summary = RunSummary(f"{number % 7}.jsonl", None, "eee", rows=number)
            ledger.record(state(number), summary, [])
        ledger.flush()
        seen = entries(path)
        first = next(seen)
        ledger.record(state(count), RunSummary("9.jsonl", None, "eee", rows=count), [])
        ledger.flush()
        rows = [first.rows, *(entry.rows for entry in seen)]
    assert sorted(rows) == list(range(count + 1))
    assert rows[-1] == count


def test_text_is_aligned_and_ends_in_a_total(path: str, tmp_path: Path) -> None:
    listing(path, tmp_path)
    heading, *lines, total = exported(path, "text").splitlines()
    start = heading.index("run")
    assert [line[:start].split()[:5] for line in lines] == [
        ["passed", "0", "3", "2", "1"],
        ["FAILED", "0", "3", "2", "1"],
        ["incomplete", "0", "3", "2", "1"],
        ["unconfirmed", "0", "3", "2", "1"],
    ]
    assert [line[start:] for line in lines] == [
        "a.jsonl",
        "b.jsonl: ES202 3, ES401 1",
        "c/d.jsonl: ES004 1",
        "open.jsonl; claims: 1 confirmed, 2 open",
    ]
    said = "4 runs: 1 passed, 1 unconfirmed, 1 failed, 1 incomplete; 1 will always be checked again"
    assert total == said


def test_an_empty_ledger_is_listed(path: str) -> None:
    Ledger(path, Options()).close()
    assert exported(path, "text") == "0 runs\n"
    assert exported(path, "jsonl") == ""
    assert exported(path, "csv") == ",".join(LedgerEntry._fields) + "\n"


def test_json_lines_and_csv_say_the_same(path: str, tmp_path: Path) -> None:
    listing(path, tmp_path)
    lines = [json.loads(line) for line in exported(path, "jsonl").splitlines()]
    assert [tuple(line) for line in lines] == [LedgerEntry._fields] * 4
    assert lines[3]["claims"] == {"confirmed": 1, "rounded": 0, "refuted": 0, "open": 2}
    assert lines == [entry._asdict() for entry in entries(path)]
    rows = list(csv.DictReader(io.StringIO(exported(path, "csv"))))
    for line, row in zip(lines, rows, strict=True):
        for name in ("counts", "claims"):
            assert json.loads(row[name]) == line[name]
        for name in LedgerEntry._fields:
            told = "" if line[name] is None else line[name]
            shown = str(told).lower() if told in (True, False) else str(told)
            assert name in {"counts", "claims"} or row[name] == shown


ODD_NAMES = ["=HYPERLINK(1)", "+1", "-1", "@x", " =1", "a\nb\x1b[31m", 'quo"te,comma', "ünï"]


def test_names_cannot_do_harm_in_tables(path: str) -> None:
    with Ledger(path, Options()) as ledger:
        for number, name in enumerate(ODD_NAMES):
            ledger.record(state(number), RunSummary(name, None, "eee", version="=1"), [])
    cells = {row["file"] for row in csv.DictReader(io.StringIO(exported(path, "csv")))}
    safe = {"'=HYPERLINK(1)", "'+1", "'-1", "'@x", "' =1", "a·b·[31m", 'quo"te,comma', "ünï"}
    assert cells == safe
    assert "a·b·[31m" in exported(path, "text")
    assert len(exported(path, "text").splitlines()) == len(ODD_NAMES) + 2
    exact = {json.loads(line)["file"] for line in exported(path, "jsonl").splitlines()}
    assert exact == set(ODD_NAMES)


def test_unknown_forms_are_refused(path: str, capsysbinary: Any) -> None:
    Ledger(path, Options()).close()
    with pytest.raises(UsageError, match=", ".join(FORMS)), Output() as output:
        export_entries(entries(path), "xlsx", output)


def test_half_a_character_is_written_in_every_form(path: str, tmp_path: Path) -> None:
    listing(path, tmp_path)
    for form in FORMS:
        with Output(str(tmp_path / form)) as output:
            export_entries([next(entries(path))._replace(version="half \ud800")], form, output)


def test_runs_of_every_format_are_known_in_a_batch(path: str, tmp_path: Path) -> None:
    """Only one format links runs to others; runs of the others are known without links."""
    folder = Path(shutil.copytree(EXAMPLES, tmp_path / "examples"))
    old = time.time() - 3600
    for one in folder.rglob("*"):
        os.utime(one, (old, old))
    names = ["run.jsonl", "infereval", "harpia", "evalguard", "tutorial/log"]
    inputs = [folder / name for name in names]
    first = evalstream.check(inputs, ledger=path)
    second = evalstream.check(inputs, ledger=path)
    assert {run.format for run in first.runs} == {
        "eee",
        "infereval",
        "harpia",
        "evalguard",
        "lm_eval",
    }
    assert [run.unchanged is not None for run in first.runs] == [False] * len(first.runs)
    assert [run.format for run in second.runs if run.unchanged is None] == []


def test_runs_whose_files_are_gone_are_named(tmp_path: Path, path: str) -> None:
    store = tmp_path / "store"
    for number in range(30):
        (store / str(number)).mkdir(parents=True)
        shutil.copy(EXAMPLES / "run.jsonl", store / str(number) / "run.jsonl")
    first = evalstream.check(store, ledger=path)
    assert first.totals.gone.runs == 0
    assert "gone" not in first.totals.as_dict()
    for number in range(25):
        shutil.rmtree(store / str(number))
    report = evalstream.check(store, ledger=path)
    assert report.totals.runs == 5
    assert report.totals.gone.runs == 25
    assert (
        report.totals.gone.names == tuple(sorted(f"{store}/{n}/run.jsonl" for n in range(25)))[:20]
    )
    assert report.totals.as_dict()["gone"]["runs"] == 25
    # Runs outside of the folder that the runs of a call have in common are no matter of it.
    assert evalstream.check(store / "25", ledger=path).totals.gone.runs == 0


def test_gone_runs_stay_in_a_report_that_is_read_back(tmp_path: Path, path: str) -> None:
    store = tmp_path / "store"
    for name in "abc":
        (store / name).mkdir(parents=True)
        shutil.copy(EXAMPLES / "run.jsonl", store / name / "run.jsonl")
    evalstream.check(store, ledger=path)
    shutil.rmtree(store / "b")
    stored = tmp_path / "report.jsonl"
    with Output(str(stored)) as output:
        evalstream.check(store, ledger=path, reporter=evalstream.JsonLinesReporter(output))
    assert evalstream.read_report(stored).totals.gone == (1, (f"{store}/b/run.jsonl",))
    for form in ("text", "concise", "github", "html"):
        place = tmp_path / "shown"
        with Output(str(place)) as output:
            evalstream.read_report(stored, reporter=reporter_type(form)(output))
        assert "1 run that the ledger remembers is gone" in place.read_text()
        assert "b/run.jsonl" in place.read_text()

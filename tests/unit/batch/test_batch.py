"""Many runs in one call: ledgers, signals and lost workers change nothing in the reports."""

import gc
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from comparable import said
from each import each
from rows import bytes_of, sound_rows, write_run

import evalstream
from evalstream.batch import scheduler
from evalstream.batch.ledger.ledger import Ledger
from evalstream.batch.plan import RunPlan
from evalstream.io.spill_table import BATCH
from evalstream.model.errors import CannotCheck, ExecutorLost, UsageError
from evalstream.model.run import Run

RUNS = 12
OLD = time.time() - 3600


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Some runs that were written a while ago, some of them faulty."""
    monkeypatch.chdir(tmp_path)
    for number in range(RUNS):
        place = Path("data") / f"run-{number:02}"
        place.mkdir(parents=True)
        rows = sound_rows(count=8 + number)
        if number % 5 == 2:
            rows[0] = {**rows[0], "evaluation": None}
        write_run(place, bytes_of(rows))
    age(Path("data"))
    return Path("data")


def age(folder: Path) -> None:
    """Let files look as if they had been written a while ago; ctime is beyond a test's reach."""
    for path in folder.rglob("*.json*"):
        os.utime(path, (OLD, OLD))


@pytest.mark.parametrize("jobs", [1, 2])
def test_what_has_not_changed_is_not_checked_again(folder: Path, jobs: int) -> None:
    first = evalstream.check(folder, ledger="ledger", jobs=jobs)
    again = evalstream.check(folder, ledger="ledger", jobs=jobs)
    plain = evalstream.check(folder)
    assert said(first) == said(again) == said(plain)
    assert first.totals.unchanged == 0
    assert again.totals.unchanged == RUNS
    assert all(run.unchanged for run in again.runs)


def test_only_what_has_changed_is_checked_again(folder: Path) -> None:
    evalstream.check(folder, ledger="ledger")
    changed = folder / "run-03" / "run.jsonl"
    changed = next((folder / "run-03").glob("*.jsonl"))
    changed.write_bytes(changed.read_bytes().replace(b"sample-1", b"sample-x", 1))
    report = evalstream.check(folder, ledger="ledger")
    assert [run.unchanged is None for run in report.runs] == [number == 3 for number in range(RUNS)]
    assert said(report) == said(evalstream.check(folder))


def test_a_ledger_keeps_what_link_key_runs(folder: Path) -> None:
    copy = folder / "copy"
    copy.mkdir()
    for path in (folder / "run-01").iterdir():
        (copy / path.name).write_bytes(path.read_bytes())
    first = evalstream.check(folder, ledger="ledger")
    again = evalstream.check(folder, ledger="ledger")
    assert first.counts["ES904"] or first.counts["ES903"]
    assert said(first) == said(again)


def test_a_ledger_serves_one_run_and_shards(folder: Path) -> None:
    one = next((folder / "run-00").glob("*.jsonl"))
    evalstream.check(one, ledger="ledger")
    report = evalstream.check(one, ledger="ledger")
    assert report.totals.unchanged == 1


KILLED = """
import os, sys
import evalstream
from evalstream.batch.results import ResultStore
taken, take = [], ResultStore.add_stored
def counted(self, number, *rest, **named):
    taken.append(number)
    take(self, number, *rest, **named)
    if len(taken) == 5:
        os.kill(os.getpid(), 9)
ResultStore.add_stored = counted
from evalstream.batch.ledger import ledger
from evalstream.io import readers
ledger.MOST_PENDING = 1
readers.YOUNG_NANOSECONDS = -(10**18)
evalstream.check("data", ledger="ledger", jobs=1)
"""


def test_a_check_that_was_killed_goes_on_where_it_was(folder: Path) -> None:
    killed = subprocess.run([sys.executable, "-c", KILLED], check=False)
    assert killed.returncode == -signal.SIGKILL
    report = evalstream.check(folder, ledger="ledger")
    assert 0 < report.totals.unchanged <= 5
    assert said(report) == said(evalstream.check(folder))


def test_a_signal_leaves_a_partial_report_and_a_ledger_to_go_on_with(folder: Path) -> None:
    code = """
import os, signal, sys
from evalstream.batch.results import ResultStore
from evalstream.io import readers
readers.YOUNG_NANOSECONDS = -(10**18)
taken, take = [], ResultStore.add_stored
def counted(self, number, *rest, **named):
    take(self, number, *rest, **named)
    taken.append(number)
    if len(taken) == 5:
        os.kill(os.getpid(), signal.SIGTERM)
ResultStore.add_stored = counted
sys.argv[1:] = ["check", "data", "--ledger", "ledger", "--jobs", "1"]
from evalstream.cli import main
main()
"""
    stopped = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert stopped.returncode == 128 + signal.SIGTERM
    assert b"7 of 12 runs NOT CHECKED" in stopped.stdout
    assert b"partial" in stopped.stderr
    report = evalstream.check(folder, ledger="ledger")
    assert report.totals.unchanged == 5
    assert said(report) == said(evalstream.check(folder))


def test_when_who_runs_the_work_is_lost_nothing_passes_unseen(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lost(*_args: Any) -> Any:
        raise ExecutorLost("the scheduler is gone")
        yield

    monkeypatch.setattr(scheduler, "check_bundles", lost)
    monkeypatch.setattr("evalstream.batch.packing.BUNDLE_RUNS", 3)
    report = evalstream.check(folder, jobs=2)
    assert report.exit_code == 3
    assert (len(report.runs), report.totals.unreached, report.counts) == (0, RUNS, {})
    assert report.totals.lost == "the scheduler is gone"


def test_the_longest_run_of_a_plan_comes_first(folder: Path) -> None:
    seen: list[str] = []
    find_each = Ledger.find_each

    def note(self: Ledger, runs: Sequence[Run]) -> Any:
        seen.extend(run.rows or "" for run in runs)
        return find_each(self, runs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Ledger, "find_each", note)
        evalstream.check(folder, ledger="ledger", jobs=2)
    sizes = [os.path.getsize(path) for path in seen]
    assert len(sizes) > 1
    assert sizes == sorted(sizes, reverse=True)


@each("settings", [{"tee": "x"}, {"passing": "all"}, {"follow": True}])
def test_a_ledger_is_for_files_alone(folder: Path, settings: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="ledger"):
        evalstream.check(next(folder.rglob("*.jsonl")), ledger="ledger", **settings)


def test_runs_that_cannot_be_found_are_told_among_the_others(folder: Path) -> None:
    report = evalstream.check([folder, "nowhere.jsonl", folder / "run-00", "empty-*"])
    assert report.exit_code == 3
    assert report.totals.verdicts["failed"]
    assert [run.incomplete_reason is not None for run in report.runs][-2:] == [True, True]
    assert report.totals.unchecked == 2


def test_a_full_disk_is_told_as_one(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class FullDisk(sqlite3.Connection):
        def executemany(self, *_what: Any) -> sqlite3.Cursor:
            raise sqlite3.OperationalError("database or disk is full")

    connect = partial(sqlite3.connect, factory=FullDisk)
    monkeypatch.setattr(sqlite3, "connect", connect)
    with pytest.raises(CannotCheck, match="disk is full; set TMPDIR"):
        evalstream.check(folder)


@pytest.fixture
def bases(monkeypatch: pytest.MonkeyPatch) -> list[sqlite3.Connection]:
    """Every database that is opened from here on."""
    opened: list[sqlite3.Connection] = []
    connect = sqlite3.connect

    def noted(*arguments: Any, **settings: Any) -> sqlite3.Connection:
        opened.append(connect(*arguments, **settings))
        return opened[-1]

    monkeypatch.setattr(sqlite3, "connect", noted)
    return opened


def are_closed(bases: list[sqlite3.Connection]) -> bool:
    """Tell whether databases were opened, and all of them are closed."""
    for base in bases:
        with pytest.raises(sqlite3.ProgrammingError, match="closed"):
            base.execute("SELECT 1")
    return bool(bases)


def test_every_temporary_database_is_closed(folder: Path, bases: list[sqlite3.Connection]) -> None:
    report = evalstream.check(folder, jobs=1)
    assert len(list(report.runs)) == RUNS
    del report
    gc.collect()
    assert are_closed(bases)


def test_the_plan_of_runs_that_cannot_be_listed_is_closed(bases: list[sqlite3.Connection]) -> None:
    def broken() -> Iterator[Run]:
        yield from (Run(f"{number}.jsonl", None) for number in range(BATCH))
        raise OSError("the folder went away")

    with pytest.raises(OSError, match="went away"):
        RunPlan(broken())
    assert are_closed(bases)

"""Batches on a Dask cluster: the same report, whoever dies meanwhile, and nothing passed unseen."""

from pathlib import Path
from typing import Any

import pytest
from comparable import said
from dask_cluster import STARTS_SECONDS, Machines, machines, needs_dask
from dask_machine import fork, run_program
from depth import deep
from rows import bytes_of, sound_rows, write_run

import evalstream
from evalstream.batch import packing, scheduler
from evalstream.batch.parts import PartReporter
from evalstream.batch.results import ResultStore
from evalstream.executors.dask import backend as dask
from evalstream.io.output import Output
from evalstream.model.errors import CannotCheck
from evalstream.model.report import Report
from evalstream.reporters.jsonl import JsonLinesReporter
from evalstream.reporters.summary import total_lines

pytestmark = needs_dask

RUNS = 16


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait longer for workers to start than anybody would: tests run beside each other."""
    settings = {"insecure": False, "timeout": STARTS_SECONDS}
    monkeypatch.setattr(dask.backend, "__kwdefaults__", settings)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Some runs, some of them faulty, two to a task; all but one are small."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(packing, "BUNDLE_RUNS", 2)
    for number in range(RUNS):
        place = tmp_path / "data" / f"run-{number:02}"
        place.mkdir(parents=True)
        rows = sound_rows(count=60 if number == 3 else 8)
        if number % 5 == 2:
            # Larger, so that it is checked early.
            rows[0] = {**rows[0], "evaluation": None, "metadata": {"pad": "x" * 500}}
        write_run(place, bytes_of(rows))
    return tmp_path / "data"


def check(folder: Path, cluster: Machines, **settings: Any) -> Report:
    """Check a folder on a cluster."""
    return evalstream.check(folder, executor="dask", dask_address=cluster.address, **settings)


def after(takes: int, act: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Do something once so many runs were taken."""
    take, taken = ResultStore.add_stored, []

    def counted(self: ResultStore, *what: Any, **named: Any) -> None:
        take(self, *what, **named)
        taken.append(what[0])
        if len(taken) == takes:
            act()

    monkeypatch.setattr(ResultStore, "add_stored", counted)


def test_a_cluster_says_what_this_machine_says(folder: Path, cluster: Machines) -> None:
    assert said(check(folder, cluster)) == said(evalstream.check(folder, jobs=1))
    assert said(check(folder, cluster, max_findings=0)) == said(
        evalstream.check(folder, jobs=2, max_findings=0)
    )


def test_a_worker_that_is_killed_costs_nothing_but_time(
    folder: Path, cluster: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.workers.append(cluster.add())
    after(3, cluster.kill_worker, monkeypatch)
    assert said(check(folder, cluster)) == said(evalstream.check(folder, jobs=1))


def test_a_single_run_is_checked_on_the_cluster(
    folder: Path, cluster: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = said(evalstream.check(folder / "run-02", jobs=1))
    monkeypatch.setattr(scheduler, "check_planned", None)
    monkeypatch.setattr("evalstream.api.check_inputs.check_any", None)
    assert said(check(folder / "run-02", cluster)) == expected


def test_a_file_with_more_links_than_a_message_holds_is_checked_here(
    folder: Path, cluster: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    here: list[str | None] = []
    check_here = scheduler.check_planned

    def noted(options: Any, planned: Any, progress: Any) -> Any:
        here.append(planned.found.rows)
        return check_here(options, planned, progress)

    monkeypatch.setattr(scheduler, "check_planned", noted)
    monkeypatch.setattr(scheduler, "MOST_LINKED_BYTES", 20_000)
    assert said(check(folder, cluster)) == said(evalstream.check(folder, executor="pool", jobs=2))
    (large,) = [name for name in here if name is not None]
    assert "run-03" in large


def test_inputs_without_a_run_are_reported_here(folder: Path, cluster: Machines) -> None:
    (folder / "none.jsonl").write_bytes(b"")
    (folder / "foreign.json").write_text('{"a": 1}')
    assert said(check(folder, cluster)) == said(evalstream.check(folder, jobs=1))


def test_a_scheduler_that_is_lost_passes_nothing_and_keeps_what_was_done(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with machines(tmp_path, 1) as started, monkeypatch.context() as patch:
        after(4, started.scheduler.kill, patch)
        report = check(folder, started, ledger="ledger", ignore=("ES9",))
    done = len(report.runs)
    assert 4 <= done < RUNS
    assert report.exit_code == 3
    assert report.totals.verdicts["failed"]
    assert report.totals.unreached == RUNS - done
    assert not report.passed
    assert "ES001" not in report.counts
    said_of_loss = f"{RUNS - done} of {RUNS} runs NOT CHECKED"
    assert next(iter(total_lines(report))) == f"{said_of_loss}: {report.totals.lost}"
    (notice,) = [one.message for one in caplog.records if "NOT CHECKED" in one.message]
    assert notice.startswith("evalstream: the Dask scheduler at tcp://127.")
    assert notice.endswith(said_of_loss)
    stored = tmp_path / "report.jsonl"
    with Output(str(stored)) as output:
        reporter = JsonLinesReporter(output)
        for finding in report:
            reporter.finding(finding)
        reporter.finish(report)
    read = evalstream.read_report(stored)
    assert (read.exit_code, read.totals) == (3, report.totals)
    again = evalstream.check(folder, ledger="ledger", ignore=("ES9",))
    assert again.totals.unchanged == done
    assert said(again) == said(evalstream.check(folder, ignore=("ES9",)))


def test_a_part_that_was_written_after_a_loss_is_not_merged(
    folder: Path, cluster: Machines, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    part = tmp_path / "part.jsonl"
    after(1, dask.leave, monkeypatch)
    # More tasks than are sent ahead: the last ones are sent after the loss.
    monkeypatch.setattr(packing, "BUNDLE_RUNS", 1)
    with Output(str(part)) as output:
        reporter = PartReporter(output)
        report = check(folder, cluster, shard="1/1", reporter=reporter, outputs=[part])
    assert report.exit_code == 3
    with pytest.raises(CannotCheck, match="was stopped before its last run; run it again"):
        evalstream.merge([part])


def test_a_scheduler_that_is_not_there_is_said_so(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dask.backend, "__kwdefaults__", {"insecure": False, "timeout": 0.5})
    report = evalstream.check(folder, executor="dask", dask_address="tcp://127.0.0.1:9")
    assert report.exit_code == 3
    assert (len(report.runs), report.totals.unreached) == (0, RUNS)
    assert "cannot be reached" in (report.totals.lost or "")


@pytest.mark.parametrize("options", [("--output", "report.txt"), deep(("--quiet",)), deep(())])
def test_a_loss_is_on_stderr_at_once(
    folder: Path, options: tuple[str, ...], tmp_path: Path
) -> None:
    words = ["check", "data", "--executor", "dask", "--dask-address", "tcp://127.0.0.1:9", *options]
    out, errors = tmp_path / "out", tmp_path / "errors"
    done = fork(run_program, str(tmp_path), words, out=out, errors=errors)
    done.join(STARTS_SECONDS)
    assert done.exitcode == 3
    first = errors.read_text().splitlines()[0]
    assert first.startswith("evalstream: the Dask scheduler at tcp://127.0.0.1:9 cannot be reached")
    assert first.endswith(f"; {RUNS} of {RUNS} runs NOT CHECKED")
    shown = (tmp_path / "report.txt" if "--output" in options else out).read_text()
    assert f"{RUNS} of {RUNS} runs NOT CHECKED: the Dask scheduler" in shown

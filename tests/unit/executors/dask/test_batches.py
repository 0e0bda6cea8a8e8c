"""Batches on a Dask cluster: the same report, whoever dies meanwhile, and nothing passed unseen."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from comparable import said
from dask_cluster import STARTS_SECONDS, Machines, machines, needs_dask
from rows import bytes_of, sound_rows, write_run

import evalstream
from evalstream.batch import packing, scheduler
from evalstream.batch.ledger import run_state
from evalstream.batch.results import ResultStore
from evalstream.executors.dask import backend as dask
from evalstream.model.report import Report

pytestmark = needs_dask

RUNS = 16


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    """A scheduler and two workers that live for all tests which do not kill the scheduler."""
    with machines(tmp_path_factory.mktemp("cluster"), 2) as started:
        yield started


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait longer for workers to start than anybody would: tests run beside each other."""
    monkeypatch.setattr(dask.backend, "__kwdefaults__", {"timeout": STARTS_SECONDS})


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
            rows[0] = {**rows[0], "evaluation": None}
        write_run(place, bytes_of(rows))
    return tmp_path / "data"


def check(folder: Path, cluster: Machines, **settings: Any) -> Report:
    """Check a folder on a cluster."""
    return evalstream.check(folder, executor="dask", dask_address=cluster.address, **settings)


def after(takes: int, act: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Do something once so many runs were taken."""
    take, taken = ResultStore.add, []

    def counted(self: ResultStore, *what: Any) -> None:
        take(self, *what)
        taken.append(what[0])
        if len(taken) == takes:
            act()

    monkeypatch.setattr(ResultStore, "add", counted)


def test_a_cluster_says_what_this_machine_says(
    folder: Path, cluster: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scheduler, "OUTLIER_BYTES", 20_000)
    monkeypatch.setattr("evalstream.engine.block_tasks.CLUSTER_BLOCK_BYTES", 10_000)
    assert said(check(folder, cluster)) == said(evalstream.check(folder, jobs=1))
    assert said(check(folder, cluster, max_findings=0)) == said(
        evalstream.check(folder, jobs=2, max_findings=0)
    )


def test_a_worker_that_is_killed_costs_nothing_but_time(
    folder: Path, cluster: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.workers.append(cluster.add())
    after(3, cluster.workers[0].kill, monkeypatch)
    assert said(check(folder, cluster)) == said(evalstream.check(folder, jobs=1))


def test_a_scheduler_that_is_lost_passes_nothing_and_keeps_what_was_done(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_state, "YOUNG_NANOSECONDS", -(10**18))
    with machines(tmp_path, 1) as started, monkeypatch.context() as patch:
        after(4, started.scheduler.kill, patch)
        report = check(folder, started, ledger="ledger", select=("ES5",))
    assert report.exit_code == 3
    assert len(report.runs) == RUNS
    passed = [run for run in report.runs if run.verdict == "passed"]
    assert 4 <= len(passed) < RUNS
    assert all(run.incomplete_reason for run in report.runs if run not in passed)
    again = evalstream.check(folder, ledger="ledger", select=("ES5",))
    assert again.totals.unchanged == len(passed)
    assert said(again) == said(evalstream.check(folder, select=("ES5",)))


def test_a_scheduler_that_is_not_there_is_said_so(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dask.backend, "__kwdefaults__", {"timeout": 0.5})
    report = evalstream.check(folder, executor="dask", dask_address="tcp://127.0.0.1:9")
    assert report.exit_code == 3
    assert {run.verdict for run in report.runs} == {"incomplete"}

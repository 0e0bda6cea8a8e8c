"""A Dask cluster as the one who runs the work: the same results, whoever dies meanwhile."""

import asyncio
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from dask_cluster import STARTS_SECONDS, Machines, environment, joined, machines, needs_dask
from rows import bytes_of, sound_rows, write_run
from worker_tasks import blocks, deadly, failing, lines_of, noted, slow, slow_at_first

from evalstream.batch.single import check_any
from evalstream.engine import block_tasks
from evalstream.engine.block_tasks import backend_for
from evalstream.engine.open_rows import open_rows
from evalstream.executors import serial
from evalstream.executors.base import run_in_order
from evalstream.executors.dask import backend as dask
from evalstream.executors.dask import cluster as connection
from evalstream.executors.dask import connect, worker
from evalstream.io.file import FileSource, digest_whole, read_lines
from evalstream.io.progress import Progress
from evalstream.model.block import Block
from evalstream.model.errors import ExecutorLost, MissingExtra, WorkerLost
from evalstream.model.extras import install_command
from evalstream.model.finding import Finding
from evalstream.model.options import Options
from evalstream.model.report import RunSummary
from evalstream.model.run import Run

pytestmark = needs_dask

ENDS_SECONDS = 120.0
DRIVER = """
import sys
import threading
from evalstream.model.errors import ExecutorLost
from evalstream.executors.base import run_in_order
from evalstream.executors.dask import backend as dask
from evalstream.model.signals import STOPPING, Stopped
from evalstream.model.extras import install_command
from worker_tasks import blocks, slow

STOPPING.listen()
results = run_in_order(dask.backend(sys.argv[1]), slow, blocks(200))
try:
    for result in results:
        print(result, flush=True)
except ExecutorLost as error:
    print("lost:", error)
except Stopped as stopped:
    print("stopped:", stopped.name)
"""


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    """A cluster of two workers that no test harms."""
    with machines(tmp_path_factory.mktemp("cluster"), 2) as started:
        yield started


def test_results_are_those_of_one_process(shared: Machines) -> None:
    backend = joined(shared)
    expected = list(run_in_order(serial.backend(), slow_at_first, blocks(60)))
    assert list(run_in_order(backend, slow_at_first, blocks(60))) == expected
    assert list(run_in_order(backend, slow_at_first, [])) == []


def test_only_so_many_blocks_are_held(shared: Machines) -> None:
    backend = joined(shared)
    taken = yielded = 0

    def counted() -> Iterator[Block]:
        nonlocal taken
        for block in blocks(40):
            taken += 1
            assert taken - yielded <= backend.window + 1
            yield block

    for _ in run_in_order(backend, slow_at_first, counted()):
        yielded += 1
    assert taken == yielded == 40


def test_what_a_task_raises_reaches_the_caller_in_its_turn(shared: Machines) -> None:
    results = run_in_order(joined(shared), failing, blocks(8))
    assert [next(results) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(OSError, match="Input/output error") as caught:
        next(results)
    assert "in failing" in "".join(caught.value.__notes__)


def test_a_task_runs_again_whatever_it_said_before(shared: Machines, tmp_path: Path) -> None:
    rows, backend = tmp_path / "rows.jsonl", joined(shared)
    for text in (b"{}\n", b"{ }\n"):
        rows.write_bytes(text)
        tasks = [Block(str(rows), 0, len(text), len(text), rows.stat().st_ino)]
        (lines,) = run_in_order(backend, partial(lines_of, 100), tasks)
        assert lines == text


def test_a_task_that_is_given_up_takes_no_other_with_it(
    shared: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    submit = joined(shared).submit_aside
    client = submit.__self__._client
    fetch = client._gather_remote

    async def slowly(*arguments: Any) -> Any:
        fetching.set()
        await asyncio.sleep(0.2)
        return await fetch(*arguments)

    fetching = threading.Event()
    monkeypatch.setattr(client, "_gather_remote", slowly)
    first, second = (submit(slow, block) for block in blocks(2))
    assert fetching.wait(STARTS_SECONDS)
    first.cancel()
    assert second.result(STARTS_SECONDS) == 1


def test_what_a_dead_worker_left_is_done_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = tmp_path / "seen"
    seen.mkdir()
    monkeypatch.setattr(connection, "WATCH_SECONDS", 0.1)
    with machines(tmp_path, 2) as cluster:
        backend = joined(cluster)
        while backend.window < 2 * backend.look_ahead:
            time.sleep(0.05)
        results = run_in_order(backend, partial(noted, str(seen)), blocks(30))
        assert [next(results) for _ in range(4)] == [0, 1, 2, 3]
        cluster.workers[0].kill()
        assert list(results) == list(range(4, 30))
    by = {name.name.partition("-")[2] for name in seen.iterdir()}
    assert by == {str(process.pid) for process in cluster.workers}


def test_a_cluster_is_started_here_and_names_what_kills_its_workers() -> None:
    from dask import config

    def named(block: Block, error: WorkerLost) -> str:
        return f"{block.offset}: {error}"

    with config.set({"distributed.scheduler.allowed-failures": 1}):
        backend = dask.backend(workers=2, timeout=STARTS_SECONDS)
        try:
            results = list(run_in_order(backend, deadly, blocks(9), named))
        finally:
            dask.leave()
    assert results[:5] == [0, 1, 2, 3, 4]
    assert results[6:] == [6, 7, 8]
    assert "died on each attempt to check the rows in bytes 5 to 6" in str(results[5])


def driver_of(address: str) -> subprocess.Popen[str]:
    """Start a driver that prints results and what ends them."""
    return subprocess.Popen(
        [sys.executable, "-c", DRIVER, address],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )


def test_a_lost_scheduler_ends_the_work_in_time_and_without_noise(tmp_path: Path) -> None:
    with machines(tmp_path, 2) as cluster, driver_of(cluster.address) as driver:
        assert driver.stdout is not None
        assert [driver.stdout.readline() for _ in range(3)] == ["0\n", "1\n", "2\n"]
        cluster.scheduler.kill()
        out, err = driver.communicate(timeout=ENDS_SECONDS)
    last = out.splitlines()[-1]
    assert last.startswith(f"lost: the Dask scheduler at {cluster.address} is lost: ")
    assert err == ""


def test_a_signal_lets_what_is_under_way_end(shared: Machines) -> None:
    with driver_of(shared.address) as driver:
        assert driver.stdout is not None
        assert driver.stdout.readline() == "0\n"
        driver.terminate()
        out, err = driver.communicate(timeout=ENDS_SECONDS)
    *results, last = out.splitlines()
    assert last == "stopped: SIGTERM"
    numbers = [int(result) for result in results]
    assert numbers == list(range(numbers[0], numbers[-1] + 1))
    assert numbers[-1] < 100
    assert err == ""


def test_a_scheduler_that_does_not_answer_is_lost(
    shared: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    dask.leave()
    monkeypatch.setattr(connection, "WATCH_SECONDS", 0.1)
    monkeypatch.setattr(connection, "ANSWER_TIMEOUT_SECONDS", 1.0)
    backend = joined(shared)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(connection, "ANSWER_TIMEOUT_SECONDS", 0.0)
        with pytest.raises(ExecutorLost, match="is lost: TimeoutError"):
            list(run_in_order(backend, slow, blocks(400)))
    monkeypatch.undo()
    assert list(run_in_order(joined(shared), slow, blocks(2))) == [0, 1]


def test_a_worker_of_another_version_is_refused(
    shared: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    dask.leave()
    monkeypatch.setattr(worker, "__version__", "0.0.1")
    said = r"the worker tcp://127\S+ has evalstream \S+, but the driver has evalstream 0\.0\.1; "
    with pytest.raises(ExecutorLost, match=said):
        joined(shared)


def test_a_worker_that_cannot_run_evalstream_is_refused() -> None:
    said = connection._worker_problem(Exception("ModuleNotFoundError('evalstream')"), {})
    assert said == "cannot run evalstream: ModuleNotFoundError('evalstream')"
    assert connection._worker_problem(OSError("gone by now"), {}) is None


def test_a_worker_that_comes_later_is_asked_by_its_first_task(
    shared: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = joined(shared)
    cluster = dask._CLUSTERS.joined(connect.ClusterAddress(shared.address, None, 1), 1)
    monkeypatch.setitem(cluster._versions, "evalstream", "0.0.0")
    with pytest.raises(ExecutorLost, match=r"the worker tcp://\S+ has evalstream \S+, but"):
        list(run_in_order(backend, slow, blocks(3)))


def test_a_worker_without_the_folder_of_the_driver_is_refused(
    shared: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = joined(shared)
    with monkeypatch.context() as patch:
        patch.setattr(os, "getcwd", lambda: "/no/such/folder")
        lost = backend.start().submit(slow, blocks(1)[0])
    with pytest.raises(ExecutorLost, match="cannot enter /no/such/folder, the working directory"):
        lost.result(STARTS_SECONDS)


def test_relative_paths_begin_where_the_driver_is(
    shared: Machines, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "rows.jsonl").write_bytes(b"{}\n")
    backend = joined(shared)
    monkeypatch.chdir(tmp_path)
    tasks = [Block("rows.jsonl", 0, 3, 3, os.stat("rows.jsonl").st_ino)]
    assert list(run_in_order(backend, partial(lines_of, 9), tasks)) == [b"{}\n"]


def test_who_waits_for_a_cluster_that_is_left_is_told(shared: Machines) -> None:
    results = run_in_order(joined(shared), slow, blocks(30))
    assert next(results) == 0
    dask.leave()
    with pytest.raises(
        ExecutorLost, match=r"the Dask scheduler at tcp://127\.\S+ is (lost|closed)"
    ):
        list(results)


def test_who_is_not_there_is_said_to_be_so(tmp_path: Path) -> None:
    with pytest.raises(ExecutorLost, match=r"at tcp://127\.0\.0\.1:9 cannot be reached: \w+"):
        dask.backend("tcp://127.0.0.1:9", timeout=0.5)
    with pytest.raises(ExecutorLost, match="at nonsense:// cannot be reached"):
        dask.backend("nonsense://", timeout=0.5)
    file = tmp_path / "scheduler.json"
    with pytest.raises(ExecutorLost, match=r"scheduler\.json: No such file"):
        dask.backend(scheduler_file=str(file), timeout=0.1)
    file.write_text('{"type": "Scheduler"}')
    with pytest.raises(ExecutorLost, match=r"scheduler\.json: it contains no address"):
        dask.backend(scheduler_file=str(file), timeout=0.1)


def test_a_cluster_without_workers_is_not_waited_for_without_end(tmp_path: Path) -> None:
    with machines(tmp_path, 0) as cluster:
        with pytest.raises(ExecutorLost, match=r"scheduler\.json has no worker after 3 seconds"):
            dask.backend(scheduler_file=str(cluster.file), timeout=3)
        cluster.workers.append(cluster.add())
        backend = dask.backend(scheduler_file=str(cluster.file), timeout=STARTS_SECONDS)
        assert list(run_in_order(backend, slow, blocks(3))) == [0, 1, 2]


def test_what_to_install_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingExtra, match=re.escape(install_command("dask"))):
        dask.backend("tcp://127.0.0.1:9")


def check_run(rows: Path, aggregate: Path, **settings: Any) -> tuple[RunSummary, list[Finding]]:
    """Check a run in this process, with workers for its blocks where the options say so."""
    findings: list[Finding] = []
    run = Run(str(rows), str(aggregate))
    with Progress(shown=False) as progress:
        summary = check_any(run, Options(**settings), findings.append, progress)
    summary.seconds = 0.0
    return summary, findings


def spoiled() -> bytes:
    """Make rows with some faults, spread over many blocks."""
    rows = sound_rows(count=40)
    rows[7]["sample_hash"] = "0" * 64
    rows[23]["is_correct"] = "yes"
    rows[31] = rows[2]
    return bytes_of(rows)[:-30]


@pytest.mark.parametrize("data", [bytes_of(sound_rows(count=40)), spoiled()])
def test_a_file_that_is_split_over_a_cluster_gets_the_same_report(
    shared: Machines, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: bytes
) -> None:
    rows, aggregate = write_run(tmp_path, data)
    expected = check_run(rows, aggregate, executor="serial")
    submit, sent = connection.Cluster.submit, []

    def counted(self: connection.Cluster, function: Callable[..., Any], task: Any) -> Future[Any]:
        sent.append(function)
        return submit(self, function, task)

    monkeypatch.setattr(block_tasks, "CLUSTER_BLOCK_BYTES", 4000)
    monkeypatch.setattr(connection.Cluster, "submit", counted)
    found = check_run(rows, aggregate, executor="dask", dask_address=shared.address)
    assert found == expected
    assert sent.count(digest_whole) == 1
    assert len(sent) > 10


def test_other_bytes_than_workers_of_a_cluster_checked_do_not_pass(
    shared: Machines, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = bytes_of(sound_rows(count=40))
    rows, aggregate = write_run(tmp_path, data)
    submit = connection.Cluster.submit

    def digested_first(
        self: connection.Cluster, function: Callable[..., Any], task: Any
    ) -> Future[Any]:
        future = submit(self, function, task)
        if function is digest_whole:
            future.result()
            rows.write_bytes(data.replace(b"Question 20", b"Question 2O", 1))
        return future

    monkeypatch.setattr("evalstream.io.file.describe_change", lambda *_: None)
    monkeypatch.setattr(block_tasks, "CLUSTER_BLOCK_BYTES", 4000)
    monkeypatch.setattr(connection.Cluster, "submit", digested_first)
    settings = {"executor": "dask", "dask_address": shared.address, "ignore": ("ES401",)}
    summary, findings = check_run(rows, aggregate, **settings)
    assert summary.verdict == "incomplete"
    assert [finding.code for finding in findings if finding.code == "ES004"]


def test_a_file_whose_cluster_is_not_there_does_not_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, aggregate = write_run(tmp_path, bytes_of(sound_rows(count=4)))
    file = tmp_path / "none.json"
    settings = {"executor": "dask", "dask_scheduler_file": str(file)}
    monkeypatch.setattr(dask.backend, "__kwdefaults__", {"timeout": 0.1})
    summary, findings = check_run(rows, aggregate, **settings)
    assert summary.verdict == "incomplete"
    assert "cannot use the scheduler file" in (summary.incomplete_reason or "")
    assert summary.rows == 0
    assert not [finding for finding in findings if finding.code == "ES001"]


def test_a_digest_whose_workers_die_is_not_taken_for_one(tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_bytes(b"{}\n")
    source = FileSource(str(rows))
    failed: Future[Any] = Future()
    failed.set_exception(connection.TaskKilled("four times"))
    source.digest_in_task(["sha256"], 9, lambda function, task: failed)
    with pytest.raises(WorkerLost, match="died on each attempt to compute"):
        source.checksums()
    source.close()


def test_a_file_is_known_on_machines_that_number_it_anew(tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_bytes(b"{}\n")
    source = FileSource(str(rows))
    (here,), (remote,) = source.blocks(9), source.blocks(9, other_machines=True)
    assert read_lines(remote._replace(inode=1), 9).data == b"{}\n"
    replaced = [here._replace(inode=1), remote._replace(inode=1, modified=1)]
    for block in replaced:
        with pytest.raises(OSError, match="was replaced while it was read"):
            read_lines(block, 9)
    source.close()


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({"executor": "auto", "jobs": 2}, "serial"),
        ({"executor": "pool", "jobs": 2}, "pool"),
        ({"executor": "pool", "jobs": 1}, "serial"),
        ({"executor": "serial", "jobs": 2}, "serial"),
    ],
)
def test_who_checks_a_small_file_is_what_the_options_say(
    tmp_path: Path, settings: dict[str, Any], name: str
) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_bytes(bytes_of(sound_rows()))
    options = Options(**settings)
    opened = open_rows(str(rows), "rows.jsonl", options, ["sha256"])
    backend, _ = backend_for(opened, options)
    assert backend.name == name
    opened.source.close()


def test_a_large_file_stays_in_one_process_if_that_is_wanted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(block_tasks, "WORTH_A_POOL_BYTES", 0)
    rows = tmp_path / "rows.jsonl"
    rows.write_bytes(bytes_of(sound_rows()))
    for executor, name in (("serial", "serial"), ("auto", "pool")):
        options = Options(executor=executor, jobs=2)
        opened = open_rows(str(rows), "rows.jsonl", options, ["sha256"])
        assert backend_for(opened, options)[0].name == name
        opened.source.close()

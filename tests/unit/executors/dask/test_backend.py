"""A Dask cluster as the one who runs the work: the same results, whoever dies meanwhile."""

import asyncio
import json
import os
import pickle
import re
import sys
import threading
from collections.abc import Callable, Iterator
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

import msgspec
import pytest
from commands import wait_for
from dask_cluster import STARTS_SECONDS, Machines, joined, machines, needs_dask
from dask_machine import drive, fork
from depth import is_deep
from each import each
from rows import bytes_of, sound_rows
from worker_tasks import (
    blocks,
    deadly,
    failing,
    file_content,
    noted,
    remote,
    return_trap,
    run_remote,
    slow,
    slow_at_first,
)

from evalstream.engine import row_pass
from evalstream.engine.open_rows import open_rows
from evalstream.engine.row_pass import backend_for
from evalstream.executors.base import SERIAL, run_in_order
from evalstream.executors.dask import backend as dask
from evalstream.executors.dask import cluster as connection
from evalstream.executors.dask import worker
from evalstream.model.block import Block
from evalstream.model.errors import (
    ExecutorLost,
    MissingExtra,
    UsageError,
    WorkerLost,
    install_command,
)
from evalstream.model.options import Options

pytestmark = needs_dask

ENDS_SECONDS = 120.0


def test_results_are_those_of_one_process(cluster: Machines) -> None:
    backend = joined(cluster)
    expected = list(run_in_order(SERIAL, slow_at_first, blocks(60)))
    assert list(run_in_order(backend, remote(slow_at_first), blocks(60))) == expected
    assert list(run_in_order(backend, remote(slow_at_first), [])) == []


def test_only_so_many_blocks_are_held(cluster: Machines) -> None:
    backend = joined(cluster)
    taken = yielded = 0

    def counted() -> Iterator[Block]:
        nonlocal taken
        for block in blocks(40):
            taken += 1
            assert taken - yielded <= backend.window + 1
            yield block

    for _ in run_in_order(backend, remote(slow_at_first), counted()):
        yielded += 1
    assert taken == yielded == 40


def test_what_a_task_raises_is_data_and_loses_the_cluster(cluster: Machines) -> None:
    results = run_in_order(joined(cluster), remote(failing), blocks(8))
    assert [next(results) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(ExecutorLost, match=r"OSError: \[Errno 5\] Input/output error"):
        next(results)


@each(
    ("data", "said"),
    [
        (pickle.dumps((1, None)), "no valid answer"),
        (b"", "no valid answer"),
        (msgspec.msgpack.encode([b"1"])[:-1], "no valid answer"),
        (msgspec.msgpack.encode(["1"]), "no valid answer"),
        (msgspec.msgpack.encode([b"1", None, 3]), "no valid answer"),
        (msgspec.msgpack.encode([None]), "returned no answer"),
        ({"answer": b"1"}, "no valid answer"),
    ],
)
def test_an_answer_of_another_shape_loses_the_cluster(
    cluster: Machines, data: Any, said: str
) -> None:
    connected = dask.connect(dask.ClusterAddress(cluster.address, None, 1), STARTS_SECONDS)
    assert connected._unpack_answer(msgspec.msgpack.encode(worker.TaskAnswer(b"1"))) == b"1"
    with pytest.raises(ExecutorLost, match=said):
        connected._unpack_answer(data)


def test_an_object_of_a_worker_is_not_unpickled(
    cluster: Machines, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flag = tmp_path / "unpickled"
    backend = joined(cluster)
    monkeypatch.setattr(connection, "work", return_trap)
    lost = backend.start().submit(remote(slow), Block(str(flag), 0, 1, b"\n"))
    with pytest.raises(ExecutorLost, match="is lost: TypeError"):
        lost.result()
    assert not flag.exists()


def test_a_task_runs_again_whatever_it_said_before(cluster: Machines, tmp_path: Path) -> None:
    rows, backend = tmp_path / "rows.jsonl", joined(cluster)
    for text in (b"{}\n", b"{ }\n"):
        rows.write_bytes(text)
        tasks = [Block(str(rows), 0, len(text), b"")]
        (lines,) = run_in_order(backend, remote(file_content), tasks)
        assert lines == text


def test_a_task_that_is_given_up_takes_no_other_with_it(
    cluster: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    joined(cluster)
    connected = dask.connect(dask.ClusterAddress(cluster.address, None, 1), 1)
    client = connected._client
    fetch = client._gather_remote

    async def slowly(*arguments: Any) -> Any:
        fetching.set()
        await asyncio.sleep(0.2)
        return await fetch(*arguments)

    fetching = threading.Event()
    monkeypatch.setattr(client, "_gather_remote", slowly)
    function = remote(slow)
    first, second = (connected.submit(run_remote, function.encode(block)) for block in blocks(2))
    assert fetching.wait(STARTS_SECONDS)
    first.cancel()
    assert second.result(STARTS_SECONDS) == b"\x01"


def test_what_a_dead_worker_left_is_done_again(
    cluster: Machines,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    seen = tmp_path / "seen"
    seen.mkdir()
    dask.leave()
    monkeypatch.setattr(connection, "WATCH_SECONDS", 0.1)
    cluster.workers.append(cluster.add())
    backend = joined(cluster)
    wait_for(lambda: backend.window >= len(cluster.workers) * backend.look_ahead)
    results = run_in_order(backend, remote(noted, str(seen)), blocks(30))
    assert [next(results) for _ in range(4)] == [0, 1, 2, 3]
    ids = {cluster.kill_worker(), *(process.pid for process in cluster.workers)}
    assert list(results) == list(range(4, 30))
    by = {name.name.partition("-")[2] for name in seen.iterdir()}
    assert by == set(map(str, ids))
    (notice,) = {one.message for one in caplog.records if one.name == "evalstream"}
    assert re.search(r"lost 1 worker \(tcp://127\S+\); their runs are checked again", notice)


def test_a_cluster_is_started_here_and_names_what_kills_its_workers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from dask import config

    def named(block: Block, error: WorkerLost) -> str:
        return f"{block.offset}: {error}"

    # An address in the configuration of Dask is not used.
    elsewhere = {"scheduler-address": "tcp://127.0.0.1:9"}
    # A fork has Dask loaded, which takes a new process three seconds.
    method = {"distributed.worker.multiprocessing-method": "spawn" if is_deep() else "forkserver"}
    monkeypatch.setattr("distributed.utils._forkserver_preload_set", True)
    with config.set({"distributed.scheduler.allowed-failures": 0, **elsewhere, **method}):
        backend = dask.backend(workers=1, timeout=STARTS_SECONDS)
        try:
            results = list(run_in_order(backend, remote(deadly), blocks(9), named))
        finally:
            dask.leave()
    assert results[:5] == [0, 1, 2, 3, 4]
    assert results[6:] == [6, 7, 8]
    assert "died on each attempt to check the rows in bytes 5 to 6" in str(results[5])


def finish_driver(
    cluster: Machines, folder: Path, act: Callable[[ForkServerProcess], None]
) -> list[str]:
    """Do something once a driver has its first result, and return the lines of its output."""
    out, errors = folder / "out", folder / "errors"
    driver = fork(drive, cluster.address, out=out, errors=errors)
    wait_for(lambda: out.exists() and out.read_text())
    act(driver)
    driver.join(ENDS_SECONDS)
    assert (driver.exitcode, errors.read_text()) == (0, "")
    return out.read_text().splitlines()


@pytest.mark.deep
def test_a_lost_scheduler_ends_the_work_in_time_and_without_noise(tmp_path: Path) -> None:
    with machines(tmp_path, 2) as cluster:
        lines = finish_driver(cluster, tmp_path, lambda _: cluster.scheduler.kill())
    assert lines[-1].startswith(f"lost: the Dask scheduler at {cluster.address} is lost: ")


def test_a_signal_lets_what_is_under_way_end(cluster: Machines, tmp_path: Path) -> None:
    *results, last = finish_driver(cluster, tmp_path, lambda driver: driver.terminate())
    assert last == "stopped: SIGTERM"
    numbers = [int(result) for result in results]
    assert numbers == list(range(len(numbers)))
    assert numbers[-1] < 100


def test_a_scheduler_that_does_not_answer_is_lost(
    cluster: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    dask.leave()
    monkeypatch.setattr(connection, "WATCH_SECONDS", 0.1)
    monkeypatch.setattr(connection, "ANSWER_TIMEOUT_SECONDS", 1.0)
    backend = joined(cluster)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(connection, "ANSWER_TIMEOUT_SECONDS", 0.0)
        with pytest.raises(ExecutorLost, match="is lost: no answer for 0 seconds"):
            list(run_in_order(backend, remote(slow), blocks(400)))
    monkeypatch.undo()
    assert list(run_in_order(joined(cluster), remote(slow), blocks(2))) == [0, 1]


def test_a_worker_of_another_version_is_refused(
    cluster: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    dask.leave()
    monkeypatch.setattr(worker, "__version__", "0.0.1")
    said = r"the worker tcp://127\S+ has evalstream \S+, but the driver has evalstream 0\.0\.1; "
    with pytest.raises(ExecutorLost, match=said):
        joined(cluster)


def test_a_worker_that_cannot_run_evalstream_is_refused() -> None:
    said = connection._worker_problem(Exception("ModuleNotFoundError('evalstream')"), {})
    assert said == "cannot run evalstream: ModuleNotFoundError('evalstream')"
    assert connection._worker_problem(OSError("gone by now"), {}) is None


def test_a_worker_that_does_not_answer_is_told(
    cluster: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert joined(cluster).parallelism
    connected = dask.connect(dask.ClusterAddress(cluster.address, None, 1), 1)
    monkeypatch.setattr(connection, "ANSWER_TIMEOUT_SECONDS", 0.0)
    with pytest.raises(ExecutorLost, match=r": a worker did not answer for 0 seconds$"):
        connected.prepare(0.0)


def test_a_worker_that_comes_later_is_asked_by_its_first_task(
    cluster: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = joined(cluster)
    connected = dask.connect(dask.ClusterAddress(cluster.address, None, 1), 1)
    monkeypatch.setitem(connected._versions, "evalstream", "0.0.0")
    with pytest.raises(ExecutorLost, match=r"the worker tcp://\S+ has evalstream \S+, but"):
        list(run_in_order(backend, remote(slow), blocks(3)))


def test_a_worker_without_the_folder_of_the_driver_is_refused(
    cluster: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = joined(cluster)
    with monkeypatch.context() as patch:
        patch.setattr(os, "getcwd", lambda: "/no/such/folder")
        lost = backend.start().submit(remote(slow), blocks(1)[0])
    with pytest.raises(ExecutorLost, match="cannot enter /no/such/folder, the working directory"):
        lost.result()


def test_relative_paths_begin_where_the_driver_is(
    cluster: Machines, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "rows.jsonl").write_bytes(b"{}\n")
    backend = joined(cluster)
    monkeypatch.chdir(tmp_path)
    tasks = [Block("rows.jsonl", 0, 3, b"")]
    assert list(run_in_order(backend, remote(file_content), tasks)) == [b"{}\n"]


def test_who_waits_for_a_cluster_that_is_left_is_told(cluster: Machines) -> None:
    results = run_in_order(joined(cluster), remote(slow), blocks(30))
    assert next(results) == 0
    dask.leave()
    with pytest.raises(
        ExecutorLost, match=r"the Dask scheduler at tcp://127\.\S+ is (lost|closed)"
    ):
        list(results)


def test_who_is_not_there_is_said_to_be_so(tmp_path: Path) -> None:
    with pytest.raises(ExecutorLost, match=r"at tcp://127\.0\.0\.1:9 cannot be reached: \w+"):
        dask.backend("tcp://127.0.0.1:9", timeout=0.5)
    file = tmp_path / "scheduler.json"
    with pytest.raises(ExecutorLost, match=r"scheduler\.json: No such file"):
        dask.backend(scheduler_file=str(file), timeout=0.1)
    file.write_text('{"type": "Scheduler"}')
    with pytest.raises(ExecutorLost, match=r"scheduler\.json: it contains no address"):
        dask.backend(scheduler_file=str(file), timeout=0.1)


def test_a_cluster_without_workers_is_not_waited_for_without_end(tmp_path: Path) -> None:
    with machines(tmp_path, 0) as cluster:
        with pytest.raises(ExecutorLost, match=r"scheduler\.json has no worker after 1 seconds?"):
            dask.backend(scheduler_file=str(cluster.file), timeout=1)
        cluster.workers.append(cluster.add())
        backend = dask.backend(scheduler_file=str(cluster.file), timeout=STARTS_SECONDS)
        assert list(run_in_order(backend, remote(slow), blocks(3))) == [0, 1, 2]


def test_what_to_install_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingExtra, match=re.escape(install_command("dask"))):
        dask.backend("tcp://127.0.0.1:9")


@each(
    ("settings", "name"),
    [
        ({"executor": "auto", "jobs": 2}, None),
        ({"executor": "pool", "jobs": 2}, "pool"),
        ({"executor": "pool", "jobs": 1}, None),
        ({"executor": "serial", "jobs": 2}, None),
    ],
)
def test_who_checks_a_small_file_is_what_the_options_say(
    tmp_path: Path, settings: dict[str, Any], name: str | None
) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_bytes(bytes_of(sound_rows()))
    options = Options(**settings)
    opened = open_rows(str(rows), "rows.jsonl", options, ["sha256"])
    backend, _ = backend_for(opened, options, is_native=bool)
    assert (backend and backend.name) == name
    opened.source.close()


def test_a_large_file_stays_in_one_process_if_that_is_wanted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_pass, "WORTH_A_POOL_BYTES", 0)
    rows = tmp_path / "rows.jsonl"
    rows.write_bytes(bytes_of(sound_rows()))
    for executor, name in (("serial", None), ("auto", "pool")):
        options = Options(executor=executor, jobs=2)
        opened = open_rows(str(rows), "rows.jsonl", options, ["sha256"])
        backend, _ = backend_for(opened, options, is_native=bool)
        assert (backend and backend.name) == name
        opened.source.close()


@each(
    "address",
    [
        "tls://cluster.example:8786",
        "wss://cluster.example:8786",
        "tcp://127.0.0.1:8786",
        "tcp://127.255.0.3:8786",
        "127.0.0.1:8786",
        "tcp://[::1]:8786",
        "tcp://localhost:8786",
        "ws://127.0.0.1:8786",
        "ucx://127.0.0.1:8786",
        "inproc://127.0.0.1/7/1",
    ],
)
def test_addresses_with_tls_and_of_this_machine_are_accepted(address: str) -> None:
    dask.refuse_open_address(address, "the scheduler")


@each(
    "address",
    [
        "tcp://10.0.0.7:8786",
        "10.0.0.7:8786",
        "tcp://cluster.example:8786",
        "tcp://127.0.0.1.example:8786",
        "tcp://0.0.0.0:8786",
        "tcp://[fe80::1]:8786",
        "ws://10.0.0.7:8786",
        "ucx://10.0.0.7:8786",
        "nonsense://10.0.0.7:8786",
        "tls://x://10.0.0.7:8786",
        "",
    ],
)
def test_another_machine_without_tls_is_wrong_usage(address: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"without TLS .*dask_insecure|is not an address"):
        dask.backend(address, timeout=0.1)
    file = tmp_path / "scheduler.json"
    file.write_text(json.dumps({"address": address}))
    with pytest.raises(UsageError, match=r"scheduler\.json"):
        dask.backend(scheduler_file=str(file), timeout=0.1)


def test_an_address_that_no_scheme_names_has_that_of_the_configuration() -> None:
    from dask import config

    with config.set({"distributed.comm.default-scheme": "tls"}):
        dask.refuse_open_address("10.0.0.7:8786", "the scheduler")


def test_localhost_must_be_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dask.socket, "getaddrinfo", lambda *_: [(0, 0, 0, "", ("10.0.0.7", 0))])
    with pytest.raises(UsageError, match="without TLS"):
        dask.refuse_open_address("tcp://localhost:8786", "the scheduler")


def test_who_insists_is_connected_without_tls() -> None:
    with pytest.raises(ExecutorLost, match="cannot be reached"):
        dask.backend("tcp://192.0.2.1:9", insecure=True, timeout=0.5)

"""The driver over executors: order, bounds, workers that die, and drivers that do."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Executor
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from each import each
from paths import REPOSITORY
from rows import bytes_of, sound_rows, write_run
from worker_tasks import blocks, check_or_die, deadly, deadly_once, failing, slow_at_first

import evalstream
from evalstream.engine import row_pass
from evalstream.executors import pool
from evalstream.executors.base import SERIAL, Backend, SerialExecutor, run_in_order
from evalstream.model.block import Block
from evalstream.model.errors import WorkerLost

GONE_SECONDS = 120.0
SLEEPER = """
import os, sys, threading, time
from evalstream.executors import pool
from evalstream.executors.base import run_in_order
from evalstream.model.block import Block

def sleep(block):
    os.write(1, b"%d\\n" % os.getpid())  # in one piece, whoever else writes
    time.sleep(600)

if __name__ == "__main__":
    if sys.argv[1] == "forkserver":  # is chosen beside another thread
        threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
    blocks = [Block("x", number, 1, b"") for number in range(2)]
    list(run_in_order(pool.backend(2), sleep, blocks))
"""


@each("backend", [SERIAL, pool.backend(2), pool.backend(3)])
def test_results_come_in_the_order_of_the_blocks(backend: Backend) -> None:
    assert list(run_in_order(backend, slow_at_first, blocks(40))) == list(range(40))


@pytest.mark.parametrize("backend", [SERIAL, pool.backend(2)])
def test_no_blocks_give_no_results(backend: Backend) -> None:
    assert list(run_in_order(backend, slow_at_first, [])) == []


@pytest.mark.parametrize("backend", [SERIAL, pool.backend(2)])
def test_only_so_many_blocks_are_held(backend: Backend) -> None:
    taken = yielded = 0

    def counted() -> Iterator[Block]:
        nonlocal taken
        for block in blocks(30):
            taken += 1
            assert taken - yielded <= backend.parallelism * backend.look_ahead + 1
            yield block

    for _ in run_in_order(backend, slow_at_first, counted()):
        yielded += 1
    assert taken == yielded == 30


def test_what_a_dead_worker_left_is_done_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    flag = tmp_path / "died"
    function = partial(deadly_once, str(flag))
    assert list(run_in_order(pool.backend(2), function, blocks(20))) == list(range(20))
    assert flag.exists()
    notice = "evalstream: a worker process died; what it was checking is checked again"
    assert [one.message for one in caplog.records] == [notice]


def test_a_block_that_always_kills_is_named(tmp_path: Path) -> None:
    results = run_in_order(pool.backend(2), deadly, blocks(20, "some/rows.jsonl"))
    assert [next(results) for _ in range(5)] == list(range(5))
    with pytest.raises(WorkerLost, match=r"some/rows\.jsonl: .* in bytes 5 to 6"):
        next(results)


@pytest.mark.parametrize("backend", [SERIAL, pool.backend(2)])
def test_what_a_task_raises_reaches_the_caller_in_its_turn(backend: Backend) -> None:
    results = run_in_order(backend, failing, blocks(8))
    assert [next(results) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(OSError, match="Input/output error"):
        next(results)


def test_the_executor_is_let_go_when_the_results_are() -> None:
    started: list[Executor] = []

    def start() -> Executor:
        started.append(SerialExecutor())
        return started[-1]

    stopped: list[dict[str, Any]] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SerialExecutor, "shutdown", lambda _, **named: stopped.append(named))
        results = run_in_order(Backend("x", 1, start), slow_at_first, blocks(9))
        next(results)
        results.close()
    assert (len(started), len(stopped)) == (1, 1)


def test_rows_whose_worker_is_lost_do_not_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, aggregate = write_run(tmp_path, bytes_of(sound_rows(count=12)))
    monkeypatch.setattr(row_pass, "check_block", check_or_die)
    monkeypatch.setattr(row_pass, "SMALLEST_BLOCK_BYTES", 4000)
    monkeypatch.setattr(row_pass, "BLOCK_BYTES", 4000)
    report = evalstream.check(rows, aggregate=aggregate, jobs=2, executor="pool")
    assert report.exit_code == 3
    assert not report.passed
    assert report.runs[0].verdict == "incomplete"
    assert "in bytes 3,228 to 6,326; these rows were not checked" in (
        report.runs[0].incomplete_reason or ""
    )
    assert report.runs[0].rows < 12


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs /proc to tell who is alive")
@pytest.mark.parametrize("start", ["fork", "forkserver"])
def test_workers_do_not_outlive_a_killed_driver(start: str, tmp_path: Path) -> None:
    script = tmp_path / "sleeper.py"
    script.write_text(SLEEPER)
    paths = os.pathsep.join([str(REPOSITORY), os.environ.get("PYTHONPATH", "")])
    with subprocess.Popen(
        [sys.executable, str(script), start],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": paths},
    ) as driver:
        assert driver.stdout is not None
        workers = [int(driver.stdout.readline()) for _ in range(2)]
        assert all(map(_alive, workers))
        driver.kill()
    end = time.monotonic() + GONE_SECONDS
    while any(map(_alive, workers)) and time.monotonic() < end:
        time.sleep(0.1)
    assert not any(map(_alive, workers))


def _alive(process: int) -> bool:
    """Tell whether a process runs; one that only waits to be reaped does not."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"

"""The pool: the same results with every start method, and where workers die."""

from __future__ import annotations

import multiprocessing
import sys
import threading
import warnings
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import pytest
from each import each
from worker_tasks import blocks, content_of, content_or_die_once, make_cycles

from evalstream.executors import pool
from evalstream.executors.base import run_in_order
from evalstream.model.block import Block

METHODS = multiprocessing.get_all_start_methods()
EXPECTED = [b"row %d\n" % number for number in range(10)]
BLOCKS = [Block("x", number, 6, data) for number, data in enumerate(EXPECTED)]


@each("method", METHODS)
def test_workers_see_the_bytes(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "_start_method", lambda: method)
    assert list(run_in_order(pool.backend(2), content_of, BLOCKS)) == EXPECTED


@each("second", METHODS)
def test_workers_that_follow_dead_ones_see_the_bytes(
    tmp_path: Path, second: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    flag = tmp_path / "died"
    monkeypatch.setattr(pool, "_start_method", lambda: second if flag.exists() else "fork")
    function = partial(content_or_die_once, str(flag))
    assert list(run_in_order(pool.backend(2), function, BLOCKS)) == EXPECTED
    assert flag.exists()


def test_the_warning_of_threads_of_libraries_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """From Python 3.12 on a fork beside such a thread warns, in the process that asked for it."""
    adjust = ProcessPoolExecutor._start_executor_manager_thread  # type: ignore[attr-defined]

    def start(executor: ProcessPoolExecutor) -> None:
        warnings.warn("This process is multi-threaded", DeprecationWarning, stacklevel=1)
        adjust(executor)

    monkeypatch.setattr(ProcessPoolExecutor, "_start_executor_manager_thread", start)
    assert list(run_in_order(pool.backend(1), content_of, BLOCKS[:1])) == EXPECTED[:1]


def test_without_room_for_the_pool_this_process_does_the_work(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A limit of processes may be reached after some of the workers were started."""

    def start(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    pool._warn.cache_clear()
    monkeypatch.setattr(threading.Thread, "start", start)
    assert list(run_in_order(pool.backend(2), content_of, BLOCKS)) == EXPECTED
    monkeypatch.undo()
    assert "no worker process can be started (can't start new thread)" in caplog.text
    for process in multiprocessing.active_children():
        process.join(60)
    assert not multiprocessing.active_children()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux forks")
def test_workers_are_forked_only_while_no_other_thread_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(threading, "active_count", lambda: 1)
    assert pool._start_method() == "fork"
    monkeypatch.setattr(threading, "active_count", lambda: 2)
    assert pool._start_method() == "forkserver"


def test_the_threads_of_a_dead_pool_end_before_workers_follow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside a thread no worker can be forked, and to start others takes ten times as long."""
    waits: list[bool] = []

    class Noted(pool._Pool):
        def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
            waits.append(wait)
            super().shutdown(wait, cancel_futures=cancel_futures)

    monkeypatch.setattr(pool, "_Pool", Noted)
    function = partial(content_or_die_once, str(tmp_path / "died"))
    assert list(run_in_order(pool.backend(2), function, BLOCKS)) == EXPECTED
    assert len(waits) > 2
    assert all(waits)


def test_workers_collect_garbage() -> None:
    tasks, number = blocks(40), pool.COLLECT_AFTER // 4
    alive = list(run_in_order(pool.backend(1), partial(make_cycles, number), tasks))
    assert max(alive) <= 3 * pool.COLLECT_AFTER

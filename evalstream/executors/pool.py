"""Executor backend: a pool of worker processes on this machine."""

from __future__ import annotations

import gc
import multiprocessing
import os
import pickle
import signal
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor
from contextlib import suppress
from functools import lru_cache, partial
from typing import Any, Final, TypeVar
from warnings import catch_warnings, simplefilter

from evalstream.executors.base import Backend, Executor, SerialExecutor, TaskFuture
from evalstream.model.errors import describe_error, internal_error
from evalstream.model.exit_codes import ExitCode
from evalstream.model.text import notify

Result = TypeVar("Result")

WATCH_SECONDS: Final = 1.0

COLLECT_AFTER: Final = 10_000
"""How many new containers start a garbage collection in a worker, as cycles keep what they hold."""


def backend(workers: int) -> Backend:
    """Describe a pool of worker processes."""
    return Backend(
        "pool",
        parallelism=workers,
        start=partial(_start, workers),
        look_ahead=4,
        broken=(BrokenExecutor,),
        inherit_modules=_start_method() == "fork",
    )


class _Pool:
    """Workers that start with the first task, or none where the system has no room for them.

    Pickles a function once for all its tasks, which are sent in one pickle otherwise.
    """

    def __init__(self, workers: int, start_method: str) -> None:
        self._function: Callable[..., Any] | None = None
        self._pickled = b""
        context = multiprocessing.get_context(start_method)
        self._executor: Executor = ProcessPoolExecutor(
            workers, mp_context=context, initializer=_prepare_worker
        )

    def submit(self, fn: Callable[..., Result], /, *args: Any) -> TaskFuture[Result]:
        """Run a function over its arguments in a worker. Raises BrokenExecutor."""
        if isinstance(self._executor, SerialExecutor):
            return self._executor.submit(fn, *args)
        if fn is self._function:
            return self._executor.submit(_call, self._pickled, *args)
        self._function, self._pickled = fn, pickle.dumps(fn)
        others = multiprocessing.active_children()
        try:
            with catch_warnings():
                # Python warns of forks beside threads of libraries.
                simplefilter("ignore", DeprecationWarning)
                return self._executor.submit(_call, self._pickled, *args)
        except BrokenExecutor:
            raise
        except (OSError, RuntimeError) as error:
            for process in set(multiprocessing.active_children()).difference(others):
                process.kill()
            self._executor = _without_workers(error)
            return self._executor.submit(fn, *args)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the workers, after the tasks that they run or, unless cancelled, will run."""
        self._executor.shutdown(wait, cancel_futures=cancel_futures)


def _call(pickled: bytes, /, *args: Any, **keywords: Any) -> Any:
    """Call a pickled function in a worker.

    Raises InternalError for a bug: other exceptions lose their place on the way back, and one that
    cannot be pickled would break the pool.
    """
    try:
        return _load_function(pickled)(*args, **keywords)
    except BaseException as error:  # noqa: BLE001 - whatever a library raises
        raise internal_error(error) from None


@lru_cache(maxsize=1)
def _load_function(pickled: bytes) -> Callable[..., Any]:
    function: Callable[..., Any] = pickle.loads(pickled)  # noqa: S301 - made by this program
    return function


def _start(workers: int) -> Executor:
    """Start workers; without them, this process does their tasks.

    Their queues need semaphores, which are files in /dev/shm on Linux. A daemonic process, such as
    a worker of `multiprocessing.Pool`, may have no workers of its own.
    """
    if multiprocessing.current_process().daemon:
        return SerialExecutor()
    try:
        return _Pool(workers, _start_method())
    except (OSError, ImportError, NotImplementedError) as error:
        return _without_workers(error, "; is /dev/shm missing, full or read-only?")


def _without_workers(error: Exception, hint: str = "") -> SerialExecutor:
    _warn(describe_error(error) + hint)
    return SerialExecutor()


@lru_cache(maxsize=1)
def _warn(reason: str) -> None:
    notify(
        f"no worker process can be started ({reason}); "
        "one process does all the work, which takes longer"
    )


def _start_method() -> str:
    """Choose fork where it is safe and fast: on Linux, and while no other thread runs."""
    if sys.platform == "linux" and threading.active_count() == 1:
        return "fork"
    methods = multiprocessing.get_all_start_methods()
    return "forkserver" if "forkserver" in methods else "spawn"


def _prepare_worker() -> None:
    """Ignore SIGINT, collect garbage among new objects alone, and exit when the driver exits."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    gc.freeze()
    gc.set_threshold(COLLECT_AFTER)
    gc.enable()
    with suppress(RuntimeError):  # where the system has no more threads
        threading.Thread(target=_watch, args=(os.getppid(),), daemon=True).start()


def _watch(parent: int) -> None:
    driver = multiprocessing.parent_process()  # of a fork server the parent is the server
    while os.getppid() == parent and driver and driver.is_alive():
        time.sleep(WATCH_SECONDS)
    os._exit(ExitCode.UNCHECKED)

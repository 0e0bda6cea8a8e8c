"""Executor backend: a pool of worker processes on this machine."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import sys
import threading
import time
from concurrent.futures import BrokenExecutor, Executor, ProcessPoolExecutor
from functools import partial
from typing import Final

from evalstream.executors.base import Backend
from evalstream.model.exit_codes import ExitCode

WATCH_SECONDS: Final = 1.0


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


def _start(workers: int) -> Executor:
    return ProcessPoolExecutor(
        workers,
        mp_context=multiprocessing.get_context(_start_method()),
        initializer=_prepare_worker,
    )


def _start_method() -> str:
    """Choose fork where it is safe and fast: on Linux, and while no other thread runs."""
    if sys.platform == "linux" and threading.active_count() == 1:
        return "fork"
    methods = multiprocessing.get_all_start_methods()
    return "forkserver" if "forkserver" in methods else "spawn"


def _prepare_worker() -> None:
    """Ignore SIGINT, disable the garbage collector, and exit when the driver exits."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    gc.disable()
    gc.freeze()
    threading.Thread(target=_watch, args=(os.getppid(),), daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(WATCH_SECONDS)
    os._exit(ExitCode.UNCHECKED)

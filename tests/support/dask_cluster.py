"""Dask clusters whose scheduler and workers are processes on this machine."""

import contextlib
import json
import time
from collections.abc import Iterator
from importlib.util import find_spec
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

import pytest
from dask_machine import fork, run_machine

from evalstream.executors.dask import backend as dask

needs_dask = [
    pytest.mark.leaves_threads,
    # Not imported here: who imports it before we do keeps its own way of logging.
    pytest.mark.skipif(find_spec("distributed") is None, reason="needs Dask, the extra dask"),
    # Sockets and loops of connections that were lost are let go whenever Dask comes to it.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
"""What every module of tests with a cluster is marked with."""

STARTS_SECONDS = 120.0


class Machines:
    """A scheduler and workers, each a process on this machine."""

    def __init__(self, folder: Path, workers: int) -> None:
        self._folder = folder
        self.file = folder / "scheduler.json"
        self.scheduler = self._start("scheduler", "--port", "0")
        self.workers = [self.add() for _ in range(workers)]
        end = time.monotonic() + STARTS_SECONDS
        while not (self.file.exists() and self.file.read_text().rstrip().endswith("}")):
            assert time.monotonic() < end
            time.sleep(0.05)
        self.address = json.loads(self.file.read_text())["address"]

    def add(self) -> ForkServerProcess:
        """Start a worker."""
        options = ["--nthreads", "1", "--memory-limit", "1GB", "--no-nanny"]
        return self._start("worker", *options, "--local-directory", str(self._folder))

    def _start(self, name: str, *options: str) -> ForkServerProcess:
        shared = ["--scheduler-file", str(self.file), "--host", "127.0.0.1", "--no-dashboard"]
        return fork(run_machine, name, [*options, *shared])

    def kill_worker(self) -> int:
        """Kill the worker that is the oldest, and return its id as a process."""
        process = self.workers.pop(0)
        process.kill()
        process.join()
        assert process.pid is not None
        return process.pid

    def stop(self) -> None:
        """End every process in any case."""
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.join()


@contextlib.contextmanager
def machines(folder: Path, workers: int) -> Iterator[Machines]:
    """Start a cluster, and end it in any case."""
    started = Machines(folder, workers)
    try:
        yield started
    finally:
        dask.leave()
        started.stop()


def joined(cluster: Machines) -> Any:
    return dask.backend(cluster.address, timeout=STARTS_SECONDS)

"""One scheduler or worker of a cluster, in a process that is forked with Dask loaded."""

import multiprocessing
import os
from collections.abc import Sequence
from importlib import import_module
from multiprocessing.context import ForkServerProcess

PROGRAMS = {name: f"distributed.cli.dask_{name}" for name in ("scheduler", "worker")}


def start_machine(name: str, options: Sequence[str]) -> ForkServerProcess:
    """Start a scheduler or worker with options of its command line."""
    forks = multiprocessing.get_context("forkserver")
    forks.set_forkserver_preload([*PROGRAMS.values()])
    process = forks.Process(target=_run, args=(name, list(options)), daemon=True)
    process.start()
    return process


def _run(name: str, options: list[str]) -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for number in (1, 2):
        os.dup2(nowhere, number)
    import_module(PROGRAMS[name]).main(options)

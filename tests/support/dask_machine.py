"""Processes with Dask: scheduler, workers and drivers, forked from one in which it is loaded."""

import multiprocessing
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from multiprocessing.context import ForkServerProcess

PROGRAMS = {name: f"distributed.cli.dask_{name}" for name in ("scheduler", "worker")}
LOADED = (
    *PROGRAMS.values(),
    *("evalstream.batch.wire", "evalstream.engine.documents", "evalstream.formats.eee.checker"),
)


def fork(
    target: Callable[..., object],
    *arguments: object,
    out: str | os.PathLike[str] = os.devnull,
    errors: str | os.PathLike[str] = os.devnull,
) -> ForkServerProcess:
    """Call a function in a process of its own, which writes to these files."""
    forks = multiprocessing.get_context("forkserver")
    forks.set_forkserver_preload([*LOADED])
    streams = (os.fspath(out), os.fspath(errors))
    process = forks.Process(target=_run, args=(target, arguments, streams), daemon=True)
    process.start()
    return process


def _run(
    target: Callable[..., object], arguments: Sequence[object], streams: tuple[str, str]
) -> None:
    for number, stream in enumerate(streams, 1):
        os.dup2(os.open(stream, os.O_WRONLY | os.O_CREAT, 0o600), number)
    target(*arguments)


def run_machine(name: str, options: Sequence[str]) -> None:
    """Be a scheduler or worker with options of its command line."""
    # Else a worker looks at its own stack every 10 ms.
    import_module("dask.config").set({"distributed.worker.profile.enabled": False})
    import_module(PROGRAMS[name]).main(options)


def run_program(folder: str, words: Sequence[str]) -> None:
    """Be the program in a folder, and do not wait long for a scheduler."""
    from evalstream.__main__ import main
    from evalstream.executors.dask import backend

    defaults = backend.backend.__kwdefaults__
    assert defaults is not None
    defaults["timeout"] = 0.5
    os.chdir(folder)
    sys.argv[1:] = words
    main()


def drive(address: str) -> None:
    """Run slow tasks on a cluster; print their results, and what ends them."""
    from worker_tasks import blocks, remote, slow

    from evalstream.executors.base import run_in_order
    from evalstream.executors.dask.backend import backend
    from evalstream.model.errors import ExecutorLost
    from evalstream.model.signals import STOPPING, Stopped

    STOPPING.listen()
    results = run_in_order(backend(address), remote(slow), blocks(200))
    try:
        for result in results:
            print(result, flush=True)
    except ExecutorLost as error:
        print("lost:", error)
    except Stopped as stopped:
        print("stopped:", stopped.name)

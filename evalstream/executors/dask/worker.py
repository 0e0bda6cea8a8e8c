"""What runs in the workers of a Dask cluster: the check that they are fit, then the task."""

from __future__ import annotations

import json
import os
import pickle
import signal
import sys
import threading
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final

from evalstream._version import __version__
from evalstream.model.errors import CannotCheck, ExecutorLost

DECIDING: Final = ("fastjsonschema", "jiter", "jsonschema-rs", "msgspec", "xxhash")
"""The libraries that have a say in verdicts."""

_ONE_AT_A_TIME: Final = threading.Lock()
"""Tasks share what was compiled for them, and gain nothing from threads."""


def versions() -> dict[str, str]:
    """Return what must be the same in every process that has a say in a verdict, by name."""
    return {
        "evalstream": __version__,
        "Python": f"{sys.version_info.major}.{sys.version_info.minor}",
        **{name: _version_of(name) for name in DECIDING},
    }


def differences(expected: Mapping[str, str], found: Mapping[str, str]) -> str | None:
    """Say which versions are not those of the driver, None if all are."""
    other = [name for name in expected if expected[name] != found.get(name)]
    if not other:
        return None
    theirs = ", ".join(f"{name} {found.get(name)}" for name in other)
    ours = ", ".join(f"{name} {expected[name]}" for name in other)
    return f"has {theirs}, where the driver has {ours}; install the same on both"


def work(expected: str, folder: str, payload: bytes) -> bytes:
    """Run a task, and return its result or what it raised.

    `expected` are the driver's versions as JSON, and `folder` is where its relative paths begin.
    Tasks and results travel as bytes that Dask does not look into. Whatever this function raises
    by itself is the worker's fault and not the task's.
    """
    wrong = differences(json.loads(expected), _own_versions())
    if wrong:
        raise ExecutorLost(f"the worker {_own_address()} {wrong}")
    with _ONE_AT_A_TIME, _inside(folder):
        function, task = pickle.loads(payload)  # noqa: S301 - who reaches a worker may run anything
        try:
            outcome: tuple[Any, Exception | None] = function(task), None
        except Exception as error:  # noqa: BLE001 - belongs to whoever asks for the result
            outcome = None, _sendable(error)
        return pickle.dumps(outcome, pickle.HIGHEST_PROTOCOL)


def dask_setup(_worker: Any) -> None:
    """Leave interrupts to the driver; Dask calls this in workers that the driver started."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)


@cache
def _own_versions() -> Mapping[str, str]:
    return versions()


def _version_of(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "none"


def _own_address() -> str:
    from distributed import get_worker

    return str(get_worker().address)


@contextmanager
def _inside(folder: str) -> Iterator[None]:
    """Stand in a folder. Raises ExecutorLost where it is not there."""
    try:
        before = os.getcwd()
    except OSError:
        before = os.sep
    try:
        os.chdir(folder)
    except OSError as error:
        raise ExecutorLost(
            f"the worker {_own_address()} has no folder {folder}, in which the driver runs: "
            f"{error.strerror}"
        ) from error
    try:
        yield
    finally:
        os.chdir(before)


def _sendable(error: Exception) -> Exception:
    """Return an exception that survives its way, with its traceback told in a note."""
    error.add_note("".join(traceback.format_exception(error)))
    error.__traceback__ = error.__cause__ = error.__context__ = None
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes
    except Exception:  # noqa: BLE001 - an exception may say anything of how it is pickled
        return CannotCheck(f"{type(error).__name__}: {error}")
    return error

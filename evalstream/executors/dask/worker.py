"""Code that runs in the workers of a Dask cluster: the version check, then the task."""

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

VERDICT_LIBRARIES: Final = ("fastjsonschema", "jiter", "jsonschema-rs", "msgspec", "xxhash")
"""Libraries that affect verdicts."""

_TASK_LOCK: Final = threading.Lock()
"""Tasks share compiled objects that are not thread-safe, and threads bring no speed."""


def versions() -> dict[str, str]:
    """Return the versions that must be the same in every process of a check, by name."""
    return {
        "evalstream": __version__,
        "Python": f"{sys.version_info.major}.{sys.version_info.minor}",
        **{name: _version_of(name) for name in VERDICT_LIBRARIES},
    }


def differences(expected: Mapping[str, str], found: Mapping[str, str]) -> str | None:
    """Describe the versions that differ from the driver's, or return None if all are equal."""
    other = [name for name in expected if expected[name] != found.get(name)]
    if not other:
        return None
    found_versions = ", ".join(f"{name} {found.get(name)}" for name in other)
    expected_versions = ", ".join(f"{name} {expected[name]}" for name in other)
    return (
        f"has {found_versions}, but the driver has {expected_versions}; "
        "install the same versions on both"
    )


def work(expected: str, folder: str, payload: bytes) -> bytes:
    """Run a task, and return its result or its exception.

    `expected` are the driver's versions as JSON, and `folder` is the driver's working directory.
    Tasks and results are pickled here, so that Dask does not inspect them. An exception raised by
    this function itself is a failure of the worker, not of the task.
    """
    problem = differences(json.loads(expected), _own_versions())
    if problem:
        raise ExecutorLost(f"the worker {_own_address()} {problem}")
    with _TASK_LOCK, _working_directory(folder):
        function, task = pickle.loads(payload)  # noqa: S301 - a worker runs any code it receives
        try:
            outcome: tuple[Any, Exception | None] = function(task), None
        except Exception as error:  # noqa: BLE001 - raised again in the driver
            outcome = None, _sendable(error)
        return pickle.dumps(outcome, pickle.HIGHEST_PROTOCOL)


def dask_setup(_worker: Any) -> None:
    """Leave interrupts to the driver; Dask calls this in the workers that it starts."""
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
def _working_directory(folder: str) -> Iterator[None]:
    """Change into a folder for the duration. Raises ExecutorLost where it does not exist."""
    try:
        before = os.getcwd()
    except OSError:
        before = os.sep
    try:
        os.chdir(folder)
    except OSError as error:
        raise ExecutorLost(
            f"the worker {_own_address()} cannot enter {folder}, the working directory "
            f"of the driver: {error.strerror}"
        ) from error
    try:
        yield
    finally:
        os.chdir(before)


def _sendable(error: Exception) -> Exception:
    """Return an exception that can be pickled, with its traceback as a note."""
    error.add_note("".join(traceback.format_exception(error)))
    error.__traceback__ = error.__cause__ = error.__context__ = None
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes
    except Exception:  # noqa: BLE001 - pickling can raise any type
        return CannotCheck(f"{type(error).__name__}: {error}")
    return error

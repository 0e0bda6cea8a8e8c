"""Code that runs in the workers of a Dask cluster: the version check, then the task."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final

import msgspec

from evalstream._version import __version__
from evalstream.model.errors import ExecutorLost

VERDICT_LIBRARIES: Final = ("fastjsonschema", "jiter", "jsonschema-rs", "msgspec", "xxhash")
"""Libraries that affect verdicts."""

_TASK_LOCK: Final = threading.Lock()
"""Tasks share compiled objects that are not thread-safe, and threads bring no speed."""


class TaskAnswer(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    """The answer of a worker: its bytes, or the type and the message of an error."""

    answer: bytes | None
    error: tuple[str, str] | None = None


def versions() -> dict[str, str]:
    """Return the versions that must be the same in every process of a check, by name."""
    return {
        "evalstream": __version__,
        "Python": f"{sys.version_info.major}.{sys.version_info.minor}",
        "byte order": sys.byteorder,
        **{name: _read_version(name) for name in VERDICT_LIBRARIES},
    }


def version_differences(expected: Mapping[str, str], found: Mapping[str, str]) -> str | None:
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


def encoded_versions() -> bytes:
    """Return the versions of this process as bytes, which need no pickle."""
    return msgspec.msgpack.encode(versions())


def work(
    expected: Mapping[str, str], folder: str, function: Callable[[bytes], bytes], task: bytes
) -> bytes:
    """Run a function over a task, and return a TaskAnswer as bytes.

    `expected` are the driver's versions, and `folder` is the driver's working directory. Errors are
    returned as data, so an exception from Dask is always a problem of the cluster.
    """
    try:
        _require_versions(expected)
        with _TASK_LOCK, _working_directory(folder):
            return msgspec.msgpack.encode(TaskAnswer(function(task)))
    except Exception as error:  # noqa: BLE001 - the driver raises ExecutorLost for it
        message = str(error).encode(errors="backslashreplace").decode()
        return msgspec.msgpack.encode(TaskAnswer(None, (type(error).__name__, message)))


def dask_setup(_worker: Any) -> None:
    """Leave interrupts to the driver; Dask calls this in the workers that it starts."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def _require_versions(expected: Mapping[str, str]) -> None:
    """Raise ExecutorLost where this process has other versions."""
    problem = version_differences(expected, _own_versions())
    if problem:
        raise ExecutorLost(f"the worker {_own_address()} {problem}")


@cache
def _own_versions() -> Mapping[str, str]:
    return versions()


def _read_version(name: str) -> str:
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

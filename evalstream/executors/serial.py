"""Executor backend: one task after the other, in this process."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Generic

from evalstream.executors.base import Backend, Result


class SerialExecutor:
    """Runs each task when its result is asked for."""

    def submit(self, fn: Callable[..., Result], /, *args: Any) -> _Deferred[Result]:
        """Take a task."""
        return _Deferred(partial(fn, *args))

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Do nothing: no task is pending."""


class _Deferred(Generic[Result]):
    """The future of a task that runs when its result is asked for."""

    def __init__(self, task: Callable[[], Result]) -> None:
        self.result = task


def backend() -> Backend:
    """Describe the serial executor: one task at a time, no look-ahead."""
    return Backend("serial", parallelism=1, start=SerialExecutor, look_ahead=1)

"""Executor backend: one task after the other, in this process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic

from evalstream.executors.base import Backend, Result


class SerialExecutor:
    """Runs each task immediately on submission."""

    def submit(self, fn: Callable[..., Result], /, *args: Any) -> _Done[Result]:
        """Run `fn` now and return a finished future."""
        done: _Done[Result] = _Done()
        try:
            done.value = fn(*args)
        except Exception as error:  # noqa: BLE001 - raised again by result()
            done.error = error
        return done

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Do nothing: no task is pending."""


class _Done(Generic[Result]):
    """The future of a finished task."""

    value: Result
    error: Exception | None = None

    def result(self) -> Result:
        """Return what the task returned, or raise what it raised."""
        if self.error is not None:
            raise self.error
        return self.value


def backend() -> Backend:
    """Describe the serial executor: one task at a time, no look-ahead."""
    return Backend("serial", parallelism=1, start=SerialExecutor, look_ahead=1)

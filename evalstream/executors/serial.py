"""One block after the other, in this process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic

from evalstream.executors.base import Backend, Result


class SerialExecutor:
    """Runs each task at once, where it is submitted."""

    def submit(self, fn: Callable[..., Result], /, *args: Any) -> _Done[Result]:
        """Run `fn` now and return what became of it."""
        done: _Done[Result] = _Done()
        try:
            done.value = fn(*args)
        except Exception as error:  # noqa: BLE001 - belongs to whoever asks for the result
            done.error = error
        return done

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Do nothing: nothing is under way."""


class _Done(Generic[Result]):
    """What became of a task."""

    value: Result
    error: Exception | None = None

    def result(self) -> Result:
        """Return what the task returned, or raise what it raised."""
        if self.error is not None:
            raise self.error
        return self.value


def backend() -> Backend:
    """Describe the serial executor; one task at a time, none held back."""
    return Backend("serial", parallelism=1, start=SerialExecutor, look_ahead=1)

"""One block after the other, in this process."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any

from evalstream.executors import Backend


class SerialExecutor(Executor):
    """Runs each task at once, where it is submitted."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Run `fn` now and return its finished future."""
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:  # noqa: BLE001 - belongs to whoever asks for the result
            future.set_exception(error)
        return future


def backend() -> Backend:
    """Describe the serial executor; one task at a time, none held back."""
    return Backend("serial", parallelism=1, start=SerialExecutor, look_ahead=1)

"""Executor backend: threads of this process, for work that is mostly done by compiled code."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, Final, TypeVar

from evalstream.executors.base import Backend

Item = TypeVar("Item")
Result = TypeVar("Result")

STACK_BYTES: Final = 1 << 24
"""Stack of a thread, as deeply nested rows need it; some systems give threads far less."""


MOST_AHEAD: Final = 2
"""Most items that are made before they are asked for."""


def backend(workers: int) -> Backend:
    """Describe threads, which share the memory of this process."""
    return Backend("threads", parallelism=workers, start=partial(ThreadExecutor, workers))


class ThreadExecutor:
    """Runs tasks in threads that start with the first; the library's takes 5 ms to import."""

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._threads: list[threading.Thread] = []
        self._tasks: SimpleQueue[_ThreadTask | None] = SimpleQueue()

    def submit(self, fn: Callable[..., Result], /, *args: Any) -> _ThreadTask:
        """Run a function over its arguments in a thread."""
        if not self._threads:
            self._start()
        task = _ThreadTask(partial(fn, *args))
        if self._threads:
            self._tasks.put(task)
        else:
            task.run()
        return task

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the threads, after the tasks that they run or, unless cancelled, will run."""
        while cancel_futures:
            try:
                self._tasks.get_nowait()
            except Empty:
                break
        for _ in self._threads:
            self._tasks.put(None)
        for thread in self._threads if wait else ():
            thread.join()
        self._threads.clear()

    def _start(self) -> None:
        before = threading.stack_size(STACK_BYTES)
        try:
            for _ in range(self._workers):
                thread = threading.Thread(target=self._run, name="evalstream-worker", daemon=True)
                thread.start()
                self._threads.append(thread)
        except RuntimeError:  # the system has no more: the others do the work, or this one does
            pass
        finally:
            threading.stack_size(before)

    def _run(self) -> None:
        while (task := self._tasks.get()) is not None:
            task.run()


def iterate_ahead(items: Iterator[Item]) -> Generator[Item]:
    """Iterate over items that a thread makes ahead; it ends with this iterator."""
    executor, end = ThreadExecutor(1), object()
    try:
        made = deque(executor.submit(next, items, end) for _ in range(MOST_AHEAD))
        while (item := made.popleft().result()) is not end:
            made.append(executor.submit(next, items, end))
            yield item
    finally:
        executor.shutdown(cancel_futures=True)


class _ThreadTask:
    def __init__(self, function: Callable[[], Any]) -> None:
        self._function = function
        self._result: Any = None
        self._error: BaseException | None = None
        self._done = threading.Lock()
        self._done.acquire()

    def run(self) -> None:
        try:
            self._result = self._function()
        except BaseException as error:  # noqa: BLE001 - whoever asks for the result gets it
            self._error = error
        finally:
            self._done.release()

    def result(self) -> Any:
        """Wait for the task, and return what it returned. Raises what it raised."""
        with self._done:
            if self._error is not None:
                raise self._error
            return self._result

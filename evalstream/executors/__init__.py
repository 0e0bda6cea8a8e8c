"""Who runs the work: each executor describes a way to run tasks, one driver uses them all."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from evalstream.errors import WorkerLost

Result = TypeVar("Result")


class Task(Protocol):
    """What executors run a function over: it can say what it is, should it kill a worker."""

    @property
    def path(self) -> str:
        """The name of the file that it is about."""

    def described(self) -> str:
        """Say which rows of it, in the plural."""


Work = TypeVar("Work", bound=Task)
Lost = Callable[[Work, WorkerLost], Result]
"""Returns what stands for the result of a task that kills its worker each time."""


@dataclass(frozen=True, slots=True)
class Backend:
    """How to run tasks: make an executor, how many tasks at once, and what its death is.

    `start` makes an executor; it may be called again after the first one broke. `look_ahead`
    is how many blocks per worker may be under way, or done and waiting for their turn.
    """

    name: str
    parallelism: int
    start: Callable[[], Executor]
    look_ahead: int = 2
    broken: tuple[type[BaseException], ...] = (BrokenExecutor,)


@dataclass(slots=True)
class _Submitted(Generic[Work]):
    task: Work
    future: Future[Any]


def run_in_order(
    backend: Backend,
    function: Callable[[Work], Result],
    tasks: Iterable[Work],
    lost: Lost[Work, Result] | None = None,
) -> Iterator[Result]:
    """Run `function` over tasks and yield the results in the order of the tasks.

    At most `look_ahead` tasks per worker are held. When a worker dies the executor is made
    anew and what was under way runs again; a task on which workers die again runs alone. For
    one that kills its worker even then, `lost` says what stands for its result; without it,
    WorkerLost is raised. Raises what `function` raises.
    """
    waiting: deque[_Submitted[Work]] = deque()
    source = iter(tasks)
    executor = backend.start()
    try:
        while True:
            while len(waiting) < backend.parallelism * backend.look_ahead:
                task = next(source, None)
                if task is None:
                    break
                future = _submitted(backend, executor, function, task)
                waiting.append(_Submitted(task, future))
            if not waiting:
                return
            first = waiting.popleft()
            try:
                result = first.future.result()
            except backend.broken:
                executor.shutdown(wait=False, cancel_futures=True)
                executor = backend.start()
                result = _alone(backend, function, first.task, lost)
                for later in waiting:
                    later.future = _submitted(backend, executor, function, later.task)
            yield result
    finally:
        executor.shutdown(wait=True, cancel_futures=True)


def _submitted(
    backend: Backend, executor: Executor, function: Callable[[Work], Result], task: Work
) -> Future[Result]:
    """Submit a task; an executor that is broken already shows in the future."""
    try:
        return executor.submit(function, task)
    except backend.broken as error:
        future: Future[Result] = Future()
        future.set_exception(error)
        return future


def _alone(
    backend: Backend,
    function: Callable[[Work], Result],
    task: Work,
    lost: Lost[Work, Result] | None,
) -> Result:
    """Run one task again, twice at most, with no other task beside it."""
    for _ in range(2):
        executor = backend.start()
        try:
            return executor.submit(function, task).result()
        except backend.broken:
            executor.shutdown(wait=False, cancel_futures=True)
        finally:
            executor.shutdown(wait=True, cancel_futures=True)
    error = WorkerLost(
        f"{task.path}: a worker process died each time it looked at {task.described()}; "
        "they were not checked"
    )
    if lost is None:
        raise error
    return lost(task, error)

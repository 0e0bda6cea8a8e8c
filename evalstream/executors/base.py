"""Who runs the work: each executor describes a way to run tasks, one driver uses them all."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, NoReturn, Protocol, TypeVar

from evalstream.model.errors import WorkerLost
from evalstream.model.signals import STOPPING, Stopped

if TYPE_CHECKING:
    from concurrent.futures import Future

Result = TypeVar("Result")
Result_co = TypeVar("Result_co", covariant=True)


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

Beside = Callable[[Callable[[Any], Any], Any], "Future[Any]"]
"""Runs a function over something in a worker, out of turn."""


class Promise(Protocol[Result_co]):
    """What is left behind of a task: the part of a Future that is used here."""

    def result(self) -> Result_co:
        """Return what the task returned, or raise what it raised."""


class Executor(Protocol):
    """The part of `concurrent.futures.Executor` that is used here.

    That takes 5 ms to load, and work that this process does itself needs none of it.
    """

    def submit(self, fn: Callable[..., Result], /, *args: Any) -> Promise[Result]:
        """Run a function over something, now or later."""

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Let go of the workers."""


class Backend(NamedTuple):
    """How to run tasks: make an executor, how many tasks at once, and what its death is.

    `start` makes an executor; it may be called again after the first one broke. `look_ahead`
    is how many blocks per worker may be under way, or done and waiting for their turn. An
    executor that `survives` its workers goes on with all tasks but the one that killed them, and
    has tried that one on several. `beside` runs one task more, out of turn, where workers may be
    elsewhere and read files by themselves. `grown` tells how many tasks at once there are by now.
    """

    name: str
    parallelism: int
    start: Callable[[], Executor]
    look_ahead: int = 2
    broken: tuple[type[BaseException], ...] = ()
    survives: bool = False
    beside: Beside | None = None
    grown: Callable[[], int] | None = None

    @property
    def window(self) -> int:
        """How many tasks are held at once."""
        parallelism = self.parallelism if self.grown is None else self.grown()
        return parallelism * self.look_ahead


class _Submitted(Generic[Work]):
    """A task that is under way, and what is left behind of it."""

    __slots__ = ("promise", "task")

    def __init__(self, task: Work, promise: Promise[Any]) -> None:
        self.task, self.promise = task, promise


class _Refused:
    """A task that an executor did not take."""

    def __init__(self, error: BaseException) -> None:
        self._error = error

    def result(self) -> NoReturn:
        raise self._error


def run_in_order(
    backend: Backend,
    function: Callable[[Work], Result],
    tasks: Iterable[Work | None],
    lost: Lost[Work, Result] | None = None,
    *,
    stop_themselves: bool = False,
) -> Iterator[Result]:
    """Run `function` over tasks and yield the results in the order of the tasks.

    At most `look_ahead` tasks per worker are held. None among the tasks says that the next one
    may be long in coming: everything under way is yielded before it is asked for. When a worker
    dies the executor is made anew and what was under way runs again; a task on which workers die
    again runs alone. For one that kills its worker even then, `lost` says what stands for its
    result; without it, WorkerLost is raised. Raises what `function` raises, and ExecutorLost where
    there is nobody left to run anything. Who stops the process gets what is under way before
    Stopped is raised; tasks that `stop_themselves` are asked on until they raise it.
    """
    waiting: deque[_Submitted[Work]] = deque()
    source = _Source(tasks, stop_themselves=stop_themselves)
    executor = backend.start()
    try:
        while True:
            while not source.rests and len(waiting) < backend.window:
                task = source.next()
                if task is not None:
                    promise = _submitted(backend, executor, function, task)
                    waiting.append(_Submitted(task, promise))
            if not waiting:
                if source.ended:
                    source.close()
                    return
                source.rests = False
                continue
            first = waiting.popleft()
            try:
                result = first.promise.result()
            except backend.broken:
                if not backend.survives:
                    executor.shutdown(wait=False, cancel_futures=True)
                    executor = backend.start()
                result = _alone(backend, function, first.task, lost)
                if not backend.survives:
                    for later in waiting:
                        later.promise = _submitted(backend, executor, function, later.task)
            yield result
    finally:
        executor.shutdown(wait=True, cancel_futures=True)


class _Source(Generic[Work]):
    """Tasks as they come; it `rests` at a lull, at its end, and where the process is to stop."""

    def __init__(self, tasks: Iterable[Work | None], *, stop_themselves: bool) -> None:
        self._tasks, self._stop_themselves = iter(tasks), stop_themselves
        self._stopped: Stopped | None = None
        self.rests = self.ended = False

    def next(self) -> Work | None:
        """Return the next task, None where it rests."""
        try:
            if not self._stop_themselves:
                STOPPING.check()
            task = next(self._tasks)
        except StopIteration:
            self.ended, task = True, None
        except Stopped as stopped:
            self.ended, self._stopped, task = True, stopped, None
        self.rests = task is None
        return task

    def close(self) -> None:
        """Raise Stopped if that is why there are no more tasks."""
        if self._stopped is not None:
            raise self._stopped


def _submitted(
    backend: Backend, executor: Executor, function: Callable[[Work], Result], task: Work
) -> Promise[Result]:
    """Submit a task; an executor that is broken already shows in the result."""
    try:
        return executor.submit(function, task)
    except backend.broken as error:
        return _Refused(error)


def _alone(
    backend: Backend,
    function: Callable[[Work], Result],
    task: Work,
    lost: Lost[Work, Result] | None,
) -> Result:
    """Run one task again, twice at most, with no other task of its executor beside it."""
    for _ in range(1 if backend.survives else 2):
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

"""The executor contract, and the driver that runs tasks on any executor in order."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, Final, Generic, NoReturn, Protocol, TypeVar

from evalstream.model.data_class import NamedTuple
from evalstream.model.errors import CannotCheck, WorkerLost
from evalstream.model.signals import STOPPING, Stopped

Result = TypeVar("Result")
Result_co = TypeVar("Result_co", covariant=True)


class Task(Protocol):
    """The argument of a task function, which can name itself if it kills a worker."""

    @property
    def path(self) -> str:
        """The name of the file that the task reads."""

    def describe(self) -> str:
        """Name the rows of the task, as a plural noun phrase."""


Work = TypeVar("Work", bound=Task)
Lost = Callable[[Work, WorkerLost], Result]
"""Returns the replacement result of a task that kills its worker on each attempt."""


class RemoteFunction(Generic[Work, Result]):
    """A function over tasks that travels as data, so that machines exchange bytes alone.

    A worker runs `answer`, a function at the top of a module, over the bytes that `encode` makes of
    a task; `decode` makes the result of the task and the bytes of the answer, whatever they are.
    Called, it does all three in this process.
    """

    def __init__(
        self,
        answer: Callable[[bytes], bytes],
        encode: Callable[[Work], bytes],
        decode: Callable[[Work, bytes], Result],
    ) -> None:
        self.answer, self.encode, self.decode = answer, encode, decode

    def __call__(self, task: Work) -> Result:
        """Return the result of a task, by way of its bytes."""
        return self.decode(task, self.answer(self.encode(task)))


class TaskFuture(Protocol[Result_co]):
    """The part of `concurrent.futures.Future` that the driver uses."""

    def result(self) -> Result_co:
        """Return the result of the task, or raise its exception."""


class Executor(Protocol):
    """The used part of `concurrent.futures.Executor`, which takes 5 ms to import."""

    def submit(self, fn: Callable[..., Result], /, *args: Any) -> TaskFuture[Result]:
        """Run a function over its arguments, now or later."""

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Release the workers."""


class SerialExecutor:
    """Runs each task in this process, when its result is asked for."""

    def submit(self, fn: Callable[..., Result], /, *args: Any) -> "DeferredTask[Result]":
        """Take a task."""
        return DeferredTask(partial(fn, *args))

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Do nothing: no task is pending."""


class DeferredTask(Generic[Result]):
    """The future of a task that runs when its result is asked for."""

    def __init__(self, task: Callable[[], Result]) -> None:
        self.result = task


class Backend(NamedTuple):
    """A description of an executor: how to start it, its parallelism, and how it fails.

    `start` makes an executor, also a new one after the last one broke. `look_ahead` is the number
    of tasks per worker that may be running, or done and waiting for their turn. An executor with
    `survives_worker_death` continues with all other tasks after a worker dies, and has already
    retried the task on several workers. `current_parallelism` returns the number of workers at this
    moment, where it changes. Workers that `inherit_modules` are copies of this process: what it
    imports before they start costs them nothing.
    """

    name: str
    parallelism: int
    start: Callable[[], Executor]
    look_ahead: int = 2
    broken: tuple[type[BaseException], ...] = ()
    survives_worker_death: bool = False
    current_parallelism: Callable[[], int] | None = None
    inherit_modules: bool = False

    @property
    def window(self) -> int:
        """The number of tasks that may be submitted and not yet yielded."""
        parallelism = (
            self.parallelism if self.current_parallelism is None else self.current_parallelism()
        )
        return parallelism * self.look_ahead


SERIAL: Final = Backend("serial", parallelism=1, start=SerialExecutor, look_ahead=1)
"""One task after the other, in this process."""


def run_in_order(
    backend: Backend,
    function: Callable[[Work], Result],
    tasks: Iterable[Work | None],
    lost: Lost[Work, Result] | None = None,
    *,
    tasks_raise_stopped: bool = False,
) -> Iterator[Result]:
    """Run `function` over tasks and yield the results in the order of the tasks.

    At most `look_ahead` tasks per worker are submitted at once. None among the tasks means that the
    next task may take long to arrive: the driver yields all running tasks before it asks for more.
    When a worker dies, the driver starts a new executor and runs the submitted tasks again; a task
    on which workers die again runs alone. If it kills its worker even then, `lost` returns its
    result; without `lost`, WorkerLost is raised.

    Raises what `function` raises, and ExecutorLost where no worker can run anything. Where the
    iterator of tasks fails, or a signal stops the process, the driver yields the running tasks
    before it raises the error or Stopped; with `tasks_raise_stopped` it continues until the
    iterator of tasks raises it.
    """
    waiting: deque[tuple[Work, TaskFuture[Result]]] = deque()
    source = _Source(tasks, tasks_raise_stopped=tasks_raise_stopped)
    workers = _Workers(backend)
    try:
        while True:
            while not source.paused and len(waiting) < backend.window:
                task = source.next()
                if task is not None:
                    waiting.append((task, workers.submit(function, task)))
            if not waiting:
                if source.ended:
                    source.close()
                    return
                source.paused = False
                continue
            task, future = waiting.popleft()
            try:
                result = future.result()
            except backend.broken:
                if not backend.survives_worker_death:
                    workers.replace()
                result = _run_alone(backend, function, task, lost)
                if not backend.survives_worker_death:
                    waiting = deque(
                        (later, workers.submit(function, later)) for later, _ in waiting
                    )
            yield result
    finally:
        workers.executor.shutdown(wait=True, cancel_futures=True)


def _raise(error: BaseException) -> NoReturn:
    raise error


class _Workers:
    """The executor of a pass, which is replaced after a worker died."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._was_replaced = False
        self.executor = backend.start()

    def submit(self, function: Callable[[Work], Result], task: Work) -> TaskFuture[Result]:
        """Submit a task; an executor that is already broken shows in the future."""
        try:
            return self.executor.submit(function, task)
        except self._backend.broken as error:
            return DeferredTask(partial(_raise, error))

    def replace(self) -> None:
        from evalstream.model.text import notify

        if not self._was_replaced:
            notify("a worker process died; what it was checking is checked again")
        self._was_replaced = True
        # Once the threads of the old one have ended, new workers can be forked.
        self.executor.shutdown(wait=True, cancel_futures=True)
        self.executor = self._backend.start()


class _Source(Generic[Work]):
    """The iterator of tasks; `paused` after None, at the end, and once the process must stop."""

    def __init__(self, tasks: Iterable[Work | None], *, tasks_raise_stopped: bool) -> None:
        self._tasks, self._tasks_raise_stopped = iter(tasks), tasks_raise_stopped
        self._error: OSError | CannotCheck | Stopped | None = None
        self.paused = self.ended = False

    def next(self) -> Work | None:
        """Return the next task, or None when paused."""
        try:
            if not self._tasks_raise_stopped:
                STOPPING.check()
            task = next(self._tasks)
        except StopIteration:
            self.ended, task = True, None
        except (OSError, CannotCheck, Stopped) as error:
            self.ended, self._error, task = True, error, None
        self.paused = task is None
        return task

    def close(self) -> None:
        """Raise what ended the tasks, if it was an error or a signal."""
        if self._error is not None:
            raise self._error


def _run_alone(
    backend: Backend,
    function: Callable[[Work], Result],
    task: Work,
    lost: Lost[Work, Result] | None,
) -> Result:
    """Run one task again, at most twice, on an executor without other tasks."""
    for _ in range(1 if backend.survives_worker_death else 2):
        executor = backend.start()
        try:
            return executor.submit(function, task).result()
        except backend.broken:
            continue
        finally:
            executor.shutdown(wait=True, cancel_futures=True)
    error = WorkerLost(
        f"{task.path}: the worker process died on each attempt to check {task.describe()}; "
        "these rows were not checked"
    )
    if lost is None:
        raise error
    return lost(task, error)

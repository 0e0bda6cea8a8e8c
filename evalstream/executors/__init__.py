"""Who runs the work: each executor describes a way to run tasks, one driver uses them all."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future
from dataclasses import dataclass
from typing import Any, TypeVar

from evalstream.errors import WorkerLost
from evalstream.model import Block

Result = TypeVar("Result")


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
class _Task:
    block: Block
    future: Future[Any]


def run_in_order(
    backend: Backend, function: Callable[[Block], Result], blocks: Iterable[Block]
) -> Iterator[Result]:
    """Run `function` over blocks and yield the results in the order of the blocks.

    At most `look_ahead` blocks per worker are held. When a worker dies the executor is made
    anew and what was under way runs again; a block on which workers die again runs alone.
    Raises WorkerLost when a block kills its worker even then, and what `function` raises.
    """
    waiting: deque[_Task] = deque()
    source = iter(blocks)
    executor = backend.start()
    try:
        while True:
            while len(waiting) < backend.parallelism * backend.look_ahead:
                block = next(source, None)
                if block is None:
                    break
                waiting.append(_Task(block, _submitted(backend, executor, function, block)))
            if not waiting:
                return
            first = waiting.popleft()
            try:
                result = first.future.result()
            except backend.broken:
                executor.shutdown(wait=False, cancel_futures=True)
                executor = backend.start()
                result = _alone(backend, function, first.block)
                for task in waiting:
                    task.future = _submitted(backend, executor, function, task.block)
            yield result
    finally:
        executor.shutdown(wait=True, cancel_futures=True)


def _submitted(
    backend: Backend, executor: Executor, function: Callable[[Block], Result], block: Block
) -> Future[Result]:
    """Submit a task; an executor that is broken already shows in the future."""
    try:
        return executor.submit(function, block)
    except backend.broken as error:
        future: Future[Result] = Future()
        future.set_exception(error)
        return future


def _alone(backend: Backend, function: Callable[[Block], Result], block: Block) -> Result:
    """Run one block again, twice at most, with no other block beside it."""
    for _ in range(2):
        executor = backend.start()
        try:
            return executor.submit(function, block).result()
        except backend.broken:
            executor.shutdown(wait=False, cancel_futures=True)
        finally:
            executor.shutdown(wait=True, cancel_futures=True)
    raise WorkerLost(
        f"{block.path}: a worker process died each time it looked at the rows in bytes "
        f"{block.offset:,} to {block.offset + block.length:,}; they were not checked"
    )

"""Connection to a Dask scheduler: submit tasks, return results, detect a lost cluster."""

from __future__ import annotations

import asyncio
import os
import time
import uuid
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Future
from contextlib import suppress
from typing import Any, Final

import msgspec

from evalstream.executors.dask.worker import (
    TaskAnswer,
    encoded_versions,
    version_differences,
    versions,
    work,
)
from evalstream.model.errors import ExecutorLost
from evalstream.model.text import count_noun, notify

WATCH_SECONDS: Final = 2.0
ANSWER_TIMEOUT_SECONDS: Final = 60.0
"""Time without an answer after which a connected scheduler counts as lost."""

NO_WORKER_TIMEOUT_SECONDS: Final = 300.0
"""Time that tasks wait for a worker once all are gone: preempted nodes may come back."""

CLOSE_TIMEOUT_SECONDS: Final = 5.0
RETRIES: Final = 2
"""Retries of a task that a worker cannot start."""


class TaskKilled(BrokenExecutor):
    """The task killed workers as often as the scheduler allows."""


class Cluster:
    """A connection to a scheduler, monitored in the client's own thread.

    `name` describes it in messages, `owned` is the cluster object where this process started it.
    `width` is the number of workers: each runs one task at a time.
    """

    def __init__(self, client: Any, name: str, owned: Any = None) -> None:
        self._client, self._name, self._owned = client, name, owned
        self._versions = versions()
        self._loop: asyncio.AbstractEventLoop = client.loop.asyncio_loop
        self._lost: asyncio.Future[str] = self._loop.create_future()
        self._watcher: Future[None] | None = None
        self.width = 0

    @property
    def is_lost(self) -> bool:
        """Whether the connection is lost, so that no result can arrive."""
        return self._lost.done()

    def prepare(self, timeout: float) -> None:
        """Wait some seconds for a worker, and check all versions. Raises ExecutorLost."""
        ready = asyncio.run_coroutine_threadsafe(self._prepare(timeout), self._loop)
        try:
            ready.result(timeout + ANSWER_TIMEOUT_SECONDS)
        except ExecutorLost:
            raise
        except TimeoutError as error:
            ready.cancel()
            silent = f"a worker did not answer for {ANSWER_TIMEOUT_SECONDS:g} seconds"
            raise ExecutorLost(f"{self._name}: {silent}") from error
        except Exception as error:
            ready.cancel()
            raise self._lost_error(error) from error
        self._watcher = asyncio.run_coroutine_threadsafe(self._watch(), self._loop)

    def submit(self, function: Callable[[bytes], bytes], task: bytes) -> Future[bytes]:
        """Run a function over a task on a worker, and again where that worker dies.

        The future raises TaskKilled, and ExecutorLost, also for what the function raises.
        """
        try:
            # Dask answers a pure task from its cache, with the result for the file as it was
            # before.
            remote = self._client.submit(
                work,
                self._versions,
                os.getcwd(),
                function,
                task,
                key=f"evalstream-{uuid.uuid4().hex}",
                pure=False,
                retries=RETRIES,
            )
            return asyncio.run_coroutine_threadsafe(self._outcome(remote), self._loop)
        except Exception as error:  # noqa: BLE001 - a closed client raises many types
            failed: Future[bytes] = Future()
            failed.set_exception(self._lost_error(error))
            return failed

    def close(self) -> None:
        """Disconnect from the cluster, and stop it if this process started it."""
        if self._watcher is not None:
            self._watcher.cancel()
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(
                self._mark_lost, f"the connection to {self._name} is closed"
            )
        for closeable in (self._client, self._owned):
            # A lost cluster cannot answer the farewell.
            with suppress(Exception):
                if closeable is not None:
                    closeable.close(timeout=CLOSE_TIMEOUT_SECONDS)

    async def _prepare(self, timeout: float) -> None:
        deadline = time.monotonic() + timeout
        while not (threads := await self._client.nthreads()):
            if time.monotonic() > deadline:
                raise ExecutorLost(f"{self._name} has no worker after {timeout:g} seconds")
            await asyncio.sleep(0.1)
        self.width = len(threads)
        answers: dict[str, Any] = await self._client.run(encoded_versions, on_error="return")
        for worker, answer in sorted(answers.items()):
            if problem := _worker_problem(answer, self._versions):
                raise ExecutorLost(f"the worker {worker} {problem}")

    async def _outcome(self, remote: Any) -> bytes:
        """Wait for a task, and fetch its answer. Raises as `submit` says."""
        from distributed import wait

        with self._client.as_current():
            done = asyncio.ensure_future(wait([remote]))  # type: ignore[no-untyped-call]
        await self._wait_unless_lost(done)
        # Dask fetches results together: cancelling one fetch would lose the others.
        answer = asyncio.ensure_future(remote)
        answer.add_done_callback(_retrieve_exception)
        await self._wait_unless_lost(answer, keep=True)
        violation = asyncio.CancelledError() if answer.cancelled() else answer.exception()
        if violation is not None:
            raise self._translate(violation) from violation
        return self._unpack_answer(answer.result())

    def _unpack_answer(self, data: Any) -> bytes:
        """Return the answer in what a worker returned. Raises ExecutorLost."""
        try:
            decoded = msgspec.msgpack.decode(data, type=TaskAnswer)
        except (TypeError, msgspec.MsgspecError) as error:
            raise ExecutorLost(
                f"{self._name}: a worker returned no valid answer: {error}"
            ) from error
        if decoded.error is not None or decoded.answer is None:
            kind, message = decoded.error or ("", "a worker returned no answer")
            reason = message if kind == ExecutorLost.__name__ else f"{kind}: {message}"
            raise ExecutorLost(f"{self._name}: {reason}")
        return decoded.answer

    async def _wait_unless_lost(self, future: asyncio.Future[Any], keep: bool = False) -> None:
        """Wait for a future; cancel it at the end unless `keep` is set. Raises ExecutorLost."""
        try:
            await asyncio.wait({future, self._lost}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            if not keep:
                future.cancel()
            raise
        if not future.done():
            future.cancel()
            raise ExecutorLost(self._lost.result())

    async def _watch(self) -> None:
        """Count the workers at intervals, and mark the cluster as lost when it stops answering."""
        last_worker_seen, seen = time.monotonic(), frozenset[str]()
        while not self.is_lost:
            await asyncio.sleep(WATCH_SECONDS)
            try:
                threads = await asyncio.wait_for(self._client.nthreads(), ANSWER_TIMEOUT_SECONDS)
            except TimeoutError:
                silent = f"no answer for {ANSWER_TIMEOUT_SECONDS:g} seconds"
                self._mark_lost(f"{self._name} is lost: {silent}")
                return
            except Exception as error:  # noqa: BLE001 - any failure means lost
                self._mark_lost(str(self._lost_error(error)))
                return
            self.width = len(threads) or self.width
            if gone := sorted(seen - threads.keys()):
                number = count_noun(len(gone), "worker")
                notify(
                    f"{self._name} lost {number} ({gone[0]}{', …' if gone[1:] else ''}); "
                    "their runs are checked again on others"
                )
            seen = frozenset(threads)
            last_worker_seen = time.monotonic() if threads else last_worker_seen
            if time.monotonic() - last_worker_seen > NO_WORKER_TIMEOUT_SECONDS:
                self._mark_lost(
                    f"{self._name} has had no worker for {NO_WORKER_TIMEOUT_SECONDS:g} seconds"
                )

    def _mark_lost(self, reason: str) -> None:
        """Record that the cluster is lost, which wakes up all waiting tasks."""
        if not self._lost.done():
            self._lost.set_result(reason)

    def _translate(self, error: BaseException) -> Exception:
        if isinstance(error, ExecutorLost):
            return ExecutorLost(*error.args)
        if type(error).__name__ == "KilledWorker":
            return TaskKilled(str(error))
        return self._lost_error(error)

    def _lost_error(self, error: BaseException) -> ExecutorLost:
        reason = " ".join(str(error).split())[:300]
        return ExecutorLost(f"{self._name} is lost: {type(error).__name__}: {reason}")


def _retrieve_exception(answer: asyncio.Future[Any]) -> None:
    """Retrieve the exception of a future, which asyncio would log otherwise."""
    if not answer.cancelled():
        answer.exception()


def _worker_problem(answer: Any, expected: dict[str, str]) -> str | None:
    """Describe the problem with a worker from its answer; a worker that is gone has none."""
    if isinstance(answer, OSError):
        return None
    if isinstance(answer, Exception):
        return f"cannot run evalstream: {answer}"
    try:
        return version_differences(expected, msgspec.msgpack.decode(answer, type=dict[str, str]))
    except (TypeError, msgspec.MsgspecError) as error:
        return f"does not say its versions: {error}"

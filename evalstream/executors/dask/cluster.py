"""The connection to a Dask scheduler: tasks go out, results or the reason for none come back."""

from __future__ import annotations

import asyncio
import json
import os
import pickle
import time
import uuid
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Future
from contextlib import suppress
from typing import Any, Final

from evalstream.executors.dask.worker import differences, versions, work
from evalstream.model.errors import ExecutorLost

WATCH_SECONDS: Final = 2.0
SILENCE_SECONDS: Final = 60.0
"""After how long without an answer a scheduler counts as lost, though its connection stands."""

DESERTED_SECONDS: Final = 300.0
"""How long tasks wait for a worker once all are gone: nodes that were taken away may come back."""

FAREWELL_SECONDS: Final = 5.0
TRIES_ELSEWHERE: Final = 2
"""How often a task runs again that a worker could not even begin."""


class TaskKilled(BrokenExecutor):
    """Workers died on a task as often as the scheduler lets them."""


class Cluster:
    """A connection to a scheduler, watched in the client's own thread.

    `name` is what it is called, `owned` the cluster where it was started by this process. `width`
    is how many workers it has: each does one task at a time.
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
        """Whether nothing more can come from it."""
        return self._lost.done()

    def prepare(self, patience: float) -> None:
        """Wait some seconds for a worker, and ask all there are what they are.

        Raises ExecutorLost.
        """
        ready = asyncio.run_coroutine_threadsafe(self._prepare(patience), self._loop)
        try:
            ready.result(patience + SILENCE_SECONDS)
        except ExecutorLost:
            raise
        except Exception as error:
            ready.cancel()
            raise self._loss(error) from error
        self._watcher = asyncio.run_coroutine_threadsafe(self._watch(), self._loop)

    def submit(self, function: Callable[[Any], Any], task: Any) -> Future[Any]:
        """Run a function over a task on some worker, and again where that one dies.

        The future raises what the function raises, TaskKilled, or ExecutorLost.
        """
        payload = pickle.dumps((function, task), pickle.HIGHEST_PROTOCOL)
        try:
            # A pure task would be answered with what the file was when it was asked for before.
            theirs = self._client.submit(
                work,
                json.dumps(self._versions),
                os.getcwd(),
                payload,
                key=f"evalstream-{uuid.uuid4().hex}",
                pure=False,
                retries=TRIES_ELSEWHERE,
            )
            return asyncio.run_coroutine_threadsafe(self._outcome(theirs), self._loop)
        except Exception as error:  # noqa: BLE001 - a client that is closed says so in many ways
            failed: Future[Any] = Future()
            failed.set_exception(self._loss(error))
            return failed

    def close(self) -> None:
        """Leave the cluster, and end it if it was started here."""
        if self._watcher is not None:
            self._watcher.cancel()
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._lose, f"{self._name} was left")
        for one in (self._client, self._owned):
            # Where it is lost, there is nobody to take leave of.
            with suppress(Exception):
                if one is not None:
                    one.close(timeout=FAREWELL_SECONDS)

    async def _prepare(self, patience: float) -> None:
        until = time.monotonic() + patience
        while not (threads := await self._client.nthreads()):
            if time.monotonic() > until:
                raise ExecutorLost(f"{self._name} has no worker after {patience:g} seconds")
            await asyncio.sleep(0.1)
        self.width = len(threads)
        answers: dict[str, Any] = await self._client.run(versions, on_error="return")
        for worker, answer in sorted(answers.items()):
            if wrong := _wrong_with(answer, self._versions):
                raise ExecutorLost(f"the worker {worker} {wrong}")

    async def _outcome(self, theirs: Any) -> Any:
        """Wait for a task, and fetch what it returned. Raises as `submit` says."""
        from distributed import wait

        with self._client.as_current():
            done = asyncio.ensure_future(wait([theirs]))  # type: ignore[no-untyped-call]
        await self._unless_lost(done)
        # Results travel together: if one that is under way were given up, others would be lost.
        answer = asyncio.ensure_future(theirs)
        answer.add_done_callback(_heard)
        await self._unless_lost(answer, keep=True)
        violation = asyncio.CancelledError() if answer.cancelled() else answer.exception()
        if violation is not None:
            raise self._meant(violation) from violation
        result, failure = pickle.loads(answer.result())  # noqa: S301 - from workers that run what we send
        if failure is not None:
            raise failure
        return result

    async def _unless_lost(self, waited: asyncio.Future[Any], keep: bool = False) -> None:
        """Wait until something is done, which goes on without us only if it is to be kept.

        Raises ExecutorLost.
        """
        try:
            await asyncio.wait({waited, self._lost}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            if not keep:
                waited.cancel()
            raise
        if not waited.done():
            waited.cancel()
            raise ExecutorLost(self._lost.result())

    async def _watch(self) -> None:
        """Count the workers now and then, and notice where nothing will come any more."""
        last = time.monotonic()
        while not self.is_lost:
            await asyncio.sleep(WATCH_SECONDS)
            try:
                threads = await asyncio.wait_for(self._client.nthreads(), SILENCE_SECONDS)
            except Exception as error:  # noqa: BLE001 - lost, in whatever form
                self._lose(str(self._loss(error)))
                return
            self.width = len(threads) or self.width
            last = time.monotonic() if threads else last
            if time.monotonic() - last > DESERTED_SECONDS:
                self._lose(f"{self._name} has had no worker for {DESERTED_SECONDS:g} seconds")

    def _lose(self, reason: str) -> None:
        """Let everybody know who waits for something."""
        if not self._lost.done():
            self._lost.set_result(reason)

    def _meant(self, error: BaseException) -> Exception:
        """Return what an exception of Dask's means."""
        if isinstance(error, ExecutorLost):
            return ExecutorLost(*error.args)
        if type(error).__name__ == "KilledWorker":
            return TaskKilled(str(error))
        return self._loss(error)

    def _loss(self, error: BaseException) -> ExecutorLost:
        said = " ".join(str(error).split())[:300]
        return ExecutorLost(f"{self._name} was lost: {type(error).__name__}: {said}")


def _heard(answer: asyncio.Future[Any]) -> None:
    """Take note of what an answer raised, since asyncio complains of what is not looked at."""
    if not answer.cancelled():
        answer.exception()


def _wrong_with(answer: Any, expected: dict[str, str]) -> str | None:
    """Say what is wrong with a worker by its answer; one that is gone by now has none."""
    if isinstance(answer, OSError):
        return None
    if isinstance(answer, Exception):
        return f"cannot run evalstream: {answer}"
    return differences(expected, answer)

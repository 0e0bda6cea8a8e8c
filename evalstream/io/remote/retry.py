"""Requests to stores: each in its own thread, with timeout and retries."""

import random
import time
from collections.abc import Callable
from threading import Event, Thread
from typing import Generic, TypeVar

from evalstream.io.remote import limits
from evalstream.io.remote.errors import classify_error
from evalstream.model.notices import notify

_Returned = TypeVar("_Returned")


class BackgroundCall(Generic[_Returned]):
    """A call in its own daemon thread, which does not delay the end of the process."""

    def __init__(self, call: Callable[[], _Returned]) -> None:
        self._call = call
        self._ended = Event()
        self._returned: list[_Returned] = []
        self._error: BaseException | None = None
        Thread(target=self._run, name="evalstream-remote", daemon=True).start()

    def wait(self, seconds: float | None = None) -> bool:
        """Tell whether the call returns or raises within some seconds."""
        return self._ended.wait(seconds)

    def result(self, seconds: float | None = None) -> _Returned:
        """Return what the call returned. Raises what it raised, and TimeoutError."""
        if not self.wait(seconds):
            raise TimeoutError
        if self._error is not None:
            raise self._error
        return self._returned[0]

    def _run(self) -> None:
        try:
            self._returned.append(self._call())
        except BaseException as error:  # noqa: BLE001 - raised where the result is taken
            self._error = error
        self._ended.set()


class Patience:
    """Tells people now and then that the program waits for a server."""

    def __init__(self) -> None:
        self._since = time.monotonic()
        self._next = limits.NOTICE_SECONDS

    def tell(self, name: str) -> None:
        """Write a notice if one is due."""
        waited = time.monotonic() - self._since
        if waited >= self._next:
            self._next = 2 * waited
            notify(f"{name}: waiting for the server for {waited:.0f} s")


def with_timeout(call: Callable[[], _Returned], seconds: float | None = None) -> _Returned:
    """Return what a call returns, with a timeout; a stalled call is abandoned."""
    return BackgroundCall(call).result(seconds or limits.BLOCK_SECONDS)


def with_retries(
    call: Callable[[], _Returned], closed: Event, *, tries: int | None = None, name: str = ""
) -> _Returned:
    """Return what a call returns, with retries and pauses, of which people are told.

    `name` is the object in the notices. Raises OSError.
    """
    count = stalls = 0
    while True:
        count += 1
        try:
            return call()
        except Exception as error:  # noqa: BLE001 - libraries of stores raise any type
            reason = classify_error(error)
        stalls += reason.kind is TimeoutError
        most = min(tries or limits.TRIES, count + limits.STALL_TRIES - stalls)
        pause = limits.PAUSE_SECONDS * 2 ** (count - 1) * random.uniform(0.5, 1.5)
        pause = max(pause, reason.pause)
        if reason.permanent or count >= most or closed.is_set():
            break
        tried = f"{reason.error(count)}; attempt {count + 1} of {most} follows in {pause:.0f} s"
        notify(f"{name}: {tried}")
        if closed.wait(pause):
            break
    # Raised outside the handler, so that the library's message is not part of the traceback.
    raise reason.error(count)

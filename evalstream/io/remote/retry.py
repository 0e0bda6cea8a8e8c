"""Calls to stores: each in a thread of its own, given up after a while, and tried again."""

import random
from collections.abc import Callable
from threading import Event, Thread
from typing import Generic, TypeVar

from evalstream.io.remote import limits
from evalstream.io.remote.errors import reason_of

_Returned = TypeVar("_Returned")


class Running(Generic[_Returned]):
    """A call in a thread of its own, for which nobody waits at the end of the process."""

    def __init__(self, call: Callable[[], _Returned]) -> None:
        self._call = call
        self._ended = Event()
        self._returned: list[_Returned] = []
        self._error: BaseException | None = None
        Thread(target=self._run, name="evalstream-remote", daemon=True).start()

    def ended(self, seconds: float | None = None) -> bool:
        """Tell whether the call returns or raises within some seconds."""
        return self._ended.wait(seconds)

    def result(self, seconds: float | None = None) -> _Returned:
        """Return what the call returned. Raises what it raised, and TimeoutError."""
        if not self.ended(seconds):
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


def within(call: Callable[[], _Returned]) -> _Returned:
    """Return what a call returns; one that stalls cannot be ended and is left behind."""
    return Running(call).result(limits.BLOCK_SECONDS)


def tried(call: Callable[[], _Returned], closed: Event, *, tries: int | None = None) -> _Returned:
    """Return what a call returns, tried several times, with pauses. Raises OSError."""
    most = tries or limits.TRIES
    count = 0
    while True:
        count += 1
        try:
            return call()
        except Exception as error:  # noqa: BLE001 - libraries of stores raise what they like
            reason = reason_of(error)
        pause = limits.PAUSE_SECONDS * 2 ** (count - 1) * random.uniform(0.5, 1.5)
        if reason.lasting or count == most or closed.wait(pause):
            break
    # Raised here, so that what a library said does not hang on it.
    raise reason.error(count)

"""A wish to stop, as a signal brings it: made at any time, granted where nothing is half done."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


class Stopped(BaseException):
    """Somebody asked this process to stop; `signal` is the number of the signal that said so.

    No Exception, so that whoever handles faults does not take it for one.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.signal = number

    @property
    def name(self) -> str:
        """The signal's name, such as SIGTERM."""
        return signal.Signals(self.signal).name


class Stopping:
    """Keeps a wish until somebody grants it, by raising Stopped at a safe place.

    `granted` is the signal that was obeyed: whoever could go on must end soon. Nothing happens
    unless `listen` was called, so that programs which use the package keep their own ways with
    signals.
    """

    def __init__(self) -> None:
        self._wish: int | None = None
        self._waits = False
        self.granted: int | None = None

    def listen(self) -> None:
        """Take signals from now on; only the main thread may call this."""
        for number in SIGNALS:
            signal.signal(number, self._hear)

    def check(self) -> None:
        """Grant the wish if there is one. Raises Stopped."""
        if self._wish is not None and self.granted is None:
            self._grant(self._wish)

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Grant a wish while something is waited for, in which nothing is half done."""
        self._waits = True
        try:
            self.check()
            yield
        finally:
            self._waits = False

    def _hear(self, number: int, _frame: FrameType | None) -> None:
        """Take a signal; one that comes while the first is being granted is granted at once."""
        again, self._wish = self._wish is not None, number
        if self._waits or again:
            self._grant(number)

    def _grant(self, number: int) -> None:
        self.granted = number
        raise Stopped(number)


STOPPING: Final = Stopping()
"""There is one, as signals are the whole process's."""

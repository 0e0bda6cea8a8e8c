"""A wish to stop, as a signal brings it: made at any time, granted where nothing is half done."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final, NoReturn

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
        self._listens = self._waits = self._held = False
        self.granted: int | None = None

    @property
    def wish(self) -> int | None:
        """The signal that came last, obeyed by now or not; None before there was one."""
        return self._wish

    def listen(self) -> None:
        """Take signals from now on; only the main thread may call this."""
        self._listens = True
        for number in SIGNALS:
            signal.signal(number, self._hear)

    def check(self) -> None:
        """Grant the wish if there is one, once. Raises Stopped."""
        if self.granted is None and not self._held:
            self.insist()

    def insist(self) -> None:
        """Grant the wish if there is one, also if it was granted before. Raises Stopped.

        This is for what would else wait again: a reader that is asked for more, a writer whose
        bytes are not taken.
        """
        if self._wish is not None:
            self._grant(self._wish)

    def hold(self) -> None:
        """Only take note of signals from now on, also of a second one.

        What has begun is then brought to its end, and decides how the process ends.
        """
        self._held = self._listens

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
        if (self._waits or again) and not self._held:
            self._grant(number)

    def _grant(self, number: int) -> NoReturn:
        self.granted = number
        raise Stopped(number)


STOPPING: Final = Stopping()
"""There is one, as signals are the whole process's."""

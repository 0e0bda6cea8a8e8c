"""Deferred handling of signals, and work that neither they nor the garbage collector interrupt."""

from __future__ import annotations

import gc
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final, NoReturn

SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""The signals that stop the program."""


class Stopped(BaseException):
    """A signal, by number, asked this process to stop; handlers of Exception do not catch it."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.signal = number

    @property
    def name(self) -> str:
        """The signal's name, such as SIGTERM."""
        return signal.Signals(self.signal).name


class Stopping:
    """Records a signal until a safe place in the code raises Stopped.

    `raised` is the signal that was raised as Stopped: the process must end soon. Nothing happens
    unless `listen` was called, so programs that use the package as a library keep their own signal
    handlers.
    """

    def __init__(self) -> None:
        self._received: int | None = None
        self._installed = self._is_interruptible = self._deferred = False
        self.raised: int | None = None

    @property
    def last_signal(self) -> int | None:
        """The signal that arrived last, raised or not; None before the first."""
        return self._received

    def listen(self) -> None:
        """Install the handlers, from the main thread; a hangup that nohup ignores stays ignored."""
        self._installed = True
        for number in SIGNALS:
            if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._handle)

    def check(self) -> None:
        """Raise Stopped if a signal arrived and was not raised before."""
        if self.raised is None and not self._deferred:
            self.check_again()

    def check_again(self) -> None:
        """Raise Stopped if a signal arrived, also if it was raised before.

        Call this in code that would block again otherwise: a reader that asks for more, a writer
        whose bytes are not taken.
        """
        if self._received is not None:
            self._raise(self._received)

    def defer(self) -> str | None:
        """Only record signals from now on, also a second one; return how one stopped it before.

        The current operation then runs to its end, and its outcome decides the exit code.
        """
        try:
            self.check()
        except Stopped as stopped:
            return f"stopped by {stopped.name}"
        self._deferred = self._installed
        return None

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """Raise Stopped immediately when a signal arrives inside this context.

        Use it around a wait in which no operation is half done.
        """
        self._is_interruptible = True
        try:
            self.check()
            yield
        finally:
            self._is_interruptible = False

    def _handle(self, number: int, _frame: FrameType | None) -> None:
        """Record a signal; a second one is raised at once."""
        is_second, self._received = self._received is not None, number
        if (self._is_interruptible or is_second) and not self._deferred:
            self._raise(number)

    def _raise(self, number: int) -> NoReturn:
        self.raised = number
        raise Stopped(number)


STOPPING: Final = Stopping()
"""The one instance: signals belong to the whole process."""


@contextmanager
def pause_interruptions() -> Iterator[None]:
    """Block the signals that stop the program, and pause the garbage collector, until the end.

    Signals are delivered then: an interrupted extension module may crash. The objects that imports
    make live as long as the process, so collections among them find nothing, and take 0.01 s.
    """
    with signals_blocked(), without_collector():
        try:
            yield
        finally:
            # As if all objects were old: the next collection does not look through them.
            if not gc.get_freeze_count():
                gc.freeze()
                gc.unfreeze()


@contextmanager
def signals_blocked() -> Iterator[None]:
    """Block the signals that stop the program until the end; they are delivered then."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def without_collector() -> Iterator[None]:
    """Pause the garbage collector until the end."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()

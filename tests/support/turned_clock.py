"""A clock that only a wait turns, so that tests of waits neither take time nor race it."""

from collections.abc import Callable

Step = tuple[float, Callable[[], object]]


class TurnedClock:
    """Takes the place of `time`: a sleep turns it on, and takes the steps whose time has come."""

    def __init__(self, *steps: Step) -> None:
        self.now, self.steps = 0.0, sorted(steps, key=lambda step: step[0])

    def monotonic(self) -> float:
        """Return the seconds since the clock was made."""
        return self.now

    def sleep(self, seconds: float) -> None:
        """Let seconds pass at once."""
        self.now += seconds
        while self.steps and self.steps[0][0] <= self.now:
            self.steps.pop(0)[1]()

"""What came of measuring a contender on a workload: numbers, nothing, or a wrong answer."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

from benchmarks.harness.measure import Measurement

MEGABYTE = 10**6


@dataclass(frozen=True)
class Numbers:
    """The times of all rounds and of the floor just before each, and the peak of all processes.

    The memory comes from a run of its own, since sampling slows the sampled process down.
    """

    rounds: tuple[Measurement, ...]
    floors: tuple[Measurement, ...]
    sampled: Measurement

    @property
    def seconds(self) -> float:
        """Return the median time; that of the sampled run where nothing was timed."""
        if not self.rounds:
            return self.sampled.seconds
        return median(one.seconds for one in self.rounds)

    @property
    def processor_seconds(self) -> tuple[float, float]:
        """Return the median times of all processes in programs and in the kernel."""
        timed = self.rounds or (self.sampled,)
        return median(one.user_seconds for one in timed), median(
            one.system_seconds for one in timed
        )

    @property
    def ratios(self) -> tuple[float, ...]:
        """Divide the time of each round by its own floor; there are none without floors."""
        if not self.floors:
            return ()
        pairs = zip(self.rounds, self.floors, strict=True)
        return tuple(one.seconds / floor.seconds for one, floor in pairs)

    @property
    def peak_megabytes(self) -> float | None:
        """Return the peak memory, None where it cannot be sampled."""
        peak = self.sampled.peak_bytes
        return None if peak is None else peak / MEGABYTE


@dataclass(frozen=True)
class Skipped:
    """Nothing was measured, and why."""

    why: str


@dataclass(frozen=True)
class Failed:
    """A wrong answer: the exit code is not the expected one, or rows were left out."""

    why: str


@dataclass(frozen=True)
class Outcome:
    """What came of one contender on one workload of so many runs, rows and bytes."""

    workload: str
    contender: str
    runs: int
    rows: int
    bytes: int
    result: Numbers | Skipped | Failed

    @property
    def megabytes_per_second(self) -> float:
        """Return the median speed, 0 without numbers."""
        if not isinstance(self.result, Numbers):
            return 0.0
        return self.bytes / MEGABYTE / self.result.seconds

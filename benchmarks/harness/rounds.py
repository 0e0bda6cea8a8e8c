"""Measures a command in turn with its floor, and accepts only right answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

from benchmarks.harness.measure import Measurement, measure

MEGABYTE = 10**6
MILLISECONDS = 1000
SHOWN_CHARACTERS = 500
"""How much is shown of the output of a command that failed."""

ROWS_LEFT_OUT = "the output does not show that it went through all rows"


class WrongAnswer(Exception):
    """A command ended with another exit code than it should, or left something out."""


@dataclass(frozen=True)
class Task:
    """A command to measure, the file on its stdin, and how to recognise its right answer.

    `size` is the number of bytes that it goes through. `proves` raises WrongAnswer. `proof` is
    a command that does the same work and fails where its output differs from its input.
    """

    name: str
    command: Sequence[str]
    size: int
    floor: Task | None = None
    proves: Callable[[Measurement], None] | None = None
    proof: Sequence[str] | None = None
    stdin: Path | None = None
    exit_code: int = 0


@dataclass(frozen=True)
class Numbers:
    """The times of all rounds and of the floor just before each, and the peak of all processes.

    The memory comes from a run of its own, since sampling slows the sampled process down.
    """

    rounds: tuple[Measurement, ...]
    floors: tuple[Measurement, ...]
    sampled: Measurement

    @property
    def timed(self) -> tuple[Measurement, ...]:
        """Return the rounds; the sampled run where nothing was timed."""
        return self.rounds or (self.sampled,)

    @property
    def seconds(self) -> float:
        """Return the median time."""
        return median(one.seconds for one in self.timed)

    @property
    def processor_seconds(self) -> tuple[float, float]:
        """Return the median times of all processes in programs and in the kernel."""
        user = median(one.user_seconds for one in self.timed)
        return user, median(one.system_seconds for one in self.timed)

    @property
    def ratios(self) -> tuple[float, ...]:
        """Divide the time of each round by its own floor; empty without floors."""
        if not self.floors:
            return ()
        pairs = zip(self.rounds, self.floors, strict=True)
        return tuple(one.seconds / floor.seconds for one, floor in pairs)

    @property
    def processor_ratios(self) -> tuple[float, ...]:
        """Divide the processor time of each round by that of its own floor."""
        pairs = zip(self.rounds, self.floors, strict=True)
        return tuple(one.processor_seconds / floor.processor_seconds for one, floor in pairs)

    @property
    def peak_megabytes(self) -> float | None:
        """Return the peak memory, None where it was not sampled."""
        return megabytes(self.sampled.peak_bytes)


def megabytes(size: int | None) -> float | None:
    """Convert bytes."""
    return None if size is None else size / MEGABYTE


def measured(task: Task, rounds: int) -> Numbers:
    """Run a task once for its memory, then in turn with its floor. Raises WrongAnswer.

    The rounds of one task follow each other without those of another in between: on a virtual
    machine, memory that lay idle for seconds goes back to the host, and a program that loads a
    whole file would pay for getting it again.
    """
    if task.proof is not None:
        answer(replace(task, command=task.proof))
    sampled = answer(task, samples_memory=True)
    timed, floors = [], []
    for _ in range(rounds):
        if task.floor is not None:
            floors.append(answer(task.floor))
        timed.append(answer(task))
    return Numbers(tuple(timed), tuple(floors), sampled)


def answer(task: Task, *, samples_memory: bool = False) -> Measurement:
    """Run a task once, check its answer and drop its output. Raises WrongAnswer."""
    taken = measure(task.command, stdin=task.stdin, samples_memory=samples_memory)
    require_exit(task.exit_code, taken.exit_code, taken.stderr or taken.stdout)
    if task.proves is not None:
        task.proves(taken)
    return replace(taken, stdout="", stderr="")


def require_exit(expected: int, code: int, output: str) -> None:
    """Raise WrongAnswer, with the end of a command's output, for another exit code."""
    if code != expected:
        shown = output.strip()[-SHOWN_CHARACTERS:]
        raise WrongAnswer(f"exit code {code}, not {expected}: {shown}")


def first_difference(one: bytes, other: bytes) -> int:
    """Return the offset of the first byte in which two texts differ."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (own, its) in pairs if own != its), min(len(one), len(other)))

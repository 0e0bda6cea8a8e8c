"""Measures a command beside its floor, believes only its right answer, and lays it out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import median

from benchmarks.harness.judging import WrongAnswer
from benchmarks.harness.measure import Measurement, measure
from benchmarks.harness.outcomes import MEGABYTE, Numbers
from benchmarks.harness.section import Section
from benchmarks.harness.tables import spread

PEAK_MEGABYTES = 300
SAID_CHARACTERS = 500
"""How much is shown of what a command said that failed."""

SPEEDS = ("reading", "seconds", "MB/s", "to the floor (min, max)", "peak MB")


@dataclass(frozen=True)
class Task:
    """A command to measure beside a floor, and what tells its right answer."""

    name: str
    command: Sequence[str]
    size: int
    floor: Sequence[str] | None = None
    proves: Callable[[Measurement], None] | None = None
    proof: Sequence[str] | None = None
    """A command that does the same and fails where what came out is not what went in."""


def tell(section: Section, task: Task, rounds: int) -> Numbers | None:
    """Measure a task, lay it out as a line and hold its memory; None where the answer is wrong."""
    try:
        numbers = measured(task, rounds)
    except WrongAnswer as error:
        section.fail(task.name, error)
        return None
    peak = numbers.peak_megabytes
    section.lines.append(
        (
            task.name,
            f"{numbers.seconds:.2f}",
            f"{task.size / MEGABYTE / numbers.seconds:.0f}",
            spread(numbers),
            peak_cell(peak),
        )
    )
    section.facts[task.name] = {
        "bytes": task.size,
        "round_seconds": [one.seconds for one in numbers.rounds],
        "floor_seconds": [one.seconds for one in numbers.floors],
        "peak_megabytes": peak,
    }
    hold_peak(section, task.name, peak)
    return numbers


def tell_with_floor(section: Section, task: Task, rounds: int, floor: str) -> None:
    """Measure and lay out a task, and what its floor took under its own name."""
    numbers = tell(section, task, rounds)
    if numbers is not None:
        seconds = median(one.seconds for one in numbers.floors)
        speed = f"{task.size / MEGABYTE / seconds:.0f}"
        section.lines.append((floor, f"{seconds:.2f}", speed, "", ""))


def peak_cell(peak: float | None) -> str:
    """Spell peak memory in megabytes."""
    return "not measured" if peak is None else f"{peak:.0f}"


def hold_peak(section: Section, name: str, peak: float | None) -> None:
    """Hold peak memory against what a check may use, both in megabytes."""
    section.hold(f"peak memory, {name}", peak, PEAK_MEGABYTES, "MB")


def measured(task: Task, rounds: int) -> Numbers:
    """Run a task once for its memory, then in turn with its floor. Raises WrongAnswer."""
    if task.proof is not None:
        trusted(task, measure(task.proof, samples_memory=False))
    sampled = trusted(task, measure(task.command))
    timed, floors = [], []
    for _ in range(rounds):
        if task.floor is not None:
            floor = measure(task.floor, samples_memory=False)
            floors.append(trusted(replace(task, proves=None), floor))
        timed.append(trusted(task, measure(task.command, samples_memory=False)))
    return Numbers(tuple(timed), tuple(floors), sampled)


def trusted(task: Task, taken: Measurement) -> Measurement:
    """Return a measurement with exit code 0 and the right answer. Raises WrongAnswer."""
    require_exit(0, taken.exit_code, taken.stderr or taken.stdout)
    if task.proves is not None:
        task.proves(taken)
    return replace(taken, stdout="", stderr="")


def require_exit(expected: int, code: int, said: str) -> None:
    """Raise WrongAnswer, with the end of what a command said, for another exit code."""
    if code != expected:
        shown = said.strip()[-SAID_CHARACTERS:]
        raise WrongAnswer(f"exit code {code}, not {expected}: {shown}")

"""Lays numbers and verdicts out as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.harness.budgets import PEAK_MEGABYTES, Budget, State, Verdict
from benchmarks.harness.rounds import MEGABYTE, Numbers, Task, WrongAnswer, measured

BEGIN, END = "<!-- bench:begin -->", "<!-- bench:end -->"


@dataclass
class Section:
    """A table: its title, its columns, its lines and the verdicts; errors fail the suite.

    Only the first `texts` columns hold text.
    """

    title: str
    columns: tuple[str, ...]
    texts: int = 1
    lines: list[tuple[str, ...]] = field(default_factory=list)
    verdicts: list[Verdict] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)

    def hold(self, budget: Budget, found: float | None, *, judges: bool = True) -> None:
        """Compare a figure with a budget."""
        self.verdicts.append(Verdict(budget, found, judges))

    def hold_peak(self, name: str, peak: float | None) -> None:
        """Compare peak memory in MB with what a check may use."""
        self.hold(Budget(f"peak memory, {name}", PEAK_MEGABYTES, "MB"), peak)

    def fail(self, name: str, error: WrongAnswer, *cells: str) -> None:
        """Note a wrong answer, which leaves a line without numbers."""
        self.errors.append(f"{name}: {error}")
        self.skip(name, f"error: {error}", *cells)

    def skip(self, name: str, why: str, *cells: str) -> None:
        """Add a line without numbers."""
        filled = (name, *cells, in_cell(why))
        self.lines.append((*filled, *[""] * (len(self.columns) - len(filled))))

    def take(self, name: str, numbers: Numbers, size: int, *cells: str) -> None:
        """Add a line of speeds and the facts behind it."""
        self.lines.append((name, *cells, *speeds(numbers, size)))
        self.facts[name] = speed_facts(numbers, size)

    def measure_processor(self, task: Task, rounds: int) -> float | None:
        """Measure a task, add its line, and return its processor time to that of its floor.

        None stands for a wrong answer.
        """
        try:
            numbers = measured(task, rounds)
        except WrongAnswer as error:
            self.fail(task.name, error)
            return None
        ratio = median(numbers.processor_ratios)
        user, system = numbers.processor_seconds
        self.lines.append((task.name, f"{user:.2f} + {system:.2f}", f"{ratio:.2f}"))
        self.facts[task.name] = {"user_seconds": user, "system_seconds": system, "ratio": ratio}
        return ratio

    def measure(self, task: Task, rounds: int) -> Numbers | None:
        """Measure a task, add its line and hold its memory; None for a wrong answer."""
        try:
            numbers = measured(task, rounds)
        except WrongAnswer as error:
            self.fail(task.name, error)
            return None
        self.take(task.name, numbers, task.size)
        self.hold_peak(task.name, numbers.peak_megabytes)
        return numbers

    def measure_with_floor(self, task: Task, rounds: int) -> None:
        """Measure a task and add a line for its floor, too."""
        numbers = self.measure(task, rounds)
        if numbers is not None and task.floor is not None:
            floor = Numbers(numbers.floors, (), numbers.floors[0])
            self.lines.append((task.floor.name, *speeds(floor, task.size)[:-1], ""))

    def markdown(self) -> str:
        """Lay the table out."""
        rule = ["---"] * self.texts + ["---:"] * (len(self.columns) - self.texts)
        lines = map(line, (self.columns, rule, *self.lines))
        return "\n".join([f"**{self.title}**", "", *lines])


def speed_columns(*names: str, floor: str = "the floor") -> tuple[str, ...]:
    """Name the columns of a table of speeds."""
    return (*names, "seconds", "user + system", "MB/s", f"to {floor} (min, max)", "peak MB")


def speeds(numbers: Numbers, size: int) -> tuple[str, ...]:
    """Spell times, speed, ratios and memory of a check of so many bytes."""
    user, system = numbers.processor_seconds
    return (
        f"{numbers.seconds:.3f}",
        f"{user:.2f} + {system:.2f}",
        f"{size / MEGABYTE / numbers.seconds:.3g}",
        spread(numbers.ratios),
        peak_cell(numbers.peak_megabytes),
    )


def speed_facts(numbers: Numbers, size: int) -> dict[str, Any]:
    """Return all numbers: times in seconds, memory in MB."""
    user, system = numbers.processor_seconds
    return {
        "bytes": size,
        "seconds": numbers.seconds,
        "user_seconds": user,
        "system_seconds": system,
        "megabytes_per_second": size / MEGABYTE / numbers.seconds,
        "ratios": numbers.ratios,
        "round_seconds": [one.seconds for one in numbers.rounds],
        "floor_seconds": [one.seconds for one in numbers.floors],
        "peak_megabytes": numbers.peak_megabytes,
    }


def spread(values: Sequence[float]) -> str:
    """Spell the median of ratios and how far they spread."""
    return f"{median(values):.2f} ({min(values):.2f}, {max(values):.2f})" if values else ""


def peak_cell(peak: float | None) -> str:
    """Spell peak memory in megabytes."""
    return "not measured" if peak is None else f"{peak:.0f}"


def in_cell(text: str) -> str:
    """Keep a text on one line and within its cell."""
    return " ".join(text.split()).replace("|", "\\|")


def line(cells: Iterable[str]) -> str:
    """Lay out one line of a table."""
    return f"| {' | '.join(cells)} |"


def machine_line(machine: dict[str, Any]) -> str:
    """Describe in a sentence what the numbers were measured on."""
    loads = ", ".join(map(str, machine["load_average"]))
    return (
        f"Measured on {machine['cpu_model']}, {machine['cpu_count']} cores, "
        f"Python {machine['python']}; load average before: {loads}."
    )


def budget_table(verdicts: Sequence[Verdict]) -> str:
    """Lay the budgets out."""
    lines = ["| budget | limit | found | |", "|---|---:|---:|---|"]
    for verdict in verdicts:
        state = verdict.state.upper() if verdict.state is State.MISSED else str(verdict.state)
        lines.append(line((verdict.budget.name, verdict.limit, verdict.figure, state)))
    return "\n".join(lines)


def write_region(path: Path, text: str) -> None:
    """Replace what lies between the marks of a file; without marks, write the whole file."""
    old = path.read_text(encoding="utf-8") if path.is_file() else ""
    before, begins, rest = old.partition(BEGIN)
    _, ends, after = rest.partition(END)
    new = f"{before}{BEGIN}\n{text}{END}{after}" if begins and ends else text
    path.write_text(new, encoding="utf-8")

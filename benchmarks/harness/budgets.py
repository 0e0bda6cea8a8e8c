"""The budgets: what a check may cost, compared with what was measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import median

from benchmarks.contenders import CONTENDERS
from benchmarks.contenders.contract import Checks, Material
from benchmarks.harness.rounds import MEGABYTE, MILLISECONDS, Numbers


class State(StrEnum):
    """What came of a budget."""

    HELD = "held"
    MISSED = "missed"
    UNKNOWN = "not measured"
    UNJUDGED = "not judged"


@dataclass(frozen=True)
class Budget:
    """A bound for one figure: at most, or at least where `is_floor`; the aim is stricter."""

    name: str
    bound: float
    unit: str
    is_floor: bool = False
    aim: float | None = None

    def within(self, found: float, bound: float) -> bool:
        """Tell whether a figure keeps a bound."""
        return found >= bound if self.is_floor else found <= bound


@dataclass(frozen=True)
class Verdict:
    """A budget and the figure, None where nothing was measured; small sizes judge nothing."""

    budget: Budget
    found: float | None
    is_judged: bool = True

    @property
    def state(self) -> State:
        """Compare the figure with the bound."""
        if self.found is None:
            return State.UNKNOWN
        if not self.is_judged:
            return State.UNJUDGED
        kept = self.budget.within(self.found, self.budget.bound)
        return State.HELD if kept else State.MISSED

    @property
    def limit(self) -> str:
        """Spell the bound and the aim."""
        budget = self.budget
        words = f"at {'least' if budget.is_floor else 'most'} {budget.bound:g} {budget.unit}"
        return words if budget.aim is None else f"{words}, aim {budget.aim:g}"

    @property
    def figure(self) -> str:
        """Spell the figure."""
        return "" if self.found is None else f"{self.found:.3g} {self.budget.unit}"

    @property
    def misses_aim(self) -> bool:
        """Tell whether a budget is held and its aim is not reached."""
        if self.state is not State.HELD or self.found is None or self.budget.aim is None:
            return False
        return not self.budget.within(self.found, self.budget.aim)


Board = Mapping[tuple[str, str], tuple[Material, Numbers]]
"""What was measured, by workload and contender."""

Figure = Callable[[Board], float | None]


def of(
    workload: str,
    value: Callable[[Material, Numbers], float | None],
    contender: str = "evalstream-2",
) -> Figure:
    """Return what computes a figure of one contender on a workload, None if not measured."""

    def figure(board: Board) -> float | None:
        found = board.get((workload, contender))
        return value(*found) if found else None

    return figure


def speed(material: Material, numbers: Numbers) -> float:
    """Return the median speed in MB/s."""
    return material.bytes / MEGABYTE / numbers.seconds


def peak_on(workload: str) -> Figure:
    """Return what looks up the peak memory of all processes, in MB."""
    return of(workload, lambda _, numbers: numbers.peak_megabytes)


def lead_of_two_workers(workload: str, others: Sequence[str]) -> Figure:
    """Return what divides the time of the fastest of others by that of two workers.

    The quotient of two contenders is the median over the pairs of their ratios to the floor.
    """

    def figure(board: Board) -> float | None:
        ours = board.get((workload, "evalstream-2"))
        theirs = [board[workload, name][1] for name in others if (workload, name) in board]
        if ours is None or not theirs:
            return None
        pairs = [zip(one.ratios, ours[1].ratios, strict=True) for one in theirs]
        return min(median(other / own for other, own in ratios) for ratios in pairs)

    return figure


def growth_of_memory(board: Board) -> float | None:
    """Return how much higher the higher of two peaks is, in percent of the lower one."""
    peaks = [peak_on(workload)(board) for workload in ("mixed", "memory")]
    known = [value for value in peaks if value]
    return 100 * (max(known) / min(known) - 1) if len(known) == len(peaks) else None


SCHEMA_ONLY = [name for name, one in CONTENDERS.items() if one.checks is Checks.SCHEMA]
BUDGETS: Sequence[tuple[Budget, Figure]] = (
    (
        Budget("mixed rows, 2 workers, to openssl", 3.0, "times", aim=2.5),
        of("mixed", lambda _, numbers: median(numbers.ratios)),
    ),
    (
        Budget("lead over the fastest check of the schema alone", 2.0, "times", is_floor=True),
        lead_of_two_workers("mixed", SCHEMA_ONLY),
    ),
    (
        Budget("gain of the second worker, large file", 1.7, "times", is_floor=True),
        lead_of_two_workers("large", ["evalstream-1"]),
    ),
    (Budget("peak memory, mixed rows", 300, "MB"), peak_on("mixed")),
    (Budget("peak memory, the largest file", 300, "MB"), peak_on("memory")),
    (Budget("peaks of both apart", 5, "%"), growth_of_memory),
    (Budget("every row faulty", 40, "MB/s", is_floor=True), of("faulty", speed)),
    (
        Budget("every row faulty, all findings", 40, "MB/s", is_floor=True),
        of("faulty", speed, "evalstream-all"),
    ),
    (
        Budget("one small run", 250, "ms"),
        of("small", lambda _, numbers: numbers.seconds * MILLISECONDS),
    ),
    (
        Budget("many small runs", 400, "runs/s", is_floor=True),
        of("many", lambda material, numbers: len(material.runs) / numbers.seconds),
    ),
)


def verdicts(board: Board, *, judges: bool = True) -> list[Verdict]:
    """Compare every budget with its figure; sizes that a budget is not meant for judge nothing."""
    return [Verdict(budget, figure(board), judges) for budget, figure in BUDGETS]

"""What a check may cost, held against what was measured."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import median

from benchmarks.contenders import CONTENDERS
from benchmarks.contenders.contract import Checks
from benchmarks.harness.outcomes import Numbers, Outcome

MILLISECONDS = 1000


class State(StrEnum):
    """How a budget stands."""

    HELD = "held"
    MISSED = "missed"
    UNKNOWN = "not measured"
    UNJUDGED = "not judged"


@dataclass(frozen=True)
class Board:
    """Everything that was measured, looked up by workload and contender."""

    outcomes: Sequence[Outcome]

    def outcome(self, workload: str, contender: str) -> Outcome | None:
        """Return what was measured, None where there are no numbers."""
        for one in self.outcomes:
            if (one.workload, one.contender) == (workload, contender):
                return one if isinstance(one.result, Numbers) else None
        return None

    def numbers(self, workload: str, contender: str) -> Numbers | None:
        """Return the numbers alone."""
        one = self.outcome(workload, contender)
        return one.result if one and isinstance(one.result, Numbers) else None


@dataclass(frozen=True)
class Budget:
    """A bound for one figure: at most, or at least where `is_floor`; past the aim it is told."""

    name: str
    figure: Callable[[Board], float | None]
    bound: float
    unit: str
    is_floor: bool = False
    aim: float | None = None

    def within(self, found: float, bound: float) -> bool:
        """Tell whether a figure keeps a bound."""
        return found >= bound if self.is_floor else found <= bound


@dataclass(frozen=True)
class Verdict:
    """A budget, the figure that was found, None where nothing was measured, and if it counts."""

    budget: Budget
    found: float | None
    is_judged: bool = True

    @property
    def state(self) -> State:
        """Tell how the budget stands."""
        if self.found is None:
            return State.UNKNOWN
        if not self.is_judged:
            return State.UNJUDGED
        kept = self.budget.within(self.found, self.budget.bound)
        return State.HELD if kept else State.MISSED

    @property
    def limit(self) -> str:
        """Spell the bound, and the aim beyond it."""
        budget = self.budget
        words = f"at {'least' if budget.is_floor else 'most'} {budget.bound:g} {budget.unit}"
        return words if budget.aim is None else f"{words}, aim {budget.aim:g}"

    @property
    def figure(self) -> str:
        """Spell what was found."""
        return "" if self.found is None else f"{self.found:.3g} {self.budget.unit}"

    @property
    def misses_aim(self) -> bool:
        """Tell whether an aim was set and is not reached."""
        aim = self.budget.aim
        return self.is_judged and (
            aim is not None and self.found is not None and not self.budget.within(self.found, aim)
        )


def ratio_to_floor(board: Board) -> float | None:
    """Return the median ratio of two workers to the floor."""
    numbers = board.numbers("mixed", "evalstream-2")
    return median(numbers.ratios) if numbers else None


def lead_over_schema(board: Board) -> float | None:
    """Divide the fastest check of the schema alone by ours with two workers."""
    schema_only = [name for name, one in CONTENDERS.items() if one.checks is Checks.SCHEMA]
    leads = [quotient(board, "mixed", name, "evalstream-2") for name in schema_only]
    return min((lead for lead in leads if lead is not None), default=None)


def gain_of_second_worker(board: Board) -> float | None:
    """Divide the time of one worker by that of two, where the start is a small part of both."""
    return quotient(board, "large", "evalstream-1", "evalstream-2")


def quotient(board: Board, workload: str, slower: str, faster: str) -> float | None:
    """Return the median of the quotients of their ratios to the floor."""
    above, below = board.numbers(workload, slower), board.numbers(workload, faster)
    if above is None or below is None:
        return None
    ratios = zip(above.ratios, below.ratios, strict=True)
    return median(one / other for one, other in ratios)


def peak(workload: str) -> Callable[[Board], float | None]:
    """Look up the peak memory of all processes, in MB."""

    def figure(board: Board) -> float | None:
        numbers = board.numbers(workload, "evalstream-2")
        return numbers.peak_megabytes if numbers else None

    return figure


def growth_of_memory(board: Board) -> float | None:
    """Return how far the two peaks are apart, in percent of the lower one."""
    peaks = [peak(workload)(board) for workload in ("mixed", "memory")]
    known = [value for value in peaks if value]
    return 100 * (max(known) / min(known) - 1) if len(known) == len(peaks) else None


def speed(workload: str, contender: str) -> Callable[[Board], float | None]:
    """Look up the median speed, in MB/s."""

    def figure(board: Board) -> float | None:
        one = board.outcome(workload, contender)
        return one.megabytes_per_second if one else None

    return figure


def start_up(board: Board) -> float | None:
    """Return the median time for one small run, in milliseconds."""
    numbers = board.numbers("small", "evalstream-2")
    return numbers.seconds * MILLISECONDS if numbers else None


def runs_per_second(board: Board) -> float | None:
    """Return how many small runs a second one call gets through."""
    one, numbers = board.outcome("many", "evalstream-2"), board.numbers("many", "evalstream-2")
    return one.runs / numbers.seconds if one and numbers else None


BUDGETS = (
    Budget("mixed rows, 2 workers, to openssl", ratio_to_floor, 3.0, "times", aim=2.5),
    Budget("lead over the fastest check of the schema alone", lead_over_schema, 2.0, "times", True),
    Budget("gain of the second worker, large file", gain_of_second_worker, 1.7, "times", True),
    Budget("peak memory, mixed rows", peak("mixed"), 300, "MB"),
    Budget("peak memory, the largest file", peak("memory"), 300, "MB"),
    Budget("peaks of both apart", growth_of_memory, 5, "%"),
    Budget("every row faulty", speed("faulty", "evalstream-2"), 40, "MB/s", True),
    Budget("every row faulty, all findings", speed("faulty", "evalstream-all"), 40, "MB/s", True),
    Budget("one small run", start_up, 250, "ms"),
    Budget("many small runs", runs_per_second, 400, "runs/s", True),
)


def verdicts(outcomes: Sequence[Outcome], *, judges: bool = True) -> list[Verdict]:
    """Hold every budget against what was measured, if the sizes are those it is meant for."""
    board = Board(outcomes)
    return [Verdict(budget, budget.figure(board), judges) for budget in BUDGETS]

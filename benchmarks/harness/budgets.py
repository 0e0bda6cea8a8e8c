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


def of(workload: str, value: Callable[[Material, Numbers], float | None]) -> Figure:
    """Return what computes a figure of evalstream with two workers on a workload."""
    return of_contender(workload, "evalstream-2", value)


def of_contender(
    workload: str, contender: str, value: Callable[[Material, Numbers], float | None]
) -> Figure:
    """Return what computes a figure of one contender on a workload."""

    def figure(board: Board) -> float | None:
        found = board.get((workload, contender))
        return value(*found) if found else None

    return figure


def speed(material: Material, numbers: Numbers) -> float:
    """Return the median speed in MB/s."""
    return material.bytes / MEGABYTE / numbers.seconds


def peak(material: Material, numbers: Numbers) -> float | None:
    """Return the peak memory of all processes, in MB."""
    del material
    return numbers.peak_megabytes


def quotient(board: Board, workload: str, slower: str, faster: str) -> float | None:
    """Return the median of the quotients of two contenders' ratios to the floor."""
    above, below = board.get((workload, slower)), board.get((workload, faster))
    if above is None or below is None:
        return None
    ratios = zip(above[1].ratios, below[1].ratios, strict=True)
    return median(one / other for one, other in ratios)


def lead_over_schema(board: Board) -> float | None:
    """Divide the time of the fastest check of the schema alone by that of evalstream."""
    schema_only = [name for name, one in CONTENDERS.items() if one.checks is Checks.SCHEMA]
    leads = [quotient(board, "mixed", name, "evalstream-2") for name in schema_only]
    return min((lead for lead in leads if lead is not None), default=None)


def gain_of_second_worker(board: Board) -> float | None:
    """Divide the time of one worker by that of two, where the start is a small part of both."""
    return quotient(board, "large", "evalstream-1", "evalstream-2")


def growth_of_memory(board: Board) -> float | None:
    """Return how much higher the higher of two peaks is, in percent of the lower one."""
    peaks = [of(workload, peak)(board) for workload in ("mixed", "memory")]
    known = [value for value in peaks if value]
    return 100 * (max(known) / min(known) - 1) if len(known) == len(peaks) else None


BUDGETS: Sequence[tuple[Budget, Figure]] = (
    (
        Budget("mixed rows, 2 workers, to openssl", 3.0, "times", aim=2.5),
        of("mixed", lambda _, numbers: median(numbers.ratios)),
    ),
    (
        Budget("lead over the fastest check of the schema alone", 2.0, "times", is_floor=True),
        lead_over_schema,
    ),
    (
        Budget("gain of the second worker, large file", 1.7, "times", is_floor=True),
        gain_of_second_worker,
    ),
    (Budget("peak memory, mixed rows", 300, "MB"), of("mixed", peak)),
    (Budget("peak memory, the largest file", 300, "MB"), of("memory", peak)),
    (Budget("peaks of both apart", 5, "%"), growth_of_memory),
    (Budget("every row faulty", 40, "MB/s", is_floor=True), of("faulty", speed)),
    (
        Budget("every row faulty, all findings", 40, "MB/s", is_floor=True),
        of_contender("faulty", "evalstream-all", speed),
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

"""The budgets: what a check may cost, compared with what was measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import median

from benchmarks.contenders import CONTENDERS
from benchmarks.contenders.contract import Checks, Material
from benchmarks.harness.rounds import MILLISECONDS, Numbers

PEAK_MEGABYTES = 130
"""How much memory a check may use, whatever it reads."""

LINES_MEGABYTES = {2: 60, 16: 90}
"""How much memory a check of a file of lines may use, by the number of workers."""


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


def ratio(workload: str, contender: str = "evalstream-2") -> Figure:
    """Return what computes the median ratio of a contender to the floor of a workload."""
    return of(workload, lambda _, numbers: median(numbers.ratios), contender)


def peak_on(workload: str, contender: str = "evalstream-2") -> Figure:
    """Return what looks up the peak memory of all processes, in MB."""
    return of(workload, lambda _, numbers: numbers.peak_megabytes, contender)


def lead(workload: str, others: Sequence[str], contender: str = "evalstream-2") -> Figure:
    """Return what divides the time of the fastest of others by that of a contender.

    The quotient of two contenders is the median over the pairs of their ratios to the floor.
    """

    def figure(board: Board) -> float | None:
        ours = board.get((workload, contender))
        theirs = [board[workload, name][1] for name in others if (workload, name) in board]
        if ours is None or not theirs:
            return None
        pairs = [zip(one.ratios, ours[1].ratios, strict=True) for one in theirs]
        return min(median(other / own for other, own in ratios) for ratios in pairs)

    return figure


def share(workload: str, other: str, contender: str = "evalstream-2") -> Figure:
    """Return what divides the time of a contender by that of another one."""
    times_faster = lead(workload, [other], contender)

    def figure(board: Board) -> float | None:
        found = times_faster(board)
        return None if found is None else 1 / found

    return figure


def processor_share(workload: str, other: str) -> Figure:
    """Return what divides the processor time of two workers by that of another contender."""

    def figure(board: Board) -> float | None:
        found = [board.get((workload, name)) for name in ("evalstream-2", other)]
        ours, theirs = (sum(one[1].processor_seconds) if one else None for one in found)
        return ours / theirs if ours and theirs else None

    return figure


def relative_speed(workload: str, other: str) -> Figure:
    """Return what divides the speed on a workload by that on another one, floors aside."""

    def figure(board: Board) -> float | None:
        own, its = ratio(workload)(board), ratio(other)(board)
        return its / own if own and its else None

    return figure


def slowdown(workload: str, other: str) -> Figure:
    """Return what divides the seconds of a workload by those of another one."""
    own, its = (of(name, lambda _, numbers: numbers.seconds) for name in (workload, other))

    def figure(board: Board) -> float | None:
        ours, theirs = own(board), its(board)
        return ours / theirs if ours and theirs else None

    return figure


def milliseconds_a_run(material: Material, numbers: Numbers) -> float:
    """Return the median time, divided by the number of runs."""
    return MILLISECONDS * numbers.seconds / len(material.runs)


def growth_of_memory(board: Board) -> float | None:
    """Return how much higher the higher of two peaks is, in percent of the lower one."""
    peaks = [peak_on(workload)(board) for workload in ("mixed", "memory")]
    known = [value for value in peaks if value]
    return 100 * (max(known) / min(known) - 1) if len(known) == len(peaks) else None


SCHEMA_ONLY = [name for name, one in CONTENDERS.items() if one.checks is Checks.SCHEMA]


def times(name: str, bound: float, aim: float) -> Budget:
    """Return a budget for a quotient of times that must stay low."""
    return Budget(name, bound, "times", aim=aim)


def at_most_memory(name: str, bound: float = PEAK_MEGABYTES) -> Budget:
    """Return the budget for the peak memory of a check."""
    return Budget(f"peak memory, {name}", bound, "MB")


BUDGETS: Sequence[tuple[Budget, Figure]] = (
    (times("sound rows of 3 kB, to openssl", 2, 1.8), ratio("mixed")),
    (times("sound rows of 1.2 kB, to openssl", 2, 1.8), ratio("short")),
    (times("sound rows of 3 kB, large file, to openssl", 1.5, 1.4), ratio("large")),
    (times("sound rows of 1.2 kB, large file, to openssl", 1.5, 1.4), ratio("short-large")),
    (times("an info in every row, ES313, to openssl", 2.3, 2), ratio("other-choice")),
    (times("an info in every row, ES301, to openssl", 2.3, 2), ratio("no-answer")),
    (times("a null in every row, to openssl", 3.2, 3), ratio("one-null")),
    (times("three nulls in every row, to openssl", 3.2, 3), ratio("three-nulls")),
    (times("a foreign id in every row, to openssl", 3.2, 3), ratio("foreign-id")),
    (times("one to four errors in every row, to openssl", 4, 3.5), ratio("faulty")),
    (times("the same, all findings, to openssl", 12, 9), ratio("faulty", "evalstream-all")),
    (times("optional rules, to openssl", 4, 3), ratio("mixed", "evalstream-optional")),
    (times("standard input, to openssl", 3.5, 3), ratio("mixed", "evalstream-stdin")),
    (
        times("built-in schema by path, 1 worker, to sourcemeta", 0.3, 0.25),
        share("mixed", "sourcemeta", "evalstream-schema"),
    ),
    (
        times("a user's schema, 1 worker, to sourcemeta", 0.3, 0.25),
        share("own-schema", "sourcemeta", "evalstream-schema"),
    ),
    (times("gzip, to the same rows unpacked", 1.4, 1.2), slowdown("gzip", "mixed")),
    (times("zstd, to the same rows unpacked", 1.4, 1.2), slowdown("zstd", "mixed")),
    (times("a wrong checksum, to the right one", 1.1, 1.05), slowdown("wrong", "mixed")),
    (times("runs of 20 rows, to sourcemeta", 1, 0.8), share("many", "sourcemeta")),
    (
        Budget("runs of 1,000 rows, speed to one file", 0.9, "times", is_floor=True, aim=0.95),
        relative_speed("wide", "mixed"),
    ),
    (
        times("aggregates, processor time to upstream's", 1, 0.7),
        processor_share("aggregates", "upstream"),
    ),
    (times("one small run, to a start of Python", 3, 2.8), ratio("small")),
    (
        Budget("an unchanged run with a ledger", 0.15, "ms", aim=0.1),
        of("unchanged", milliseconds_a_run),
    ),
    (
        Budget("lead over the fastest check of the schema alone", 2.0, "times", is_floor=True),
        lead("mixed", SCHEMA_ONLY),
    ),
    (
        Budget("gain of the second worker, large file", 1.7, "times", is_floor=True),
        lead("large", ["evalstream-1"]),
    ),
    (at_most_memory("mixed rows", LINES_MEGABYTES[2]), peak_on("mixed")),
    (at_most_memory("the largest file", LINES_MEGABYTES[2]), peak_on("memory")),
    (
        at_most_memory("the largest file, 16 workers", LINES_MEGABYTES[16]),
        peak_on("memory", "evalstream-16"),
    ),
    (at_most_memory("a JSON array"), peak_on("array")),
    (at_most_memory("beside a large JSON document"), peak_on("neighbour")),
    (Budget("peaks of mixed rows and the largest file apart", 5, "%"), growth_of_memory),
)


def verdicts(board: Board, *, judges: bool = True) -> list[Verdict]:
    """Compare every budget with its figure; sizes that a budget is not meant for judge nothing."""
    return [Verdict(budget, figure(board), judges) for budget, figure in BUDGETS]

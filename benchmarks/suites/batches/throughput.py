"""Checks many small runs and a large one together, beside as many bytes in one file."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from benchmarks.contenders.contract import Material
from benchmarks.harness.budgets import Budget
from benchmarks.harness.rounds import MEGABYTE, MILLISECONDS, Numbers, Task, WrongAnswer, measured
from benchmarks.harness.tables import Section, speed_facts, speeds, spread
from benchmarks.suites.batches import stores
from benchmarks.suites.batches.reports import check_into, sees_all

WIDE_ROWS = 1000
LEAST_SHARE = 0.85
LEAST_WIDE_SHARE, AIM_OF_WIDE_SHARE = 0.9, 0.95
COLUMNS = (
    "checked by two workers",
    "runs",
    "MB",
    "seconds",
    "user + system",
    "runs/s",
    "MB/s",
    "to one file (min, max)",
    "ms a run beyond its bytes",
    "peak MB",
)


def throughput(folder: Path, scale: stores.Scale) -> Section:
    """Check runs of 20 and of 1,000 rows, alone and with a large one, beside one file."""
    place = folder.parent / "batch"
    small = stores.shared_runs(place / "small", scale.runs, scale.seed)
    large = stores.large_run(place / "large", scale.large, scale.seed)
    batch = stores.together(place, small, large)
    one = stores.large_run(folder / "one", batch.bytes, scale.seed + 1)
    stores.settle()
    beside = BesideOneFile(folder, scale, one)
    name = f"runs of {stores.ROWS} rows and the large one"
    beside.measure_batch(name, batch, share_budget(name, LEAST_SHARE))
    beside.measure_part(f"the runs of {stores.ROWS} rows alone", small)
    beside.measure_part("the large one alone", large)
    runs = max(1, scale.runs * stores.ROWS // WIDE_ROWS)
    wide = stores.small_runs(folder / "wide" / "small", runs, WIDE_ROWS, scale.seed)
    large.folder.rename(folder / "wide" / "large")
    stores.settle()
    both = stores.together(folder / "wide", wide, large)
    name = f"runs of {WIDE_ROWS} rows and the large one"
    beside.measure_batch(name, both, share_budget(name, LEAST_WIDE_SHARE, AIM_OF_WIDE_SHARE))
    beside.measure_part(f"the runs of {WIDE_ROWS} rows alone", wide)
    return beside.section


def share_budget(name: str, least: float, aim: float | None = None) -> Budget:
    """Return the budget for the speed of a batch beside that of the one file."""
    return Budget(f"throughput, {name}, to one file", least, "times", is_floor=True, aim=aim)


@dataclass
class BesideOneFile:
    """Measures stores beside the one file, which is the floor of whole batches.

    `rate` is the speed of the one file in bytes a second, known after the first batch.
    """

    folder: Path
    scale: stores.Scale
    one: Material
    rate: float | None = None
    section: Section = field(
        default_factory=lambda: Section("Throughput, beside as many bytes in one file", COLUMNS)
    )

    def measure_batch(self, name: str, batch: Material, budget: Budget) -> None:
        """Measure a batch in turn with the one file, and hold its memory and relative speed."""
        numbers = self._numbers(name, batch, self._task("one file", self.one))
        share = None
        if numbers is not None:
            if self.rate is None:
                own = Numbers(numbers.floors, (), numbers.floors[-1])
                self.rate = self.one.bytes / own.seconds
                self._add("one file", self.one, own)
            factor = batch.bytes / self.one.bytes
            shares = tuple(factor / ratio for ratio in numbers.ratios)
            self._add(name, batch, numbers, shares)
            self.section.hold_peak(name, numbers.peak_megabytes)
            share = median(shares)
        self.section.hold(budget, share, judges=self.scale.judges)

    def measure_part(self, name: str, store: Material) -> None:
        """Measure a part of a batch, to see where the time goes."""
        numbers = self._numbers(name, store)
        if numbers is None:
            return
        runs, beyond = len(store.runs), None
        if self.rate is not None and runs > 1:
            beyond = MILLISECONDS * (numbers.seconds - store.bytes / self.rate) / runs
        self._add(name, store, numbers, beyond=beyond)

    def _task(self, name: str, store: Material, floor: Task | None = None) -> Task:
        """Spell the check of a store; its report must cover all runs."""
        report = self.folder / "report.json"
        command = check_into(report, store.folder, "--jobs", "2")
        return Task(name, command, store.bytes, floor, sees_all(store, report))

    def _numbers(self, name: str, store: Material, floor: Task | None = None) -> Numbers | None:
        """Measure a check; a wrong answer of it or of the floor is an error of the section."""
        try:
            return measured(self._task(name, store, floor), self.scale.rounds)
        except WrongAnswer as error:
            self.section.fail(name, error)
            return None

    def _add(
        self,
        name: str,
        store: Material,
        numbers: Numbers,
        shares: tuple[float, ...] = (),
        beyond: float | None = None,
    ) -> None:
        """Add a line: `shares` are speeds divided by that of the one file."""
        runs = len(store.runs)
        seconds, processor, speed, _, peak = speeds(numbers, store.bytes)
        sizes = (f"{runs:,}", f"{store.bytes / MEGABYTE:,.0f}")
        rate = f"{runs / numbers.seconds:,.0f}" if runs > 1 else ""
        own = "" if beyond is None else f"{beyond:.2f}"
        cells = (*sizes, seconds, processor, rate, speed, spread(shares), own, peak)
        self.section.lines.append((name, *cells))
        self.section.facts[name] = {
            **speed_facts(numbers, store.bytes),
            "runs": runs,
            "rows": store.rows,
            "shares_of_one_file": shares,
            "milliseconds_a_run_beyond_its_bytes": beyond,
        }

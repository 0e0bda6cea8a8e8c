"""Checks many small runs and a large one together, beside as many bytes in one file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.contenders.contract import Material
from benchmarks.harness.judging import WrongAnswer
from benchmarks.harness.outcomes import MEGABYTE, Numbers
from benchmarks.harness.section import Section
from benchmarks.suites.batches.holding import Bound, hold
from benchmarks.suites.batches.reports import check_into, require_sound, sees_all
from benchmarks.suites.batches.scale import Scale
from benchmarks.suites.batches.stores import (
    ROWS,
    WIDE_ROWS,
    Shape,
    large_run,
    settle,
    small_runs,
    together,
)
from benchmarks.suites.streams.tasks import Task, hold_peak, measured, peak_cell

JOBS = ("--jobs", "2")
MILLISECONDS = 1000
LEAST_SHARE = 0.85
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


@dataclass(frozen=True)
class Line:
    """What was measured of a store, told as a line of the table and as facts.

    `shares` are its speeds in relation to that of the one file, and `beyond` the milliseconds
    that each run took beyond what its bytes would take in the one file.
    """

    name: str
    store: Material
    numbers: Numbers
    shares: tuple[float, ...] = ()
    beyond: float | None = None

    def cells(self) -> tuple[str, ...]:
        """Spell the line."""
        runs, megabytes = len(self.store.runs), self.store.bytes / MEGABYTE
        seconds, (user, system) = self.numbers.seconds, self.numbers.processor_seconds
        peak = self.numbers.peak_megabytes
        return (
            self.name,
            f"{runs:,}",
            f"{megabytes:,.0f}",
            f"{seconds:.2f}",
            f"{user:.1f} + {system:.1f}",
            f"{runs / seconds:,.0f}" if runs > 1 else "",
            f"{megabytes / seconds:.0f}",
            spread(self.shares) if self.shares else "",
            "" if self.beyond is None else f"{self.beyond:.2f}",
            "" if peak is None else peak_cell(peak),
        )

    def facts(self) -> dict[str, Any]:
        """Give everything; memory in MB."""
        user, system = self.numbers.processor_seconds
        return {
            "runs": len(self.store.runs),
            "rows": self.store.rows,
            "bytes": self.store.bytes,
            "round_seconds": [one.seconds for one in self.numbers.rounds],
            "user_seconds": user,
            "system_seconds": system,
            "shares_of_one_file": self.shares,
            "milliseconds_a_run_beyond_its_bytes": self.beyond,
            "peak_megabytes": self.numbers.peak_megabytes,
        }


class Throughput:
    """Measures batches beside one file, which is the floor of all of them."""

    def __init__(self, folder: Path, scale: Scale, one: Material) -> None:
        self.section = Section("Throughput, beside as many bytes in one file", COLUMNS)
        self._report, self._floor_report = folder / "report.json", folder / "floor.json"
        self._scale, self._one = scale, one
        self._rate: float | None = None

    def with_large(self, name: str, batch: Material) -> float | None:
        """Measure a batch in turn with the one file; return its speed in relation to that."""
        floor = check_into(self._floor_report, self._one.folder, *JOBS)
        numbers = self._numbers(name, batch, floor)
        if numbers is None:
            return None
        if self._rate is None:
            own = Numbers(numbers.floors, (), numbers.floors[-1])
            self._rate = self._one.bytes / own.seconds
            self._tell(Line("one file", self._one, own))
        factor = batch.bytes / self._one.bytes
        shares = tuple(factor / ratio for ratio in numbers.ratios)
        self._tell(Line(name, batch, numbers, shares))
        hold_peak(self.section, name, numbers.peak_megabytes)
        return median(shares)

    def alone(self, name: str, store: Material) -> None:
        """Measure a part of a batch, to see where the time goes."""
        numbers = self._numbers(name, store)
        if numbers is None:
            return
        runs, beyond = len(store.runs), None
        if self._rate is not None and runs > 1:
            beyond = MILLISECONDS * (numbers.seconds - store.bytes / self._rate) / runs
        self._tell(Line(name, store, numbers, beyond=beyond))

    def _numbers(
        self, name: str, store: Material, floor: list[str] | None = None
    ) -> Numbers | None:
        """Measure a check, and let the section fail where it, or the floor, left something out."""
        command = check_into(self._report, store.folder, *JOBS)
        task = Task(name, command, store.bytes, floor, sees_all(store, self._report))
        try:
            numbers = measured(task, self._scale.rounds)
            if floor is not None:
                require_sound(self._one, self._floor_report)
        except WrongAnswer as error:
            self.section.fail(name, error)
            return None
        return numbers

    def _tell(self, line: Line) -> None:
        self.section.lines.append(line.cells())
        self.section.facts[line.name] = line.facts()


def throughput(folder: Path, scale: Scale, small: Material) -> Section:
    """Check runs of 20 and of 1,000 rows, alone and with a large one, beside one file."""
    large = large_run(small.folder.parent / "large", scale.large, scale.seed)
    batch = together(small.folder.parent, small, large)
    one = large_run(folder / "one", batch.bytes, scale.seed + 1)
    settle()
    measuring = Throughput(folder, scale, one)
    name = f"runs of {ROWS} rows and the large one"
    bound = Bound(f"throughput, {name}, to one file", LEAST_SHARE, "times", is_floor=True)
    share = measuring.with_large(name, batch)
    hold(measuring.section, bound, share, judges=scale.judges)
    measuring.alone(f"the runs of {ROWS} rows alone", small)
    measuring.alone("the large one alone", large)
    shape = Shape(max(1, scale.runs * ROWS // WIDE_ROWS), WIDE_ROWS, scale.seed)
    wide = small_runs(folder / "wide" / "small", shape)
    large.folder.rename(folder / "wide" / "large")
    settle()
    both = together(folder / "wide", wide, large)
    name = f"runs of {WIDE_ROWS} rows and the large one"
    bound = Bound(f"throughput, {name}, to one file", LEAST_SHARE, "times", is_floor=True)
    hold(measuring.section, bound, measuring.with_large(name, both), judges=scale.judges)
    measuring.alone(f"the runs of {WIDE_ROWS} rows alone", wide)
    return measuring.section


def spread(shares: Sequence[float]) -> str:
    """Spell the median of shares and how far they spread."""
    return f"{median(shares):.2f} ({min(shares):.2f}, {max(shares):.2f})"

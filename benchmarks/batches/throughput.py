"""Checks many small runs and a large one together, beside as many bytes in one file."""

from __future__ import annotations

from pathlib import Path
from statistics import median

from benchmarks.batches.holding import Bound, hold
from benchmarks.batches.reports import check_into, require_sound, sees_all
from benchmarks.batches.scale import Scale
from benchmarks.batches.stores import (
    ROWS,
    WIDE_ROWS,
    Shape,
    large_run,
    settle,
    small_runs,
    together,
)
from benchmarks.contenders.contract import Material
from benchmarks.judging import WrongAnswer
from benchmarks.outcomes import MEGABYTE, Numbers
from benchmarks.streams.section import Section
from benchmarks.streams.tasks import Task, hold_peak, measured, peak_cell

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


class Throughput:
    """Measures batches beside one file, which is the floor of all of them."""

    def __init__(self, folder: Path, scale: Scale, one: Material) -> None:
        self.section = Section("Throughput, beside as many bytes in one file", COLUMNS)
        self._report, self._floor_report = folder / "report.json", folder / "floor.json"
        self._scale, self._one = scale, one
        self._rate: float | None = None

    def with_large(self, name: str, batch: Material) -> float | None:
        """Measure a batch in turn with the one file; return its share of that file's speed."""
        floor = check_into(self._floor_report, self._one.folder, *JOBS)
        numbers = self._numbers(name, batch, floor)
        if numbers is None:
            return None
        if self._rate is None:
            self._tell_floor(numbers)
        factor = batch.bytes / self._one.bytes
        shares = [factor / ratio for ratio in numbers.ratios]
        self._tell(name, batch, numbers, shares)
        hold_peak(self.section, name, numbers.peak_megabytes)
        return median(shares)

    def alone(self, name: str, store: Material) -> None:
        """Measure a part of a batch, to see where the time goes."""
        numbers = self._numbers(name, store)
        if numbers is not None:
            self._tell(name, store, numbers)

    def _numbers(
        self, name: str, store: Material, floor: list[str] | None = None
    ) -> Numbers | None:
        command = check_into(self._report, store.folder, *JOBS)
        task = Task(name, command, store.bytes, floor, sees_all(store, self._report))
        try:
            numbers = measured(task, self._scale.rounds)
            if floor is not None:
                require_sound(self._one, self._floor_report)
            return numbers
        except WrongAnswer as error:
            self.section.fail(name, error)
            return None

    def _tell_floor(self, numbers: Numbers) -> None:
        """Lay out what the one file took while the first batch was measured."""
        own = Numbers(numbers.floors, (), numbers.floors[-1])
        self._rate = self._one.bytes / own.seconds
        self._tell("one file", self._one, own)

    def _tell(
        self, name: str, store: Material, numbers: Numbers, shares: list[float] | None = None
    ) -> None:
        runs, seconds, beyond = len(store.runs), numbers.seconds, None
        if self._rate is not None and shares is None and runs > 1:
            beyond = MILLISECONDS * (seconds - store.bytes / self._rate) / runs
        user, system = numbers.processor_seconds
        self.section.lines.append(
            (
                name,
                f"{runs:,}",
                f"{store.bytes / MEGABYTE:,.0f}",
                f"{seconds:.2f}",
                f"{user:.1f} + {system:.1f}",
                f"{runs / seconds:,.0f}" if runs > 1 else "",
                f"{store.bytes / MEGABYTE / seconds:.0f}",
                spread(shares) if shares else "",
                "" if beyond is None else f"{beyond:.2f}",
                peak_cell(numbers.peak_megabytes) if numbers.sampled.peak_bytes else "",
            )
        )
        self.section.facts[name] = {
            "runs": runs,
            "rows": store.rows,
            "bytes": store.bytes,
            "round_seconds": [one.seconds for one in numbers.rounds],
            "user_seconds": user,
            "system_seconds": system,
            "shares_of_one_file": shares,
            "milliseconds_a_run_beyond_its_bytes": beyond,
            "peak_megabytes": numbers.peak_megabytes,
        }


def throughput(folder: Path, scale: Scale, small: Material) -> Section:
    """Check runs of 20 and of 200 rows, alone and with a large one, beside one file."""
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
    shape = Shape(scale.runs * ROWS // WIDE_ROWS, WIDE_ROWS, scale.seed)
    wide = small_runs(folder / "wide" / "small", shape)
    large.folder.rename(folder / "wide" / "large")
    settle()
    both = together(folder / "wide", wide, large)
    measuring.with_large(f"runs of {WIDE_ROWS} rows and the large one", both)
    measuring.alone(f"the runs of {WIDE_ROWS} rows alone", wide)
    return measuring.section


def spread(shares: list[float]) -> str:
    """Spell the median of shares and how far they spread."""
    return f"{median(shares):.2f} ({min(shares):.2f}, {max(shares):.2f})"

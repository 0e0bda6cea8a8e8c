"""Checks the same rows as one JSON array."""

from __future__ import annotations

from pathlib import Path

from benchmarks.generate.repack import SPELLINGS, write_array
from benchmarks.generate.runs import Run
from benchmarks.harness.budgets import Budget
from benchmarks.harness.rounds import MEGABYTE, Task
from benchmarks.harness.tables import Section, speed_columns
from benchmarks.suites.streams.runs import Scale, check_of, mixed, sees_all

APART_PERCENT = 5


def arrays(folder: Path, scale: Scale) -> Section:
    """Check the same rows as one JSON array, in two spellings and two sizes."""
    columns = speed_columns("reading", floor="the same rows as lines")
    section = Section("Rows as one JSON array", columns)
    run = mixed(folder.parent / "run", scale.size, scale.seed)
    peaks: dict[str, list[float]] = {spelling: [] for spelling in SPELLINGS}
    measure_arrays(section, folder, run, scale.rounds, peaks)
    if scale.large is None:
        section.skip("the larger arrays", "skipped: not with --quick")
    else:
        large = mixed(folder / "large", scale.large, scale.seed)
        measure_arrays(section, folder, large, 1, peaks)
    for spelling, found in peaks.items():
        apart = 100 * (max(found) / min(found) - 1) if len(found) > 1 else None
        section.hold(Budget(f"peaks of the {spelling} arrays apart", APART_PERCENT, "%"), apart)
    return section


def measure_arrays(
    section: Section, folder: Path, run: Run, rounds: int, peaks: dict[str, list[float]]
) -> None:
    """Check a run as arrays, beside its rows as lines; collect the peaks by spelling."""
    lines = Task("lines", check_of(run), run.bytes, proves=sees_all(run))
    for spelling in SPELLINGS:
        array = write_array(run, folder / "run.json", spelling)
        name = f"{spelling}, {array.bytes / MEGABYTE:,.0f} MB"
        task = Task(name, check_of(array), array.bytes, lines, sees_all(array))
        numbers = section.measure(task, rounds)
        if numbers is not None and numbers.peak_megabytes:
            peaks[spelling].append(numbers.peak_megabytes)
        array.rows_path.unlink()

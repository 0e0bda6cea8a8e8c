"""Measures the memory of checks of few and of many runs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from benchmarks.contenders.contract import Material
from benchmarks.harness.judging import WrongAnswer
from benchmarks.harness.measure import measure
from benchmarks.harness.outcomes import MEGABYTE
from benchmarks.harness.section import Section
from benchmarks.suites.batches.holding import Bound, hold
from benchmarks.suites.batches.reports import check_into, sees_all
from benchmarks.suites.batches.scale import Scale
from benchmarks.suites.batches.stores import FOLDERS, Shape, model_folders, settle, small_runs
from benchmarks.suites.streams.tasks import Task, peak_cell, trusted

ROWS = 2
SHARES = (1, 5, FOLDERS)
"""How many of the folders are checked: a twentieth of the runs, a quarter, all."""

MOST_APART = 40
PLAIN, REMEMBERED, AGAIN = "plain", "with a new ledger", "again with that ledger"


def memory(folder: Path, scale: Scale) -> Section:
    """Check more and more runs of two rows, with and without a ledger."""
    shape = Shape(scale.memory_runs, ROWS, scale.seed)
    store = small_runs(folder / "store", shape)
    settle()
    parts = [part_of(store, share) for share in SHARES]
    columns = ("peak MB of a check", *(f"{len(part.runs):,} runs" for part in parts), "apart")
    section = Section("Memory for more and more runs of two rows", columns)
    peaks: dict[str, list[float | None]] = {}
    for part in parts:
        try:
            for name, peak in peaks_of(folder, part).items():
                peaks.setdefault(name, []).append(peak)
        except WrongAnswer as error:
            section.fail(f"{len(part.runs):,} runs", error)
            return section
    for name, found in peaks.items():
        tell(section, name, found, judges=scale.judges)
    return section


def part_of(store: Material, share: int) -> Material:
    """Take the runs in some of the folders of a store."""
    folders = set(model_folders(store.folder)[:share])
    runs = tuple(run for run in store.runs if run.rows_path.parent in folders)
    return Material(store.folder, runs, store.version)


def peaks_of(folder: Path, part: Material) -> Mapping[str, float | None]:
    """Return the peak memory of the checks of some runs, in MB. Raises WrongAnswer."""
    report, ledger = folder / "report.json", folder / f"{len(part.runs)}.ledger"
    places = sorted({run.rows_path.parent for run in part.runs})
    check = check_into(report, *places, "--jobs", "2")
    remembering = [*check, "--ledger", str(ledger)]
    commands = {PLAIN: check, REMEMBERED: remembering, AGAIN: remembering}
    found: dict[str, float | None] = {}
    for name, command in commands.items():
        answered = len(part.runs) if name == AGAIN else 0
        task = Task(name, command, part.bytes, None, sees_all(part, report, answered))
        peak = trusted(task, measure(command)).peak_bytes
        found[name] = None if peak is None else peak / MEGABYTE
    ledger.unlink()
    return found


def tell(section: Section, name: str, peaks: list[float | None], *, judges: bool) -> None:
    """Lay out the peaks of one kind of check, and hold how far they are apart."""
    known = [peak for peak in peaks if peak is not None]
    apart = max(known) - min(known) if len(known) == len(peaks) else None
    section.lines.append((name, *map(peak_cell, peaks), peak_cell(apart)))
    section.facts[name] = {"peak_megabytes": peaks}
    bound = Bound(f"peaks apart, {name}", MOST_APART, "MB")
    hold(section, bound, apart, judges=judges)

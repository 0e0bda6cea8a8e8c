"""Measures the memory of checks of few and of many runs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from benchmarks.contenders.contract import Material
from benchmarks.harness.budgets import Budget
from benchmarks.harness.rounds import Task, WrongAnswer, answer, megabytes
from benchmarks.harness.tables import Section, peak_cell
from benchmarks.suites.batches import stores
from benchmarks.suites.batches.reports import check_into, sees_all

ROWS = 2
SHARES = (1, 5, stores.FOLDERS)
"""How many of the folders are checked: a twentieth of the runs, a quarter, all."""

MOST_APART = 40
PLAIN, REMEMBERED, AGAIN = "plain", "with a new ledger", "again with that ledger"


def memory(folder: Path, scale: stores.Scale) -> Section:
    """Check more and more runs of two rows, with and without a ledger."""
    store = stores.small_runs(folder / "store", scale.memory_runs, ROWS, scale.seed)
    stores.settle()
    parts = [part_of(store, share) for share in SHARES]
    columns = ("peak MB of a check", *(f"{len(part.runs):,} runs" for part in parts), "apart")
    section = Section("Memory for more and more runs of two rows", columns)
    peaks: dict[str, list[float | None]] = {PLAIN: [], REMEMBERED: [], AGAIN: []}
    try:
        for part in parts:
            for name, peak in peaks_of(folder, part).items():
                peaks[name].append(peak)
    except WrongAnswer as error:
        section.fail(f"{len(part.runs):,} runs", error)
        return section
    for name, found in peaks.items():
        known = [peak for peak in found if peak is not None]
        apart = max(known) - min(known) if len(known) == len(found) else None
        section.lines.append((name, *map(peak_cell, found), peak_cell(apart)))
        section.facts[name] = {"peak_megabytes": found}
        section.hold(Budget(f"peaks apart, {name}", MOST_APART, "MB"), apart, judges=scale.judges)
    return section


def part_of(store: Material, share: int) -> Material:
    """Take the runs in some of the folders of a store."""
    folders = set(stores.model_folders(store.folder)[:share])
    runs = tuple(run for run in store.runs if run.rows_path.parent in folders)
    return Material(store.folder, runs, store.version)


def peaks_of(folder: Path, part: Material) -> Mapping[str, float | None]:
    """Return the peak memory of the checks of some runs, in MB. Raises WrongAnswer."""
    report, ledger = folder / "report.json", folder / f"{len(part.runs)}.ledger"
    places = sorted({run.rows_path.parent for run in part.runs})
    check = check_into(report, *places, "--jobs", "2")
    remembering = [*check, "--ledger", str(ledger)]
    found: dict[str, float | None] = {}
    for name, command in {PLAIN: check, REMEMBERED: remembering, AGAIN: remembering}.items():
        answered = len(part.runs) if name == AGAIN else 0
        task = Task(name, command, part.bytes, proves=sees_all(part, report, answered))
        found[name] = megabytes(answer(task, samples_memory=True).peak_bytes)
    ledger.unlink()
    return found

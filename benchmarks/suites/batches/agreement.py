"""Checks one batch by every executor, and compares the reports."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from benchmarks.contenders.evalstream import CHECK
from benchmarks.generate.faults import EACH, KINDS, spoil_store
from benchmarks.harness.rounds import Task, WrongAnswer, answer
from benchmarks.harness.tables import Section
from benchmarks.suites.batches import stores
from benchmarks.suites.batches.reports import check_into, comparable, read, require_same

MERGE = [*CHECK[:-1], "merge"]
COLUMNS = ("checked by", "seconds", "runs", "failed", "findings", "report")
NOT_ALL_CHECKED = 3
"""The exit code of a check that finds errors, and runs that cannot be checked in full."""


def agreement(folder: Path, scale: stores.Scale) -> Section:
    """Check a batch with faulty runs in this process, by a pool, in shards and by Dask."""
    place, report = folder / "batch", folder / "report.json"
    small = stores.small_runs(place / "small", scale.compared, stores.ROWS, scale.seed)
    stores.large_run(place / "large", scale.compared_large, scale.seed)
    spoil_store([(run.rows_path, run.aggregate_path) for run in small.runs])
    stores.settle()
    section = Section("The same report from every executor", COLUMNS)
    expected: bytes | None = None
    for name, commands in ways(folder, place, report).items():
        if name == "Dask" and find_spec("distributed") is None:
            section.skip(name, "skipped: distributed is not installed")
            continue
        try:
            tasks = [Task(name, command, 0, exit_code=NOT_ALL_CHECKED) for command in commands]
            seconds = sum(answer(task).seconds for task in tasks)
            expected = add_report(section, name, report, seconds, expected)
        except WrongAnswer as error:
            section.fail(name, error)
        report.unlink(missing_ok=True)
    return section


def ways(folder: Path, batch: Path, report: Path) -> dict[str, list[list[str]]]:
    """Spell the commands of each executor; the last command of each writes the report."""
    parts = [folder / f"part-{number}.jsonl" for number in (1, 2)]
    shards = [
        [*CHECK, str(batch), "--shard", f"{number}/2", "--jobs", "2", "--output", str(part)]
        for number, part in enumerate(parts, 1)
    ]
    merge = [*MERGE, *map(str, parts), "--format", "json", "--output", str(report)]
    return {
        "one process": [check_into(report, batch, "--jobs", "1")],
        "a pool of two": [check_into(report, batch, "--jobs", "2")],
        "two shards, merged": [*shards, merge],
        "Dask": [check_into(report, batch, "--executor", "dask", "--jobs", "2")],
    }


def add_report(
    section: Section, name: str, report: Path, seconds: float, expected: bytes | None
) -> bytes:
    """Add a line for a report that must say what the first one says, and return its bytes.

    Raises WrongAnswer where it says anything else, or lacks a fault that was made.
    """
    totals = read(report)["totals"]
    found = comparable(report)
    for code, _ in KINDS:
        count = totals["counts"].get(code, 0)
        if count < EACH:
            raise WrongAnswer(f"{code} was found {count} times in {EACH} runs that have it")
    if expected is not None:
        require_same(expected, found)
    numbers = (totals["runs"], totals["failed"], sum(totals["counts"].values()))
    same = "" if expected is None else "the same "
    counts = (f"{number:,}" for number in numbers)
    section.lines.append((name, f"{seconds:.2f}", *counts, f"{same}{len(found):,} bytes"))
    section.facts[name] = {"seconds": seconds, "totals": totals, "report_bytes": len(found)}
    return found

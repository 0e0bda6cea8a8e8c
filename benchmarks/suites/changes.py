"""Measures runs that are migrated and repaired, beside a check of the same runs."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median

from benchmarks.contenders.evalstream import CHECK, REPORT
from benchmarks.generate.runs import Run, generate, generate_small
from benchmarks.harness.budgets import Budget
from benchmarks.harness.measure import Measurement, warm
from benchmarks.harness.results import exit_code, parser_of, run_sections
from benchmarks.harness.rounds import ROWS_LEFT_OUT, Task, WrongAnswer, measured
from benchmarks.harness.tables import Section, speed_columns
from benchmarks.suites.materials import SMALL_ROWS

EVALSTREAM = [sys.executable, "-m", "evalstream"]
MIXES = ("lm-eval-0.2.0", "mixed")
"""Rows with three nulls each, as a converter wrote them, and sound rows of several shapes."""

SLOWEST = 2.0
"""How many times as long as the check of its source a migration may take."""

MOST_MEGABYTES = 200
"""Workers hand back rewritten blocks, which a check does not have."""


@dataclass(frozen=True)
class Scale:
    """How many bytes of rows there are, how many small pairs, and how often a command is timed."""

    size: int
    pairs: int
    rounds: int
    judges: bool


FULL = Scale(10**9, 500, 5, judges=True)
QUICK = Scale(60 * 10**6, 20, 1, judges=False)


def migration(folder: Path, scale: Scale) -> Section:
    """Migrate runs of version 0.2.0, with one worker and with two."""
    section = Section("Migration to 0.3.0", speed_columns("run", floor="check"))
    target = folder / "migrated"
    words = migration_words(target)
    for mix in MIXES:
        run = _run(folder, mix, scale)
        for jobs in ("1", "2"):
            command = [*EVALSTREAM, "migrate", *_files(run), *words, "--jobs", jobs]
            proves = partial(_migrated, run, target)
            task = _task(f"migrate {mix}, {jobs} workers", command, run, jobs, proves)
            ratio = _ratio(section, task, scale)
            section.hold(Budget(task.name, SLOWEST, "checks"), ratio, judges=scale.judges)
    return section


def small(folder: Path, scale: Scale) -> Section:
    """Migrate many small runs of version 0.2.0 in one process, and hold the processor time."""
    section = Section("Migration of small runs", ("pairs", "user + system", "to check"))
    store, target = folder / "runs", folder / "migrated"
    make = partial(generate_small, rows=SMALL_ROWS, version="0.2.0", seed=1)
    runs = [make(store / f"{number:05d}", number=number) for number in range(scale.pairs)]
    size = sum(run.bytes for run in runs)
    floor = Task("check", [*CHECK, str(store), *REPORT, "--jobs", "1"], size)
    command = [*EVALSTREAM, "migrate", str(store), *migration_words(target), "--jobs", "1"]
    name = f"migrate {scale.pairs:,} pairs"
    task = Task(name, command, size, floor, partial(_all_there, runs, target))
    ratio = section.measure_processor(task, scale.rounds)
    section.hold(Budget(f"processor time, {name}", SLOWEST, "checks"), ratio, judges=scale.judges)
    return section


def repair(folder: Path, scale: Scale) -> Section:
    """Repair runs in a copy, with one worker and with two."""
    section = Section("Repair", speed_columns("run", floor="check"))
    run, target = _run(folder, MIXES[0], scale), folder / "repaired"
    for jobs in ("1", "2"):
        command = [*EVALSTREAM, "fix", *_files(run), "--to", str(target), "--jobs", jobs]
        proves = partial(_repaired, run, target)
        _ratio(section, _task(f"fix, {jobs} workers", command, run, jobs, proves), scale)
    return section


SECTIONS = {section.__name__: section for section in (migration, small, repair)}


def main(arguments: Sequence[str]) -> int:
    """Measure, print the tables, and return 1 if a budget is missed or an answer is wrong."""
    options = parser_of("changes", __doc__, SECTIONS).parse_args(arguments)
    scale = QUICK if options.quick else FULL
    sections = {name: partial(section, scale=scale) for name, section in SECTIONS.items()}
    return exit_code(run_sections(sections, options))


def _ratio(section: Section, task: Task, scale: Scale) -> float | None:
    """Measure a task and return its ratio to a check, None for a wrong answer."""
    try:
        numbers = measured(task, scale.rounds)
    except WrongAnswer as error:
        section.fail(task.name, error)
        return None
    section.take(task.name, numbers, task.size)
    section.hold(Budget(f"peak memory, {task.name}", MOST_MEGABYTES, "MB"), numbers.peak_megabytes)
    return median(numbers.ratios)


def _run(folder: Path, mix: str, scale: Scale) -> Run:
    run = generate(folder.parent / mix, size=scale.size, mix=mix, version="0.2.0", seed=1)
    warm(run.rows_path)
    return run


def migration_words(target: Path) -> list[str]:
    """Spell how runs are migrated, and where to."""
    return ["--to", str(target), "--collection", "bench", "--fill", "--decide", "all"]


def _files(run: Run) -> list[str]:
    return [str(run.rows_path), "--aggregate", str(run.aggregate_path)]


def _task(name: str, command: list[str], run: Run, jobs: str, proves: object) -> Task:
    check = [*CHECK, *_files(run), *REPORT, "--jobs", jobs, "--exit-zero"]
    floor = Task("check", check, run.bytes)
    return Task(name, command, run.bytes, floor, proves)  # type: ignore[arg-type]


def _migrated(run: Run, target: Path, _taken: Measurement) -> None:
    """Raise WrongAnswer unless a result has all rows; delete it."""
    (aggregate,) = target.glob("data/*/*/*/*.json")
    total = json.loads(aggregate.read_bytes())["detailed_evaluation_results"]["total_rows"]
    shutil.rmtree(target)
    if total != run.rows:
        raise WrongAnswer(ROWS_LEFT_OUT)


def _all_there(runs: Sequence[Run], target: Path, _taken: Measurement) -> None:
    """Raise WrongAnswer unless there is a result of each run; delete them."""
    count = sum(1 for _ in target.glob("data/*/*/*/*.json"))
    shutil.rmtree(target)
    if count != len(runs):
        raise WrongAnswer(f"{count:,} of {len(runs):,} runs were migrated")


def _repaired(run: Run, target: Path, _taken: Measurement) -> None:
    """Raise WrongAnswer unless a result has all rows; delete it."""
    (rows,) = target.rglob("*.jsonl")
    with rows.open("rb") as file:
        total = sum(block.count(b"\n") for block in iter(partial(file.read, 1 << 20), b""))
    shutil.rmtree(target)
    if total != run.rows:
        raise WrongAnswer(ROWS_LEFT_OUT)

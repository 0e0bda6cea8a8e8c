"""Measures comparisons of two runs, beside a check of one of them."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median

from benchmarks.contenders.evalstream import CHECK, REPORT
from benchmarks.generate.runs import Run, generate
from benchmarks.harness.budgets import Budget
from benchmarks.harness.measure import Measurement, warm
from benchmarks.harness.results import exit_code, parser_of, run_sections
from benchmarks.harness.rounds import ROWS_LEFT_OUT, Task, WrongAnswer, measured
from benchmarks.harness.tables import Section, speed_columns

EVALSTREAM = [sys.executable, "-m", "evalstream"]
MIXES = ("lm-eval-0.2.0", "mixed")
"""Rows with three nulls each, as a converter wrote them, and sound rows of several shapes."""

SLOWEST = 2 * 0.9
"""How much a comparison may take of what the check of one run takes: 0.9 of both checks."""

MOST_MEGABYTES = 250
"""Memory does not grow with the rows: two runs of 7.5 million short rows take 146 MB."""


@dataclass(frozen=True)
class Scale:
    """How many bytes of rows a run has, and how often each command is timed."""

    size: int
    rounds: int
    judges: bool


FULL = Scale(10**9, 5, judges=True)
QUICK = Scale(60 * 10**6, 1, judges=False)


def comparison(folder: Path, scale: Scale) -> Section:
    """Compare a run with itself, with one worker and with two."""
    section = Section("Comparison of two runs", speed_columns("run", floor="the check of one run"))
    report = folder / "report.json"
    for mix in MIXES:
        run = generate(folder.parent / mix, size=scale.size, mix=mix, version="0.2.0", seed=1)
        warm(run.rows_path)
        for jobs in ("1", "2"):
            task = _task(f"compare {mix}, {jobs} workers", run, report, jobs)
            for what, ratio in _ratios(section, task, scale).items():
                budget = Budget(f"{what}, {task.name}", SLOWEST, "checks of one run")
                section.hold(budget, ratio, judges=scale.judges)
    return section


SECTIONS = {comparison.__name__: comparison}


def main(arguments: Sequence[str]) -> int:
    """Measure, print the tables, and return 1 if a budget is missed or an answer is wrong."""
    options = parser_of("comparisons", __doc__, SECTIONS).parse_args(arguments)
    scale = QUICK if options.quick else FULL
    sections = {name: partial(section, scale=scale) for name, section in SECTIONS.items()}
    return exit_code(run_sections(sections, options))


def _task(name: str, run: Run, report: Path, jobs: str) -> Task:
    check = [*CHECK, str(run.rows_path), "--aggregate", str(run.aggregate_path), *REPORT]
    floor = Task("check", [*check, "--jobs", jobs, "--exit-zero"], run.bytes)
    rows = str(run.rows_path)
    options = ["--no-verify", "--format", "json", "--output", str(report), "--jobs", jobs]
    command = [*EVALSTREAM, "compare", rows, rows, *options]
    return Task(name, command, 2 * run.bytes, floor, partial(_compared, run, report))


def _ratios(section: Section, task: Task, scale: Scale) -> Mapping[str, float | None]:
    """Measure a task and return its ratios to the check of one run, None for a wrong answer."""
    try:
        numbers = measured(task, scale.rounds)
    except WrongAnswer as error:
        section.fail(task.name, error)
        return {"time": None, "processor time": None}
    section.take(task.name, numbers, task.size)
    section.hold(Budget(f"peak memory, {task.name}", MOST_MEGABYTES, "MB"), numbers.peak_megabytes)
    return {"time": median(numbers.ratios), "processor time": median(numbers.processor_ratios)}


def _compared(run: Run, report: Path, _taken: Measurement) -> None:
    """Raise WrongAnswer unless every row of the run meets itself without a difference."""
    comparisons = json.loads(report.read_bytes())["comparisons"]
    report.unlink()
    matched = sum(one["alignment"]["matched"] for one in comparisons)
    if matched != run.rows:
        raise WrongAnswer(ROWS_LEFT_OUT)
    if any(one["estimate"]["difference"] for one in comparisons):
        raise WrongAnswer("a run differs from itself")

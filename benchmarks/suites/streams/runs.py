"""Shares what the sections of streams need: sizes, the run of mixed rows, its check and proof."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from benchmarks.contenders.contract import Material
from benchmarks.contenders.evalstream import CHECK, REPORT, sums_up
from benchmarks.generate.runs import Run, generate
from benchmarks.harness.measure import Measurement, warm
from benchmarks.harness.rounds import ROWS_LEFT_OUT, WrongAnswer

VERSION = "0.2.0"
TWO_WORKERS = ["--jobs", "2"]


@dataclass(frozen=True)
class Scale:
    """How large everything is: bytes of rows, bytes of a bomb, rows that are timed one by one.

    `large` is the larger of two arrays, None where it is left out.
    """

    size: int
    large: int | None
    bomb: int
    bomb_seconds: int
    timed_rows: int
    rounds: int
    seed: int = 1


FULL = Scale(300 * 10**6, 1_200 * 10**6, 4 * 10**9, 120, 500, 3)
QUICK = Scale(60 * 10**6, None, 200 * 10**6, 10, 100, 1)


@cache
def mixed(folder: Path, size: int, seed: int) -> Run:
    """Make the run of mixed rows, once for all sections."""
    run = generate(folder, size=size, mix="mixed", version=VERSION, seed=seed)
    warm(run.rows_path)
    return run


def check_of(run: Run) -> list[str]:
    """Spell the check of a run's file by two workers."""
    paths = [str(run.rows_path), "--aggregate", str(run.aggregate_path)]
    return [*CHECK, *paths, *REPORT, *TWO_WORKERS]


def sees_all(run: Run) -> Callable[[Measurement], None]:
    """Return what raises WrongAnswer unless the report counts all rows of a run."""
    material = Material(run.rows_path.parent, (run,), VERSION)

    def proves(taken: Measurement) -> None:
        if not sums_up(material, taken.stdout or taken.stderr):
            raise WrongAnswer(ROWS_LEFT_OUT)

    return proves

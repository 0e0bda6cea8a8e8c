"""Measures many runs in one call: throughput, sameness of reports, memory, and the ledger."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from benchmarks.generate.runs import parse_size
from benchmarks.harness.section import Section
from benchmarks.harness.telling import tell
from benchmarks.suites.batches.agreement import agreement
from benchmarks.suites.batches.ledgers import ledgers
from benchmarks.suites.batches.memory import memory
from benchmarks.suites.batches.scale import QUICK, USUAL, Scale
from benchmarks.suites.batches.stores import FOLDERS, ROWS, Shape, small_runs
from benchmarks.suites.batches.throughput import throughput

ALONE = {"agreement": agreement, "memory": memory}
SHARING = {"throughput": throughput, "ledger": ledgers}
SECTIONS = ("throughput", "agreement", "memory", "ledger")

FEWEST_RUNS = 2 * FOLDERS
"""So that every folder has some, and those that are spoilt are few among them."""

LEAST_LARGE = 100_000


def sections(names: Sequence[str], scale: Scale, folder: Path) -> Iterator[Section]:
    """Measure one section after the other; what is made for one alone is deleted with it."""
    shared = folder / "batch"
    small = None
    if SHARING.keys() & set(names):
        small = small_runs(shared / "small", Shape(scale.runs, ROWS, scale.seed))
    for name in names:
        with tempfile.TemporaryDirectory(prefix=f"{name}-", dir=folder) as own:
            if name in ALONE:
                yield ALONE[name](Path(own), scale)
            elif small is not None:
                yield SHARING[name](Path(own), scale, small)


def parse_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="benchmarks.suites.batches", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="all of it, small; judge no speed")
    parser.add_argument("--full", action="store_true", help="compare reports at full size, too")
    parser.add_argument("--only", choices=SECTIONS, nargs="+", default=SECTIONS)
    parser.add_argument("--runs", type=int, metavar="N", help="small runs, 20000 unless told")
    parser.add_argument("--large", type=parse_size, metavar="SIZE", help="2G unless told")
    parser.add_argument("--rounds", type=int, metavar="N", help="3 unless told")
    parser.add_argument("--folder", type=Path, help="where files are made, then deleted")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all numbers here")
    arguments = parser.parse_args()
    if arguments.runs is not None and arguments.runs < FEWEST_RUNS:
        parser.error(f"--runs must be at least {FEWEST_RUNS}")
    if arguments.large is not None and arguments.large < LEAST_LARGE:
        parser.error(f"--large must be at least {LEAST_LARGE:,} bytes")
    if arguments.rounds is not None and arguments.rounds < 1:
        parser.error("--rounds must be at least 1")
    return arguments


def scale_of(arguments: argparse.Namespace) -> Scale:
    """Fill in what was not told."""
    scale = QUICK if arguments.quick else USUAL
    if arguments.runs is not None:
        scale = replace(scale, runs=arguments.runs, memory_runs=arguments.runs)
        scale = replace(scale, compared=min(scale.compared, arguments.runs))
    if arguments.large is not None:
        scale = replace(scale, large=arguments.large)
        scale = replace(scale, compared_large=min(scale.compared_large, arguments.large))
    if arguments.full:
        scale = replace(scale, compared=scale.runs, compared_large=scale.large)
    return replace(scale, rounds=arguments.rounds or scale.rounds)


def main() -> int:
    """Measure, print the tables, and return 1 if a budget is missed or an answer is wrong."""
    arguments = parse_arguments()
    measured = partial(sections, arguments.only, scale_of(arguments))
    return tell("batches", measured, arguments.folder, arguments.json)


if __name__ == "__main__":
    sys.exit(main())

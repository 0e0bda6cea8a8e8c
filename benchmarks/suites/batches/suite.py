"""Measures many runs in one call: throughput, equal reports, memory, and the ledger."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from benchmarks.generate.runs import parse_size
from benchmarks.harness.results import exit_code, parser_of, run_sections
from benchmarks.suites.batches import stores
from benchmarks.suites.batches.agreement import agreement
from benchmarks.suites.batches.ledgers import ledgers
from benchmarks.suites.batches.memory import memory
from benchmarks.suites.batches.spread import spread
from benchmarks.suites.batches.throughput import throughput

SECTIONS = {
    "throughput": throughput,
    "agreement": agreement,
    "memory": memory,
    "ledger": ledgers,
    "spread": spread,
}
LEAST = {"runs": 2 * stores.FOLDERS, "large": 100_000, "rounds": 1}
"""The smallest sizes: every folder has runs, and few of those are spoilt."""


def parse_arguments(arguments: Sequence[str]) -> argparse.Namespace:
    """Read the command line."""
    parser = parser_of("batches", __doc__, SECTIONS)
    parser.add_argument("--full", action="store_true", help="compare reports at full size, too")
    parser.add_argument("--runs", type=int, metavar="N", help="small runs (default: 20000)")
    parser.add_argument("--large", type=parse_size, metavar="SIZE", help="(default: 2G)")
    parser.add_argument("--rounds", type=int, metavar="N", help="(default: 3)")
    options = parser.parse_args(arguments)
    for name, least in LEAST.items():
        given = getattr(options, name)
        if given is not None and given < least:
            parser.error(f"--{name} must be at least {least:,}")
    return options


def scale_of(options: argparse.Namespace) -> stores.Scale:
    """Return the sizes: those of the options, else the usual ones."""
    scale = stores.QUICK if options.quick else stores.USUAL
    runs, large = options.runs or scale.runs, options.large or scale.large
    return replace(
        scale,
        runs=runs,
        large=large,
        memory_runs=options.runs or scale.memory_runs,
        compared=runs if options.full else min(scale.compared, runs),
        compared_large=large if options.full else min(scale.compared_large, large),
        rounds=options.rounds or scale.rounds,
    )


def main(arguments: Sequence[str]) -> int:
    """Measure, print the tables, and return 1 if a budget is missed or an answer is wrong."""
    options = parse_arguments(arguments)
    scale = scale_of(options)
    sections = {name: partial(section, scale=scale) for name, section in SECTIONS.items()}
    return exit_code(run_sections(sections, options))

"""Measures rows that come any other way than from a plain file: piped, packed, in arrays, afar."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.budgets import State
from benchmarks.machine import machine
from benchmarks.streams.arrays import arrays
from benchmarks.streams.filtering import throughput
from benchmarks.streams.latency import latency
from benchmarks.streams.packed import bombs, compressed
from benchmarks.streams.remote import remote
from benchmarks.streams.runs import mixed
from benchmarks.streams.scale import FULL, QUICK, Scale
from benchmarks.streams.section import Section
from benchmarks.tables import budget_table, machine_line

SECTIONS = ("latency", "throughput", "compressed", "bombs", "arrays", "remote")


def sections(names: Sequence[str], scale: Scale, folder: Path) -> Iterator[Section]:
    """Measure one section after the other; those of rows in a file share one run."""
    alone = {"latency": latency, "bombs": bombs}
    sharing = {
        "throughput": throughput,
        "compressed": compressed,
        "arrays": arrays,
        "remote": remote,
    }
    run = mixed(folder / "run", scale.size, scale.seed) if sharing.keys() & set(names) else None
    for name in names:
        own = folder / name
        own.mkdir()
        if name in alone:
            yield alone[name](own, scale)
        elif run is not None:
            yield sharing[name](own, scale, run)


def document(facts: dict[str, Any], done: Sequence[Section]) -> dict[str, Any]:
    """Give everything as one JSON document."""
    return {
        "machine": facts,
        "sections": [{"title": one.title, "found": one.facts} for one in done],
        "budgets": [
            {
                "name": verdict.budget.name,
                "limit": verdict.limit,
                "found": verdict.found,
                "state": verdict.state,
            }
            for one in done
            for verdict in one.verdicts
        ],
        "errors": [error for one in done for error in one.errors],
    }


def complaints(done: Sequence[Section]) -> Iterator[str]:
    """Say what fails the benchmark, a line each: wrong answers, and missed budgets."""
    for one in done:
        for error in one.errors:
            yield f"ERROR {one.title}: {error}"
        for verdict in one.verdicts:
            if verdict.state is State.MISSED:
                yield f"MISSED {verdict.budget.name}: {verdict.figure}, {verdict.limit}"


def parse_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.streams", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="all of it, small")
    parser.add_argument("--only", choices=SECTIONS, nargs="+", default=SECTIONS)
    parser.add_argument("--folder", type=Path, help="where files are made, then deleted")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all numbers here")
    return parser.parse_args()


def main() -> int:
    """Measure, print the tables, and return 1 if a budget is missed or an answer is wrong."""
    arguments = parse_arguments()
    scale, facts, done = QUICK if arguments.quick else FULL, machine(), list[Section]()
    print(machine_line(facts), flush=True)
    with tempfile.TemporaryDirectory(prefix="evalstream-streams-", dir=arguments.folder) as folder:
        for section in sections(arguments.only, scale, Path(folder)):
            print(f"\n{section.markdown()}", flush=True)
            done.append(section)
    print(f"\n{budget_table([verdict for one in done for verdict in one.verdicts])}\n")
    if arguments.json:
        arguments.json.write_text(json.dumps(document(facts, done), indent=2) + "\n")
    failures = list(complaints(done))
    for line in failures:
        print(line)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

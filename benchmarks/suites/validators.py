"""Measures every contender on every workload, in turn with the floor, and holds the budgets."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

from benchmarks.contenders import CONTENDERS, FLOOR
from benchmarks.generate.runs import parse_size
from benchmarks.harness.budgets import State, Verdict, verdicts
from benchmarks.harness.chart import chart
from benchmarks.harness.machine import machine
from benchmarks.harness.outcomes import Failed, Numbers, Outcome, Skipped
from benchmarks.harness.rounds import measure_all
from benchmarks.harness.tables import (
    budget_table,
    machine_line,
    markdown,
    workload_table,
    write_region,
)
from benchmarks.suites.workloads import WORKLOADS, Scale, Workload


@dataclass(frozen=True)
class Options:
    """What to measure, how large and how often."""

    workloads: tuple[str, ...]
    contenders: tuple[str, ...]
    scale: Scale
    pairs: int
    folder: Path | None
    judges: bool


def measured(options: Options) -> Iterator[list[Outcome]]:
    """Make and measure one workload after the other; each is deleted before the next."""
    for name in options.workloads:
        workload = WORKLOADS[name]
        chosen = [one for one in workload.contenders if one in options.contenders]
        if not chosen:
            continue
        with tempfile.TemporaryDirectory(prefix="evalstream-bench-", dir=options.folder) as folder:
            yield one_workload(workload, chosen, options, Path(folder))


def one_workload(
    workload: Workload, chosen: Sequence[str], options: Options, folder: Path
) -> list[Outcome]:
    """Make a workload and measure it, telling how long both took."""
    begin = perf_counter()
    material = workload.make(folder, options.scale)
    made = perf_counter()
    pairs = max(options.pairs, workload.least_pairs) if workload.least_pairs else 0
    contenders = [CONTENDERS[name] for name in chosen]
    outcomes = measure_all(workload.name, material, contenders, pairs)
    seconds = f"made in {made - begin:.1f} s, measured in {perf_counter() - made:.1f} s"
    print(f"{workload_table(outcomes)}\n\n{seconds}\n", flush=True)
    return outcomes


def complaints(outcomes: Sequence[Outcome], held: Sequence[Verdict]) -> Iterator[str]:
    """Say what fails the suite, a line each: wrong answers, and missed budgets."""
    for one in outcomes:
        if isinstance(one.result, Failed):
            yield f"ERROR {one.workload}, {one.contender}: {one.result.why}"
    for verdict in held:
        if verdict.state is State.MISSED:
            yield f"MISSED {verdict.budget.name}: {verdict.figure}, {verdict.limit}"


def notes(held: Sequence[Verdict]) -> Iterator[str]:
    """Say what does not fail the suite but should be known."""
    for verdict in held:
        if verdict.state is State.UNKNOWN:
            yield f"not measured: {verdict.budget.name}, {verdict.limit}"
        elif verdict.misses_aim:
            yield f"aim not reached: {verdict.budget.name}: {verdict.figure}, {verdict.limit}"


def document(
    options: Options, facts: dict[str, Any], outcomes: Sequence[Outcome], held: Sequence[Verdict]
) -> dict[str, Any]:
    """Give everything as one JSON document; times in seconds, memory in MB."""
    return {
        "machine": facts,
        "scale": asdict(options.scale),
        "pairs": options.pairs,
        "outcomes": [as_dict(one) for one in outcomes],
        "budgets": [
            {
                "name": one.budget.name,
                "limit": one.limit,
                "unit": one.budget.unit,
                "found": one.found,
                "state": one.state,
            }
            for one in held
        ],
    }


def as_dict(outcome: Outcome) -> dict[str, Any]:
    """Give one outcome with all its rounds."""
    facts = {
        "workload": outcome.workload,
        "contender": outcome.contender,
        "runs": outcome.runs,
        "rows": outcome.rows,
        "bytes": outcome.bytes,
    }
    match outcome.result:
        case Numbers() as numbers:
            return {
                **facts,
                "state": "measured",
                "seconds": numbers.seconds,
                "user_seconds": numbers.processor_seconds[0],
                "system_seconds": numbers.processor_seconds[1],
                "megabytes_per_second": outcome.megabytes_per_second,
                "ratios": numbers.ratios,
                "round_seconds": [one.seconds for one in numbers.rounds],
                "floor_seconds": [one.seconds for one in numbers.floors],
                "peak_megabytes": numbers.peak_megabytes,
            }
        case Skipped(why):
            return {**facts, "state": "skipped", "why": why}
        case Failed(why):
            return {**facts, "state": "error", "why": why}


def parse_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="scripts/bench", description=__doc__)
    parser.add_argument("--only", type=chosen_from(WORKLOADS), metavar="WORKLOAD,...")
    parser.add_argument("--contenders", type=chosen_from(CONTENDERS), metavar="CONTENDER,...")
    parser.add_argument("--pairs", type=int, metavar="N", help="rounds, 5 unless told")
    parser.add_argument("--size", type=parse_size, help="bytes of a large file, 300M unless told")
    parser.add_argument("--memory-size", type=parse_size, help="bytes for memory, 4G unless told")
    parser.add_argument("--many", type=int, metavar="N", help="small runs, 5000 unless told")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="all of it, small; judge no budget")
    parser.add_argument("--folder", type=Path, help="where the workloads are made, then deleted")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all numbers here")
    parser.add_argument(
        "--markdown",
        type=Path,
        metavar="FILE",
        help="write the tables here, between the marks bench:begin and bench:end if it has them",
    )
    parser.add_argument("--svg", type=Path, metavar="FILE", help="draw the ratios here")
    arguments = parser.parse_args()
    if arguments.pairs is not None and arguments.pairs < 1:
        parser.error("--pairs must be at least 1")
    return arguments


def chosen_from(table: dict[str, Any]) -> Any:
    """Read names with commas between them, all of them known."""

    def names(given: str) -> tuple[str, ...]:
        chosen = tuple(given.split(","))
        unknown = [name for name in chosen if name not in table]
        if unknown:
            message = f"{', '.join(unknown)}: not among {', '.join(table)}"
            raise argparse.ArgumentTypeError(message)
        return chosen

    return names


def options_of(arguments: argparse.Namespace) -> Options:
    """Fill in what was not told."""
    usual = Scale(parse_size("300M"), parse_size("4G"), 5_000, arguments.seed)
    if arguments.quick:
        usual = Scale(parse_size("6M"), parse_size("30M"), 50, arguments.seed)
    return Options(
        workloads=arguments.only or tuple(WORKLOADS),
        contenders=arguments.contenders or tuple(CONTENDERS),
        scale=Scale(
            arguments.size or usual.size,
            arguments.memory_size or usual.memory_size,
            arguments.many or usual.many,
            arguments.seed,
        ),
        pairs=arguments.pairs or (2 if arguments.quick else 5),
        folder=arguments.folder,
        judges=not arguments.quick,
    )


def main() -> int:
    """Measure, print the tables, and return 1 if a budget is missed or an answer is wrong."""
    arguments = parse_arguments()
    options = options_of(arguments)
    why = FLOOR.missing()
    if why:
        print(f"there is no floor to measure against: {why}", file=sys.stderr)
        return 2
    facts = machine()
    outcomes = [one for some in measured(options) for one in some]
    held = verdicts(outcomes, judges=options.judges)
    print(f"{machine_line(facts)}\n\n{budget_table(held)}\n")
    if arguments.json:
        text = json.dumps(document(options, facts, outcomes, held), indent=2)
        arguments.json.write_text(text + "\n")
    if arguments.markdown:
        write_region(arguments.markdown, markdown(facts, outcomes, held))
    if arguments.svg:
        arguments.svg.write_text(chart(outcomes), encoding="utf-8")
    failures = list(complaints(outcomes, held))
    for line in (*notes(held), *failures):
        print(line)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

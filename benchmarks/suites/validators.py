"""Measures every contender on every workload, in turn with the floor, and judges the budgets."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import median

from benchmarks.contenders import CONTENDERS, FLOOR, Contender
from benchmarks.contenders.contract import Material
from benchmarks.generate.runs import parse_size
from benchmarks.harness.budgets import verdicts
from benchmarks.harness.chart import Bar, chart
from benchmarks.harness.measure import warm
from benchmarks.harness.proof import require_proof, task_of
from benchmarks.harness.results import chosen_from, exit_code, parser_of, run_sections
from benchmarks.harness.rounds import MEGABYTE, Numbers, WrongAnswer, answer, measured
from benchmarks.harness.tables import Section, speed_columns, write_region
from benchmarks.suites.materials import Scale
from benchmarks.suites.workloads import WORKLOADS, Workload

Found = dict[tuple[str, str], tuple[Material, Numbers]]


def measure_workload(
    folder: Path, workload: Workload, options: argparse.Namespace, found: Found
) -> Section:
    """Make a workload, measure the chosen contenders and add what was found."""
    scale = Scale(options.size, options.memory_size, options.many, options.aggregates, options.seed)
    missing = workload.missing()
    if missing:
        section = Section(f"{workload.name}: {workload.title}", columns_of(workload), texts=2)
        section.skip(workload.floor.label, f"skipped: {missing}", workload.floor.checks)
        return section
    material = workload.make(folder, scale)
    chosen = [CONTENDERS[one] for one in workload.contenders if one in options.contenders]
    section, numbers = section_of(workload, material, chosen, options.pairs)
    found.update({(workload.name, one): (material, taken) for one, taken in numbers.items()})
    return section


def columns_of(workload: Workload) -> tuple[str, ...]:
    """Name the columns of a workload's table."""
    return speed_columns("contender", "checks", floor=workload.floor.name)


def section_of(
    workload: Workload, material: Material, contenders: Iterable[Contender], pairs: int
) -> tuple[Section, dict[str, Numbers]]:
    """Measure contenders one after the other, by name, and what the floor took."""
    title = f"{workload.name}: {workload.title} ({size_of(material)})"
    section, found = Section(title, columns_of(workload), texts=2), dict[str, Numbers]()
    for run in material.runs:
        warm(run.rows_path)
    floor = task_of(workload.floor, material)
    sampled = answer(floor, samples_memory=True)
    pairs = max(pairs, workload.least_pairs) if workload.least_pairs else 0
    for contender in contenders:
        missing = contender.missing()
        if missing:
            section.skip(contender.label, f"skipped: {missing}", contender.checks)
            continue
        try:
            require_proof(contender, material.version, workload.trial)
            numbers = measured(task_of(contender, material, floor), pairs)
        except WrongAnswer as error:
            section.fail(contender.label, error, contender.checks)
            continue
        found[contender.name] = numbers
        section.take(contender.label, numbers, material.bytes, contender.checks)
    floors = tuple(one for numbers in found.values() for one in numbers.floors)
    times = Numbers(floors, (), sampled)
    section.take(workload.floor.label, times, material.bytes, workload.floor.checks)
    section.lines.insert(0, section.lines.pop())
    return section, found


def size_of(material: Material) -> str:
    """Spell how much there is of a workload."""
    runs = f"{len(material.runs):,} runs, " if len(material.runs) > 1 else ""
    return f"{runs}{material.rows:,} rows, {material.bytes / MEGABYTE:,.3g} MB"


def bars(found: Found) -> Mapping[str, Sequence[Bar]]:
    """Return the bars of the picture: all ratios to the usual floor, by titles of workloads."""
    groups: dict[str, list[Bar]] = {}
    for (workload, contender), (_, numbers) in found.items():
        if numbers.ratios and WORKLOADS[workload].floor is FLOOR:
            bar = CONTENDERS[contender], median(numbers.ratios)
            groups.setdefault(WORKLOADS[workload].title, []).append(bar)
    return groups


def parse_arguments(arguments: Sequence[str]) -> argparse.Namespace:
    """Read the command line."""
    parser = parser_of("validators", __doc__, WORKLOADS)
    contenders = chosen_from(CONTENDERS)
    parser.add_argument("--contenders", type=contenders, default=(*CONTENDERS,), metavar="NAME,...")
    parser.add_argument("--pairs", type=int, metavar="N", help="rounds (default: 5)")
    parser.add_argument("--size", type=parse_size, help="bytes of a file (default: 300M)")
    parser.add_argument("--memory-size", type=parse_size, help="for memory alone (default: 4G)")
    parser.add_argument("--many", type=int, metavar="N", help="small runs (default: 5000)")
    parser.add_argument("--aggregates", type=int, metavar="N", help="without rows (default: 3000)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--markdown",
        type=Path,
        metavar="FILE",
        help="write the tables here, between the marks bench:begin and bench:end if it has them",
    )
    parser.add_argument("--svg", type=Path, metavar="FILE", help="draw the ratios here")
    options = parser.parse_args(arguments)
    if options.pairs is not None and options.pairs < 1:
        parser.error("--pairs must be at least 1")
    wanted = set(options.contenders)
    options.only = [name for name in options.only if wanted & {*WORKLOADS[name].contenders}]
    quick = {"pairs": 2, "size": 6 * 10**6, "memory_size": 30 * 10**6}
    quick |= {"many": 50, "aggregates": 50}
    full = {"pairs": 5, "size": 300 * 10**6, "memory_size": 4 * 10**9}
    full |= {"many": 5_000, "aggregates": 3_000}
    for name, value in (quick if options.quick else full).items():
        setattr(options, name, getattr(options, name) or value)
    return options


def main(arguments: Sequence[str]) -> int:
    """Measure, print the tables, and return 1 if a budget is missed or an answer is wrong."""
    options = parse_arguments(arguments)
    missing = FLOOR.missing()
    if missing:
        print(f"the floor cannot be measured: {missing}", file=sys.stderr)
        return 2
    found: Found = {}
    sections = {
        name: partial(measure_workload, workload=workload, options=options, found=found)
        for name, workload in WORKLOADS.items()
    }
    judge = partial(verdicts, found, judges=not options.quick)
    results = run_sections(sections, options, judge)
    if options.markdown:
        write_region(options.markdown, results.markdown())
    if options.svg:
        options.svg.write_text(chart(bars(found)), encoding="utf-8")
    return exit_code(results)

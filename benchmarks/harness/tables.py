"""Lays outcomes and verdicts out as Markdown, and puts that between marks in a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.contenders import CONTENDERS
from benchmarks.harness.budgets import State, Verdict
from benchmarks.harness.outcomes import MEGABYTE, Failed, Numbers, Outcome, Skipped
from benchmarks.suites.workloads import WORKLOADS

BEGIN, END = "<!-- bench:begin -->", "<!-- bench:end -->"


def markdown(
    machine: dict[str, Any], outcomes: Sequence[Outcome], verdicts: Sequence[Verdict]
) -> str:
    """Lay everything out: the machine, a table for each workload, and the budgets."""
    names = dict.fromkeys(one.workload for one in outcomes)
    tables = [workload_table([one for one in outcomes if one.workload == name]) for name in names]
    return "\n\n".join([machine_line(machine), *tables, budget_table(verdicts)]) + "\n"


def machine_line(machine: dict[str, Any]) -> str:
    """Tell in a sentence what the numbers were measured on."""
    loads = ", ".join(map(str, machine["load_average"]))
    return (
        f"Measured on {machine['cpu_model']}, {machine['cpu_count']} cores, "
        f"Python {machine['python']}; load average before: {loads}."
    )


def workload_table(outcomes: Sequence[Outcome]) -> str:
    """Lay the contenders of one workload out."""
    first = outcomes[0]
    runs = f"{first.runs:,} runs, " if first.runs > 1 else ""
    size = f"{runs}{first.rows:,} rows, {first.bytes / MEGABYTE:,.3g} MB"
    lines = [
        f"**{first.workload}**: {WORKLOADS[first.workload].title} ({size})",
        "",
        "| contender | checks | seconds | user + system | MB/s | to openssl (min, max) | peak MB |",
        "|---|---|---:|---:|---:|---:|---:|",
    ]
    return "\n".join([*lines, *map(row, outcomes)])


def row(outcome: Outcome) -> str:
    """Lay one outcome out as a line of the table."""
    contender = CONTENDERS[outcome.contender]
    head = f"| {contender.label} | {contender.checks}"
    match outcome.result:
        case Skipped(why):
            return f"{head} | skipped: {in_cell(why)} | | | | |"
        case Failed(why):
            return f"{head} | error: {in_cell(why)} | | | | |"
        case Numbers() as numbers:
            memory = numbers.peak_megabytes
            peak = "not measured" if memory is None else f"{memory:.0f}"
            speed = f"{outcome.megabytes_per_second:.3g}"
            user, system = numbers.processor_seconds
            times = f"{numbers.seconds:.3f} | {user:.2f} + {system:.2f}"
            return f"{head} | {times} | {speed} | {spread(numbers)} | {peak} |"


def spread(numbers: Numbers) -> str:
    """Spell the median of the ratios and how far they spread."""
    ratios = numbers.ratios
    if not ratios:
        return ""
    return f"{median(ratios):.2f} ({min(ratios):.2f}, {max(ratios):.2f})"


def in_cell(text: str) -> str:
    """Keep a text on one line and within its cell."""
    return " ".join(text.split()).replace("|", "\\|")


def budget_table(verdicts: Sequence[Verdict]) -> str:
    """Lay the budgets out."""
    lines = ["| budget | limit | found | |", "|---|---:|---:|---|"]
    for verdict in verdicts:
        state = verdict.state.upper() if verdict.state is State.MISSED else str(verdict.state)
        name = verdict.budget.name
        lines.append(f"| {name} | {verdict.limit} | {verdict.figure} | {state} |")
    return "\n".join(lines)


def write_region(path: Path, text: str) -> None:
    """Replace what lies between the marks of a file; without marks, write the file whole."""
    old = path.read_text(encoding="utf-8") if path.is_file() else ""
    before, begins, rest = old.partition(BEGIN)
    _, ends, after = rest.partition(END)
    new = f"{before}{BEGIN}\n{text}{END}{after}" if begins and ends else text
    path.write_text(new, encoding="utf-8")

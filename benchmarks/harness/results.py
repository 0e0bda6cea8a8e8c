"""Runs the sections of a suite: prints them one by one, writes the numbers, judges the budgets."""

from __future__ import annotations

import json
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.harness.budgets import State, Verdict
from benchmarks.harness.machine import machine
from benchmarks.harness.tables import Section, budget_table, machine_line


@dataclass
class Results:
    """What a suite has found: the sections in order, and verdicts over several of them."""

    machine: dict[str, Any] = field(default_factory=machine)
    sections: list[Section] = field(default_factory=list)
    overall: list[Verdict] = field(default_factory=list)

    @property
    def verdicts(self) -> list[Verdict]:
        """Return all verdicts in order."""
        return [*(one for section in self.sections for one in section.verdicts), *self.overall]

    def markdown(self) -> str:
        """Lay everything out: the machine, the tables and the budgets."""
        tables = [section.markdown() for section in self.sections]
        return (
            "\n\n".join([machine_line(self.machine), *tables, budget_table(self.verdicts)]) + "\n"
        )

    def document(self) -> dict[str, Any]:
        """Return everything as one JSON document."""
        return {
            "machine": self.machine,
            "sections": [{"title": one.title, "found": one.facts} for one in self.sections],
            "budgets": [
                {
                    "name": one.budget.name,
                    "limit": one.limit,
                    "unit": one.budget.unit,
                    "found": one.found,
                    "state": one.state,
                }
                for one in self.verdicts
            ],
            "errors": [error for one in self.sections for error in one.errors],
        }

    def notes(self) -> Iterator[str]:
        """Say what does not fail the suite but should be known, a line each."""
        for one in self.verdicts:
            if one.state is State.UNKNOWN:
                yield f"not measured: {one.budget.name}, {one.limit}"
            elif one.misses_aim:
                yield f"aim not reached: {one.budget.name}: {one.figure}, {one.limit}"

    def failures(self) -> Iterator[str]:
        """Say what fails the suite, a line each: wrong answers and missed budgets."""
        for section in self.sections:
            for error in section.errors:
                yield f"ERROR {section.title}: {error}"
        for one in self.verdicts:
            if one.state is State.MISSED:
                yield f"MISSED {one.budget.name}: {one.figure}, {one.limit}"


def parser_of(suite: str, description: str | None, names: Iterable[str]) -> ArgumentParser:
    """Return the command line of a suite, with the options that all suites share."""
    parser = ArgumentParser(prog=f"python -m benchmarks {suite}", description=description)
    parser.add_argument(
        "--only",
        type=chosen_from(names),
        default=tuple(names),
        metavar="NAME,...",
        help=f"measure these only: {', '.join(names)}",
    )
    parser.add_argument("--quick", action="store_true", help="measure everything, but small")
    parser.add_argument("--folder", type=Path, help="where files are made, then deleted")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all numbers here")
    return parser


def chosen_from(known: Iterable[str]) -> Callable[[str], tuple[str, ...]]:
    """Return what reads names with commas between them and refuses unknown ones."""

    def names(given: str) -> tuple[str, ...]:
        chosen = tuple(given.split(","))
        unknown = [name for name in chosen if name not in known]
        if unknown:
            raise ArgumentTypeError(f"{', '.join(unknown)}: not among {', '.join(known)}")
        return chosen

    return names


def run_sections(
    sections: Mapping[str, Callable[[Path], Section]],
    options: Namespace,
    overall: Callable[[], list[Verdict]] = list,
) -> Results:
    """Measure the chosen sections and print each as it comes, then the budgets.

    Each gets a folder of its own that is deleted with it; what is beside that folder stays for
    the sections that follow.
    """
    results = Results()
    print(machine_line(results.machine), flush=True)
    with TemporaryDirectory(prefix="evalstream-bench-", dir=options.folder) as folder:
        for name in options.only:
            with TemporaryDirectory(prefix=f"{name}-", dir=folder) as own:
                section = sections[name](Path(own))
            print(f"\n{section.markdown()}", flush=True)
            results.sections.append(section)
    results.overall = overall()
    print(f"\n{budget_table(results.verdicts)}\n")
    if options.json:
        options.json.write_text(json.dumps(results.document(), indent=2) + "\n")
    return results


def exit_code(results: Results) -> int:
    """Print notes and failures; return 1 if a budget is missed or an answer is wrong."""
    failures = list(results.failures())
    for text in (*results.notes(), *failures):
        print(text)
    return 1 if failures else 0

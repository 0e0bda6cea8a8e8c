"""Sections as they are told: printed one by one, written as JSON, and judged."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.harness.budgets import State
from benchmarks.harness.machine import machine
from benchmarks.harness.section import Section
from benchmarks.harness.tables import budget_table, machine_line


def tell(
    name: str,
    sections: Callable[[Path], Iterator[Section]],
    parent: Path | None,
    numbers: Path | None,
) -> int:
    """Measure sections in a new folder, and return 1 if a budget is missed or an answer is wrong.

    Their tables are printed as they come; all numbers go to the file that is named.
    """
    facts, done = machine(), list[Section]()
    print(machine_line(facts), flush=True)
    with tempfile.TemporaryDirectory(prefix=f"evalstream-{name}-", dir=parent) as folder:
        for section in sections(Path(folder)):
            print(f"\n{section.markdown()}", flush=True)
            done.append(section)
    print(f"\n{budget_table([verdict for one in done for verdict in one.verdicts])}\n")
    if numbers:
        numbers.write_text(json.dumps(document(facts, done), indent=2) + "\n")
    failures = list(complaints(done))
    for line in failures:
        print(line)
    return 1 if failures else 0


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

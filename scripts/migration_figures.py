"""Write the table of docs/how-to/migrate.md: the changes in real runs that are migrated.

    python scripts/migration_figures.py FOLDER...

The runs are migrated into a folder that is removed again, with `unknown` filled in and everything
decided. The table shows kinds of change, places in the schema and counts, and nothing that the runs
hold.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import evalstream
from evalstream.batch.rewriting.outcome import ChangeStatus, Outcome
from evalstream.model.changes import Change, ChangeClass

HEAD = "| class | kind | where | runs | rows |\n|---|---|---|---|---|"


class Counted(NamedTuple):
    """A change in rows or in aggregates."""

    change: Change
    is_in_rows: bool


def outcomes_of(folders: Iterable[Path]) -> list[Outcome]:
    """Migrate the runs below each folder, and return what became of them."""
    with tempfile.TemporaryDirectory() as target:
        return [
            outcome
            for folder in folders
            for outcome in evalstream.migrate(
                folder, target, fill=True, decide=("all",), collection="collection"
            ).outcomes
        ]


def table_of(outcomes: Iterable[Outcome]) -> str:
    """Return the table of the changes in runs that were written."""
    runs: Counter[Counted] = Counter()
    rows: Counter[Counted] = Counter()
    for counted, times in _changes(outcomes):
        runs[counted] += 1
        rows[counted] += times
    order = list(ChangeClass)

    def place(counted: Counted) -> tuple[object, ...]:
        kind, pointer = counted.change
        return order.index(kind.change_class), -runs[counted], pointer, counted.is_in_rows

    lines = (_line(one, runs[one], rows[one]) for one in sorted(runs, key=place))
    return "\n".join((HEAD, *lines))


def _changes(outcomes: Iterable[Outcome]) -> Iterator[tuple[Counted, int]]:
    """Iterate over the changes of each run, with the number of rows or documents."""
    for outcome in outcomes:
        if outcome.status is not ChangeStatus.WRITTEN:
            continue
        for change, seen in outcome.row_changes.seen.items():
            yield Counted(change, is_in_rows=True), seen.times
        for change, seen in outcome.document_changes.seen.items():
            yield Counted(change, is_in_rows=False), seen.times


def _line(counted: Counted, runs: int, rows: int) -> str:
    kind, pointer = counted.change
    count = f"{rows:,}" if counted.is_in_rows else ""
    return f"| {kind.change_class.value} | `{kind.name}` | `{pointer}` | {runs:,} | {count} |"


def main(arguments: Sequence[str]) -> None:
    """Write the table."""
    print(table_of(outcomes_of(map(Path, arguments))))


if __name__ == "__main__":
    main(sys.argv[1:])

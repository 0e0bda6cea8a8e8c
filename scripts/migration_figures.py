"""Write the tables of docs/agreement.md about real runs that are migrated.

    python scripts/migration_figures.py FOLDER...

Each folder holds one run, or several. What they hold is not shown: only kinds of change, places in
the schema, and counts.
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from evalstream.api_changes import migrate
from evalstream.batch.rewriting.outcome import Outcome, Status
from evalstream.model.changes import ChangeClass, ChangeTally

NUMBERS = re.compile(r"\d[\d.,]*")
HEAD = "| class | change | where | runs | rows |\n|---|---|---|---|---|"
OUTCOMES_HEAD = "| outcome | runs |\n|---|---|"


class Key(NamedTuple):
    """What a line of the table counts."""

    change_class: ChangeClass
    kind: str
    title: str
    is_rows: bool


def outcomes_of(folders: Iterable[Path]) -> list[Outcome]:
    """Migrate the runs below some folders, with `unknown` filled in and everything decided."""
    with tempfile.TemporaryDirectory() as target:
        return [
            outcome
            for folder in folders
            for outcome in migrate(
                folder, target, fill=True, decide=("all",), collection="collection"
            ).outcomes
        ]


def changes_table(outcomes: Sequence[Outcome]) -> str:
    """Return the table of changes in runs that were written."""
    runs: Counter[Key] = Counter()
    rows: Counter[Key] = Counter()
    places: dict[Key, set[str]] = defaultdict(set)
    for outcome in outcomes:
        if outcome.status is not Status.WRITTEN:
            continue
        for tally, is_rows in ((outcome.row_changes, True), (outcome.document_changes, False)):
            for key, pointers, times in _by_kind(tally, is_rows=is_rows):
                runs[key] += 1
                rows[key] += times
                places[key] |= pointers
    order = list(ChangeClass)
    keys = sorted(runs, key=lambda key: (order.index(key.change_class), -runs[key], key))
    return "\n".join((HEAD, *(_line(key, places[key], runs[key], rows[key]) for key in keys)))


def outcomes_table(outcomes: Sequence[Outcome]) -> str:
    """Return the table of what became of the runs, with the first reason of those not written."""
    counts = Counter(map(_outcome, outcomes))
    lines = (f"| {text} | {count:,} |" for text, count in counts.most_common())
    return "\n".join((OUTCOMES_HEAD, *lines))


def _by_kind(tally: ChangeTally, *, is_rows: bool) -> Iterator[tuple[Key, set[str], int]]:
    """Iterate over the kinds of change in one run, with their places and the most rows of one."""
    found: dict[Key, tuple[set[str], int]] = {}
    for change, seen in tally.seen.items():
        kind = change.kind
        key = Key(kind.change_class, kind.name, kind.title, is_rows)
        pointers, times = found.get(key, (set(), 0))
        found[key] = pointers | {change.pointer}, max(times, seen.times)
    return ((key, *seen) for key, seen in found.items())


def _line(key: Key, places: set[str], runs: int, rows: int) -> str:
    shown = ", ".join(f"`{place}`" for place in sorted(map(_short, places)))
    count = f"{rows:,}" if key.is_rows else ""
    return f"| {key.change_class.value} | {key.title} | {shown} | {runs:,} | {count} |"


def _short(pointer: str) -> str:
    """Return the last names of a pointer, enough to recognise the place."""
    names = [name for name in pointer.split("/") if name]
    kept = names[-2:] if names and names[-1] == "*" else names[-1:]
    return "/".join(kept) or "the file"


def _outcome(outcome: Outcome) -> str:
    if outcome.status is Status.WRITTEN:
        return "migrated, passes the check" + (
            "" if outcome.rows or outcome.row_count else " (an aggregate without rows)"
        )
    reason = outcome.reasons[0].split("; ")[0].split(" (")[0].split(";")[0]
    return f"{outcome.status.value}: {NUMBERS.sub('n', reason) if 'check' in reason else reason}"


def main(arguments: Sequence[str]) -> None:
    """Write both tables."""
    outcomes = outcomes_of(map(Path, arguments))
    print(outcomes_table(outcomes), changes_table(outcomes), sep="\n\n")


if __name__ == "__main__":
    main(sys.argv[1:])

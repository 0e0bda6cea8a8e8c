"""Reads the reports of batches: whether they cover all runs, and what they say besides times."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.contenders.contract import Material
from benchmarks.contenders.evalstream import CHECK
from benchmarks.harness.measure import Measurement
from benchmarks.harness.rounds import WrongAnswer, first_difference

TIMES = re.compile(rb'(?<=,"seconds":)[0-9.e+-]+')
"""How long runs took: the text of a value cannot hold this, since its quotes are escaped."""

UNCHANGED = re.compile(rb',"unchanged":(?:"[^"]*"|[0-9]+)')
"""What a ledger adds: when a run was checked, and how many were not checked again."""

SHOWN_CHARACTERS = 120
"""How much is shown on either side of the first difference."""


def check_into(report: Path, *words: str | Path) -> list[str]:
    """Spell a check that writes a JSON report into a file; of stdout only the end is kept."""
    return [*CHECK, *map(str, words), "--format", "json", "--output", str(report)]


def read(path: Path) -> dict[str, Any]:
    """Read a report. Raises WrongAnswer where it is missing or torn."""
    try:
        report = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise WrongAnswer(f"there is no report: {error}") from error
    if not isinstance(report, dict) or "runs" not in report:
        raise WrongAnswer("the report has no runs")
    return report


def sees_all(store: Material, path: Path, answered: int = 0) -> Callable[[Measurement], None]:
    """Return what calls require_sound and deletes the report, so that it counts once."""

    def proves(taken: Measurement) -> None:
        del taken
        require_sound(store, path, answered)
        path.unlink()

    return proves


def require_sound(store: Material, path: Path, answered: int = 0) -> None:
    """Raise WrongAnswer unless a report has all runs of a sound store as passed.

    A ledger must have answered for so many of them.
    """
    runs = read(path)["runs"]
    rows = sum(run["rows"] for run in runs)
    if (len(runs), rows) != (len(store.runs), store.rows):
        expected = f"{len(store.runs):,} runs and {store.rows:,} rows"
        raise WrongAnswer(f"it saw {len(runs):,} runs and {rows:,} rows of {expected}")
    if any(run["verdict"] != "passed" for run in runs):
        raise WrongAnswer("a sound run did not pass")
    known = sum("unchanged" in run for run in runs)
    if known != answered:
        raise WrongAnswer(f"the ledger answered for {known:,} runs, not {answered:,}")


def comparable(path: Path) -> bytes:
    """Return a report's bytes with every time set to 0, and without what only ledgers add."""
    read(path)
    return UNCHANGED.sub(b"", TIMES.sub(b"0", path.read_bytes()))


def require_same(one: bytes, other: bytes) -> None:
    """Raise WrongAnswer, with the first difference, where two reports are not the same."""
    if one == other:
        return
    place = first_difference(one, other)
    cut = slice(max(place - SHOWN_CHARACTERS, 0), place + SHOWN_CHARACTERS)
    first, second = (text[cut].decode(errors="replace") for text in (one, other))
    raise WrongAnswer(f"the reports differ at byte {place:,}: {first} and then {second}")

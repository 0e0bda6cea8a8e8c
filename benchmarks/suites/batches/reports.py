"""Reads the reports of batches: whether all was seen, and what is said besides times."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.contenders.contract import Material
from benchmarks.contenders.evalstream import CHECK
from benchmarks.harness.judging import WrongAnswer
from benchmarks.harness.measure import Measurement

TIMES = re.compile(rb'(?<=,"seconds":)[0-9.e+-]+')
"""How long runs took: the text of a value cannot hold this, since its quotes are escaped."""

UNCHANGED = re.compile(rb',"unchanged":(?:"[^"]*"|[0-9]+)')
"""What a ledger adds: when a run was checked, and how many were not checked again."""

SHOWN_CHARACTERS = 120
"""How much is shown on either side of where reports part."""


def check_into(report: Path, *words: str | Path) -> list[str]:
    """Spell a check that writes a JSON report into a file; stdout would lose its beginning."""
    return [*CHECK, *map(str, words), "--format", "json", "--output", str(report)]


def read(path: Path) -> dict[str, Any]:
    """Read a report. Raises WrongAnswer where there is none."""
    try:
        report = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise WrongAnswer(f"there is no report: {error}") from error
    if not isinstance(report, dict) or "runs" not in report:
        raise WrongAnswer("the report has no runs")
    return report


def sees_all(store: Material, path: Path, answered: int = 0) -> Callable[[Measurement], None]:
    """Return what raises WrongAnswer unless a report does justice to a sound store.

    The report is deleted then, so that the next one cannot be mistaken for it.
    """

    def proves(taken: Measurement) -> None:
        del taken
        require_sound(store, path, answered)
        path.unlink()

    return proves


def require_sound(store: Material, path: Path, answered: int = 0) -> None:
    """Raise WrongAnswer unless a report has all runs of a sound store as passed.

    For so many of them a ledger has to have answered.
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


def said(path: Path) -> bytes:
    """Return a report's bytes with every time set to 0, and without what only ledgers add."""
    read(path)
    return UNCHANGED.sub(b"", TIMES.sub(b"0", path.read_bytes()))


def require_same(one: bytes, other: bytes) -> None:
    """Raise WrongAnswer, with the place, where a report says anything else than the first."""
    if one == other:
        return
    places = range(min(len(one), len(other)))
    place = next((place for place in places if one[place] != other[place]), len(places))
    cut = slice(max(place - SHOWN_CHARACTERS, 0), place + SHOWN_CHARACTERS)
    first, second = (text[cut].decode(errors="replace") for text in (one, other))
    raise WrongAnswer(f"the reports part at byte {place:,}: {first} and then {second}")

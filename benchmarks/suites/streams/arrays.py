"""Checks the same rows as one JSON array."""

from __future__ import annotations

from pathlib import Path

import orjson

from benchmarks.generate.runs import Run
from benchmarks.harness.outcomes import MEGABYTE
from benchmarks.harness.section import Section
from benchmarks.suites.streams.runs import CHUNK_BYTES, check_of, mixed, resealed, sees_all
from benchmarks.suites.streams.scale import Scale
from benchmarks.suites.streams.tasks import SPEEDS, Task, tell

APART_PERCENT = 5
SPELLINGS = ("compact", "indented")


def arrays(folder: Path, scale: Scale, run: Run) -> Section:
    """Check the same rows as one JSON array, in two spellings and two sizes."""
    section = Section("As one array; the floor is the check of the same rows, one a line", SPEEDS)
    found = dict[str, list[float]]()
    for size in (scale.size, scale.large):
        if size is None:
            section.skip("the larger arrays", "skipped: not with --quick")
            continue
        own = run if size == scale.size else mixed(folder / "large", size, scale.seed)
        rounds = scale.rounds if own is run else 1
        for spelling in SPELLINGS:
            array = write_array(own, folder / "run.json", spelling)
            name = f"{spelling}, {array.bytes / MEGABYTE:,.0f} MB"
            task = Task(name, check_of(array), array.bytes, check_of(own), sees_all(array))
            numbers = tell(section, task, rounds)
            if numbers is not None and numbers.peak_megabytes:
                found.setdefault(spelling, []).append(numbers.peak_megabytes)
            array.rows_path.unlink()
        if own is not run:
            own.rows_path.unlink()
    for spelling, peaks in found.items():
        apart = 100 * (max(peaks) / min(peaks) - 1) if len(peaks) > 1 else None
        section.hold(f"peaks of the {spelling} arrays apart", apart, APART_PERCENT, "%")
    return section


def write_array(run: Run, path: Path, spelling: str) -> Run:
    """Write the rows of a run as one array, and an aggregate that seals it."""
    with run.rows_path.open("rb") as rows, path.open("wb", buffering=CHUNK_BYTES) as file:
        before = b"["
        for row in rows:
            file.write(before)
            file.write(row.rstrip(b"\n") if spelling == "compact" else indented(row))
            before = b","
        file.write(b"]" if spelling == "compact" else b"\n]\n")
    return resealed(run, path, "json")


def indented(row: bytes) -> bytes:
    """Spell a row over many lines, as an element of an array."""
    text = orjson.dumps(orjson.loads(row), option=orjson.OPT_INDENT_2)
    return b"\n  " + text.replace(b"\n", b"\n  ")

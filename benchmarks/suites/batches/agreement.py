"""Checks one batch by everybody who can, and holds the reports against each other."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter

from benchmarks.contenders.contract import Material
from benchmarks.contenders.evalstream import CHECK
from benchmarks.harness.judging import WrongAnswer
from benchmarks.harness.measure import measure
from benchmarks.harness.section import Section
from benchmarks.suites.batches.faults import EACH, KINDS, spoil
from benchmarks.suites.batches.reports import check_into, read, require_same, said
from benchmarks.suites.batches.scale import Scale
from benchmarks.suites.batches.stores import ROWS, Shape, large_run, settle, small_runs, together
from benchmarks.suites.streams.tasks import require_exit

MERGE = [*CHECK[:-1], "merge"]
COLUMNS = ("checked by", "seconds", "runs", "failed", "findings", "report")
FAULTS_FOUND = 1
"""How a check ends that found faults."""


def agreement(folder: Path, scale: Scale) -> Section:
    """Check a batch with faulty runs in this process, by a pool, in shards and by Dask."""
    batch = spoilt_batch(folder / "batch", scale)
    report = folder / "report.json"
    section = Section("The same report, whoever checks", COLUMNS)
    expected: bytes | None = None
    for name, commands in ways(folder, batch.folder, report).items():
        if name == "Dask" and find_spec("distributed") is None:
            section.skip(name, "skipped: distributed is not installed")
            continue
        try:
            seconds = seconds_of(commands)
            expected = told(section, name, report, seconds, expected)
        except WrongAnswer as error:
            section.fail(name, error)
        report.unlink(missing_ok=True)
    return section


def spoilt_batch(folder: Path, scale: Scale) -> Material:
    """Make small runs and a large one, and spoil some of the small ones."""
    shape = Shape(scale.compared, ROWS, scale.seed)
    small = small_runs(folder / "small", shape)
    large = large_run(folder / "large", scale.compared_large, scale.seed)
    spoil(small)
    settle()
    return together(folder, small, large)


def ways(folder: Path, batch: Path, report: Path) -> dict[str, list[list[str]]]:
    """Spell what everybody has to do, by name; the last command of each writes the report."""
    parts = [folder / f"part-{number}.jsonl" for number in (1, 2)]
    shards = [
        [*CHECK, str(batch), "--shard", f"{number}/2", "--jobs", "2", "--output", str(part)]
        for number, part in enumerate(parts, 1)
    ]
    merge = [*MERGE, *map(str, parts), "--format", "json", "--output", str(report)]
    return {
        "one process": [check_into(report, batch, "--jobs", "1")],
        "a pool of two": [check_into(report, batch, "--jobs", "2")],
        "two shards, merged": [*shards, merge],
        "Dask": [check_into(report, batch, "--executor", "dask", "--jobs", "2")],
    }


def seconds_of(commands: Sequence[Sequence[str]]) -> float:
    """Run commands one after the other, and return what they took together.

    Raises WrongAnswer unless each finds faults, as it has to.
    """
    begin = perf_counter()
    for command in commands:
        taken = measure(command, samples_memory=False)
        require_exit(FAULTS_FOUND, taken.exit_code, taken.stderr or taken.stdout)
    return perf_counter() - begin


def told(
    section: Section, name: str, report: Path, seconds: float, expected: bytes | None
) -> bytes:
    """Lay out a report that says what the first one did, and return what that is.

    Raises WrongAnswer where it says anything else, or not every fault that was made.
    """
    totals = read(report)["totals"]
    found = said(report)
    for code, _ in KINDS:
        count = totals["counts"].get(code, 0)
        if count < EACH:
            raise WrongAnswer(f"{code} was found {count} times in {EACH} runs that have it")
    if expected is not None:
        require_same(expected, found)
    findings = sum(totals["counts"].values())
    section.lines.append(
        (
            name,
            f"{seconds:.2f}",
            f"{totals['runs']:,}",
            f"{totals['failed']:,}",
            f"{findings:,}",
            f"the same {len(found):,} bytes" if expected is not None else f"{len(found):,} bytes",
        )
    )
    section.facts[name] = {"seconds": seconds, "totals": totals, "report_bytes": len(found)}
    return found

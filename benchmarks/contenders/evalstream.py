"""Evalstream itself: one worker, two, on standard input, with every finding, and portable."""

from __future__ import annotations

import json
import sys
from functools import partial
from importlib.util import find_spec
from json import JSONDecodeError
from pathlib import Path

from benchmarks.contenders.contract import Checks, Command, Contender, Material
from benchmarks.harness.measure import Measurement

CHECK = [sys.executable, "-m", "evalstream", "check"]
REPORT = ["--format", "jsonl"]
SUMMARY_BYTES = 64_000


def inputs(material: Material) -> list[str]:
    """Name the one run by its two files, many by their folder."""
    if len(material.runs) > 1:
        return [str(material.folder)]
    (run,) = material.runs
    return [str(run.rows_path), "--aggregate", str(run.aggregate_path)]


def command(material: Material, *, extra: tuple[str, ...]) -> Command:
    """Check the files, all default rules on."""
    return Command([*CHECK, *inputs(material), *REPORT, *extra])


def command_on_stdin(material: Material) -> Command:
    """Check the one run as it comes in a stream."""
    (run,) = material.runs
    words = [*CHECK, "-", "--aggregate", str(run.aggregate_path), *REPORT, "--jobs", "2"]
    return Command(words, stdin=run.rows_path)


def findings_path(material: Material) -> Path:
    """Say where all findings go."""
    return material.folder / "findings.jsonl"


def command_for_all_findings(material: Material) -> Command:
    """Check the files and write down every single finding."""
    output = ("--max-findings", "0", "--output", str(findings_path(material)), "--jobs", "2")
    return command(material, extra=output)


def has_seen_all(material: Material, measurement: Measurement) -> bool:
    """Require a report that ends in the totals of all runs and all rows."""
    return sums_up(material, measurement.stdout)


def has_written_all(material: Material, measurement: Measurement) -> bool:
    """Require the same of the file with all findings, and leave it empty for the next check."""
    del measurement
    path = findings_path(material)
    if not path.is_file():
        return False
    with path.open("rb") as file:
        file.seek(max(path.stat().st_size - SUMMARY_BYTES, 0))
        end = file.read().decode(errors="replace")
    path.unlink()
    return sums_up(material, end)


def sums_up(material: Material, report: str) -> bool:
    """Tell whether a report's last line counts all runs and all rows."""
    try:
        totals = json.loads(report.rstrip().rpartition("\n")[2])["summary"]["totals"]
        counted = totals["runs"], totals["rows"]
    except (JSONDecodeError, KeyError, TypeError):
        return False
    return counted == (len(material.runs), material.rows)


def missing_portable() -> str | None:
    """Look for the package behind the portable engine."""
    return None if find_spec("jsonschema") else "the extra portable is not installed"


ONE_WORKER = Contender(
    "evalstream-1",
    "evalstream, 1 worker",
    Checks.EVERYTHING,
    partial(command, extra=("--jobs", "1")),
    has_seen_all,
)
TWO_WORKERS = Contender(
    "evalstream-2",
    "evalstream, 2 workers",
    Checks.EVERYTHING,
    partial(command, extra=("--jobs", "2")),
    has_seen_all,
)
STDIN = Contender(
    "evalstream-stdin",
    "evalstream on stdin, 2 workers",
    Checks.EVERYTHING,
    command_on_stdin,
    has_seen_all,
)
ALL_FINDINGS = Contender(
    "evalstream-all",
    "evalstream, 2 workers, all findings to a file",
    Checks.EVERYTHING,
    command_for_all_findings,
    has_written_all,
)
PORTABLE = Contender(
    "evalstream-portable",
    "evalstream, portable engine, 2 workers",
    Checks.EVERYTHING,
    partial(command, extra=("--jobs", "2", "--engine", "portable")),
    has_seen_all,
    missing=missing_portable,
)

"""Evalstream itself: with one worker and two, in other ways, and with other rules."""

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
    if material.is_searched:
        return [str(run.rows_path)]
    return [str(run.rows_path), "--aggregate", str(run.aggregate_path)]


def command(material: Material, *, extra: tuple[str, ...]) -> Command:
    """Check the files, all default rules on."""
    ledger = [] if material.ledger is None else ["--ledger", str(material.ledger)]
    return Command([*CHECK, *inputs(material), *REPORT, *ledger, *extra])


def command_on_stdin(material: Material) -> Command:
    """Check the one run as it comes in a stream."""
    (run,) = material.runs
    words = [*CHECK, "-", "--aggregate", str(run.aggregate_path), *REPORT, "--jobs", "2"]
    return Command(words, stdin=run.rows_path)


def command_for_schema(material: Material) -> Command:
    """Check the rows against a schema that is named, as a user's own one is."""
    chosen = ["--schema", material.schema_path, "--select", "ES1,ES2", "--jobs", "1"]
    return Command([*CHECK, *material.rows_paths, *REPORT, *chosen])


def findings_path(material: Material) -> Path:
    """Say where all findings go."""
    return material.folder / "findings.jsonl"


def command_for_all_findings(material: Material) -> Command:
    """Check the files and write down every single finding."""
    output = ("--max-findings", "0", "--output", str(findings_path(material)), "--jobs", "2")
    return command(material, extra=output)


def has_seen_all(material: Material, measurement: Measurement) -> bool:
    """Require a report that ends in the totals of all runs, all rows and the right findings."""
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


def has_seen_all_rows(material: Material, measurement: Measurement) -> bool:
    """Require the same but for the findings: some generated questions do contain an answer."""
    return sums_up(material, measurement.stdout, knows_findings=False)


def sums_up(material: Material, report: str, *, knows_findings: bool = True) -> bool:
    """Tell whether a report's last line counts all runs, all rows and each known finding.

    A ledger must have answered for each run.
    """
    try:
        summary = json.loads(report.rstrip().rpartition("\n")[2])["summary"]
        totals, total = summary["totals"], summary["total"]
        counted = totals["runs"], totals["rows"]
    except (JSONDecodeError, KeyError, TypeError):
        return False
    if counted != (len(material.runs), material.rows):
        return False
    if material.ledger is not None and totals.get("unchanged") != len(material.runs):
        return False
    known = material.findings if knows_findings else None
    return known is None or (totals["counts"] == known and total == sum(known.values()))


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
SIXTEEN_WORKERS = Contender(
    "evalstream-16",
    "evalstream, 16 workers",
    Checks.EVERYTHING,
    partial(command, extra=("--jobs", "16")),
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
OPTIONAL = Contender(
    "evalstream-optional",
    "evalstream, 2 workers, ES312 and ES316, too",
    Checks.MORE,
    partial(command, extra=("--jobs", "2", "--select", "ES", "--ignore", "ES901,ES902,ES911")),
    has_seen_all_rows,
)
SCHEMA = Contender(
    "evalstream-schema",
    "evalstream --schema, 1 worker",
    Checks.SOME_RULES,
    command_for_schema,
    has_seen_all,
)
PORTABLE = Contender(
    "evalstream-portable",
    "evalstream, portable engine, 2 workers",
    Checks.EVERYTHING,
    partial(command, extra=("--jobs", "2", "--engine", "portable")),
    has_seen_all,
    missing=missing_portable,
)
CONTENDERS = (
    ONE_WORKER,
    TWO_WORKERS,
    SIXTEEN_WORKERS,
    STDIN,
    ALL_FINDINGS,
    OPTIONAL,
    SCHEMA,
    PORTABLE,
)

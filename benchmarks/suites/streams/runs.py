"""Runs of rows to measure with: how they are made, sealed anew, checked, and seen whole."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import orjson

from benchmarks.contenders.contract import Material
from benchmarks.contenders.evalstream import CHECK, sums_up
from benchmarks.generate.runs import Run, generate
from benchmarks.harness.judging import WrongAnswer
from benchmarks.harness.measure import Measurement, warm

VERSION = "0.2.0"
REPORT = ["--format", "jsonl"]
CHUNK_BYTES = 1 << 20


def mixed(folder: Path, size: int, seed: int) -> Run:
    """Make the mixed workload."""
    run = generate(folder, size=size, mix="mixed", version=VERSION, faulty=False, seed=seed)
    warm(run.rows_path)
    return run


def check_of(run: Run, *extra: str) -> list[str]:
    """Spell the check of a run's file by two workers."""
    paths = [str(run.rows_path), "--aggregate", str(run.aggregate_path)]
    return [*CHECK, *paths, *REPORT, "--jobs", "2", *extra]


def sees_all(run: Run) -> Callable[[Measurement], None]:
    """Return what raises WrongAnswer unless the report counts all rows of a run."""
    material = Material(run.rows_path.parent, (run,), VERSION)

    def proves(taken: Measurement) -> None:
        if not sums_up(material, taken.stdout or taken.stderr):
            raise WrongAnswer("what it says does not show that it went through all rows")

    return proves


def resealed(run: Run, path: Path, layout: str) -> Run:
    """Write an aggregate that seals the rows of a run as another file holds them."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(CHUNK_BYTES):
            digest.update(piece)
    aggregate = orjson.loads(run.aggregate_path.read_bytes())
    aggregate["detailed_evaluation_results"] |= {
        "format": layout,
        "file_path": path.name,
        "checksum": digest.hexdigest(),
        "total_rows": run.rows,
    }
    aggregate_path = path.with_name(f"{path.name}.aggregate.json")
    aggregate_path.write_bytes(orjson.dumps(aggregate))
    return Run(path, aggregate_path, run.rows, path.stat().st_size)

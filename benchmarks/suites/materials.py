"""Makes the inputs of the workloads, and the small ones that contenders are tried on."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from benchmarks.contenders.contract import Material
from benchmarks.contenders.evalstream import CHECK
from benchmarks.generate.faults import break_seal, drop_source
from benchmarks.generate.leaderboards import VERSION, write_leaderboard
from benchmarks.generate.mixes import MIXES
from benchmarks.generate.repack import compress_run, write_array
from benchmarks.generate.runs import Run, generate, generate_small
from benchmarks.harness.proof import Trial, rows_trial
from benchmarks.suites.batches.stores import settle

SMALL_ROWS = 20
WIDE_ROWS = 1_000
BOARDS_ON_TRIAL = 3
OWN_SCHEMA = Path(__file__).with_name("own.schema.json")


@dataclass(frozen=True)
class Scale:
    """How large the workloads are, in bytes, in small runs and in aggregates."""

    size: int
    memory_size: int
    many: int
    boards: int
    seed: int


Make = Callable[[Path, Scale], Material]
Size = Callable[[Scale], int]
Change = Callable[[Material], Material]


def usual_size(scale: Scale) -> int:
    """Return the size of most files."""
    return scale.size


def one_file(
    mix: str = "mixed", *, version: str | None = None, faulty: bool = False, size: Size = usual_size
) -> Make:
    """Return what makes one run of the usual size, or of another."""

    def make(folder: Path, scale: Scale) -> Material:
        run = generate(
            folder, size=size(scale), mix=mix, version=version, faulty=faulty, seed=scale.seed
        )
        is_faulty = faulty or MIXES[mix].has_errors
        return Material(folder, (run,), version or MIXES[mix].version or "0.2.0", is_faulty)

    return make


def small_run(folder: Path, scale: Scale) -> Material:
    """Make one run of a few rows."""
    run = generate_small(folder, number=0, rows=SMALL_ROWS, version="0.3.0", seed=scale.seed)
    return Material(folder, (run,), "0.3.0")


def many_runs(folder: Path, scale: Scale) -> Material:
    """Make many small runs, each in a folder of its own."""
    return _runs(folder, scale.many, SMALL_ROWS, scale.seed)


def wide_runs(folder: Path, scale: Scale) -> Material:
    """Make runs of many rows that have together about as many bytes as one file."""
    number = scale.size // (WIDE_ROWS * MIXES["mixed"].mean_bytes())
    return _runs(folder, max(number, 1), WIDE_ROWS, scale.seed)


def unchanged_runs(folder: Path, scale: Scale) -> Material:
    """Make many small runs and a ledger that remembers all of them."""
    material = many_runs(folder / "runs", scale)
    ledger = folder / "runs.ledger"
    settle()
    check = [*CHECK, str(material.folder), "--ledger", str(ledger)]
    subprocess.run(check, check=True, stdout=subprocess.DEVNULL)
    return replace(material, ledger=ledger)


def _runs(folder: Path, number: int, rows: int, seed: int) -> Material:
    """Make so many runs of so many rows."""
    make = partial(_numbered, folder, rows, seed)
    with ProcessPoolExecutor() as pool:
        runs = tuple(pool.map(make, range(number), chunksize=max(1, 1_000 // rows)))
    return Material(folder, runs, "0.2.0")


def _numbered(folder: Path, rows: int, seed: int, number: int) -> Run:
    """Make the run with this number."""
    own = folder / f"run-{number:05d}"
    return generate_small(own, number=number, rows=rows, version="0.2.0", seed=seed)


def leaderboards(folder: Path, scale: Scale) -> Material:
    """Make many aggregates without rows."""
    return _boards(folder, scale.boards, scale.seed)


def leaderboards_trial(folder: Path, version: str, is_faulty: bool) -> Material:
    """Make a few aggregates; the last of the faulty ones does not say where it comes from."""
    del version
    material = _boards(folder, BOARDS_ON_TRIAL, seed=1)
    if is_faulty:
        drop_source(material.runs[-1].aggregate_path)
        material = replace(
            material, runs=tuple(replace(run, findings=None) for run in material.runs)
        )
    return replace(material, is_faulty=is_faulty)


def _boards(folder: Path, number: int, seed: int) -> Material:
    """Make so many aggregates, each a run without rows."""
    paths = [write_leaderboard(folder, one, seed) for one in range(number)]
    runs = tuple(Run(path, path, 0, path.stat().st_size, {"ES805": 1}) for path in paths)
    return Material(folder, runs, VERSION)


def changed(make: Make, change: Change) -> Make:
    """Return what makes the same rows in another way."""
    return lambda folder, scale: change(make(folder, scale))


def changed_trial(change: Change) -> Trial:
    """Return what makes the same small inputs in another way."""
    return lambda folder, version, is_faulty: change(rows_trial(folder, version, is_faulty))


def compressed(material: Material, *, kind: str) -> Material:
    """Compress the rows of each run."""
    return replace(material, runs=tuple(compress_run(run, kind) for run in material.runs))


def as_array(material: Material) -> Material:
    """Write the rows of the one run as one JSON array."""
    (run,) = material.runs
    array = write_array(run, material.folder / "run.json", "compact")
    return replace(material, runs=(array,))


def wrongly_sealed(folder: Path, scale: Scale) -> Material:
    """Make a run whose aggregate declares another checksum."""
    material = one_file()(folder, scale)
    (run,) = material.runs
    break_seal(run.aggregate_path)
    run = replace(run, findings={**(run.findings or {}), "ES501": 1})
    return replace(material, runs=(run,), is_faulty=True)


def with_own_schema(material: Material) -> Material:
    """Let a user's schema take the place of the built-in one."""
    return replace(material, schema=OWN_SCHEMA)


def beside_document(folder: Path, scale: Scale) -> Material:
    """Make a run, and beside it a JSON document of its size that is not an aggregate."""
    material = one_file()(folder, scale)
    (run,) = material.runs
    with run.rows_path.open("rb") as rows, (folder / "samples.json").open("wb") as file:
        file.write(b'{"samples": [null')
        for row in rows:
            file.write(b",\n" + row.rstrip())
        file.write(b"]}\n")
    return replace(material, is_searched=True)

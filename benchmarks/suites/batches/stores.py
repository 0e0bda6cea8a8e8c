"""Makes stores of runs: many small ones in several folders, and one large one."""

from __future__ import annotations

import os
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

from benchmarks.contenders.contract import Material
from benchmarks.generate.aggregates import DEVELOPER, identity_of
from benchmarks.generate.blocks import Plan, block_of
from benchmarks.generate.runs import Run, generate, store_names, write_run

VERSION = "0.3.0"
COLLECTION = "spot-checks"
FOLDERS = 20
"""Over how many folders small runs are spread, one for each model."""

ROWS = 20
WORTH_WORKERS = 100
"""From how many runs on workers write them."""

CHUNK = 20
"""How many runs a worker writes before it gets further ones."""

SETTLED_SECONDS = 3.0
"""A ledger forgets files that changed just now: their next change may show the same times."""


@dataclass(frozen=True)
class Scale:
    """How large everything is: numbers of runs, and bytes of rows of the one large run.

    `compared` and `compared_large` are the sizes for the comparison of reports. Small sizes do
    not judge speed and memory (`judges`); a wrong answer fails the suite at any size.
    """

    runs: int
    large: int
    compared: int
    compared_large: int
    memory_runs: int
    rounds: int
    judges: bool = True
    seed: int = 1


USUAL = Scale(20_000, 2 * 10**9, 2_000, 200 * 10**6, 20_000, 3)
QUICK = Scale(400, 20 * 10**6, 200, 5 * 10**6, 1_000, 1, judges=False)


@cache
def shared_runs(folder: Path, runs: int, seed: int) -> Material:
    """Write small runs of the usual number of rows, once for all sections."""
    return small_runs(folder, runs, ROWS, seed)


def small_runs(folder: Path, runs: int, rows: int, seed: int) -> Material:
    """Write small, sound, sealed, different runs; the same arguments give the same bytes."""
    for place in model_folders(folder):
        place.mkdir(parents=True)
    write = partial(write_small, folder, runs, rows, seed)
    if runs < WORTH_WORKERS:
        return Material(folder, tuple(map(write, range(runs))), VERSION)
    with ProcessPoolExecutor() as pool:
        return Material(folder, tuple(pool.map(write, range(runs), chunksize=CHUNK)), VERSION)


def large_run(folder: Path, size: int, seed: int) -> Material:
    """Write one run of so many bytes of rows; its samples are not those of the small ones."""
    run = generate(folder, size=size, mix="mixed", version=VERSION, seed=seed)
    return Material(folder, (run,), VERSION)


def together(folder: Path, *stores: Material) -> Material:
    """Join stores below one folder."""
    return Material(folder, tuple(run for store in stores for run in store.runs), VERSION)


def model_folders(folder: Path) -> list[Path]:
    """Return the folders of the small runs of a store, in order."""
    above = folder / "data" / COLLECTION / DEVELOPER
    return [above / f"river-{place:02d}" for place in range(FOLDERS)]


def settle() -> None:
    """Wait until the disk has everything and files are no longer young."""
    os.sync()
    time.sleep(SETTLED_SECONDS)


def write_small(folder: Path, runs: int, rows: int, seed: int, number: int) -> Run:
    """Write the small run with this number, of so many, and the aggregate that seals it."""
    model = f"river-{number * FOLDERS // runs:02d}"
    plan = Plan("mixed", VERSION, identity_of(number, COLLECTION, model), seed)
    names = store_names(f"{seed} {number}", model, COLLECTION)
    return write_run(folder, plan, names, block_of(plan, number, rows), option=0)

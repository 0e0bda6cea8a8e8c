"""Makes stores of runs: many small ones in several folders, and one large one."""

from __future__ import annotations

import hashlib
import os
import time
import uuid
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random

import orjson

from benchmarks.contenders.contract import Material
from benchmarks.generate.aggregates import DEVELOPER, RETRIEVED, Written, aggregate_of
from benchmarks.generate.blocks import Recipe, block_of
from benchmarks.generate.dialect import DIALECTS
from benchmarks.generate.rows import Identity
from benchmarks.generate.runs import Run, generate

VERSION = "0.3.0"
COLLECTION = "spot-checks"
FOLDERS = 20
"""Over how many folders small runs are spread, one for each model."""

ROWS = 20
WIDE_ROWS = 1000

WORTH_WORKERS = 100
"""From how many runs on workers write them."""

CHUNK = 20
"""How many runs a worker writes before it gets further ones."""

SETTLED_SECONDS = 3.0
"""A ledger forgets files that changed just now: their next change may show the same times."""


@dataclass(frozen=True)
class Shape:
    """How many small runs there are, of how many rows each."""

    runs: int
    rows: int
    seed: int

    def model(self, number: int) -> str:
        """Name the model of the run with this number, counted from 0."""
        return f"river-{number * FOLDERS // self.runs:02d}"


def small_runs(folder: Path, shape: Shape) -> Material:
    """Write small, sound, sealed runs, no two alike; the same shape gives the same bytes."""
    for place in model_folders(folder):
        place.mkdir(parents=True)
    write, numbers = partial(write_small, folder, shape), range(shape.runs)
    if shape.runs < WORTH_WORKERS:
        return Material(folder, tuple(map(write, numbers)), VERSION)
    with ProcessPoolExecutor() as pool:
        runs = tuple(pool.map(write, numbers, chunksize=CHUNK))
    return Material(folder, runs, VERSION)


def large_run(folder: Path, size: int, seed: int) -> Material:
    """Write one run of so many bytes of rows; its samples are not those of the small ones."""
    run = generate(folder, size=size, mix="mixed", version=VERSION, faulty=False, seed=seed)
    return Material(folder, (run,), VERSION)


def together(folder: Path, *stores: Material) -> Material:
    """Take stores below one folder as one."""
    return Material(folder, tuple(run for store in stores for run in store.runs), VERSION)


def model_folders(folder: Path) -> list[Path]:
    """Name the folders that the small runs of a store lie in, in order."""
    above = folder / "data" / COLLECTION / DEVELOPER
    return [above / f"river-{place:02d}" for place in range(FOLDERS)]


def settle() -> None:
    """Wait until the disk has what was made and files are no longer young."""
    os.sync()
    time.sleep(SETTLED_SECONDS)


def write_small(folder: Path, shape: Shape, number: int) -> Run:
    """Write the small run with this number and the aggregate that seals it."""
    recipe = Recipe("mixed", VERSION, identity_of(shape, number), is_faulty=False, seed=shape.seed)
    lines = block_of(recipe, number, shape.rows)
    data = b"".join(line.data for line in lines)
    scores = [line.score for line in lines]
    squares = sum(score**2 for score in scores)
    digest = hashlib.sha256(data).hexdigest()
    written = Written(len(lines), len(data), sum(scores), squares, digest)
    bits = Random(f"names {shape.seed} {number}").getrandbits(128)
    stem = f"data/{COLLECTION}/{recipe.identity.model_id}/{uuid.UUID(int=bits, version=4)}"
    rows_name = f"{stem}_samples.jsonl"
    aggregate = aggregate_of(DIALECTS[VERSION], recipe.identity, rows_name, written)
    run = Run(folder / rows_name, folder / f"{stem}.json", len(lines), len(data))
    run.rows_path.write_bytes(data)
    run.aggregate_path.write_bytes(orjson.dumps(aggregate))
    return run


def identity_of(shape: Shape, number: int) -> Identity:
    """Name a small run apart from all others."""
    model_id = f"{DEVELOPER}/{shape.model(number)}"
    return Identity(
        evaluation_id=f"{COLLECTION}/{model_id}/{RETRIEVED + number}",
        evaluation_name=COLLECTION,
        model_id=model_id,
        result_id=f"{COLLECTION}/accuracy",
    )

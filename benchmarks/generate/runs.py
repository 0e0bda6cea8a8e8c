"""Writes deterministic, realistic runs: rows files of a wanted size and their aggregates."""

from __future__ import annotations

import argparse
import hashlib
import uuid
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from random import Random

import orjson

from benchmarks.generate.aggregates import (
    COLLECTION,
    DEVELOPER,
    MODEL,
    Written,
    aggregate_of,
    identity_of,
)
from benchmarks.generate.blocks import Line, Recipe, block_of, lines
from benchmarks.generate.dialect import DIALECTS, Dialect
from benchmarks.generate.rows import MIXES

UNITS = {"K": 10**3, "M": 10**6, "G": 10**9}


@dataclass(frozen=True)
class Run:
    """A generated run: its two files, the number of rows and the bytes of the rows file."""

    rows_path: Path
    aggregate_path: Path
    rows: int
    bytes: int


def generate(folder: Path, *, size: int, mix: str, version: str, faulty: bool, seed: int) -> Run:
    """Write a run of at most `size` bytes of rows into the folder.

    The same arguments give the same bytes. With `faulty` every row has at least one fault, and
    the aggregate still seals the file. Raises ValueError when `size` has no room for one row.
    """
    recipe = Recipe(mix, version, identity_of(0), faulty, seed)
    with closing(lines(recipe, size)) as endless:
        run = _write(folder, recipe, _at_most(endless, size))
    if run.rows == 0:
        message = f"{size} bytes have no room for one row"
        raise ValueError(message)
    return run


def generate_small(folder: Path, *, number: int, rows: int, version: str, seed: int) -> Run:
    """Write the small run with this number, counted from 0: so many mixed rows."""
    recipe = Recipe("mixed", version, identity_of(number), is_faulty=False, seed=seed)
    return _write(folder, recipe, islice(block_of(recipe, number, rows), rows))


def parse_size(text: str) -> int:
    """Read a number of bytes such as 300M; the units are decimal."""
    unit = UNITS.get(text[-1:].upper())
    return int(text) if unit is None else int(float(text[:-1]) * unit)


def _at_most(endless: Iterator[Line], size: int) -> Iterator[Line]:
    """Stop before the row that would not fit."""
    total = 0
    for line in endless:
        total += len(line.data)
        if total > size:
            return
        yield line


def _write(folder: Path, recipe: Recipe, rows: Iterator[Line]) -> Run:
    """Write the rows and the aggregate that seals them."""
    dialect = DIALECTS[recipe.version]
    rows_name, aggregate_name = _file_names(dialect, recipe.seed)
    rows_path, aggregate_path = folder / rows_name, folder / aggregate_name
    rows_path.parent.mkdir(parents=True, exist_ok=True)
    written = _write_rows(rows_path, rows)
    aggregate = aggregate_of(dialect, recipe.identity, rows_name, written)
    aggregate_path.write_bytes(orjson.dumps(aggregate, option=orjson.OPT_INDENT_2) + b"\n")
    return Run(rows_path, aggregate_path, written.rows, written.bytes)


def _file_names(dialect: Dialect, seed: int) -> tuple[str, str]:
    """Name the rows file and the aggregate, below the folder, as the version wants them."""
    if not dialect.has_result_ids:
        return "run.jsonl", "aggregate.json"
    name = uuid.UUID(int=Random(f"names {seed}").getrandbits(128), version=4)
    stem = f"data/{COLLECTION}/{DEVELOPER}/{MODEL}/{name}"
    return f"{stem}_samples.jsonl", f"{stem}.json"


def _write_rows(path: Path, rows: Iterator[Line]) -> Written:
    """Write the rows, hashing and adding up what is written."""
    digest = hashlib.sha256()
    number = total = 0
    score_sum = square_sum = 0.0
    with path.open("wb", buffering=1 << 20) as file:
        for line in rows:
            file.write(line.data)
            digest.update(line.data)
            number, total = number + 1, total + len(line.data)
            score_sum += line.score
            square_sum += line.score**2
    return Written(number, total, score_sum, square_sum, digest.hexdigest())


def main() -> None:
    """Generate a run as the command line asks and print what was written."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.generate", description=__doc__)
    parser.add_argument("--size", type=parse_size, default=parse_size("300M"))
    parser.add_argument("--mix", choices=sorted(MIXES), default="mixed")
    parser.add_argument("--version", choices=sorted(DIALECTS), default="0.2.0")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")
    parser.add_argument("--faulty", action="store_true", help="put faults into every row")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    try:
        run = generate(
            options.out,
            size=options.size,
            mix=options.mix,
            version=options.version,
            faulty=options.faulty,
            seed=options.seed,
        )
    except ValueError as error:
        parser.error(str(error))
    print(f"{run.rows_path}: {run.rows} rows, {run.bytes} bytes; sealed by {run.aggregate_path}")


if __name__ == "__main__":
    main()

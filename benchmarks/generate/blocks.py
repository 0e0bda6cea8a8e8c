"""Encodes rows block by block, several processes at a time, in order and in flat memory."""

from __future__ import annotations

import json
import os
from collections import deque
from collections.abc import Generator, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from itertools import count

from benchmarks.generate.dialect import DIALECTS
from benchmarks.generate.faults import spoil
from benchmarks.generate.rows import MIXES, Identity, RowComposer

BLOCK_BYTES = 4_000_000
"""About how many bytes of rows a block holds."""

WORTH_WORKERS = 5 * BLOCK_BYTES
"""From which size on, in bytes, the start of worker processes pays."""


@dataclass(frozen=True)
class Recipe:
    """What rows to write; the same recipe gives the same rows, whoever writes them."""

    mix: str
    version: str
    identity: Identity
    is_faulty: bool
    seed: int


@dataclass(frozen=True)
class Line:
    """An encoded row, its line feed included, and its score."""

    data: bytes
    score: float


def lines(recipe: Recipe, size: int) -> Generator[Line]:
    """Yield rows without end; `size` is about how many bytes of them are wanted."""
    length = max(BLOCK_BYTES // MIXES[recipe.mix].mean_bytes(), 1)
    blocks = _in_workers if size >= WORTH_WORKERS else _in_turn
    for block in blocks(recipe, length):
        yield from block


def block_of(recipe: Recipe, number: int, length: int) -> list[Line]:
    """Encode the block with this number, counted from 0: `length` rows."""
    escaped, raw = json.JSONEncoder(), json.JSONEncoder(ensure_ascii=False)
    dialect = DIALECTS[recipe.version]
    source = f"{recipe.seed} {number}"
    composer = RowComposer(MIXES[recipe.mix], dialect, recipe.identity, recipe.seed, source)
    encoded = []
    for index in range(number * length, (number + 1) * length):
        composed = composer.compose(index)
        if recipe.is_faulty:
            spoil(composed.row, index, dialect)
        encoder = escaped if composed.is_escaped else raw
        encoded.append(Line(encoder.encode(composed.row).encode() + b"\n", composed.score))
    return encoded


def _in_turn(recipe: Recipe, length: int) -> Iterator[list[Line]]:
    """Encode blocks here, one after the other."""
    for number in count():
        yield block_of(recipe, number, length)


def _in_workers(recipe: Recipe, length: int) -> Iterator[list[Line]]:
    """Encode blocks in worker processes, a few ahead of the reader and never more."""
    workers = os.cpu_count() or 1
    numbers = count()
    ahead: deque[Future[list[Line]]] = deque()
    with ProcessPoolExecutor(workers) as pool:
        try:
            while True:
                while len(ahead) <= workers:
                    ahead.append(pool.submit(block_of, recipe, next(numbers), length))
                yield ahead.popleft().result()
        finally:
            pool.shutdown(cancel_futures=True)

"""Encodes rows block by block, in worker processes where it pays, in order and constant memory."""

from __future__ import annotations

import json
import os
from collections import deque
from collections.abc import Generator, Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from itertools import count

from benchmarks.generate.composer import Composer, Identity
from benchmarks.generate.converters import InspectComposer, LmEvalComposer
from benchmarks.generate.dialect import DIALECTS
from benchmarks.generate.faults import spoil_row
from benchmarks.generate.mixes import MIXES, Writer
from benchmarks.generate.rows import GeneratorComposer

BLOCK_BYTES = 4_000_000
"""About how many bytes of rows a block holds."""

WORTH_WORKERS = 5 * BLOCK_BYTES
"""From how many bytes of rows on worker processes save more than their start takes."""

COMPOSERS: Mapping[Writer, type[Composer]] = {
    "generator": GeneratorComposer,
    "lm-eval": LmEvalComposer,
    "inspect": InspectComposer,
}


@dataclass(frozen=True)
class Plan:
    """Which rows to write; the same plan gives the same rows for any number of workers.

    `identity` is what the rows say about their run.
    """

    mix: str
    version: str
    identity: Identity
    seed: int
    is_faulty: bool = False


@dataclass(frozen=True)
class Line:
    """An encoded row, its line feed included, its score, and the codes of its findings."""

    data: bytes
    score: float
    codes: tuple[str, ...] = ()


def lines(plan: Plan, size: int) -> Generator[Line]:
    """Yield rows without end; `size` is about how many bytes of them are wanted."""
    length = max(BLOCK_BYTES // MIXES[plan.mix].mean_bytes(), 1)
    if size >= WORTH_WORKERS:
        yield from _from_workers(plan, length)
    for number in count():
        yield from block_of(plan, number, length)


def block_of(plan: Plan, number: int, length: int) -> list[Line]:
    """Encode the block with this number, which counts from 0: `length` rows."""
    escaped, raw = json.JSONEncoder(), json.JSONEncoder(ensure_ascii=False)
    dialect = DIALECTS[plan.version]
    source = f"{plan.seed} {number}"
    mix = MIXES[plan.mix]
    composer = COMPOSERS[mix.writer](mix, dialect, plan.identity, plan.seed, source)
    encoded = []
    for index in range(number * length, (number + 1) * length):
        row, score, is_escaped = composer.compose(index)
        codes = mix.codes
        if plan.is_faulty:
            codes += spoil_row(row, index, dialect)
        encoder = escaped if is_escaped else raw
        encoded.append(Line(encoder.encode(row).encode() + b"\n", score, codes))
    return encoded


def _from_workers(plan: Plan, length: int) -> Iterator[Line]:
    """Yield rows that worker processes encode, a few blocks ahead of the reader."""
    workers = os.cpu_count() or 1
    numbers = count()
    ahead: deque[Future[list[Line]]] = deque()
    with ProcessPoolExecutor(workers) as pool:
        try:
            while True:
                while len(ahead) <= workers:
                    ahead.append(pool.submit(block_of, plan, next(numbers), length))
                yield from ahead.popleft().result()
        finally:
            pool.shutdown(cancel_futures=True)

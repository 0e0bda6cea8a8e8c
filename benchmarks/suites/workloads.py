"""The workloads of the validators: the runs that are made and the contenders that check them."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks.contenders.contract import Material
from benchmarks.generate.runs import Run, generate, generate_small

SMALL_ROWS = 20
SLOW_SHARE = 10
"""How many times smaller the file is that slow contenders get."""

LARGE_TIMES = 4
"""How many times larger the file is on which the start of a check does not count."""


@dataclass(frozen=True)
class Scale:
    """How large the workloads are, in bytes and in small runs."""

    size: int
    memory_size: int
    many: int
    seed: int


Make = Callable[[Path, Scale], Material]


@dataclass(frozen=True)
class Workload:
    """A kind of input, and the names of the contenders beside the floor.

    `least_pairs` is more than usual where one check is too short to be measured well, 0 where
    nothing is timed against the floor and only memory counts.
    """

    name: str
    title: str
    make: Make
    contenders: tuple[str, ...]
    least_pairs: int = 1


def one_file(
    *,
    mix: str = "mixed",
    version: str = "0.2.0",
    faulty: bool = False,
    size: Callable[[Scale], int] = lambda scale: scale.size,
) -> Make:
    """Return what makes one run of the usual size, or of another."""

    def make(folder: Path, scale: Scale) -> Material:
        run = generate(
            folder, size=size(scale), mix=mix, version=version, faulty=faulty, seed=scale.seed
        )
        return Material(folder, (run,), version, faulty)

    return make


def small_run(folder: Path, scale: Scale) -> Material:
    """Make one run of a few rows."""
    run = generate_small(folder, number=0, rows=SMALL_ROWS, version="0.3.0", seed=scale.seed)
    return Material(folder, (run,), "0.3.0")


def many_runs(folder: Path, scale: Scale) -> Material:
    """Make many small runs, each in a folder of its own."""
    make = partial(_numbered, folder, scale.seed)
    with ProcessPoolExecutor() as pool:
        runs = tuple(pool.map(make, range(scale.many), chunksize=50))
    return Material(folder, runs, "0.2.0")


def _numbered(folder: Path, seed: int, number: int) -> Run:
    """Make the small run with this number."""
    own = folder / f"run-{number:05d}"
    return generate_small(own, number=number, rows=SMALL_ROWS, version="0.2.0", seed=seed)


OURS = ("evalstream-1", "evalstream-2")
USUAL = (*OURS, "evalstream-stdin", "sourcemeta", "ajv")
BEST = ("evalstream-2", "sourcemeta")
EVERYONE = (
    "evalstream-2",
    "evalstream-portable",
    "sourcemeta",
    "ajv",
    "python-jsonschema",
    "upstream",
)

LARGE = one_file(size=lambda scale: LARGE_TIMES * scale.size)
SLOW = one_file(version="0.3.0", size=lambda scale: scale.size // SLOW_SHARE)
MEMORY = one_file(size=lambda scale: scale.memory_size)

_ALL = (
    Workload("mixed", "mixed rows of 3 kB, some agentic", one_file(), USUAL),
    Workload("large", "the same, four times as large", LARGE, OURS),
    Workload("slow", "mixed rows, version 0.3.0, a tenth of the size", SLOW, EVERYONE),
    Workload("single", "single-turn rows of 3 kB", one_file(mix="single"), BEST),
    Workload("agentic", "agentic rows of 100 to 500 kB", one_file(mix="agentic"), BEST),
    Workload("unicode", "rows of mostly non-ASCII text", one_file(mix="unicode"), BEST),
    Workload(
        "faulty",
        "mixed rows, every one faulty",
        one_file(faulty=True),
        ("evalstream-2", "evalstream-all"),
    ),
    Workload("small", "one run of 20 rows, version 0.3.0", small_run, EVERYONE, least_pairs=11),
    Workload("many", "many runs of 20 rows in one call", many_runs, (*OURS, "sourcemeta")),
    Workload("memory", "mixed rows, for memory alone", MEMORY, ("evalstream-2",), least_pairs=0),
)
WORKLOADS = {workload.name: workload for workload in _ALL}

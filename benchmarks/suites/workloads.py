"""The workloads: which runs are made for each, and who is measured on them."""

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


@dataclass(frozen=True)
class Workload:
    """A kind of input, and the names of the contenders beside the floor.

    `least_pairs` is more than usual where one check is too short to be measured well, 0 where
    nothing is timed against the floor and only memory counts.
    """

    name: str
    title: str
    make: Callable[[Path, Scale], Material]
    contenders: tuple[str, ...]
    least_pairs: int = 1


def one_file(
    folder: Path,
    scale: Scale,
    *,
    mix: str = "mixed",
    version: str = "0.2.0",
    faulty: bool = False,
    share: int = 1,
) -> Material:
    """Make one run of the usual size, or of a share of it."""
    size = scale.size // share
    run = generate(folder, size=size, mix=mix, version=version, faulty=faulty, seed=scale.seed)
    return Material(folder, (run,), version, faulty)


def large_file(folder: Path, scale: Scale) -> Material:
    """Make a run several times as large as usual."""
    return one_file(folder, Scale(LARGE_TIMES * scale.size, 0, 0, scale.seed))


def memory_file(folder: Path, scale: Scale) -> Material:
    """Make the one run that is larger than any other."""
    return one_file(folder, Scale(scale.memory_size, 0, 0, scale.seed))


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
    return generate_small(
        folder / f"run-{number:05d}", number=number, rows=SMALL_ROWS, version="0.2.0", seed=seed
    )


USUAL = ("evalstream-1", "evalstream-2", "evalstream-stdin", "sourcemeta", "ajv")
EVERYONE = (
    "evalstream-2",
    "evalstream-portable",
    "sourcemeta",
    "ajv",
    "python-jsonschema",
    "upstream",
)

WORKLOADS = {
    workload.name: workload
    for workload in (
        Workload("mixed", "mixed rows of 3 kB, some agentic", one_file, USUAL),
        Workload(
            "large",
            "the same, four times as large",
            large_file,
            ("evalstream-1", "evalstream-2"),
        ),
        Workload(
            "slow",
            "mixed rows, version 0.3.0, a tenth of the size",
            partial(one_file, version="0.3.0", share=SLOW_SHARE),
            EVERYONE,
        ),
        Workload(
            "single",
            "single-turn rows of 3 kB",
            partial(one_file, mix="single"),
            ("evalstream-2", "sourcemeta"),
        ),
        Workload(
            "agentic",
            "agentic rows of 100 to 500 kB",
            partial(one_file, mix="agentic"),
            ("evalstream-2", "sourcemeta"),
        ),
        Workload(
            "unicode",
            "rows of mostly non-ASCII text",
            partial(one_file, mix="unicode"),
            ("evalstream-2", "sourcemeta"),
        ),
        Workload(
            "faulty",
            "mixed rows, every one faulty",
            partial(one_file, faulty=True),
            ("evalstream-2", "evalstream-all"),
        ),
        Workload(
            "small",
            "one run of 20 rows, version 0.3.0",
            small_run,
            EVERYONE,
            least_pairs=11,
        ),
        Workload(
            "many",
            "many runs of 20 rows in one call",
            many_runs,
            ("evalstream-1", "evalstream-2", "sourcemeta"),
        ),
        Workload(
            "memory",
            "mixed rows, for memory alone",
            memory_file,
            ("evalstream-2",),
            least_pairs=0,
        ),
    )
}

"""The workloads of the validators: the input of each and the contenders that check it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from benchmarks.contenders import FLOOR, PYTHON_START, UNPACK, Contender
from benchmarks.contenders.contract import never_missing
from benchmarks.generate.repack import can_compress
from benchmarks.harness.proof import Trial, rows_trial
from benchmarks.suites import materials
from benchmarks.suites.materials import Make, one_file

SLOW_SHARE = 10
"""How many times smaller the file is that slow contenders get."""

LARGE_TIMES = 4
"""How many times larger the file is on which the start of a check does not count."""


@dataclass(frozen=True)
class Workload:
    """A kind of input, the names of the contenders beside the floor, and the floor.

    `least_pairs` is more than usual where one check is too short to be measured well, 0 where
    nothing is timed against the floor and only memory counts. The `trial` makes the small inputs
    on which each contender must first prove that it refuses. `missing` says what the input needs
    that is not installed, or None.
    """

    name: str
    title: str
    make: Make
    contenders: tuple[str, ...]
    least_pairs: int = 1
    floor: Contender = FLOOR
    trial: Trial = rows_trial
    missing: Callable[[], str | None] = never_missing


def compressed(name: str, kind: str) -> Workload:
    """Return the workload of the mixed rows in a compression, beside decompressing alone."""
    change = partial(materials.compressed, kind=kind)
    return Workload(
        name,
        f"mixed rows in a {name} file",
        materials.changed(one_file(), change),
        ("evalstream-2", name),
        floor=UNPACK,
        trial=materials.changed_trial(change),
        missing=lambda: None if can_compress(kind) else f"no library for {kind} is installed",
    )


TWO = ("evalstream-2",)
OURS = ("evalstream-1", "evalstream-2")
USUAL = (*OURS, "evalstream-stdin", "evalstream-optional", "evalstream-schema", "sourcemeta", "ajv")
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
SHORT_LARGE = one_file("lm-eval", size=lambda scale: LARGE_TIMES * scale.size)
SLOW = one_file(version="0.3.0", size=lambda scale: scale.size // SLOW_SHARE)
MEMORY = one_file(size=lambda scale: scale.memory_size)
OWN = materials.with_own_schema
ARRAY = materials.as_array

_ALL = (
    Workload("mixed", "mixed rows of 3 kB, some agentic", one_file(), USUAL),
    Workload("large", "the same, four times as large", LARGE, OURS),
    Workload("slow", "mixed rows, version 0.3.0, a tenth of the size", SLOW, EVERYONE),
    Workload("single", "single-turn rows of 3 kB", one_file("single"), BEST),
    Workload("short", "rows of 1.2 kB as from lm-eval", one_file("lm-eval"), BEST),
    Workload("short-large", "the same, four times as large", SHORT_LARGE, TWO),
    Workload("agentic", "agentic rows of 100 to 500 kB", one_file("agentic"), BEST),
    Workload("unicode", "rows of mostly non-ASCII text", one_file("unicode"), BEST),
    Workload("wrong", "mixed rows and a wrong checksum", materials.wrongly_sealed, TWO),
    Workload("other-choice", "an info in every row: ES313", one_file("other-choice"), TWO),
    Workload("no-answer", "an info in every row: ES301", one_file("no-answer"), TWO),
    Workload("one-null", "a null in every row, as from Inspect", one_file("inspect-0.2.3rc1"), TWO),
    Workload(
        "three-nulls", "three nulls in every row, as from lm-eval", one_file("lm-eval-0.2.0"), TWO
    ),
    Workload(
        "foreign-id", "a foreign id in every row, as from Inspect", one_file("inspect-0.2.1"), TWO
    ),
    Workload(
        "faulty",
        "one to four errors in every row",
        one_file(faulty=True),
        ("evalstream-2", "evalstream-all"),
    ),
    Workload(
        "own-schema",
        "mixed rows and a user's schema",
        materials.changed(one_file(), OWN),
        ("evalstream-schema", "sourcemeta", "ajv"),
        trial=materials.changed_trial(OWN),
    ),
    compressed("gzip", "gz"),
    compressed("zstd", "zst"),
    Workload(
        "small",
        "one run of 20 rows, version 0.3.0",
        materials.small_run,
        EVERYONE,
        least_pairs=11,
        floor=PYTHON_START,
    ),
    Workload(
        "many", "many runs of 20 rows in one call", materials.many_runs, (*OURS, "sourcemeta")
    ),
    Workload("unchanged", "the same, with a ledger that knows them", materials.unchanged_runs, TWO),
    Workload("wide", "runs of 1,000 rows in one call", materials.wide_runs, TWO),
    Workload(
        "aggregates",
        "aggregates without rows",
        materials.leaderboards,
        ("evalstream-2", "upstream"),
        trial=materials.leaderboards_trial,
    ),
    Workload(
        "array",
        "mixed rows as one JSON array, for memory alone",
        materials.changed(one_file(), ARRAY),
        TWO,
        least_pairs=0,
        trial=materials.changed_trial(ARRAY),
    ),
    Workload(
        "neighbour",
        "mixed rows beside a large JSON document, for memory alone",
        materials.beside_document,
        TWO,
        least_pairs=0,
    ),
    Workload(
        "memory",
        "mixed rows, for memory alone",
        MEMORY,
        ("evalstream-2", "evalstream-16"),
        least_pairs=0,
    ),
)
WORKLOADS = {workload.name: workload for workload in _ALL}

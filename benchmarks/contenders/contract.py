"""The contract of a contender: a program that checks rows, and when to accept its answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from benchmarks.generate.runs import Run
from benchmarks.harness.measure import Measurement

ROOT = Path(__file__).resolve().parents[2]


class Checks(StrEnum):
    """How much a contender looks at."""

    NOTHING = "nothing"
    BYTES = "bytes"
    SCHEMA = "schema"
    UPSTREAM = "schema and some rules"
    SOME_RULES = "schema and syntax"
    EVERYTHING = "every rule"
    MORE = "more rules"


@dataclass(frozen=True)
class Material:
    """Generated runs below a folder, their version, and whether a check must refuse them.

    A user's own `schema` takes the place of the built-in one. A `ledger` remembers all runs, and
    none of them has changed. With `is_searched` the aggregate is not named, so that a check looks
    for it beside the rows.
    """

    folder: Path
    runs: tuple[Run, ...]
    version: str
    is_faulty: bool = False
    schema: Path | None = None
    ledger: Path | None = None
    is_searched: bool = False

    @property
    def rows(self) -> int:
        """Return the number of all rows."""
        return sum(run.rows for run in self.runs)

    @property
    def bytes(self) -> int:
        """Return the number of all bytes of rows."""
        return sum(run.bytes for run in self.runs)

    @property
    def findings(self) -> Mapping[str, int] | None:
        """Return the exact numbers of findings by code, None where they are not known."""
        total = Counter[str]()
        for run in self.runs:
            if run.findings is None:
                return None
            total.update(run.findings)
        return total

    @property
    def rows_paths(self) -> list[str]:
        """Return the paths of all rows files."""
        return [str(run.rows_path) for run in self.runs]

    @property
    def schema_path(self) -> str:
        """Return the path of the schema that the rows belong to."""
        if self.schema is not None:
            return str(self.schema)
        return str(ROOT / "schemas" / "eee" / self.version / "instance.schema.json")


@dataclass(frozen=True)
class Command:
    """The words of a command line, and the file on its standard input."""

    words: list[str]
    stdin: Path | None = None


def never_missing() -> None:
    """Say that nothing needs to be installed."""


@dataclass(frozen=True)
class Contender:
    """A program to measure.

    `has_seen_all` tells from what the program said that it went through all rows, since an exit
    code alone may come from a crash or from a file that was never opened. `missing` says what
    is not installed, or None. `fault_code` is the exit code for faulty rows, None where
    no row is ever refused.
    """

    name: str
    label: str
    checks: Checks
    command: Callable[[Material], Command]
    has_seen_all: Callable[[Material, Measurement], bool]
    fault_code: int | None = 1
    missing: Callable[[], str | None] = never_missing

    def expected_code(self, material: Material) -> int:
        """Return the exit code of a right answer."""
        return self.fault_code or 0 if material.is_faulty else 0

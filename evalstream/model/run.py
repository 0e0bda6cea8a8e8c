"""What a run is: rows, their aggregate, further documents; and what stands for no run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

STDIN: Final = "-"

MAIN_FORMAT: Final = "eee"
"""The format of rows where nothing shows another."""


@dataclass(frozen=True, slots=True)
class Run:
    """What is checked together: a rows file, an aggregate, or both, and further documents.

    `missing` says what was declared but not found; with `leads_out` the declared path leads out
    of what was named. `format` names the system whose files they are; with HarpIA Lab, `inputs`
    is what was put into the evaluation. `size` counts the bytes of the rows, and `mark` tells
    them from others under the same name, as a store lists them; None where no list told it.
    """

    rows: str | None
    aggregate: str | None
    missing: str | None = None
    format: str = MAIN_FORMAT
    inputs: str | None = None
    size: int | None = None
    mark: str | None = None
    leads_out: str | None = None


@dataclass(frozen=True, slots=True)
class NoInput:
    """An input in which there is nothing to check, or that cannot be looked into, and why."""

    path: str
    reason: str
    readable: bool = True
    format: str = MAIN_FORMAT


@dataclass(frozen=True, slots=True)
class ForeignLog(NoInput):
    """A log of a harness, which has to be converted before it can be checked."""

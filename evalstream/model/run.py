"""Runs: rows, their aggregate and further documents; and inputs without a run."""

from __future__ import annotations

from typing import Any, Final

from evalstream.model.block import ByteStream
from evalstream.model.data_class import DataClass

STDIN: Final = "-"

MAIN_FORMAT: Final = "eee"
"""The format of rows that do not indicate another one."""


HELD_ROWS: Final = "<rows>"
HELD_AGGREGATE: Final = "<aggregate>"
"""How reports call rows and an aggregate that the calling program holds."""


class HeldInput(str):
    """Input in the memory of the calling program: like standard input, it is read once.

    `label` is its name in reports, `stream` the StandardInput to read it from, and `origin` the
    reader of that.
    """

    __slots__ = ("label", "origin", "stream")

    label: str
    stream: Any
    origin: ByteStream

    def __new__(cls, label: str, stream: Any, origin: ByteStream) -> HeldInput:
        """Return the path of standard input, with another stream and name."""
        held = super().__new__(cls, STDIN)
        held.label, held.stream, held.origin = label, stream, origin
        return held


class Run(DataClass, frozen=True):
    """The documents that are checked together: a rows file, an aggregate, or both, and more.

    `missing` names what was declared but not found; with `leads_out` the declared path leads out of
    the inputs. `format` is the name of the format; for HarpIA Lab, `inputs` is the document of the
    evaluation's inputs. `size` counts the bytes of the rows, and `mark` identifies this version of
    the object in a store's listing; None where the rows were not listed. `beside` names further
    folders that are checked together with the first. `rivals` are two aggregates that both declare
    the rows, which therefore have none. `legacy_path` is the path in data/ that the entry of an
    object of the public store gives for its aggregate; the rules about paths judge that one.
    """

    rows: str | None
    aggregate: str | None
    missing: str | None = None
    format: str = MAIN_FORMAT
    inputs: str | None = None
    size: int | None = None
    mark: str | None = None
    leads_out: str | None = None
    beside: tuple[str, ...] = ()
    rivals: tuple[str, ...] = ()
    legacy_path: str | None = None


class NoInput(DataClass, frozen=True):
    """An input without anything to check, or one that cannot be read, and the reason."""

    path: str
    reason: str
    readable: bool = True
    format: str = MAIN_FORMAT


class FaultyInput(NoInput, frozen=True):
    """An input on which the search met an internal error; `reason` is its message."""


class ForeignLog(NoInput, frozen=True):
    """A log of an evaluation harness, which must be converted before it can be checked."""

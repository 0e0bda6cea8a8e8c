"""The contract of reporters of comparisons."""

from __future__ import annotations

from typing import Protocol

from evalstream.model.comparison import ComparisonReport, Flip
from evalstream.reporters.base import PLAIN, Sink, Style


class ComparisonReporter(Protocol):
    """Takes a comparison, and then its flips one by one."""

    def begin(self, report: ComparisonReport) -> None:
        """Write what precedes the flips."""

    def flip(self, flip: Flip) -> None:
        """Write one flip; those of two runs come together, by the lines of the reference."""

    def end(self) -> None:
        """Write the rest."""


class ComparisonReporterType(Protocol):
    """The class of a reporter that writes comparisons in one format."""

    def __call__(self, output: Sink, style: Style = PLAIN, /) -> ComparisonReporter:
        """Return a reporter that writes to the output in a style."""

    def wrote(self, head: bytes, /) -> bool:
        """Tell by its first bytes whether a file is such a report."""

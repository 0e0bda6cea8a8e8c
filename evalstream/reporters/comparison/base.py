"""The contract of reporters of comparisons."""

from __future__ import annotations

from typing import Protocol

from evalstream.model.comparison import ComparisonReport, Flip


class ComparisonReporter(Protocol):
    """Takes a comparison, and then its flips one by one.

    Its class takes the output and the style of the report.
    """

    def begin(self, report: ComparisonReport) -> None:
        """Write what precedes the flips."""

    def flip(self, flip: Flip) -> None:
        """Write one flip; those of two runs come together, by the lines of the baseline."""

    def end(self) -> None:
        """Write the rest."""

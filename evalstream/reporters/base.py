"""The contract of reporters, and what they write to."""

from __future__ import annotations

from typing import Protocol

from evalstream.model.finding import Finding
from evalstream.model.report import Report


class Sink(Protocol):
    """What a report is written to: a file, or a standard stream."""

    def write(self, data: str | bytes, /) -> None:
        """Write text, or bytes of UTF-8. Raises OSError."""


class Reporter(Protocol):
    """Takes findings one by one and then the outcome."""

    def finding(self, finding: Finding) -> None:
        """Take one finding; they come in order."""

    def finish(self, report: Report) -> None:
        """Take the outcome and write the rest of the report.

        `report.rules` has the texts of the rules that were found; no reporter imports rules.
        """


class ReporterType(Protocol):
    """The class of a reporter that writes a report format."""

    def __call__(self, output: Sink, /) -> Reporter:
        """Return a reporter that writes to the output."""

    def wrote(self, head: bytes, /) -> bool:
        """Tell by its first bytes whether a file is such a report."""

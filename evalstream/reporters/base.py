"""The contract of reporters, and what they write to."""

from __future__ import annotations

from typing import Final, Protocol

from evalstream.model.data_class import DataClass
from evalstream.model.finding import Finding, Severity
from evalstream.model.report import Report


class Sink(Protocol):
    """What a report is written to: a file, or a standard stream."""

    def write(self, data: str | bytes, /) -> None:
        """Write text, or bytes of UTF-8. Raises OSError."""


class Style(DataClass, frozen=True):
    """How a report for people looks; other reports do not depend on it.

    `width` is that of the terminal in columns, None where the report goes elsewhere: then nothing
    is shortened. Findings below `min_severity` are counted and not listed. `quiet` leaves the
    lines about runs alone, and `statistics` adds the number of findings of each rule.
    """

    width: int | None = None
    colour: bool = False
    min_severity: Severity = Severity.WARNING
    quiet: bool = False
    statistics: bool = False


PLAIN: Final = Style()
"""A report in a file: no colours, no limit of its width."""


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

    def __call__(self, output: Sink, style: Style = PLAIN, /) -> Reporter:
        """Return a reporter that writes to the output in a style."""

    def wrote(self, head: bytes, /) -> bool:
        """Tell by its first bytes whether a file is such a report."""

"""The contract of report formats, and what reports are written to."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar, Final, Protocol, TypeVar

from evalstream.model.data_class import DataClass
from evalstream.model.finding import Finding, Severity
from evalstream.model.report import Report
from evalstream.parsing.lazy_regex import LazyPattern

if TYPE_CHECKING:
    from evalstream.model.comparison import ComparisonReport, Flip


class Sink(Protocol):
    """The destination of a report: a file, or a standard stream."""

    def write(self, data: str | bytes, /) -> None:
        """Write text, or bytes of UTF-8. Raises OSError."""


class Style(DataClass, frozen=True):
    """How a report for people looks; other reports do not depend on it.

    `width` is that of the terminal in columns, None where the report goes elsewhere: then no line
    is shortened. Findings below `min_severity` are counted and not listed; infos are listed where
    everything is. `quiet` leaves the lines about runs alone, and `statistics` adds the number of
    findings of each rule: these are the report options of their names.
    """

    width: int | None = None
    colour: bool = False
    min_severity: Severity = Severity.WARNING
    quiet: bool = False
    statistics: bool = False

    @property
    def lists_all(self) -> bool:
        """Whether all files, messages and runs are listed, however many there are."""
        return self.min_severity is Severity.INFO


PLAIN: Final = Style()
"""A report in a file: no colours, no limit of its width."""


class Recognized:
    """A format whose reports begin in the same way, with colours between or without."""

    beginning: ClassVar[LazyPattern[bytes]]
    is_coloured: ClassVar[bool] = False

    def __init__(self, output: Sink, _style: Style = PLAIN, /) -> None:
        self._output = output

    @classmethod
    def wrote(cls, head: bytes, /) -> bool:
        """Tell by its first bytes whether a file is such a report."""
        shown = _COLOUR.sub(b"", head) if cls.is_coloured else head
        return cls.beginning.match(shown) is not None


_COLOUR: Final = LazyPattern(rb"\x1b\[[\d;]*m")


class Reporter(Protocol):
    """Takes the findings of a check one by one and then the outcome."""

    def finding(self, finding: Finding) -> None:
        """Take one finding; they come in order."""

    def finish(self, report: Report) -> None:
        """Take the outcome and write the rest of the report.

        `report.rules` has the texts of the rules that were found; no reporter imports rules.
        """


class ComparisonReporter(Protocol):
    """Writes a comparison."""

    def write(self, report: ComparisonReport, flips: Iterable[Flip], /) -> None:
        """Write the report; flips of two runs come together, by the lines of the reference."""


Writer = TypeVar("Writer", covariant=True)  # noqa: PLC0105 - as people read it


class ReportFormat(Protocol[Writer]):
    """A report format: a class that writes reports, and recognizes them.

    `Writer` is `Reporter` for checks and `ComparisonReporter` for comparisons. A writer keeps
    nothing in memory that grows with the number of findings, flips or runs.
    """

    def __call__(self, output: Sink, style: Style = PLAIN, /) -> Writer:
        """Return a writer of one report to the output in a style."""

    def wrote(self, head: bytes, /) -> bool:
        """Tell by its first bytes whether a file is a report of this format.

        It is true of every report that is not empty, in every style and of every version of
        evalstream, and false of rows, aggregates and other files: `--output` replaces a file only
        if a format recognizes it.
        """

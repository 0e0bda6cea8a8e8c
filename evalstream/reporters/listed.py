"""Reports that list findings from a severity upwards; the others are counted and not listed."""

from __future__ import annotations

from evalstream.model.data_class import replace
from evalstream.model.finding import Finding, Severity
from evalstream.model.report import Report
from evalstream.reporters.base import Reporter


class ListedFrom:
    """Passes on the findings of a severity and above, and the outcome with their number."""

    def __init__(self, lowest: Severity, reporter: Reporter) -> None:
        self._lowest, self._reporter = lowest, reporter
        self._shown = 0

    def finding(self, finding: Finding) -> None:
        """Pass on one finding, or drop it."""
        if finding.severity >= self._lowest:
            self._shown += 1
            self._reporter.finding(finding)

    def finish(self, report: Report) -> None:
        """Pass on the outcome."""
        self._reporter.finish(replace(report, shown=self._shown))


def listed_from(lowest: Severity, reporter: Reporter) -> Reporter:
    """Return a reporter that lists findings of a severity and above."""
    return reporter if lowest is Severity.INFO else ListedFrom(lowest, reporter)

"""The reporter of the page: it keeps a few findings of each rule and writes at the end."""

from __future__ import annotations

from evalstream.model.finding import Finding
from evalstream.model.report import Report
from evalstream.reporters.base import PLAIN, Sink, Style
from evalstream.reporters.html.findings import KEPT
from evalstream.reporters.html.page import page
from evalstream.reporters.markup import GENERATOR, START


class HtmlReporter:
    """Keeps the first findings of each rule; the outcome has their exact numbers."""

    def __init__(self, output: Sink, _: Style = PLAIN) -> None:
        self._output = output
        self._kept: dict[str, list[Finding]] = {}

    @staticmethod
    def wrote(head: bytes) -> bool:
        """Tell by its first bytes whether a file is such a report."""
        return head.startswith((START + GENERATOR).encode())

    def finding(self, finding: Finding) -> None:
        """Keep one finding, unless the page has enough of its rule."""
        kept = self._kept.setdefault(finding.code, [])
        if len(kept) < KEPT:
            kept.append(finding)

    def finish(self, report: Report) -> None:
        """Write the page."""
        for piece in page(report, self._kept):
            self._output.write(piece)

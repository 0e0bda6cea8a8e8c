"""One line for each finding, as editors and grep read it: `file:line:column: CODE message`."""

from __future__ import annotations

from typing import Final

from evalstream.model.finding import Finding
from evalstream.model.report import Report
from evalstream.parsing.lazy_regex import LazyPattern
from evalstream.reporters.base import PLAIN, Recognized, Sink, Style
from evalstream.reporters.lines import LineWriter, ListCounts, Span, show_path
from evalstream.reporters.overview import runs_in_log
from evalstream.reporters.run_lines import run_spans
from evalstream.reporters.summary import fix_mark, occurrences, total_lines, vanished_lines

PREFIX: Final = "evalstream: "
"""The beginning of lines that are not findings."""


class ConciseReporter(Recognized):
    """Writes each finding as it comes; nothing is shortened, as programs read the lines."""

    beginning = LazyPattern(
        rb"[^\n{\[][^\n]*?: [A-Z]{2,3}\d{3} "
        rb"|evalstream: +(?:[\d,]+ |passed|unconfirmed|FAILED|incomplete)"
    )
    """A finding, or a line about runs."""
    is_coloured = True

    def __init__(self, output: Sink, style: Style = PLAIN) -> None:
        # Lines are never wrapped.
        self._lines = LineWriter(output, Style(colour=style.colour))
        self._style, self._listing = style, ListCounts(style)

    def finding(self, finding: Finding) -> None:
        """Write one finding, unless it is only counted."""
        if not self._listing.takes(finding):
            return
        pointer = f" ({finding.pointer})" if finding.pointer else ""
        self._lines.write(
            Span(show_path(finding.file), "file"),
            Span(f"{finding.position}: "),
            Span(finding.code, finding.severity.label),
            Span(f" {finding.message}"),
            Span(f"{pointer}{occurrences(finding)}{fix_mark(finding.fix)}", "dim"),
        )

    def finish(self, report: Report) -> None:
        """Write how many findings are not listed, the runs, and the totals."""
        if self._style.statistics:
            for spans in self._listing.statistics(report):
                self._say(*spans)
        for one in runs_in_log(report, lists_all=self._style.lists_all):
            self._say(*([Span(one)] if isinstance(one, str) else run_spans(one)))
        for line in (*total_lines(report), *vanished_lines(report)):
            self._say(Span(line))
        if self._style.quiet:
            return
        more = self._listing.more(report)
        if more:
            self._say(Span(more))
        note = self._listing.note(report)
        if note:
            self._say(Span(note, "dim"))

    def _say(self, *spans: Span) -> None:
        self._lines.write(Span(PREFIX, "dim"), *spans)

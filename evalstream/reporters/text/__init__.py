"""For people: findings grouped by rule, equal ones joined, then a line for each run."""

from __future__ import annotations

from typing import Final

from evalstream.model.finding import Finding, FindingList
from evalstream.model.report import Report
from evalstream.parsing.lazy_regex import LazyPattern
from evalstream.reporters.base import PLAIN, Recognized, Sink, Style
from evalstream.reporters.lines import LineWriter, ListCounts, Span
from evalstream.reporters.overview import FirstFindings
from evalstream.reporters.run_lines import RunLines

IN_MEMORY: Final = 1_000
"""How many findings of each code are kept in memory: there are over a hundred codes."""


class TextReporter(Recognized):
    """Keeps the findings by code and writes at the end."""

    beginning = LazyPattern(
        rb"\s*(?:(?:all paths are below [^\n]+\s+)?[A-Z]{2,3}\d{3} [a-z0-9-]+(?: \(preview\))?:\s"
        rb"|[\d,]+  [A-Z]{2,3}\d{3} +(?:error|warning|info)?  "
        rb"|(?:passed|unconfirmed|FAILED|incomplete|not checked)(?: \([^\n)]*\))?: "
        rb"|[^\n]*: (?:passed|unconfirmed|FAILED|incomplete|not checked)\b"
        rb"|[\d,]+ (?:runs? not looked at|of [\d,]+ runs? NOT CHECKED))"
    )
    """The common folder, the name of a rule, a line of statistics, a run, or runs not reached.

    In the first layout of this report the line of a run began with its name.
    """
    is_coloured = True

    def __init__(self, output: Sink, style: Style = PLAIN) -> None:
        self._output, self._style = output, style
        self._listing, self._firsts = ListCounts(style), FirstFindings()
        self._groups: dict[str, FindingList] = {}

    def finding(self, finding: Finding) -> None:
        """Keep one finding in its group, unless it is only counted."""
        self._firsts.add(finding)
        if self._listing.takes(finding):
            self._groups.setdefault(finding.code, FindingList(IN_MEMORY)).append(finding)

    def finish(self, report: Report) -> None:
        """Write the groups, the most severe first, then the runs, and last the verdict."""
        lines = LineWriter(self._output, self._style)
        runs = RunLines(lines, report, self._firsts)
        if lines.folder:
            lines.write(Span("all paths are below "), Span(lines.folder, "file"), wraps=False)
            lines.blank()
        if self._groups:
            from evalstream.reporters.text.finding_lines import GroupLines

            for code in self._listing.codes():
                GroupLines(lines, self._listing, code, report).write(self._groups[code])
        _finish(lines, self._listing, runs, report)


class LiveTextReporter:
    """Writes each finding as it comes, and at the end a line for each run."""

    def __init__(self, output: Sink, style: Style = PLAIN) -> None:
        self._lines = LineWriter(output, style)
        self._listing, self._firsts = ListCounts(style), FirstFindings()

    def finding(self, finding: Finding) -> None:
        """Write one finding, its code before its place."""
        self._firsts.add(finding)
        if self._listing.takes(finding):
            from evalstream.reporters.text.finding_lines import write_alone

            write_alone(self._lines, finding)

    def finish(self, report: Report) -> None:
        """Write how many findings came beyond the limit, and the runs."""
        more = "" if self._lines.style.quiet else self._listing.more(report)
        if more:
            self._lines.write(Span(more))
        runs = RunLines(self._lines, report, self._firsts)
        _finish(self._lines, self._listing, runs, report)


def _finish(lines: LineWriter, listing: ListCounts, runs: RunLines, report: Report) -> None:
    """Write what follows the findings; the verdict is the last line."""
    if lines.style.statistics:
        for spans in listing.statistics(report):
            lines.write(*spans)
        if report.counts:
            lines.blank()
    note = "" if lines.style.quiet else listing.note(report)
    if note:
        lines.write(Span(note, "dim"))
        lines.blank()
    runs.write()

"""Annotations of GitHub Actions, as workflow commands, and a job summary.

GitHub shows at most ten errors, ten warnings and ten notices of a step as annotations, so the first
finding of each rule comes before the others. The log has all of them. File names are relative to
`GITHUB_WORKSPACE`. Where `GITHUB_STEP_SUMMARY` names a file, a summary in Markdown is added to it:
the verdict of each run with what was verified, the rules with their remedies, and first findings.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Final

from evalstream.model.finding import Finding, FindingList, Severity
from evalstream.model.report import Report
from evalstream.model.text import count_noun
from evalstream.parsing.lazy_regex import LazyPattern
from evalstream.reporters.base import PLAIN, Recognized, Sink, Style
from evalstream.reporters.describe import Places, describe_values, file_name, visible
from evalstream.reporters.overview import runs_in_log
from evalstream.reporters.summary import occurrences, run_line, total_lines, vanished_lines

LEVELS: Final = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}

MOST_SHOWN: Final = 10
"""How many annotations of a level GitHub shows of one step."""


class GithubReporter(Recognized):
    """Keeps the findings, and writes at the end."""

    beginning = LazyPattern(rb"::(?:error|warning|notice) file=|evalstream: ")
    """A finding, or the line of a run."""

    def __init__(self, output: Sink, style: Style = PLAIN) -> None:
        self._output, self._style = output, style
        self._places = Places()
        self._summary = os.environ.get("GITHUB_STEP_SUMMARY")
        self._findings = FindingList()
        self._first: dict[tuple[Severity, str], Finding] = {}
        self._counts = dict.fromkeys(LEVELS, 0)

    def finding(self, finding: Finding) -> None:
        """Keep one finding."""
        self._counts[finding.severity] += 1
        kind = finding.severity, finding.code
        if kind in self._first:
            self._findings.append(finding)
        else:
            self._first[kind] = finding

    def finish(self, report: Report) -> None:
        """Write the annotations, then plain lines about the runs, and the job summary."""
        for finding in self._in_order():
            self._output.write(self._annotation(finding, report))
        for one in runs_in_log(report, lists_all=self._style.lists_all):
            line = one if isinstance(one, str) else run_line(one)
            self._output.write(f"evalstream: {visible(line)}\n")
        for line in (*total_lines(report), *vanished_lines(report)):
            self._output.write(f"evalstream: {visible(line)}\n")
        if max(self._counts.values()) > MOST_SHOWN:
            counts = ", ".join(
                count_noun(count, LEVELS[one]) for one, count in self._counts.items() if count
            )
            self._output.write(
                f"evalstream: GitHub shows at most {MOST_SHOWN} annotations of a level and step; "
                f"the log has {counts}\n"
            )
        if self._summary:
            from evalstream.reporters.job_summary import add_summary

            add_summary(self._summary, report, self._in_order())

    def _in_order(self) -> Iterator[Finding]:
        """Iterate over the findings, the first of each rule and severity before the others."""
        for severity in LEVELS:
            yield from (one for (of, _), one in self._first.items() if of is severity)
        yield from self._findings

    def _annotation(self, finding: Finding, report: Report) -> str:
        """Return one workflow command: what is wrong, the values, and the remedy."""
        file = self._places.relative(finding.file) or file_name(finding.file)
        place = f"file={_property(file)}"
        if finding.line is not None:
            place += f",line={finding.line}"
        if finding.column is not None:
            place += f",col={finding.column}"
        title = _property(f"{finding.code} {finding.name}")
        where = f"{finding.pointer}: " if finding.pointer else ""
        lines = [f"{where}{finding.message}{occurrences(finding)}"]
        lines += filter(None, [describe_values(finding)])
        text = report.rules.get(finding.code)
        if text and text.fix:
            lines.append(f"fix: {text.fix}")
        message = _text("\n".join(map(visible, lines)))
        return f"::{LEVELS[finding.severity]} {place},title={title}::{message}\n"


def _text(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _text(visible(text)).replace(":", "%3A").replace(",", "%2C")

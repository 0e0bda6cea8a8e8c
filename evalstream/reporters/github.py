"""Workflow annotations of GitHub Actions, with file and line."""

from __future__ import annotations

import re
from typing import Final

from evalstream.model.finding import Finding, Severity
from evalstream.model.report import Report
from evalstream.reporters.base import PLAIN, Sink, Style
from evalstream.reporters.summary import occurrences, run_line, total_lines, vanished_lines

LEVELS: Final = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


_BEGINNING: Final = re.compile(rb"::(?:error|warning|notice) file=|evalstream: ")
"""A finding, or the line of a run."""


class GithubReporter:
    """Writes each finding as a workflow command as it comes."""

    def __init__(self, output: Sink, _: Style = PLAIN) -> None:
        self._output = output

    @staticmethod
    def wrote(head: bytes) -> bool:
        """Tell by its first bytes whether a file is such a report."""
        return _BEGINNING.match(head) is not None

    def finding(self, finding: Finding) -> None:
        """Write one annotation."""
        place = f"file={_property(finding.file)}"
        if finding.line is not None:
            place += f",line={finding.line}"
        title = _property(f"{finding.code} {finding.name}")
        where = f"{finding.pointer}: " if finding.pointer else ""
        count = occurrences(finding)
        message = _text(f"{where}{finding.message}{count}")
        self._output.write(f"::{LEVELS[finding.severity]} {place},title={title}::{message}\n")

    def finish(self, report: Report) -> None:
        """Write a plain line per run."""
        for run in report.runs:
            # The prefix keeps a file name from being read as a workflow command.
            self._output.write(f"evalstream: {_text(run_line(run))}\n")
        for line in (*total_lines(report), *vanished_lines(report)):
            self._output.write(f"evalstream: {_text(line)}\n")


def _text(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _text(text).replace(":", "%3A").replace(",", "%2C")

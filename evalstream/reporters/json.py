"""One JSON document with the runs and the shown findings."""

from __future__ import annotations

import re
from typing import Final

from evalstream.model.finding import Finding, FindingList
from evalstream.model.report import Report
from evalstream.parsing.json import dumps_visible
from evalstream.reporters.base import PLAIN, Sink, Style
from evalstream.reporters.summary import closing, outcome

_BEGINNING: Final = re.compile(rb'\{"schema":\d+,"tool":\{"name":"evalstream"')


class JsonReporter:
    """Keeps the findings, since the runs come first, and writes at the end."""

    def __init__(self, output: Sink, _: Style = PLAIN) -> None:
        self._output = output
        self._findings = FindingList()

    @staticmethod
    def wrote(head: bytes) -> bool:
        """Tell by its first bytes whether a file is such a report."""
        return _BEGINNING.match(head) is not None

    def finding(self, finding: Finding) -> None:
        """Keep one finding."""
        self._findings.append(finding)

    def finish(self, report: Report) -> None:
        """Write the document."""
        for piece in outcome(report):
            self._output.write(piece)
        self._output.write(b',"findings":[')
        for number, finding in enumerate(self._findings):
            self._output.write((b"," if number else b"") + dumps_visible(finding.as_dict()))
        self._output.write(b"]")
        if report.totals.vanished:
            self._output.write(b',"vanished":[')
            for number, known in enumerate(report.vanished):
                self._output.write((b"," if number else b"") + dumps_visible(known.as_dict()))
            self._output.write(b"]")
        self._output.write(closing(report) + b"\n")

"""One page for people to share: verdicts, what was verified, findings by rule, and pictures.

The page is one file of at most 2 MB. It loads nothing, and prints. On the page of several runs one
script sorts and filters their table; without it the page lacks nothing else. The same inputs and
options give the same bytes.
"""

from __future__ import annotations

import re

from evalstream.model.finding import Finding, FindingList
from evalstream.model.report import Report
from evalstream.parsing.lazy_regex import LazyPattern
from evalstream.reporters.base import PLAIN, Recognized, Sink, Style
from evalstream.reporters.markup import GENERATOR, START
from evalstream.reporters.overview import FirstFindings, Overview

IN_MEMORY = 200
"""How many findings of each rule are kept in memory; others are on disk."""


class HtmlReporter(Recognized):
    """Keeps the findings by rule and writes at the end."""

    beginning = LazyPattern(re.escape(START + GENERATOR).encode())

    def __init__(self, output: Sink, _: Style = PLAIN) -> None:
        self._output, self._firsts = output, FirstFindings()
        self._groups: dict[str, FindingList] = {}

    def finding(self, finding: Finding) -> None:
        """Keep one finding in its group."""
        self._firsts.add(finding)
        self._groups.setdefault(finding.code, FindingList(IN_MEMORY)).append(finding)

    def finish(self, report: Report) -> None:
        """Write the page."""
        from evalstream.reporters.html.page import page

        overview = Overview(report, self._firsts, {})
        for piece in page(report, overview, self._firsts, self._groups):
            self._output.write(piece)

"""One JSON document with the runs and the shown findings.

It has at most 10,000 runs and 50,000 findings: those that did not pass, and the most severe, come
before others. `unlisted_runs` and `shown` say how many there are. `--max-findings 0` lists all, and
so does `--format jsonl`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

from evalstream.model.data_class import replace
from evalstream.model.finding import Finding, FindingList, KnownFinding, Severity
from evalstream.model.report import Report
from evalstream.model.run_summary import RunSummary
from evalstream.parsing.json import dumps_visible
from evalstream.parsing.lazy_regex import LazyPattern
from evalstream.reporters.base import PLAIN, Recognized, Sink, Style
from evalstream.reporters.summary import SCHEMA, TOOL, list_figures, sort_runs

MOST_RUNS: Final = 10_000
MOST_FINDINGS: Final = 50_000
"""How many are listed, unless all are asked for."""


class JsonReporter(Recognized):
    """Keeps the findings, since the runs come first, and writes at the end."""

    beginning = LazyPattern(rb'\{"schema":\d+,"tool":\{"name":"evalstream"')

    def __init__(self, output: Sink, _: Style = PLAIN) -> None:
        self._output = output
        self._findings = FindingList()
        self._counts = dict.fromkeys(sorted(Severity, reverse=True), 0)

    def finding(self, finding: Finding) -> None:
        """Keep one finding."""
        self._findings.append(finding)
        self._counts[finding.severity] += 1

    def finish(self, report: Report) -> None:
        """Write the document."""
        rules = {code: text.as_dict() for code, text in sorted(report.rules.items())}
        head = {"schema": SCHEMA, "tool": dict(TOOL), "rules": rules}
        self._output.write(dumps_visible(head).removesuffix(b"}"))
        lists_all = report.options.get("max_findings") == 0
        runs: Iterable[RunSummary] = report.runs
        if not lists_all and report.totals.runs > MOST_RUNS:
            listed = {number for number, _ in islice(sort_runs(report), MOST_RUNS)}
            runs = (run for number, run in enumerate(report.runs, 1) if number in listed)
        if unlisted := report.totals.runs - self._write_array(b"runs", runs):
            self._output.write(b',"unlisted_runs":%d' % unlisted)
        findings = self._findings if lists_all else self._most_severe()
        shown = self._write_array(b"findings", findings)
        if report.totals.vanished:
            self._write_array(b"vanished", report.vanished)
        end = dumps_visible(list_figures(replace(report, shown=shown)))
        self._output.write(b"," + end.removeprefix(b"{") + b"\n")

    def _write_array(
        self, name: bytes, items: Iterable[RunSummary | Finding | KnownFinding]
    ) -> int:
        """Write a member that is an array, item by item, and return how many there are."""
        self._output.write(b',"%b":[' % name)
        count = 0
        for count, item in enumerate(items, 1):
            self._output.write((b"," if count > 1 else b"") + dumps_visible(item.as_dict()))
        self._output.write(b"]")
        return count

    def _most_severe(self) -> Iterator[Finding]:
        """Iterate over the findings in their order, as many as are listed."""
        left, room = MOST_FINDINGS, {}
        for severity, count in self._counts.items():
            room[severity] = min(count, left)
            left -= room[severity]
        for finding in self._findings:
            if room[finding.severity]:
                room[finding.severity] -= 1
                yield finding

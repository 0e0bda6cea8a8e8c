"""One finding per line, then one run per line, and last the totals: the wire format.

`evalstream report` makes every other report from it.
"""

from __future__ import annotations

from evalstream.model.finding import Finding
from evalstream.model.report import Report, encode_runs
from evalstream.parsing.json import dumps_visible
from evalstream.parsing.lazy_regex import LazyPattern
from evalstream.reporters.base import Recognized
from evalstream.reporters.summary import SCHEMA, TOOL, list_figures


class JsonLinesReporter(Recognized):
    """Writes each finding as it comes."""

    beginning = LazyPattern(
        rb'\{"code":"[A-Z]+\d+","name":"[a-z0-9-]+","severity":"'
        rb'|\{"run":\{"file":|\{"summary":\{"schema":\d+,"tool":'
    )
    """A finding, or a run where nothing was found, or the summary where nothing was checked."""

    def finding(self, finding: Finding) -> None:
        """Write one finding."""
        self._output.write(dumps_visible(finding.as_dict()) + b"\n")

    def finish(self, report: Report) -> None:
        """Write each run, numbered from 1, and the summary of all."""
        for number, run in enumerate(encode_runs(report.runs), 1):
            self._output.write(dumps_visible({"run": run, "number": number}) + b"\n")
        for known in report.vanished:
            self._output.write(dumps_visible({"vanished": known.as_dict()}) + b"\n")
        unlisted = report.totals.runs - len(report.runs)
        summary = {
            "schema": SCHEMA,
            "tool": dict(TOOL),
            **({"unlisted_runs": unlisted} if unlisted else {}),
            **list_figures(report),
        }
        self._output.write(dumps_visible({"summary": summary}) + b"\n")

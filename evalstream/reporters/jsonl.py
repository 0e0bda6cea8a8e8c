"""One finding per line, then one line with the summary: the wire format."""

from __future__ import annotations

import re
from typing import Final

from evalstream.model.finding import Finding
from evalstream.model.report import Report
from evalstream.parsing.json import dumps
from evalstream.reporters.base import Sink
from evalstream.reporters.summary import closing, outcome

_BEGINNING: Final = re.compile(
    rb'\{"code":"[A-Z]+\d+","name":"[a-z0-9-]+","severity":"|\{"summary":\{"schema":\d+,"tool":'
)
"""A finding, or the summary where nothing was found."""


class JsonLinesReporter:
    """Writes each finding as it comes."""

    def __init__(self, output: Sink) -> None:
        self._output = output

    @staticmethod
    def wrote(head: bytes) -> bool:
        """Tell by its first bytes whether a file is such a report."""
        return _BEGINNING.match(head) is not None

    def finding(self, finding: Finding) -> None:
        """Write one finding."""
        self._output.write(dumps(finding.as_dict()) + b"\n")

    def finish(self, report: Report) -> None:
        """Write the summary."""
        self._output.write(b'{"summary":')
        for piece in outcome(report):
            self._output.write(piece)
        self._output.write(closing(report) + b"}\n")

"""Comparisons as JSON lines: drifts, comparisons and flips one by one, then the summary."""

from __future__ import annotations

from typing import Any

from evalstream.model.comparison import ComparisonReport, Flip
from evalstream.parsing import json
from evalstream.parsing.lazy_regex import LazyPattern
from evalstream.reporters.base import PLAIN, Recognized, Sink, Style
from evalstream.reporters.comparison.figures import comparison_dict, flip_dict, head_dict


class JsonLinesComparison(Recognized):
    """Writes one object per line, whose only member says what it is."""

    beginning = LazyPattern(
        rb'\{"(?:drift|comparison|flip)":\{"|\{"summary":\{"schema":\d+,"first_line":"'
    )

    def __init__(self, output: Sink, _style: Style = PLAIN) -> None:
        self._output = output
        self._report: ComparisonReport | None = None
        self._flips = 0

    def begin(self, report: ComparisonReport) -> None:
        """Write drifts and comparisons."""
        self._report = report
        for drift in report.drifts:
            self._write({"drift": drift._asdict()})
        for comparison in report.comparisons:
            self._write({"comparison": comparison_dict(comparison)})

    def flip(self, flip: Flip) -> None:
        """Write one flip."""
        self._flips += 1
        self._write({"flip": flip_dict(flip)})

    def end(self) -> None:
        """Write the summary."""
        if self._report is not None:
            self._write({"summary": {**head_dict(self._report), "flips_shown": self._flips}})

    def _write(self, value: dict[str, Any]) -> None:
        self._output.write(json.dumps_visible(value) + b"\n")

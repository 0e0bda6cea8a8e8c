"""Comparisons as one JSON document."""

from __future__ import annotations

import re

from evalstream.model.comparison import ComparisonReport, Flip
from evalstream.parsing import json
from evalstream.parsing.lazy_regex import LazyPattern
from evalstream.reporters.base import PLAIN, Recognized, Sink, Style
from evalstream.reporters.comparison.figures import comparison_dict, flip_dict, head_dict


class JsonComparison(Recognized):
    """Writes one object; the flips are written as they come."""

    beginning = LazyPattern(re.escape(b'{"schema":1,"first_line":'))

    def __init__(self, output: Sink, _style: Style = PLAIN) -> None:
        self._output, self._flips = output, 0

    def begin(self, report: ComparisonReport) -> None:
        """Write all but the flips."""
        whole = {
            **head_dict(report),
            "drifts": [drift._asdict() for drift in report.drifts],
            "comparisons": [comparison_dict(one) for one in report.comparisons],
        }
        self._output.write(json.dumps_visible(whole).removesuffix(b"}") + b',"flips":[')

    def flip(self, flip: Flip) -> None:
        """Write one flip."""
        self._output.write((b"," if self._flips else b"") + json.dumps_visible(flip_dict(flip)))
        self._flips += 1

    def end(self) -> None:
        """End the document."""
        self._output.write(b"]}\n")

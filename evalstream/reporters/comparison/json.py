"""Comparisons as one JSON document."""

from __future__ import annotations

import re
from collections.abc import Iterable

from evalstream.model.comparison import ComparisonReport, Flip
from evalstream.parsing import json
from evalstream.parsing.lazy_regex import LazyPattern
from evalstream.reporters.base import Recognized
from evalstream.reporters.comparison.figures import comparison_dict, flip_dict, head_dict


class JsonComparison(Recognized):
    """Writes one object; the flips are written as they come."""

    beginning = LazyPattern(re.escape(b'{"schema":1,"first_line":'))

    def write(self, report: ComparisonReport, flips: Iterable[Flip], /) -> None:
        """Write the document."""
        whole = {
            **head_dict(report),
            "drifts": [drift._asdict() for drift in report.drifts],
            "comparisons": [comparison_dict(one) for one in report.comparisons],
        }
        self._output.write(json.dumps_visible(whole).removesuffix(b"}") + b',"flips":[')
        for number, flip in enumerate(flips):
            self._output.write((b"," if number else b"") + json.dumps_visible(flip_dict(flip)))
        self._output.write(b"]}\n")

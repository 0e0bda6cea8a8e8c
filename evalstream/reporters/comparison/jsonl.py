"""Comparisons as JSON lines: drifts, comparisons and flips one by one, then the summary."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from evalstream.model.comparison import ComparisonReport, Flip
from evalstream.parsing import json
from evalstream.parsing.lazy_regex import LazyPattern
from evalstream.reporters.base import Recognized
from evalstream.reporters.comparison.figures import comparison_dict, flip_dict, head_dict


class JsonLinesComparison(Recognized):
    """Writes one object per line, whose only member says what it is."""

    beginning = LazyPattern(
        rb'\{"(?:drift|comparison|flip)":\{"|\{"summary":\{"schema":\d+,"first_line":"'
    )

    def write(self, report: ComparisonReport, flips: Iterable[Flip], /) -> None:
        """Write the lines."""
        for drift in report.drifts:
            self._write({"drift": drift._asdict()})
        for comparison in report.comparisons:
            self._write({"comparison": comparison_dict(comparison)})
        shown = 0
        for shown, flip in enumerate(flips, 1):  # noqa: B007 - the number of all
            self._write({"flip": flip_dict(flip)})
        self._write({"summary": {**head_dict(report), "flips_shown": shown}})

    def _write(self, value: dict[str, Any]) -> None:
        self._output.write(json.dumps_visible(value) + b"\n")

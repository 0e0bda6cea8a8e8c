"""Comparisons as a table of comma-separated values, a line for each."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable
from typing import Final

from evalstream.model.comparison import ComparisonReport, Flip
from evalstream.parsing.lazy_regex import LazyPattern
from evalstream.reporters.base import Recognized
from evalstream.reporters.comparison import figures
from evalstream.reporters.describe import visible

COLUMNS: Final = (
    "a", "b", "model_a", "model_b", "result", "metric", "verdict", "better", *figures.COLUMNS,
    "checks",
)  # fmt: skip

_FORMULA: Final = ("=", "+", "-", "@")
"""The first letters of a text that a spreadsheet would compute."""


class CsvComparison(Recognized):
    """Writes the figures of each comparison; flips have no place in it.

    `checks` repeats the first line of the report, so that no line is read without it. If nothing is
    compared, the only line says why.
    """

    beginning = LazyPattern(re.escape(",".join(COLUMNS)).encode())

    def write(self, report: ComparisonReport, _flips: Iterable[Flip], /) -> None:
        """Write the table."""
        self._write(COLUMNS)
        models = {run.label: run.model for run in report.runs}
        for one in report.comparisons:
            named = one.a, one.b, models.get(one.a), models.get(one.b)
            measured = one.metric.result, one.metric.metric, str(one.verdict), one.better
            found = figures.comparison_figures(one).values()
            self._write(map(_cell, (*named, *measured, *found, report.first_line)))
        if not report.comparisons:
            verdict = COLUMNS.index("verdict")
            cells = [""] * verdict + ["not compared"] + [""] * (len(COLUMNS) - verdict - 2)
            self._write([*cells, _cell(report.first_line)])

    def _write(self, cells: Iterable[str]) -> None:
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerow(cells)
        self._output.write(text.getvalue())


def _cell(value: str | float | None) -> str:
    """Write a cell; a text that looks like a formula gets an apostrophe before it."""
    if value is None:
        return ""
    if not isinstance(value, str):
        return repr(value)
    text = visible(value)
    return f"'{text}" if text.startswith(_FORMULA) else text

"""Comparisons as a table of comma-separated values, a line for each."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable
from typing import Final

from evalstream.model.comparison import Comparison, ComparisonReport, Flip
from evalstream.parsing.lazy_regex import LazyPattern
from evalstream.reporters.base import Recognized
from evalstream.reporters.describe import visible

FIGURES: Final = (
    "n", "mean_a", "error_a", "mean_b", "error_b", "difference", "standard_error", "low", "high",
    "interval", "p", "adjusted_p", "test", "clusters", "overlap", "only_a", "only_b",
)  # fmt: skip
"""The figures of a comparison as columns of a table."""

COLUMNS: Final = (
    "a", "b", "model_a", "model_b", "result", "metric", "verdict", "better", *FIGURES,
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
            found = comparison_figures(one).values()
            self._write(map(_cell, (*named, *measured, *found, report.first_line)))
        if not report.comparisons:
            verdict = COLUMNS.index("verdict")
            cells = [""] * verdict + ["not compared"] + [""] * (len(COLUMNS) - verdict - 2)
            self._write([*cells, _cell(report.first_line)])

    def _write(self, cells: Iterable[str]) -> None:
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerow(cells)
        self._output.write(text.getvalue())


def comparison_figures(one: Comparison) -> dict[str, float | str | None]:
    """Return the figures of a comparison by the names of FIGURES, None for what it lacks."""
    found, aligned = one.estimate, one.alignment
    values: list[float | str | None] = [None] * (len(FIGURES) - 3)
    if found is not None:
        values = [
            found.n,
            found.mean_a,
            found.own_a and found.own_a.standard_error,
            found.mean_b,
            found.own_b and found.own_b.standard_error,
            found.difference,
            found.standard_error,
            *(found.interval or (None, None, None)),
            found.test and found.test.p,
            found.adjusted_p,
            found.test and found.test.method,
            found.clustered and found.clustered.clusters,
        ]
    values += [aligned.overlap, aligned.only_a, aligned.only_b]
    return dict(zip(FIGURES, values, strict=True))


def _cell(value: str | float | None) -> str:
    """Write a cell; a text that looks like a formula gets an apostrophe before it."""
    if value is None:
        return ""
    if not isinstance(value, str):
        return repr(value)
    text = visible(value)
    return f"'{text}" if text.startswith(_FORMULA) else text

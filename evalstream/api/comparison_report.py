"""The comparison that Python users get: that of the model, which shows itself in a notebook."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, NoReturn

from evalstream.api.reports import FRAME, MOST_LINES, Text
from evalstream.api.tables import (
    COMPARED_COLUMNS,
    ComparedTable,
    Record,
    iterate_compared,
    pandas_frame,
    polars_frame,
)
from evalstream.model import comparison
from evalstream.model.text import on_one_line

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl


class ComparisonReport(comparison.ComparisonReport):
    """The outcome of a comparison: its verdicts, and the samples that flip.

    `len` counts the comparisons. `bool` raises TypeError. As the last expression of a notebook's
    cell it shows itself as a page.

    Attributes:
        runs: The runs that are compared.
        reference: The label of the reference.
        settings: The options of the comparison.
        first_line: What was compared, and whether all runs passed their check.
        refused: Why nothing is compared, None if it is.
        comparisons: One comparison for each two runs, result and metric.
        averages: The means of several results of each two runs, with equal weights.
        confounders: Settings that differ between the runs.
        drifts: The first samples that were asked or scored differently.
        drifts_in_all: The number of all such samples.
        unmatched_results: Results that only some runs have, as texts.
        differences: Tables of the differences of each two of many runs, in the unit of the metric.
        overlaps: Tables of the shares of samples that each two of many runs have in common.
        drift_counts: Tables of the numbers of drifted and relabelled samples of each two of many
            runs.
        rankings: The ranks of the runs, for each metric.
        failed_on: The conditions of `fail_if` that hold.
        allowed: The settings of scoring that differ, and that `allow_different` names.
        warnings: What limits the comparison, in sentences.
        exit_code: The exit code of the same comparison on the command line.
        flips: The samples that flip; empty where a reporter takes them one by one.

    """

    def __len__(self) -> int:
        return len(self.comparisons)

    def __bool__(self) -> NoReturn:
        raise TypeError("a comparison is neither true nor false: use exit_code or len(report)")

    def __repr__(self) -> str:
        lines = [self.first_line, *([self.refused] if self.refused else [])]
        lines += [
            f"{one.a} and {one.b}, {one.metric.label}: {one.sentence or one.verdict.value}"
            for one in self.comparisons[:MOST_LINES]
        ]
        if len(self) > MOST_LINES:
            lines.append(f"… and {len(self) - MOST_LINES:,} more comparisons")
        return "\n".join(map(on_one_line, filter(None, lines)))

    def _repr_html_(self) -> str:
        # Only notebooks need pages.
        from evalstream.reporters.comparison.html import HtmlComparison

        page = Text()
        HtmlComparison(page).write(self, self.flips)
        return FRAME.format(escape(page.text()), "comparison of evalstream")

    def to_dicts(self, table: ComparedTable = "comparisons") -> list[Record]:
        """Return the comparisons, or the `flips`, `drifts` or `runs`, as plain values.

        `difference` is that of the means `mean_a` and `mean_b`, with its interval from `low` to
        `high`, in the unit of the metric; `error_a`, `error_b` and `standard_error` are the
        standard errors of the three. Answers have their JSON text beside them.
        """
        return list(iterate_compared(self, table))

    def to_pandas(self, table: ComparedTable = "comparisons") -> pd.DataFrame:
        """Return `to_dicts` as a DataFrame of pandas. Raises MissingExtra without pandas."""
        return pandas_frame(iterate_compared(self, table), COMPARED_COLUMNS[table])

    def to_polars(self, table: ComparedTable = "comparisons") -> pl.DataFrame:
        """Return `to_dicts` as a DataFrame of polars. Raises MissingExtra without polars."""
        return polars_frame(iterate_compared(self, table), COMPARED_COLUMNS[table])


def compared_with_tables(found: comparison.ComparisonReport) -> ComparisonReport:
    """Return a comparison as Python users get it."""
    return ComparisonReport(**vars(found))

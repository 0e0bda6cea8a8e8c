"""Comparisons for people: verdicts in words first, then the figures, then the flips."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Final

from evalstream.model.comparison import CompareVerdict, Comparison, ComparisonReport, Flip, Matrix
from evalstream.model.text import count_noun
from evalstream.parsing.lazy_regex import LazyPattern
from evalstream.reporters.base import PLAIN, Recognized, Sink, Style
from evalstream.reporters.comparison import wording
from evalstream.reporters.comparison.wording import join_groups, percent
from evalstream.reporters.lines import LineWriter, Span

MOST_LISTED: Final = 20
"""Number of confounders, results and warnings that are listed; the others are counted."""

MOST_COLUMNS: Final = 26
"""Number of runs up to which a matrix is shown."""

_ROLES: Final = {
    CompareVerdict.SIGNIFICANT: "warning",
    CompareVerdict.DEPENDS: "warning",
    CompareVerdict.WITHIN_NOISE: "passed",
    CompareVerdict.UNINFORMATIVE: "dim",
    CompareVerdict.NOT_COMPARABLE: "error",
}


class TextComparison(Recognized):
    """Writes a comparison as lines."""

    beginning = LazyPattern(rb"[^\n]+\n  A  [^\n]*; (?:[^\n]*, )?[\d,]+ samples?\b")
    is_coloured = True

    def __init__(self, output: Sink, style: Style = PLAIN) -> None:
        self._lines = LineWriter(output, style)

    def write(self, report: ComparisonReport, flips: Iterable[Flip], /) -> None:
        """Write the lines."""
        role = "error" if report.refused else ""
        self._lines.write(Span(report.first_line, role))
        for run in report.runs:
            model = f"model {run.model}, " if run.model else ""
            shown = f"{model}{count_noun(run.rows, run.noun)}, {count_noun(run.samples, 'sample')}"
            lacking = run.without_identity
            lacks = f"; {count_noun(lacking, run.noun)} without an identity" if lacking else ""
            self._lines.write(
                Span(f"{run.label}  ", "code"),
                self._lines.path(run.file or run.aggregate or ""),
                Span(f"  {run.verdict}; {shown}{lacks}"),
                indent=2,
            )
        if len(report.comparisons) <= wording.MOST_DETAILED:
            for comparison in report.comparisons:
                self._detail(comparison)
        else:
            self._table(report.comparisons)
        for title, texts in wording.iterate_lists(report):
            self._list(title, texts)
        self._of_many(report)
        listed, in_all = 0, wording.count_flips(report)
        for (a, b), some in groupby(flips, key=lambda one: (one.a, one.b)):
            self._lines.blank()
            self._lines.write(Span(f"flips between {a} and {b}", "code"))
            for listed, flip in enumerate(some, listed + 1):  # noqa: B007, B020 - goes on there
                self._flip(flip)
        if in_all > listed:
            self._lines.blank()
            self._lines.write(
                Span(f"{listed:,} of {count_noun(in_all, 'flip')} shown; --flips 0 shows all")
            )
        for name in report.failed_on:
            self._lines.write(Span(f"--fail-if {name}: the condition holds", "error"))

    def _flip(self, flip: Flip) -> None:
        self._lines.write(
            Span(f"{flip.direction}: "),
            Span("" if flip.sample_id is None else f"sample {wording.json_text(flip.sample_id)}, "),
            Span(
                f"{flip.metric}; line {flip.line_a:,} of {flip.a}, line {flip.line_b:,} of {flip.b}"
            ),
            indent=2,
        )
        for label, answer in ((flip.a, flip.answer_a), (flip.b, flip.answer_b)):
            if answer is not None:
                self._lines.write(
                    Span(f"{label} answers ", "dim"), Span(wording.json_text(answer)), indent=4
                )

    def _detail(self, one: Comparison) -> None:
        self._lines.blank()
        self._lines.write(
            Span(f"{one.a} and {one.b}, {one.metric.label}: "),
            Span(str(one.verdict), _ROLES[one.verdict]),
        )
        self._lines.write(Span(one.sentence), indent=2)
        for name, text in wording.iterate_figures(one):
            self._lines.write(Span(f"{name:<12}", "dim"), Span(text), indent=2)

    def _table(self, comparisons: Sequence[Comparison]) -> None:
        self._lines.blank()
        width = max(15, *(len(one.verdict) + 1 for one in comparisons))
        for one in comparisons:
            found = one.estimate
            figures = "" if found is None else f"  {wording.figures_text(found)}, n = {found.n:,}"
            self._lines.write(
                Span(f"{one.verdict:<{width}}", _ROLES[one.verdict]),
                Span(f"{one.a} and {one.b}, {one.metric.label}{figures}"),
                indent=2,
            )
        self._lines.blank()
        parts = (f"{times:,} {verdict}" for verdict, times in wording.count_verdicts(comparisons))
        self._lines.write(
            Span(f"{count_noun(len(comparisons), 'comparison')}: {', '.join(parts)}; "),
            Span("--metric NAME shows the figures of one, --format json of all"),
        )

    def _list(self, title: str, texts: Sequence[str]) -> None:
        if not texts:
            return
        self._lines.blank()
        self._lines.write(Span(title, "code"))
        for text in texts[:MOST_LISTED]:
            self._lines.write(Span(text), indent=2)
        if len(texts) > MOST_LISTED:
            self._lines.write(Span(f"and {len(texts) - MOST_LISTED:,} more"), indent=2)

    def _of_many(self, report: ComparisonReport) -> None:
        names = wording.run_names(report)
        for ranking in report.rankings:
            self._lines.blank()
            title = f"ranks under {ranking.metric}, over {count_noun(ranking.n, 'shared sample')}"
            self._lines.write(Span(title, "code"))
            for rank in ranking.ranks:
                share = f"this rank in {percent(rank.share)} of the resamples"
                noun = "group" if len(rank.groups) == 1 else "groups"
                groups = f"{noun} {join_groups(rank)}, " if rank.groups else ""
                mean = wording.mean_text(rank.mean, rank.standard_error)
                text = f"{rank.rank}. {names[rank.label]}  {groups}mean {mean}, {share}"
                self._lines.write(Span(text), indent=2)
        for title, matrix in wording.iterate_matrices(report):
            self._matrix(title.lower(), matrix)

    def _matrix(self, title: str, matrix: Matrix) -> None:
        if len(matrix.labels) > MOST_COLUMNS:
            self._lines.blank()
            self._lines.write(Span(f"{title}, {matrix.title}: --format html shows all"))
            return
        self._lines.blank()
        self._lines.write(Span(f"{title}, {matrix.title}", "code"))
        cells = [[wording.cell_text(value) for value in row] for row in matrix.cells]
        width = max(
            len(text) for text in (*matrix.labels, *(text for row in cells for text in row))
        )
        head = "".join(f"{label:>{width + 2}}" for label in matrix.labels)
        left = max(map(len, matrix.labels))
        self._lines.write(Span(f"{'':<{left}}{head}"), indent=2, wraps=False)
        for label, row in zip(matrix.labels, cells, strict=True):
            line = "".join(f"{text:>{width + 2}}" for text in row)
            self._lines.write(Span(f"{label:<{left}}{line}"), indent=2, wraps=False)

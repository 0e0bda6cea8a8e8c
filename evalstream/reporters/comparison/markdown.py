"""Comparisons in Markdown, short enough for a comment on GitHub."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import takewhile
from typing import Final

from evalstream.model import comparison
from evalstream.model.text import count_noun
from evalstream.parsing.json import dumps
from evalstream.parsing.lazy_regex import LazyPattern
from evalstream.reporters.base import PLAIN, Recognized, Sink, Style
from evalstream.reporters.comparison import wording
from evalstream.reporters.comparison.wording import join_groups, percent
from evalstream.reporters.describe import markdown_code, markdown_text

MOST_BYTES: Final = 65_536
"""GitHub takes no comment that has more characters."""

RESERVED: Final = 2_500
"""Bytes kept for the conditions that hold and for notes of what is not shown."""

FOR_FLIPS: Final = 20_000
"""Bytes kept for flips while the rest is written."""

CELL: Final = 160
"""Most characters of a text from a file."""

PATH: Final = 500
"""Most characters of the name of a file."""

MOST_COLUMNS: Final = 12
"""Number of runs up to which a matrix is shown."""

_SIGNS: Final = {
    comparison.CompareVerdict.SIGNIFICANT: "**significant**",
    comparison.CompareVerdict.DEPENDS: "**depends on missing samples**",
    comparison.CompareVerdict.WITHIN_NOISE: "within noise",
    comparison.CompareVerdict.UNINFORMATIVE: "uninformative",
    comparison.CompareVerdict.NOT_COMPARABLE: "**not comparable**",
}


TITLE: Final = "## evalstream compare\n\n<strong>"


class MarkdownComparison(Recognized):
    """Keeps what has room and writes at the end; the rest is counted."""

    beginning = LazyPattern(re.escape(TITLE).encode())

    def __init__(self, output: Sink, _style: Style = PLAIN) -> None:
        super().__init__(output)
        self._parts: list[str] = []
        self._room = MOST_BYTES - RESERVED
        self._left_out = 0

    def write(self, report: comparison.ComparisonReport, flips: Iterable[comparison.Flip]) -> None:
        """Write the comment."""
        self._room -= FOR_FLIPS
        self._add(f"{TITLE}{_text(report.first_line, 2_000)}</strong>\n\n")
        self._runs(report)
        self._comparisons(report.comparisons)
        for title, texts in wording.iterate_lists(report):
            self._list(f"{title[:1].upper()}{title[1:]}", texts)
        self._rankings(report)
        for title, matrix in wording.iterate_matrices(report):
            self._matrix(title, matrix)
        self._room += FOR_FLIPS
        shown = [*takewhile(self._takes, map(_flip_line, flips))]
        if shown:
            head = "| flip | sample | lines | answer of the reference | answer of the other run |\n"
            self._parts += [
                f"<details><summary>Flips ({len(shown):,} shown)</summary>\n\n",
                f"{head}{_rule(5)}",
                *shown,
                "\n</details>\n\n",
            ]
        in_all = wording.count_flips(report)
        if in_all > len(shown):
            more = f"{in_all - len(shown):,} of {count_noun(in_all, 'flip')} not shown"
            self._parts.append(f"{more}; --format jsonl --flips 0 lists all.\n\n")
        if self._left_out:
            self._parts.append("Not all has room in a comment; --format html shows more.\n\n")
        for name in report.failed_on:
            self._parts.append(f"**--fail-if {_text(name)}: the condition holds**\n\n")
        self._output.write("".join(self._parts).rstrip("\n") + "\n")

    def _runs(self, report: comparison.ComparisonReport) -> None:
        rows = [
            f"| {_text(run.label)}{' (reference)' if run.label == report.reference else ''} "
            f"| {markdown_code(run.file or run.aggregate or '', PATH)} | {_text(run.model or '')} "
            f"| {_text('; '.join([run.verdict, *run.reasons]))} "
            f"| {run.rows:,} | {run.samples:,} |\n"
            for run in report.runs
        ]
        head = "| run | file | model | check | rows | samples |\n"
        self._table(head, f"{_rule(4, 2)}", rows, "run")

    def _comparisons(self, comparisons: Sequence[comparison.Comparison]) -> None:
        rows = []
        for one in comparisons:
            found = one.estimate
            shown = "" if found is None else _text(wording.figures_text(found))
            n = "" if found is None else f"{found.n:,}"
            name = f"{one.a} - {one.b}: {one.metric.label}"
            overlap = percent(one.alignment.overlap)
            rows.append(f"| {_text(name)} | {_SIGNS[one.verdict]} | {shown} | {n} | {overlap} |\n")
        head = "| comparison | verdict | difference | n | overlap |\n"
        self._table(head, _rule(3, 2), rows, "comparison")
        if len(comparisons) > wording.MOST_DETAILED:
            return
        for one in comparisons:
            figures = "".join(
                f"| {_text(name)} | {_text(text, 600)} |\n"
                for name, text in wording.iterate_figures(one)
            )
            title = _text(f"{one.a} and {one.b}, {one.metric.label}")
            self._add(
                f"{_text(one.sentence, 1_000)}\n\n<details><summary>Figures: {title}</summary>\n\n"
                f"| figure | |\n{_rule(2)}{figures}\n</details>\n\n"
            )

    def _list(self, title: str, texts: Sequence[str]) -> None:
        if not texts or not self._add(f"### {_text(title)}\n\n"):
            return
        self._rows([f"- {_text(text, 400)}\n" for text in texts], "line")
        self._add("\n")

    def _rankings(self, report: comparison.ComparisonReport) -> None:
        names = wording.run_names(report)
        for one in report.rankings:
            title = f"Ranks under {one.metric}, over {count_noun(one.n, 'shared sample')}"
            if not self._add(f"### {_text(title)}\n\n"):
                return
            rows = [
                f"| {rank.rank} | {_text(names[rank.label])} | {join_groups(rank)} "
                f"| {wording.mean_text(rank.mean, rank.standard_error)} | {percent(rank.share)} |\n"
                for rank in one.ranks
            ]
            head = "| rank | run | groups | mean | resamples with this rank |\n"
            self._table(head, _rule(5), rows, "run")

    def _matrix(self, title: str, matrix: comparison.Matrix) -> None:
        name = f"{title}: {matrix.title}"
        if len(matrix.labels) > MOST_COLUMNS:
            self._add(f"{_text(name)}: {len(matrix.labels):,} runs; --format html shows all.\n\n")
            return
        lines = [
            f"| {_text(label)} | {' | '.join(wording.cell_text(value) for value in row)} |\n"
            for label, row in zip(matrix.labels, matrix.cells, strict=True)
        ]
        head = f"| | {' | '.join(_text(label) for label in matrix.labels)} |\n"
        rule = _rule(1, len(matrix.labels))
        self._add(f"### {_text(name)}\n\n{head}{rule}{''.join(lines)}\n")

    def _table(self, head: str, rule: str, rows: Sequence[str], noun: str) -> None:
        if rows and self._add(head + rule):
            self._rows(rows, noun)
            self._add("\n")

    def _rows(self, rows: Sequence[str], noun: str) -> None:
        for index, row in enumerate(rows):
            if not self._add(row):
                note = f"\n{count_noun(len(rows) - index, f'more {noun}')} not shown.\n"
                # Its room is reserved; with less than none, nothing is added after it.
                self._room -= len(note)
                self._parts.append(note)
                return

    def _add(self, text: str) -> bool:
        if not self._takes(text):
            self._left_out += 1
            return False
        self._parts.append(text)
        return True

    def _takes(self, text: str) -> bool:
        size = len(text.encode(errors="replace"))
        if size > self._room:
            return False
        self._room -= size
        return True


def _flip_line(flip: comparison.Flip) -> str:
    places = f"{flip.a} {flip.line_a:,}, {flip.b} {flip.line_b:,}"
    values = (flip.sample_id, flip.answer_a, flip.answer_b)
    cells = ["" if one is None else markdown_code(dumps(one).decode(), CELL) for one in values]
    what = f"{flip.direction} ({flip.metric})"
    return f"| {_text(what)} | {cells[0]} | {_text(places)} | {cells[1]} | {cells[2]} |\n"


def _rule(left: int, right: int = 0) -> str:
    cells: Iterable[str] = [*["---"] * left, *["---:"] * right]
    return f"| {' | '.join(cells)} |\n"


def _text(text: str, most: int = CELL) -> str:
    return markdown_text(text, most)

"""Comparisons as one page that loads nothing: verdicts, pictures, and tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from evalstream.model.comparison import Comparison, ComparisonReport, Flip
from evalstream.model.text import count_noun
from evalstream.parsing.lazy_regex import LazyPattern
from evalstream.reporters.base import Recognized
from evalstream.reporters.comparison.tables import (
    MOST_DRAWN,
    NAME,
    confounders,
    differences,
    drifts_table,
    flip_row,
    forests,
    listing,
    matrix_table,
    names_row,
    rankings,
    runs_table,
    square_table,
    verdict_mark,
)
from evalstream.reporters.comparison.wording import (
    MOST_DETAILED,
    count_flips,
    count_verdicts,
    iterate_figures,
    iterate_matrices,
    percent,
    show_number,
)
from evalstream.reporters.markup import GENERATOR, START, Child, Markup, cut_visible, head, tag
from evalstream.reporters.summary import TOOL

FOR_FLIPS: Final = 1_000_000
"""Bytes that the table of flips may take."""

FOR_DETAILS: Final = 500_000
"""Bytes that the figures of comparisons may take."""


class HtmlComparison(Recognized):
    """Writes a page: its head first, then the flips as they come, then its end."""

    beginning = LazyPattern(re.escape(START + GENERATOR).encode())

    def write(self, report: ComparisonReport, flips: Iterable[Flip], /) -> None:
        """Write the page."""
        self._output.write(f'{START}{GENERATOR}{TOOL["version"]}">\n')
        title = f"{cut_visible(report.first_line, 120)} - evalstream compare"
        for piece in head(title, "comparison.css"):
            self._output.write(piece)
        self._output.write("</head>\n<body>\n" + tag("header", _summary(report)) + "\n<main>\n")
        sections = (
            runs_table(report),
            _forest(report.comparisons),
            _details(report.comparisons),
            rankings(report),
            _matrices(report),
            confounders(report),
            listing("Results that are not compared", report.unmatched_results),
            drifts_table(report),
            listing("Warnings", report.warnings),
        )
        for section in sections:
            if section is not None:
                self._output.write(section + "\n")
        shown, in_all = self._write_flips(flips), count_flips(report)
        if in_all > shown:
            more = f"{shown:,} of {count_noun(in_all, 'flip')} shown"
            said = f"{more}; --format jsonl --flips 0 lists all."
            self._output.write(tag("p", said, class_="note") + "\n")
        self._output.write("</main>\n" + _about(report) + "\n</body>\n</html>\n")

    def _write_flips(self, flips: Iterable[Flip]) -> int:
        """Write the table of the flips for which there is room, and return their number."""
        shown, room = 0, FOR_FLIPS
        for row in map(flip_row, flips):
            room -= len(row.encode(errors="replace"))
            if room <= 0:
                break
            if not shown:
                names = ("flip", "metric", "sample", "lines")
                heads = names_row((*names, "reference answers", "other run answers"))
                self._output.write(
                    '<section id="flips"><h2>Flips</h2>\n<div class="scroll" tabindex="0">'
                    f'<table class="wide">{tag("thead", heads)}<tbody>\n'
                )
            shown += 1
            self._output.write(row + "\n")
        if shown:
            self._output.write("</tbody></table></div></section>\n")
        return shown


def _summary(report: ComparisonReport) -> list[Child]:
    facts = [
        tag("span", f"{times:,} {verdict}", class_=str(verdict).replace(" ", "-"))
        for verdict, times in count_verdicts(report.comparisons)
    ]
    conditions = [
        tag("p", f"--fail-if {name}: the condition holds", class_="refused")
        for name in report.failed_on
    ]
    shown = count_noun(len(report.runs), "run")
    reference = f", the reference is {report.reference}" if report.comparisons else ""
    first = tag("p", cut_visible(report.first_line, 4_000), class_=_weight(report))
    return [
        tag("p", "evalstream: comparison of runs", class_="tool"),
        tag("h1", "Not compared" if report.refused else "Comparison"),
        first,
        tag("p", tag("span", f"{shown}{reference}"), facts, class_="facts"),
        *conditions,
    ]


def _weight(report: ComparisonReport) -> str | None:
    """Return how the first line looks: prominent unless every run passes its check."""
    verdicts = {run.verdict for run in report.runs}
    if report.refused or "failed" in verdicts:
        return "refused"
    return "prominent warning" if verdicts - {"passed"} else None


def _forest(comparisons: Sequence[Comparison]) -> Markup | None:
    drawn = list(forests(comparisons))
    if not drawn:
        return None
    left = len(comparisons) - MOST_DRAWN
    more = tag("p", f"{left:,} more not drawn", class_="note") if left > 0 else None
    note = "Reference minus other run, with the interval; each frame has one scale."
    return tag("section", tag("h2", "Differences"), tag("p", note, class_="note"), drawn, more)


def _details(comparisons: Sequence[Comparison]) -> Markup | None:
    if not comparisons:
        return None
    cards: list[Markup] = []
    room = FOR_DETAILS
    for index, one in enumerate(comparisons):
        card = _card(index, one, is_open=len(comparisons) <= MOST_DETAILED)
        room -= len(card)
        if room < 0:
            break
        cards.append(card)
    left = len(comparisons) - len(cards)
    rest = f"{count_noun(left, 'more comparison')} not shown; --format json has all."
    more = tag("p", rest, class_="note") if left else None
    return tag("section", tag("h2", "Comparisons"), cards, more)


def _card(index: int, one: Comparison, *, is_open: bool) -> Markup:
    name = tag("bdi", f"{one.a} and {one.b}, {cut_visible(one.metric.label, NAME)}")
    figures = [
        (tag("dt", title), tag("dd", cut_visible(text, 1_000)))
        for title, text in iterate_figures(one)
    ]
    found = one.estimate
    square = found.square if found is not None else None
    parts: list[Child] = [
        tag("p", cut_visible(one.sentence, 2_000)),
        tag("dl", figures),
        square_table(one, square) if square is not None else None,
        differences(f"d{index}", one, found) if found is not None else None,
    ]
    title = tag("summary", name, " ", verdict_mark(one))
    return tag("details", title, parts, class_="card", open=is_open)


def _matrices(report: ComparisonReport) -> Markup | None:
    tables = [matrix_table(title, one) for title, one in iterate_matrices(report)]
    return tag("section", tag("h2", "Matrices"), tables) if tables else None


def _about(report: ComparisonReport) -> Markup:
    kept, least = report.settings, show_number(report.settings.min_delta)
    texts = [
        f"Samples are matched by {kept.by}; the level of intervals is {percent(kept.level)}.",
        f"The smallest difference that matters is {least} of a metric's range.",
        f"The overlap for a verdict is {percent(kept.min_overlap)}.",
        f"Samples are clustered by {cut_visible(kept.cluster, NAME)}." if kept.cluster else "",
        "" if kept.verified else "Runs that do not pass their check are compared, too.",
    ]
    note = "The page holds everything it shows: it loads nothing and runs no script."
    said = f"evalstream {TOOL['version']}. {' '.join(filter(None, texts))}"
    title = tag("h2", "How this report was made")
    return tag("footer", title, tag("p", said), tag("p", note, class_="note"), id="about")

"""Comparisons as one page that loads nothing: verdicts, pictures, and tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from evalstream.model.comparison import CompareVerdict, Comparison, ComparisonReport, Flip
from evalstream.model.text import counted
from evalstream.parsing.json import dumps
from evalstream.reporters.base import PLAIN, Sink, Style
from evalstream.reporters.comparison.figures import number, percent
from evalstream.reporters.comparison.pictures import (
    MOST_DRAWN,
    NAME,
    differences,
    forests,
    matrix_table,
    square_table,
    verdict_mark,
)
from evalstream.reporters.comparison.wording import MOST_DETAILED, figures_of
from evalstream.reporters.frame import GENERATOR, START, head
from evalstream.reporters.markup import Child, Markup, cut, tag
from evalstream.reporters.summary import TOOL

FOR_FLIPS: Final = 1_000_000
"""Bytes that the table of flips may take."""

FOR_DETAILS: Final = 500_000
"""Bytes that the figures of comparisons may take."""

MOST_LISTED: Final = 500
"""Number of lines in a list; the others are counted."""

VALUE: Final = 400
"""Most characters of an answer."""


class HtmlComparison:
    """Writes a page: its head first, then the flips as they come, then its end."""

    def __init__(self, output: Sink, _style: Style = PLAIN) -> None:
        self._output = output
        self._report: ComparisonReport | None = None
        self._flips, self._room = 0, FOR_FLIPS

    def begin(self, report: ComparisonReport) -> None:
        """Write all that precedes the flips."""
        self._report = report
        self._output.write(f'{START}{GENERATOR}{TOOL["version"]}">\n')
        title = f"{cut(report.first_line, 120)} - evalstream compare"
        for piece in head(title, "comparison.css"):
            self._output.write(piece)
        self._output.write("</head>\n<body>\n" + tag("header", _summary(report)) + "\n<main>\n")
        sections = (
            _runs(report),
            _forest(report.comparisons),
            _details(report.comparisons),
            _rankings(report),
            _matrices(report),
            _confounders(report),
            _list("Results that are not compared", report.unmatched_results),
            _drifts(report),
            _list("Warnings", report.warnings),
        )
        for section in sections:
            if section is not None:
                self._output.write(section + "\n")

    def flip(self, flip: Flip) -> None:
        """Write one flip while there is room."""
        if self._room <= 0:
            return
        row = _flip_row(flip)
        self._room -= len(row.encode(errors="replace"))
        if self._room <= 0:
            return
        if not self._flips:
            names = ("flip", "metric", "sample", "lines", "baseline answers", "other run answers")
            self._output.write(
                '<section id="flips"><h2>Flips</h2>\n<div class="scroll" tabindex="0">'
                f'<table class="wide">{tag("thead", _names(names))}<tbody>\n'
            )
        self._flips += 1
        self._output.write(row + "\n")

    def end(self) -> None:
        """Write the end of the page."""
        report = self._report
        if report is None:
            return
        if self._flips:
            self._output.write("</tbody></table></div></section>\n")
        flips = sum(one.right_to_wrong + one.wrong_to_right for one in report.comparisons)
        if flips > self._flips:
            more = f"{self._flips:,} of {counted(flips, 'flip')} shown"
            said = f"{more}; --format jsonl --flips 0 lists all."
            self._output.write(tag("p", said, class_="note") + "\n")
        self._output.write("</main>\n" + _about(report) + "\n</body>\n</html>\n")


def _summary(report: ComparisonReport) -> list[Child]:
    counts = dict.fromkeys(CompareVerdict, 0)
    for one in report.comparisons:
        counts[one.verdict] += 1
    facts = [
        tag("span", f"{times:,} {verdict}", class_=str(verdict).replace(" ", "-"))
        for verdict, times in counts.items()
        if times
    ]
    conditions = [
        tag("p", f"--fail-on {name}: the condition holds", class_="refused")
        for name in report.failed_on
    ]
    shown = counted(len(report.runs), "run")
    baseline = f", the baseline is {report.baseline}" if report.comparisons else ""
    first = tag("p", cut(report.first_line, 4_000), class_="refused" if report.refused else None)
    return [
        tag("p", "evalstream: comparison of runs", class_="tool"),
        tag("h1", "Not compared" if report.refused else "Comparison"),
        first,
        tag("p", tag("span", f"{shown}{baseline}"), facts, class_="facts"),
        *conditions,
    ]


def _runs(report: ComparisonReport) -> Markup:
    rows = [
        tag(
            "tr",
            tag("th", run.label, scope="row"),
            tag("td", tag("code", cut(run.file or run.aggregate or "", NAME))),
            tag("td", cut(run.model or "", NAME)),
            tag("td", cut("; ".join([run.verdict, *run.reasons]), 400), class_=_class(run.verdict)),
            tag("td", run.rows, class_="number"),
            tag("td", run.samples, class_="number"),
            tag("td", run.without_identity, class_="number"),
        )
        for run in report.runs[:MOST_LISTED]
    ]
    names = ("run", "file", "model", "check", "rows", "samples", "rows without an identity")
    return _table("Runs", names, rows, len(report.runs))


def _class(verdict: str) -> str | None:
    return verdict if verdict in {"passed", "failed", "incomplete"} else None


def _forest(comparisons: Sequence[Comparison]) -> Markup | None:
    drawn = list(forests(comparisons))
    if not drawn:
        return None
    left = len(comparisons) - MOST_DRAWN
    more = tag("p", f"{left:,} more not drawn", class_="note") if left > 0 else None
    note = "Baseline minus other run, with the interval; each frame has one scale."
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
    rest = f"{counted(left, 'more comparison')} not shown; --format json has all."
    more = tag("p", rest, class_="note") if left else None
    return tag("section", tag("h2", "Comparisons"), cards, more)


def _card(index: int, one: Comparison, *, is_open: bool) -> Markup:
    name = tag("bdi", f"{one.a} and {one.b}, {cut(one.metric.label, NAME)}")
    figures = [(tag("dt", title), tag("dd", cut(text, 1_000))) for title, text in figures_of(one)]
    found = one.estimate
    square = found.square if found is not None else None
    parts: list[Child] = [
        tag("p", cut(one.sentence, 2_000)),
        tag("dl", figures),
        square_table(one, square) if square is not None else None,
        differences(f"d{index}", one, found) if found is not None else None,
    ]
    title = tag("summary", name, " ", verdict_mark(one))
    return tag("details", title, parts, class_="card", open=is_open)


def _rankings(report: ComparisonReport) -> Markup | None:
    tables = []
    for one in report.rankings:
        rows = [
            tag(
                "tr",
                tag("td", rank.rank),
                tag("th", rank.label, scope="row"),
                tag("td", number(rank.mean)),
                tag("td", percent(rank.share)),
            )
            for rank in one.ranks
        ]
        title = f"{cut(one.metric, NAME)}, over {counted(one.n, 'shared sample')}"
        names = ("rank", "run", "mean", "resamples with this rank")
        tables.append([tag("h3", title), _grid(names, rows)])
    return tag("section", tag("h2", "Ranks"), tables) if tables else None


def _matrices(report: ComparisonReport) -> Markup | None:
    groups = (
        ("Difference (row - column)", report.differences),
        ("Overlap", report.overlaps),
        ("Number", report.drift_counts),
    )
    tables = [matrix_table(title, one) for title, matrices in groups for one in matrices]
    return tag("section", tag("h2", "Matrices"), tables) if tables else None


def _confounders(report: ComparisonReport) -> Markup | None:
    labels = [run.label for run in report.runs[:MOST_LISTED]]
    rows = [
        tag(
            "tr",
            tag("th", cut(one.name, NAME), scope="row"),
            [tag("td", cut(one.values.get(label, ""), VALUE)) for label in labels],
        )
        for one in report.confounders[:MOST_LISTED]
    ]
    title = "Settings that differ, and may explain a difference"
    return _table(title, ("setting", *labels), rows, len(report.confounders)) if rows else None


def _drifts(report: ComparisonReport) -> Markup | None:
    rows = [
        tag(
            "tr",
            tag("td", one.kind),
            tag("td", _value(one.sample_id_a)),
            tag("td", f"{one.a} {one.line_a:,}"),
            tag("td", _value(one.sample_id_b)),
            tag("td", f"{one.b} {one.line_b:,}"),
        )
        for one in report.drifts[:MOST_LISTED]
    ]
    names = ("kind", "sample of the first", "line", "sample of the second", "line")
    title = "Samples with another input (drift) or other references (relabelled)"
    return _table(title, names, rows, report.drifts_in_all) if rows else None


def _flip_row(one: Flip) -> Markup:
    return tag(
        "tr",
        tag("td", one.direction),
        tag("td", cut(one.metric, NAME)),
        tag("td", _value(one.sample_id)),
        tag("td", f"{one.a} {one.line_a:,}, {one.b} {one.line_b:,}"),
        tag("td", _value(one.answer_a)),
        tag("td", _value(one.answer_b)),
    )


def _value(value: object) -> Markup | None:
    return None if value is None else tag("code", cut(dumps(value).decode(), VALUE))


def _list(title: str, texts: Sequence[str]) -> Markup | None:
    if not texts:
        return None
    lines = [tag("li", cut(text, 1_000)) for text in texts[:MOST_LISTED]]
    left = len(texts) - MOST_LISTED
    more = tag("p", f"and {left:,} more", class_="note") if left > 0 else None
    return tag("section", tag("h2", title), tag("ul", lines), more)


def _table(title: str, names: Iterable[str], rows: Sequence[Markup], in_all: int) -> Markup:
    left = in_all - len(rows)
    more = tag("p", f"and {left:,} more", class_="note") if left > 0 else None
    return tag("section", tag("h2", title), _grid(names, rows), more)


def _grid(names: Iterable[str], rows: Sequence[Markup]) -> Markup:
    table = tag("table", tag("thead", _names(names)), tag("tbody", rows), class_="wide")
    return tag("div", table, class_="scroll", tabindex=0)


def _names(names: Iterable[str]) -> Markup:
    return tag("tr", [tag("th", name, scope="col") for name in names])


def _about(report: ComparisonReport) -> Markup:
    kept = report.settings
    texts = [
        f"Samples are matched by {kept.by}; the level of intervals is {percent(kept.level)}.",
        f"The smallest difference that matters is {number(kept.min_delta)} of the range of a "
        f"metric; the overlap for a verdict is {percent(kept.overlap)}.",
        f"Samples are clustered by {cut(kept.cluster, NAME)}." if kept.cluster else "",
        "" if kept.verified else "Runs that do not pass their check are compared, too.",
    ]
    note = "The page holds everything it shows: it loads nothing and runs no script."
    said = f"evalstream {TOOL['version']}. {' '.join(filter(None, texts))}"
    title = tag("h2", "How this report was made")
    return tag("footer", title, tag("p", said), tag("p", note, class_="note"), id="about")

"""The tables and lists of a page about a comparison."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from evalstream.model.comparison import ComparisonReport, Flip
from evalstream.model.report import VERDICTS
from evalstream.model.text import count_noun
from evalstream.parsing.json import dumps
from evalstream.reporters.comparison.figures import join_groups, number, percent
from evalstream.reporters.comparison.pictures import NAME
from evalstream.reporters.markup import Markup, cut_visible, tag

MOST_LISTED: Final = 500
"""Number of lines in a list; the others are counted."""

PATH: Final = 500
"""Most characters of the name of a file."""

VALUE: Final = 400
"""Most characters of an answer."""


def runs_table(report: ComparisonReport) -> Markup:
    """Return the runs with their verdicts."""
    rows = [
        tag(
            "tr",
            tag("th", run.label, scope="row"),
            tag("td", tag("code", cut_visible(run.file or run.aggregate or "", PATH))),
            tag("td", cut_visible(run.model or "", NAME)),
            tag(
                "td",
                cut_visible("; ".join([run.verdict, *run.reasons]), 400),
                class_=_class(run.verdict),
            ),
            tag("td", run.rows, class_="number"),
            tag("td", run.samples, class_="number"),
            tag("td", run.without_identity, class_="number"),
        )
        for run in report.runs[:MOST_LISTED]
    ]
    names = ("run", "file", "model", "check", "rows", "samples", "rows without an identity")
    return _table("Runs", names, rows, len(report.runs))


def rankings(report: ComparisonReport) -> Markup | None:
    """Return the ranks of runs, None without any."""
    tables = []
    for one in report.rankings:
        rows = [
            tag(
                "tr",
                tag("td", rank.rank),
                tag("th", rank.label, scope="row"),
                tag("td", join_groups(rank)),
                tag("td", number(rank.mean)),
                tag("td", percent(rank.share)),
            )
            for rank in one.ranks
        ]
        title = f"{cut_visible(one.metric, NAME)}, over {count_noun(one.n, 'shared sample')}"
        names = ("rank", "run", "groups", "mean", "resamples with this rank")
        tables.append([tag("h3", title), _grid(names, rows)])
    return tag("section", tag("h2", "Ranks"), tables) if tables else None


def confounders(report: ComparisonReport) -> Markup | None:
    """Return the settings that differ, None without any."""
    labels = [run.label for run in report.runs[:MOST_LISTED]]
    rows = [
        tag(
            "tr",
            tag("th", cut_visible(one.name, NAME), scope="row"),
            [tag("td", cut_visible(one.values.get(label, ""), VALUE)) for label in labels],
        )
        for one in report.confounders[:MOST_LISTED]
    ]
    title = "Settings that differ, and may explain a difference"
    return _table(title, ("setting", *labels), rows, len(report.confounders)) if rows else None


def drifts_table(report: ComparisonReport) -> Markup | None:
    """Return samples with another input or other references, None without any."""
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


def listing(title: str, texts: Sequence[str]) -> Markup | None:
    """Return a list of texts under a title, None without any."""
    if not texts:
        return None
    lines = [tag("li", cut_visible(text, 1_000)) for text in texts[:MOST_LISTED]]
    left = len(texts) - MOST_LISTED
    more = tag("p", f"and {left:,} more", class_="note") if left > 0 else None
    return tag("section", tag("h2", title), tag("ul", lines), more)


def flip_row(one: Flip) -> Markup:
    """Return the row of a flip."""
    return tag(
        "tr",
        tag("td", one.direction),
        tag("td", cut_visible(one.metric, NAME)),
        tag("td", _value(one.sample_id)),
        tag("td", f"{one.a} {one.line_a:,}, {one.b} {one.line_b:,}"),
        tag("td", _value(one.answer_a)),
        tag("td", _value(one.answer_b)),
    )


def _value(value: object) -> Markup | None:
    return None if value is None else tag("code", cut_visible(dumps(value).decode(), VALUE))


def _table(title: str, names: Iterable[str], rows: Sequence[Markup], in_all: int) -> Markup:
    left = in_all - len(rows)
    more = tag("p", f"and {left:,} more", class_="note") if left > 0 else None
    return tag("section", tag("h2", title), _grid(names, rows), more)


def _grid(names: Iterable[str], rows: Sequence[Markup]) -> Markup:
    table = tag("table", tag("thead", names_row(names)), tag("tbody", rows), class_="wide")
    return tag("div", table, class_="scroll", tabindex=0)


def names_row(names: Iterable[str]) -> Markup:
    """Return the names of columns."""
    return tag("tr", [tag("th", name, scope="col", class_=_side(name)) for name in names])


def _class(verdict: str) -> str | None:
    return verdict if verdict in VERDICTS else None


def _side(name: str) -> str | None:
    """Return the class of a column of numbers."""
    return "number" if name in {"rows", "samples", "rows without an identity"} else None

"""The runs of a batch: a table and folded details, those that failed first."""

from __future__ import annotations

from typing import Final

from evalstream.model.report import Report, RunSummary
from evalstream.model.text import counted
from evalstream.reporters.html.run import run_body, run_names
from evalstream.reporters.html.wording import badge, limits_of, severity_counts
from evalstream.reporters.markup import Markup, cut, tag
from evalstream.reporters.summary import remarks, sort_runs

TABLE: Final = 250_000
"""How many bytes the rows of the table may take."""

DETAILS: Final = 200_000
"""How many bytes the details of runs may take."""

REASON: Final = 200
"""How many characters of the reason of an incomplete check are shown in the table."""


def runs_sections(report: Report) -> tuple[Markup, Markup]:
    """Return the table of the runs and their details, as many as there is room for."""
    rows, details, room, space = [], [], TABLE, DETAILS
    for number, run in sort_runs(report):
        detail = _details(number, run) if space > 0 else None
        space -= len((detail or "").encode())
        has_details = detail is not None and space > 0
        row = _row(number, run, has_details=has_details)
        room -= len(row.encode())
        if room <= 0:
            break
        rows.append(row)
        if detail is not None and has_details:
            details.append(detail)
    return _table(report, rows), _all_details(report, details)


def _table(report: Report, rows: list[Markup]) -> Markup:
    heads = ("Verdict", "Run", "Rows", "Findings")
    head = tag("thead", tag("tr", (tag("th", text, scope="col") for text in heads)))
    left = report.totals.runs - len(rows)
    rest = f"{counted(left, 'more run')} not shown; --format jsonl lists all."
    return tag(
        "section",
        tag("h2", "Runs ", tag("span", "failed runs first", class_="note")),
        tag("table", head, tag("tbody", rows), class_="runs"),
        tag("p", rest, class_="note") if left > 0 else None,
        id="runs",
    )


def _row(number: int, run: RunSummary, *, has_details: bool) -> Markup:
    names = run_names(run)
    reason = "; ".join(remarks(run))
    counts = severity_counts(run.severities)
    return tag(
        "tr",
        tag("td", badge(run.verdict, limits_of(run))),
        tag(
            "th",
            tag("a", names, href=f"#run-{number}") if has_details else names,
            tag("div", cut(reason, REASON), class_="note") if reason else None,
            scope="row",
        ),
        tag("td", run.rows, class_="number"),
        tag("td", [[one, " "] for one in counts] or "none"),
    )


def _all_details(report: Report, details: list[Markup]) -> Markup:
    left = report.totals.runs - len(details)
    rest = (
        f"The details of {counted(left, 'more run')} are not shown. To see those of one run, "
        "check it alone."
    )
    return tag(
        "section",
        tag("h2", "Details"),
        details,
        tag("p", rest, class_="note") if left > 0 else None,
        id="details",
    )


def _details(number: int, run: RunSummary) -> Markup:
    head = tag("summary", tag("h3", badge(run.verdict, limits_of(run)), " ", run_names(run)))
    return tag("details", head, run_body(number, run), id=f"run-{number}", class_="run")

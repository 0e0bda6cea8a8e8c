"""The runs of a batch: the rules that found something, a table of runs, and folded details."""

from __future__ import annotations

from itertools import islice
from typing import Final

from evalstream.model.data_class import replace
from evalstream.model.finding import Severity
from evalstream.model.report import Report
from evalstream.model.run_summary import RunSummary
from evalstream.model.text import count_noun
from evalstream.reporters.html.findings import RuleGroup, prose
from evalstream.reporters.html.run import run_body
from evalstream.reporters.html.wording import NAME, badge, describe_limits
from evalstream.reporters.markup import Markup, cut_visible, tag
from evalstream.reporters.overview import (
    FirstFindings,
    ListedRun,
    Overview,
    join_names,
    relative,
    run_paths,
)
from evalstream.reporters.summary import WORST_FIRST, sort_runs

MOST_ROWS: Final = 1_000
"""How many runs the table may have, if there is room."""

TABLE: Final = 400_000
"""How many bytes the rows of the table may take."""

DETAILS: Final = 200_000
"""How many bytes the details of runs may take."""

REASON: Final = 200
"""How many characters of the reason of a verdict are shown in the table."""

COUNTED: Final = (Severity.ERROR, Severity.WARNING, Severity.INFO)


def rules_section(groups: list[RuleGroup], overview: Overview) -> Markup:
    """Return the table of the rules that found something, with links to their findings."""
    if not groups:
        return Markup("")
    rows = [
        tag(
            "tr",
            tag("th", tag("a", f"{one.code} {one.name}", href=f"#{one.code}"), scope="row"),
            tag("td", one.label, class_=one.label),
            tag("td", one.total, class_="number"),
            tag("td", overview.affected[one.code], class_="number"),
            tag("td", prose(one.rule.summary) if one.rule else None),
        )
        for one in groups
    ]
    heads = ("Rule", "Severity", "Findings", "Runs", "What it finds")
    return tag("section", tag("h2", "Rules"), _scrolling_table(heads, rows, "rules"), id="rules")


def runs_sections(
    report: Report, overview: Overview, firsts: FirstFindings
) -> tuple[Markup, Markup]:
    """Return the table of the runs and their details, as many as there is room for."""
    details: dict[int, Markup] = {}
    space = DETAILS
    for number, run in sort_runs(report):
        head = tag(
            "summary",
            tag("h3", badge(run.verdict, describe_limits(run)), " ", _names(run, overview.folder)),
        )
        body = tag("div", run_body(number, run), id=f"run-{number}")
        detail = tag("details", head, body, class_="run")
        space -= len(detail.encode())
        if space <= 0:
            break
        details[number] = detail
    # Without their claims and pictures, many runs need little memory.
    some = [
        ListedRun(number, replace(run, claims=[], sketch=None, change=None))
        for number, run in islice(sort_runs(report), MOST_ROWS)
    ]
    reasons = firsts.reasons(some, report)
    rows, room = [], TABLE
    for one in some:
        row = _row(one, reasons[one.number], overview.folder, has_details=one.number in details)
        room -= len(row.encode())
        if room <= 0:
            break
        rows.append(row)
    return _table(report, rows), _all_details(report, list(details.values()))


def _table(report: Report, rows: list[Markup]) -> Markup:
    heads = ("Verdict", "Run", "Rows", "Errors", "Warnings", "Infos", "Why")
    left = report.totals.runs - len(rows)
    rest = f"{count_noun(left, 'more run')} not shown; --format jsonl lists all."
    verdicts = [one for one in WORST_FIRST if report.totals.verdicts.get(one)]
    options = [tag("option", one.capitalize(), value=one) for one in verdicts]
    choice = tag("select", tag("option", "every verdict", value=""), options)
    filters = tag(
        "form",
        tag("label", "Verdict ", choice),
        tag("label", "Contains ", tag("input", type="search")),
        tag("output"),
        class_="filter",
        hidden=True,
    )
    return tag(
        "section",
        tag("h2", "Runs ", tag("span", "failed runs first", class_="note")),
        filters,
        _scrolling_table(heads, rows, "runs"),
        tag("p", rest, class_="note") if left > 0 else None,
        id="runs",
    )


def _scrolling_table(heads: tuple[str, ...], rows: list[Markup], class_: str) -> Markup:
    """Return a table that scrolls within a part of the window."""
    head = tag("thead", tag("tr", (tag("th", text, scope="col") for text in heads)))
    table = tag("table", head, tag("tbody", rows), class_=class_)
    return tag("div", table, class_=f"box {class_}-box", tabindex=0)


def _row(one: ListedRun, reason: str, folder: str, *, has_details: bool) -> Markup:
    number, run = one
    names = _names(run, folder)
    counts = [run.severities.get(severity, 0) for severity in COUNTED]
    return tag(
        "tr",
        tag("td", badge(run.verdict, describe_limits(run)), data_verdict=run.verdict),
        tag("th", tag("a", names, href=f"#run-{number}") if has_details else names, scope="row"),
        tag("td", run.rows, class_="number"),
        [
            tag("td", count, class_=f"number {severity.label}" if count else "number")
            for severity, count in zip(COUNTED, counts, strict=True)
        ],
        tag(
            "td",
            tag("span", cut_visible(reason, REASON), title=cut_visible(reason, REASON)),
            class_="why",
        ),
    )


def _names(run: RunSummary, folder: str) -> Markup:
    """Return the names of a run's files, of which the folders give way where there is no room."""
    paths = [relative(path, folder) for path in run_paths(run)]
    whole = join_names(paths) or " with ".join(paths) or "(a run without a file)"
    shown = cut_visible(whole, NAME)
    end = shown.rfind("/") + 1
    return tag(
        "code",
        tag("span", shown[:end], class_="folder") if end else None,
        tag("span", shown[end:], class_="file"),
        class_="path",
        title=shown,
    )


def _all_details(report: Report, details: list[Markup]) -> Markup:
    left = report.totals.runs - len(details)
    rest = (
        f"The details of {count_noun(left, 'more run')} are not shown. To see those of one run, "
        "check it alone."
    )
    return tag(
        "section",
        tag("h2", "Details"),
        details,
        tag("p", rest, class_="note") if left > 0 else None,
        id="details",
    )

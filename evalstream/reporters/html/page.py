"""The page: its head, the verdict, and its sections in order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Final

from evalstream.model.data_class import replace
from evalstream.model.finding import Finding, Severity
from evalstream.model.report import Report
from evalstream.model.run_summary import RunSummary
from evalstream.model.text import count_noun
from evalstream.reporters import summary
from evalstream.reporters.html.findings import (
    RuleGroup,
    command_line,
    findings_section,
    format_options,
    prose,
    rule_groups,
)
from evalstream.reporters.html.run import NAME, list_file_names, name, run_body, size, subject
from evalstream.reporters.markup import (
    GENERATOR,
    START,
    Child,
    Markup,
    cut_visible,
    head,
    read_source,
    tag,
)
from evalstream.reporters.overview import (
    FirstFindings,
    ListedRun,
    Overview,
    join_names,
    relative,
    run_paths,
)
from evalstream.reporters.summary import WORST_FIRST, sort_runs

TITLE: Final = 120
"""How many characters of a file name are shown in the title of the page."""

SIGNS: Final = {
    "passed": "✓",
    "failed": "✗",
    "incomplete": "◐",
    "unconfirmed": "◌",
    summary.NOT_CHECKED: "○",
}
"""The sign beside the word of a verdict."""

VERSION: Final = summary.TOOL["version"]


def page(
    report: Report, overview: Overview, firsts: FirstFindings, kept: Mapping[str, Iterable[Finding]]
) -> Iterator[str]:
    """Yield the page in pieces; `kept` has the findings that came, by code."""
    verdict, several = summary.overall_verdict(report), report.totals.runs > 1
    script = read_source("page.js") if several else ""
    groups = rule_groups(report, kept)
    yield f'{START}{GENERATOR}{VERSION}">\n'
    first = next(iter(report.runs), None)
    about = summary.unchecked_line(report.totals) or count_noun(report.totals.runs, "run")
    if report.totals.runs == 1 and first is not None and not report.totals.unreached:
        about = cut_visible(subject(first), TITLE)
    yield from head(f"{verdict.capitalize()}: {about} - evalstream", script=script)
    yield "</head>\n" + ('<body class="many">\n' if several else "<body>\n")
    folder = overview.folder if several else ""
    yield tag("header", _summary(report, verdict, folder)) + "\n<main>\n"
    details = ""
    if several:
        table, details = runs_sections(report, overview, firsts)
        yield rules_section(groups, overview) + table
    for run in report.runs if report.totals.runs == 1 else ():
        yield tag("section", run_body(1, run), id="run-1", class_="alone") + "\n"
    yield findings_section(report, overview, groups) + "\n" + details
    yield "</main>\n" + _about(report, script) + "\n"
    yield f"<script>{script}</script>\n</body>\n</html>\n" if script else "</body>\n</html>\n"


def _summary(report: Report, verdict: str, folder: str) -> Iterator[Child]:
    totals, first = report.totals, next(iter(report.runs), None)
    limits = _describe_limits(report.runs)
    alone = list_file_names(first) if totals.runs == 1 and first is not None else None
    yield tag("p", "evalstream: report of a check", class_="tool")
    yield tag("h1", _badge(verdict, limits))
    runs = count_noun(totals.runs, "run")
    yield tag("p", alone or [runs, [" below ", name(folder)] if folder else None], class_="subject")
    found = [
        tag("span", count_noun(totals.severities[one], one.label), class_=one.label)
        for one in COUNTED
        if totals.severities.get(one)
    ] or [tag("span", "no findings")]
    verdicts = filter(totals.verdicts.get, WORST_FIRST) if totals.runs > 1 else ()
    facts: list[Child] = [
        *(tag("span", f"{totals.verdicts[one]:,} {one}", class_=one) for one in verdicts),
        tag("span", count_noun(totals.rows, "row")),
        *found,
    ]
    yield tag("p", facts, class_="facts")
    yield tag("p", " ".join(_sentences(report, verdict, limits)))
    yield (tag("p", cut_visible(line, TITLE)) for line in summary.gone_lines(totals))


def _sentences(report: Report, verdict: str, limits: str) -> Iterator[str]:
    totals = report.totals
    if unchecked := summary.unchecked_line(totals):
        yield f"{unchecked}."
    doubt = summary.describe_doubt(
        has_refuted=totals.claims.get("refuted", 0) > 0,
        is_strict=report.options.get("strict") is True,
        runs=totals.runs,
    )
    open_ = f"No finding fails the check, but {doubt}."
    yield {
        "passed": "No finding fails the check. The page lists what was verified, and what was not.",
        "failed": "Findings fail the check." if totals.verdicts.get("failed") else open_,
        "incomplete": "No finding fails the check, but not everything could be checked.",
        "unconfirmed": open_,
        summary.NOT_CHECKED: "Nothing was checked.",
    }[verdict]
    if limits:
        yield f"The rules were limited: {limits}."
    if known := sum(totals.known.values()):
        yield f"A baseline knows {count_noun(known, 'more finding')}, which fail no run."
    if totals.vanished:
        yield f"{count_noun(totals.vanished, 'finding')} of the baseline no longer found."
    if totals.excluded:
        yield f"{count_noun(totals.excluded, 'name')} left out by --exclude."
    if totals.unchanged:
        yield f"{count_noun(totals.unchanged, 'run')} unchanged since an earlier check."


def _about(report: Report, script: str) -> Markup:
    options = format_options(report.options)
    runs = "runs only the script that sorts and filters the runs" if script else "runs no script"
    said: Child = (
        ["Options that differ from the defaults: ", command_line(options), "."]
        if options
        else "All options that affect findings had their defaults."
    )
    return tag(
        "footer",
        tag("h2", "How this report was made"),
        tag("p", f"evalstream {VERSION} read {size(report.totals.bytes)}. ", said),
        tag(
            "p",
            "The numbers of findings and the verdicts are exact, also where not all are listed. "
            f"The page holds everything it shows: it loads nothing and {runs}.",
            class_="note",
        ),
        id="about",
    )


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
            tag(
                "h3",
                _badge(run.verdict, _describe_limits([run])),
                " ",
                _names(run, overview.folder),
            ),
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
    verdicts = filter(report.totals.verdicts.get, WORST_FIRST)
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
        tag("p", rest, class_="note") if left else None,
        id="runs",
    )


def _scrolling_table(heads: tuple[str, ...], rows: list[Markup], class_: str) -> Markup:
    head = tag("thead", tag("tr", (tag("th", text, scope="col") for text in heads)))
    table = tag("table", head, tag("tbody", rows), class_=class_)
    return tag("div", table, class_=f"box {class_}-box", tabindex=0)


def _row(one: ListedRun, reason: str, folder: str, *, has_details: bool) -> Markup:
    number, run = one
    names = _names(run, folder)
    counts = [run.severities.get(severity, 0) for severity in COUNTED]
    return tag(
        "tr",
        tag("td", _badge(run.verdict, _describe_limits([run])), data_verdict=run.verdict),
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
        tag("p", rest, class_="note") if left else None,
        id="details",
    )


def _badge(verdict: str, limits: str = "") -> Markup:
    return tag(
        "span",
        tag("span", SIGNS[verdict], aria_hidden="true"),
        f" {verdict.capitalize()}",
        f" ({limits})" if limits else None,
        class_=f"badge {verdict.replace(' ', '-')}",
    )


def _describe_limits(runs: Iterable[RunSummary]) -> str:
    return cut_visible(summary.join_limits(map(summary.rule_limits, runs)), NAME)

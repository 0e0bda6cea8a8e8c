"""The page: its head, the verdict, and its sections in order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from evalstream.model.finding import Finding
from evalstream.model.report import Report
from evalstream.model.text import count_noun
from evalstream.reporters import summary
from evalstream.reporters.html.findings import command_line, findings_section, rule_groups
from evalstream.reporters.html.run import run_body, run_names
from evalstream.reporters.html.runs import rules_section, runs_sections
from evalstream.reporters.html.wording import (
    badge,
    describe_limits,
    format_options,
    name,
    severity_counts,
    size,
    subject,
)
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
from evalstream.reporters.overview import FirstFindings, Overview

TITLE: Final = 120
"""How many characters of a file name are shown in the title of the page."""

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
    """Yield the verdict of all and what it means, in numbers and in a sentence."""
    totals, first = report.totals, next(iter(report.runs), None)
    limits = describe_limits(first) if first is not None else ""
    alone = run_names(first) if totals.runs == 1 and first is not None else None
    yield tag("p", "evalstream: report of a check", class_="tool")
    yield tag("h1", badge(verdict, limits))
    runs = count_noun(totals.runs, "run")
    yield tag("p", alone or [runs, [" below ", name(folder)] if folder else None], class_="subject")
    found = severity_counts(totals.severities) or [tag("span", "no findings")]
    facts: list[Child] = [
        *(tag("span", f"{totals.verdicts[one]:,} {one}", class_=one) for one in _verdicts(report)),
        tag("span", count_noun(totals.rows, "row")),
        *found,
    ]
    yield tag("p", facts, class_="facts")
    yield tag("p", " ".join(_sentences(report, verdict, limits)))
    yield (tag("p", cut_visible(line, TITLE)) for line in summary.gone_lines(totals))


def _verdicts(report: Report) -> list[str]:
    """Return the verdicts that runs of a batch have, the worst first."""
    if report.totals.runs < 2:
        return []
    return list(filter(report.totals.verdicts.get, summary.WORST_FIRST))


def _sentences(report: Report, verdict: str, limits: str) -> Iterator[str]:
    """Yield sentences that say what the verdict means, and what was not looked at."""
    totals = report.totals
    if unchecked := summary.unchecked_line(totals):
        yield f"{unchecked}."
    doubt = summary.describe_doubt(
        has_refuted=totals.claims.get("refuted", 0) > 0,
        is_strict=report.options.get("strict") is True,
        runs=totals.runs,
    )
    yield {
        "passed": "No finding fails the check. The page lists what was verified, and what was not.",
        "failed": "Findings fail the check.",
        "incomplete": "No finding fails the check, but not everything could be checked.",
        "unconfirmed": f"No finding fails the check, but {doubt}.",
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
    """Return how the report was made."""
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

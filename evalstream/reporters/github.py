"""Annotations of GitHub Actions, as workflow commands, and a job summary.

GitHub shows at most ten errors, ten warnings and ten notices of a step as annotations, so the first
finding of each rule comes before the others. The log has all of them. File names are relative to
`GITHUB_WORKSPACE`. Where `GITHUB_STEP_SUMMARY` names a file, a summary in Markdown is added to it:
the verdict of each run with what was verified, the rules with their remedies, and first findings.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

from evalstream.model.claim import State, describe_states
from evalstream.model.finding import Finding, FindingList, Severity
from evalstream.model.report import Report
from evalstream.model.text import count_noun
from evalstream.parsing.lazy_regex import LazyPattern
from evalstream.reporters.base import PLAIN, Recognized, Sink, Style
from evalstream.reporters.describe import (
    Places,
    as_code,
    cut_text,
    describe_values,
    escape_markup,
    file_name,
    markdown_code,
    markdown_text,
    run_name,
    visible,
)
from evalstream.reporters.overview import (
    FEW,
    FirstFindings,
    Overview,
    join_names,
    relative,
    run_paths,
    runs_in_log,
)
from evalstream.reporters.run_lines import describe_state, format_value, outcome_line, run_line
from evalstream.reporters.summary import (
    NOT_CHECKED,
    WORST_FIRST,
    format_verdict,
    gone_lines,
    join_limits,
    occurrences,
    overall_verdict,
    rule_limits,
    sort_runs,
    total_lines,
    unchecked_line,
    unlisted_line,
    vanished_lines,
)

LEVELS: Final = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}

MOST_SHOWN: Final = 10
"""How many annotations of a level GitHub shows of one step."""


class GithubReporter(Recognized):
    """Keeps the findings, and writes at the end."""

    beginning = LazyPattern(rb"::(?:error|warning|notice) file=|evalstream: ")
    """A finding, or the line of a run."""

    def __init__(self, output: Sink, style: Style = PLAIN) -> None:
        self._output, self._style = output, style
        self._places = Places()
        self._summary = os.environ.get("GITHUB_STEP_SUMMARY")
        self._findings = FindingList()
        self._first: dict[tuple[Severity, str], Finding] = {}
        self._counts = dict.fromkeys(LEVELS, 0)
        self._shown = 0

    def finding(self, finding: Finding) -> None:
        """Keep one finding."""
        self._counts[finding.severity] += 1
        self._shown += finding.occurrences
        kind = finding.severity, finding.code
        if kind in self._first:
            self._findings.append(finding)
        else:
            self._first[kind] = finding

    def finish(self, report: Report) -> None:
        """Write the annotations, then plain lines about the runs, and the job summary."""
        for finding in self._in_order():
            self._output.write(self._annotation(finding, report))
        for one in runs_in_log(report, lists_all=self._style.lists_all):
            line = one if isinstance(one, str) else run_line(one)
            self._output.write(f"evalstream: {visible(line)}\n")
        unlisted = report.total - self._shown
        more = [unlisted_line(unlisted)] if unlisted > 0 else []
        for line in (*total_lines(report), *vanished_lines(report), *more):
            self._output.write(f"evalstream: {visible(line)}\n")
        if max(self._counts.values()) > MOST_SHOWN:
            counts = ", ".join(
                count_noun(count, LEVELS[one]) for one, count in self._counts.items() if count
            )
            self._output.write(
                f"evalstream: GitHub shows at most {MOST_SHOWN} annotations of a level and step; "
                f"the log has {counts}\n"
            )
        if self._summary:
            add_summary(self._summary, report, self._in_order())

    def _in_order(self) -> Iterator[Finding]:
        """Iterate over the findings, the first of each rule and severity before the others."""
        for severity in LEVELS:
            yield from (one for (of, _), one in self._first.items() if of is severity)
        yield from self._findings

    def _annotation(self, finding: Finding, report: Report) -> str:
        file = self._places.relative(finding.file) or file_name(finding.file)
        place = f"file={_property(file)}"
        if finding.line is not None:
            place += f",line={finding.line}"
        if finding.column is not None:
            place += f",col={finding.column}"
        title = _property(f"{finding.code} {finding.name}")
        where = f"{finding.pointer}: " if finding.pointer else ""
        lines = [f"{where}{finding.message}{occurrences(finding)}"]
        lines += filter(None, [describe_values(finding)])
        text = report.rules.get(finding.code)
        if text and text.fix:
            lines.append(f"fix: {text.fix}")
        message = _text("\n".join(map(visible, lines)))
        return f"::{LEVELS[finding.severity]} {place},title={title}::{message}\n"


def _text(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _text(visible(text)).replace(":", "%3A").replace(",", "%2C")


_VERDICTS: Final = {
    "failed": "FAILED",
    "incomplete": "not everything was checked",
    NOT_CHECKED: "nothing was checked",
}
"""The verdicts that a summary says in other words."""

MOST_BYTES: Final = 1 << 20
"""GitHub drops the summary of a step that is longer."""

MOST_RULES: Final = 50
MOST_FINDINGS: Final = 50
MOST_CLAIMS: Final = 20
CELL: Final = 400
CLAIM_CELL: Final = 120
"""Limits of what is listed, and of the characters in a cell: below 1 MiB if all is escaped."""


def add_summary(path: str, report: Report, findings: Iterable[Finding]) -> None:
    """Append the summary of a report to a file; a failure is a warning on stderr."""
    text = "\n".join(_lines(report, findings)).encode(errors="replace") + b"\n\n"
    try:
        with open(path, "ab") as file:
            if file.tell() + len(text) > MOST_BYTES:
                _warn("the job summary of this step has no room for it")
            else:
                file.write(text)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a file name"
        _warn(f"cannot write the job summary {visible(path)}: {reason}")


def _warn(text: str) -> None:
    if sys.stderr is not None:
        sys.stderr.write(f"evalstream: {text}\n")


def _lines(report: Report, findings: Iterable[Finding]) -> Iterator[str]:
    verdict = overall_verdict(report)
    unchecked = unchecked_line(report.totals)
    heading = "; ".join(filter(None, [unchecked, _VERDICTS.get(verdict, verdict)]))
    limits = cut_text(visible(join_limits(map(rule_limits, report.runs))), CELL)
    yield f"## evalstream: {escape_markup(f'{heading} ({limits})' if limits else heading)}\n"
    for line in (*gone_lines(report.totals), *total_lines(report)):
        if line != unchecked:
            yield f"{escape_markup(line.strip())}\n"
    firsts = FirstFindings()
    first: list[Finding] = []
    for finding in findings:
        firsts.add(finding)
        if len(first) < MOST_FINDINGS:
            first.append(finding)
    if report.totals.runs:
        yield from _few_runs(report) if report.totals.runs <= FEW else _many_runs(report, firsts)
        yield from _claims(report)
    if report.counts:
        yield from _rules(report)
    yield from _findings(report, first)


def _few_runs(report: Report) -> Iterator[str]:
    yield "| run | verdict |\n| --- | --- |"
    for _, run in sort_runs(report):
        name = as_code(cut_text(run_name(run), CELL))
        yield f"| {name} | {markdown_text(outcome_line(run), CELL)} |"
    yield ""


def _many_runs(report: Report, firsts: FirstFindings) -> Iterator[str]:
    overview = Overview(report, firsts)
    listed = list(overview.iterate_listed())
    reasons = firsts.reasons(listed, report)
    if listed:
        if overview.folder:
            yield f"All paths are below {markdown_code(overview.folder, CELL)}\n"
        yield "| run | verdict | why |\n| --- | --- | --- |"
        for number, run in listed:
            paths = [visible(relative(path, overview.folder)) for path in run_paths(run)]
            name = as_code(cut_text(join_names(paths) or " with ".join(paths), CELL))
            why = markdown_text(reasons[number], CELL)
            yield f"| {name} | {escape_markup(format_verdict(run.verdict))} | {why} |"
        yield ""
    beyond = {one: overview.beyond(one) for one in WORST_FIRST}
    more = [f"{count:,} {format_verdict(one)}" for one, count in beyond.items() if count]
    if more:
        yield f"Not listed: {escape_markup(', '.join(more))}\n"


def _claims(report: Report) -> Iterator[str]:
    counts = report.totals.claims
    if not sum(counts.values()):
        return
    yield f"Claims: {describe_states(counts)}\n"
    found = (
        (run, claim)
        for state in (State.REFUTED, State.OPEN)
        if counts.get(state.value)
        for _, run in sort_runs(report)
        for claim in run.claims
        if claim.state is state
    )
    first = list(islice(found, MOST_CLAIMS))
    if not first:
        return
    yield "| file | claim | claimed | recomputed | state |\n| --- | --- | --- | --- | --- |"
    for run, claim in first:
        recomputed = "" if claim.recomputed is None else format_value(claim.recomputed)
        shown = (claim.label, format_value(claim.claimed), recomputed, describe_state(claim))
        cells = (markdown_text(text, CLAIM_CELL) for text in shown)
        name = file_name(run.aggregate or run.file or run.inputs or "")
        yield f"| {as_code(cut_text(name, CLAIM_CELL))} | {' | '.join(cells)} |"
    yield ""
    more = sum(counts.get(state.value, 0) for state in (State.REFUTED, State.OPEN)) - len(first)
    if more > 0:
        yield f"… and {count_noun(more, 'more refuted or open claim')}\n"


def _rules(report: Report) -> Iterator[str]:
    yield "| rule | findings | what it finds | how to fix |\n| --- | ---: | --- | --- |"
    counts = report.counts
    for code, count in islice(counts.items(), MOST_RULES):
        text = report.rules.get(code)
        name, summary, fix = (text.name, text.summary, text.fix) if text else ("", "", "")
        cells = (escape_markup(cut_text(cell, CELL)) for cell in (summary, fix))
        yield f"| {escape_markup(f'{code} {name}'.rstrip())} | {count:,} | {' | '.join(cells)} |"
    yield ""
    if len(counts) > MOST_RULES:
        yield f"… and {count_noun(len(counts) - MOST_RULES, 'more rule')}\n"


def _findings(report: Report, first: list[Finding]) -> Iterator[str]:
    if not first:
        return
    shown = sum(finding.occurrences for finding in first)
    said = "All findings" if shown == report.total else f"First of {report.total:,} findings"
    yield f"<details><summary>{said}</summary>\n"
    yield "| rule | where | what |\n| --- | --- | --- |"
    for finding in first:
        rule = f"{finding.severity.label} {escape_markup(finding.code)}"
        place = f"{file_name(finding.file)}{finding.position} {finding.pointer or ''}".rstrip()
        values = describe_values(finding)
        what = f"{finding.message}{occurrences(finding)}{f'; {values}' if values else ''}"
        yield f"| {rule} | {markdown_code(place, CELL)} | {markdown_text(what, CELL)} |"
    yield "\n</details>"

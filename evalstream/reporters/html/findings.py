"""The findings, grouped by rule: what was found where, the remedy, and how to repeat it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Final

from evalstream.model.finding import Excerpt, Finding, Severity
from evalstream.model.report import Report, RunSummary
from evalstream.model.text import counted
from evalstream.reporters.html.commands import ALL, repeat, shell
from evalstream.reporters.html.rule_help import prose, rule_help
from evalstream.reporters.html.wording import name, subject, value
from evalstream.reporters.markup import Child, Markup, cut, tag
from evalstream.reporters.summary import occurrences

KEPT: Final = 200
"""How many findings of each rule are kept to be shown."""

BYTES: Final = 700_000
"""How many bytes all findings may take; each rule has an equal share."""

LINES: Final = 30
"""How many lines are named where findings are equal but for their line."""

MESSAGE: Final = 400
POINTER: Final = 200
SAMPLE: Final = 80
EXCERPT: Final = 120
COMMAND: Final = 1_000


class RunIndex:
    """The runs that findings are about: by the names of their files, and by the codes found."""

    def __init__(self, report: Report, files: set[str], codes: set[str]) -> None:
        self._of_file: dict[str, RunSummary] = {}
        self._of_code: dict[str, RunSummary] = {}
        if not files and not codes:
            return
        for run in report.runs:
            for path in files.intersection(filter(None, (run.file, run.aggregate, run.inputs))):
                self._of_file.setdefault(path, run)
                files.discard(path)
            for code in codes.intersection(run.counts):
                self._of_code.setdefault(code, run)
                codes.discard(code)
            if not files and not codes:
                return

    def of(self, finding: Finding) -> RunSummary | None:
        """Return the run of a finding, None for a finding about a name that is not a run."""
        return self._of_file.get(finding.file)

    def with_code(self, code: str) -> RunSummary | None:
        """Return the first run with findings of a rule."""
        return self._of_code.get(code)


def findings_section(report: Report, kept: Mapping[str, list[Finding]]) -> Markup:
    """Return the section of the findings; `kept` has those to show, by code."""
    codes = sorted(report.counts, key=lambda code: (-_worst(kept.get(code, [])), code))
    if not codes:
        return tag("section", tag("h2", "Findings"), tag("p", "No findings."), id="findings")
    files = {finding.file for some in kept.values() for finding in some}
    index = RunIndex(report, files, {code for code in codes if not kept.get(code)})
    share = BYTES // len(codes)
    groups = [_group(report, code, kept.get(code, []), index, share) for code in codes]
    listed = f"{counted(report.total, 'finding')} of {counted(len(codes), 'rule')}"
    several = (
        "Findings that compare runs appear only if these runs are checked in one call."
        if report.totals.runs > 1
        else None
    )
    return tag(
        "section",
        tag("h2", "Findings ", tag("span", listed, class_="note")),
        tag("p", several, class_="note") if several else None,
        groups,
        id="findings",
    )


def _worst(findings: list[Finding]) -> int:
    return max((finding.severity for finding in findings), default=Severity.INFO) * bool(findings)


def _group(report: Report, code: str, kept: list[Finding], index: RunIndex, share: int) -> Markup:
    """Return the findings of one rule; they take about `share` bytes."""
    rule, count = report.rules.get(code), report.counts[code]
    worst = Severity(_worst(kept)).label if kept else "info"
    title = rule.name if rule else kept[0].name if kept else ""
    help_text = rule_help(rule) if rule else None
    remedy = (
        tag("p", tag("b", "Fix: "), prose(rule.fix), class_="fix") if rule and rule.fix else None
    )
    parts, shown, size = [], 0, len((help_text or "").encode())
    for part, covered in _items(report, code, kept, index):
        parts.append(part)
        shown, size = shown + covered, size + len(part.encode())
        if size > share:
            break
    words = repeat(_any_run(kept, index, code), kept[0].file if kept else "", code, report.options)
    return tag(
        "section",
        tag(
            "h3",
            tag("span", code, class_=f"code {worst}"),
            f" {title} ",
            tag("span", counted(count, worst if kept else "finding"), class_=worst),
        ),
        tag("p", prose(rule.summary), class_="summary") if rule else None,
        remedy,
        parts,
        _rest(report, shown, count, words) if shown < count else None,
        help_text,
        class_=f"group edge-{worst}",
        id=code,
    )


def _any_run(kept: list[Finding], index: RunIndex, code: str) -> RunSummary | None:
    return index.of(kept[0]) if kept else index.with_code(code)


def _rest(report: Report, shown: int, count: int, words: list[str]) -> Markup:
    """Say how many findings are listed of how many, and how to list them all."""
    listed = f"{shown:,} of {count:,} are listed" if shown else f"None of {count:,} is listed"
    where = " of one run" if report.totals.runs > 1 else ""
    said = f"{listed} here. To list all{where}: "
    return tag("p", said, command_line(shell([*words, *ALL])), class_="note")


def command_line(text: str) -> Markup:
    """Return a command as readers copy it."""
    return tag("code", cut(text, COMMAND), class_="command")


def _items(
    report: Report, code: str, kept: list[Finding], index: RunIndex
) -> Iterator[tuple[Markup, int]]:
    """Yield pieces of markup and how many occurrences each shows: headings of runs, findings."""
    several = report.totals.runs > 1
    for _, some in groupby(kept, key=lambda finding: _run_key(index.of(finding), finding)):
        findings = list(some)
        run = index.of(findings[0])
        if several:
            heading = subject(run) if run else findings[0].file
            yield tag("h4", name(heading)), 0
        words = repeat(run, findings[0].file, code, report.options)
        yield tag("p", "Repeat: ", command_line(shell(words)), class_="repeat"), 0
        for equal in _equal(findings):
            covered = sum(finding.occurrences for finding in equal)
            yield (
                _finding(equal, is_named=run is None or not run.file or equal[0].file != run.file),
                covered,
            )


def _run_key(run: RunSummary | None, finding: Finding) -> object:
    return finding.file if run is None else id(run)


def _equal(findings: list[Finding]) -> Iterator[list[Finding]]:
    """Yield findings together that differ only in their line and sample."""
    groups: dict[object, list[Finding]] = {}
    for finding in findings:
        key = (
            finding.file,
            finding.severity,
            finding.pointer,
            finding.message,
            finding.line is None,
        )
        shown = (_said("", finding.expected), _said("", finding.found), finding.count)
        groups.setdefault((key, shown), []).append(finding)
    yield from groups.values()


def _finding(equal: list[Finding], *, is_named: bool) -> Markup:
    """Return what findings say that are equal but for their line."""
    first = equal[0]
    label = first.severity.label
    place: list[Child] = [name(first.file), " "] if is_named else []
    if first.line is not None:
        place += [_lines(equal), " "]
    if first.pointer:
        place += [tag("code", cut(first.pointer, POINTER), class_="pointer"), " "]
    if first.sample_id is not None and len(equal) == 1:
        place.append(tag("span", f"sample {cut(str(first.sample_id), SAMPLE)}", class_="note"))
    message = [cut(first.message, MESSAGE), occurrences(first)]
    return tag(
        "div",
        tag("span", label, class_=f"severity {label}"),
        tag("div", place, class_="place") if place else None,
        tag("div", message, class_="message"),
        _values(first),
        class_="finding",
    )


def _lines(equal: list[Finding]) -> str:
    numbers = [f"{finding.line:,}" for finding in equal[:LINES]]
    more = len(equal) - LINES
    listed = ", ".join(numbers) + (f" and {more:,} more" if more > 0 else "")
    if len(equal) > 1:
        return f"lines {listed}"
    column = equal[0].column
    return f"line {listed}" if column is None else f"line {listed}, column {column:,}"


def _values(finding: Finding) -> Markup | None:
    """Return what was expected and what was found."""
    if isinstance(finding.found, Excerpt):
        return _excerpt(finding.found)
    pairs = [_said("expected", finding.expected), _said("found", finding.found)]
    return tag("div", pairs, class_="values") if any(pairs) else None


def _said(label: str, what: object) -> Markup | None:
    return None if what is None else tag("span", f"{label} ", value(what))


def _excerpt(excerpt: Excerpt) -> Markup:
    """Return the excerpt of a line with the place of its violation marked."""
    text, caret = excerpt
    start = max(0, min(caret, len(text)) - EXCERPT)
    before, after = text[start:caret], text[caret + 1 : caret + 1 + EXCERPT]
    mark = tag("mark", text[caret : caret + 1] or "␄")
    return tag("div", tag("code", before, mark, after), class_="values")

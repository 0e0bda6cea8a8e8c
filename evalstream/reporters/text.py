"""For people: findings grouped by rule, equal ones joined, then a line for each run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evalstream.model.finding import Excerpt, Finding, FindingList, Status
from evalstream.model.report import Report
from evalstream.model.text import count_noun, on_one_line
from evalstream.parsing.lazy_regex import LazyPattern
from evalstream.reporters.base import PLAIN, Recognized, Sink, Style
from evalstream.reporters.lines import SHOW_ALL, LineWriter, ListCounts, Span, columns
from evalstream.reporters.overview import FEW, FirstFindings
from evalstream.reporters.run_lines import RunLines
from evalstream.reporters.summary import fix_mark

if TYPE_CHECKING:
    from evalstream.reporters import groups

IN_MEMORY: Final = 1_000
"""How many findings of each code are kept in memory: there are over a hundred codes."""

MESSAGES: Final = 10
"""How many messages of a rule a report of many runs shows."""

LONGEST: Final = 200
"""How many characters of a value a terminal shows."""

SHORT: Final = 30
"""How many columns the values take that are written beside their file."""


class TextReporter(Recognized):
    """Keeps the findings by code and writes at the end."""

    beginning = LazyPattern(
        rb"\s*(?:(?:all paths are below [^\n]+\s+)?[A-Z]{2,3}\d{3} [a-z0-9-]+(?: \(preview\))?:\s"
        rb"|[\d,]+  [A-Z]{2,3}\d{3} +(?:error|warning|info)?  "
        rb"|(?:passed|unconfirmed|FAILED|incomplete|not checked)(?: \([^\n)]*\))?: "
        rb"|[^\n]*: (?:passed|unconfirmed|FAILED|incomplete|not checked)\b"
        rb"|[\d,]+ (?:runs? not looked at|of [\d,]+ runs? NOT CHECKED))"
    )
    """The common folder, the name of a rule, a line of statistics, a run, or runs not reached.

    In the first layout of this report the line of a run began with its name.
    """
    is_coloured = True

    def __init__(self, output: Sink, style: Style = PLAIN) -> None:
        self._output, self._style = output, style
        self._listing, self._firsts = ListCounts(style), FirstFindings()
        self._groups: dict[str, FindingList] = {}

    def finding(self, finding: Finding) -> None:
        """Keep one finding in its group, unless it is only counted."""
        self._firsts.add(finding)
        if self._listing.takes(finding):
            self._groups.setdefault(finding.code, FindingList(IN_MEMORY)).append(finding)

    def finish(self, report: Report) -> None:
        """Write the groups, the most severe first, then the runs, and last the verdict."""
        lines = LineWriter(self._output, self._style)
        runs = RunLines(lines, report, self._firsts)
        if lines.folder:
            lines.write(Span("all paths are below "), Span(lines.folder, "file"), wraps=False)
            lines.blank()
        for code in self._listing.codes() if self._groups else ():
            _GroupLines(lines, self._listing, code, report).write(self._groups[code])
        _finish(lines, self._listing, runs, report)


class LiveTextReporter:
    """Writes each finding as it comes, and at the end a line for each run."""

    def __init__(self, output: Sink, style: Style = PLAIN) -> None:
        self._lines = LineWriter(output, style)
        self._listing, self._firsts = ListCounts(style), FirstFindings()

    def finding(self, finding: Finding) -> None:
        """Write one finding, its code before its place."""
        self._firsts.add(finding)
        if self._listing.takes(finding):
            _write_alone(self._lines, finding)

    def finish(self, report: Report) -> None:
        """Write how many findings came beyond the limit, and the runs."""
        more = "" if self._lines.style.quiet else self._listing.more(report)
        if more:
            self._lines.write(Span(more))
        runs = RunLines(self._lines, report, self._firsts)
        _finish(self._lines, self._listing, runs, report)


def _finish(lines: LineWriter, listing: ListCounts, runs: RunLines, report: Report) -> None:
    """Write what follows the findings; the verdict is the last line."""
    if lines.style.statistics:
        for spans in listing.statistics(report):
            lines.write(*spans)
        if report.counts:
            lines.blank()
    note = "" if lines.style.quiet else listing.note(report)
    if note:
        lines.write(Span(note, "dim"))
        lines.blank()
    runs.write()


class _GroupLines:
    """Writes the group of one rule."""

    def __init__(self, lines: LineWriter, listing: ListCounts, code: str, report: Report) -> None:
        self._lines, self._code = lines, code
        self._severities = listing.severities(code)
        self._heading = listing.heading(code, report)
        self._more = listing.beyond(code, report)
        self._text = report.rules.get(code)
        self._messages = MESSAGES if report.totals.runs > FEW else None

    def write(self, findings: FindingList) -> None:
        from evalstream.reporters.groups import Caps, join_findings

        self._head(next(iter(findings)).name)
        lists_all = self._lines.style.lists_all
        caps = Caps(files=None) if lists_all else Caps(messages=self._messages)
        for entries, beyond in join_findings(findings, caps):
            files = {place.file for entry in entries for place in entry.places}
            is_one = len(files) == 1 and not any(entry.more for entry in entries)
            if is_one:
                self._lines.write(self._lines.path(files.pop(), 2), indent=2)
            for entry in entries:
                (self._in_one_file if is_one else self._in_files)(entry)
            if beyond:
                more = count_noun(beyond, "more finding")
                self._lines.write(Span(f"… and {more} (-v lists them)"), indent=2)
        if self._more:
            more = count_noun(self._more, "more finding")
            self._lines.write(Span(f"… and {more} not listed ({SHOW_ALL} lists all)"), indent=2)
        if self._text is not None and self._text.fix:
            self._lines.write(Span("fix: ", "fix"), Span(self._text.fix, "fix"), indent=2)
        self._lines.blank()

    def _head(self, name: str) -> None:
        role = self._severities[0].label
        is_preview = self._text is not None and self._text.status is Status.PREVIEW
        self._lines.write(
            Span(self._code, role),
            Span(f" {name}{' (preview)' if is_preview else ''}", "code"),
            Span(": "),
            Span(self._heading, role),
        )

    def _in_one_file(self, entry: groups.FindingEntry) -> None:
        for place in entry.places:
            where = place.where()
            lines = [Span(where, "code"), Span(": ")] if where else []
            self._lines.write(*lines, *self._message(entry), *_counts(place), indent=2)
            _write_values(self._lines, place, 4)

    def _in_files(self, entry: groups.FindingEntry) -> None:
        files = f" ({count_noun(entry.findings, 'finding')} in {count_noun(entry.files, 'file')})"
        is_joined = entry.files > 1
        self._lines.write(*self._message(entry), Span(files if is_joined else "", "dim"), indent=2)
        for place in entry.places:
            where = place.where()
            after = "" if not where else f": {where}" if place.lines > 1 else place.first.position
            is_plain = place.is_plain and is_joined
            after_it = [Span(after, "code"), Span("" if is_plain else place.count(), "dim")]
            beside = _short_values(place)
            after_it += beside
            path = self._lines.path(place.file, 4 + columns(after_it))
            self._lines.write(path, *after_it, indent=4)
            if not beside:
                _write_values(self._lines, place, 6)
        if entry.more:
            count = count_noun(entry.more_findings, "finding")
            more = f"… and {entry.more:,} more with {count} (-v lists them)"
            self._lines.write(Span(more), indent=4)

    def _message(self, entry: groups.FindingEntry) -> list[Span]:
        spans = []
        if len(self._severities) > 1:
            label = entry.severity.label
            spans = [Span(label, label), Span(": ")]
        if entry.pointer:
            spans.append(Span(f"{entry.pointer}: "))
        return [*spans, Span(entry.message), Span(fix_mark(entry.fix), "fix")]


def _write_alone(lines: LineWriter, finding: Finding) -> None:
    from evalstream.reporters.groups import EntryPlace

    place, label = EntryPlace(finding), finding.severity.label
    head = [Span(finding.code, label), Span(f" {finding.name}", "code"), Span(": ")]
    line = [Span(finding.position, "code"), Span(": ")]
    path = lines.path(finding.file, columns(head) + columns(line))
    pointer = Span("" if finding.pointer is None else f"{finding.pointer}: ")
    mark = Span(fix_mark(finding.fix), "fix")
    message = [Span(label, label), Span(": "), pointer, Span(finding.message), mark]
    message += _counts(place)
    lines.write(*head, path, *line, *message)
    _write_values(lines, place, 4)


def _counts(place: groups.EntryPlace) -> list[Span]:
    texts = [place.count().strip()]
    if place.findings == 1 and place.first.sample_id is not None:
        texts.append(f"[sample {place.first.sample_id}]")
    return [span for text in texts if text for span in (Span(" "), Span(text, "dim", one=True))]


def _short_values(place: groups.EntryPlace) -> list[Span]:
    if len(place.values) != 1 or isinstance(place.values[0].values, Excerpt):
        return []
    expected, found = place.values[0].values
    spans = [*_value_spans("expected", expected), *_value_spans("found", found)]
    if expected and found:
        spans.insert(2, Span(", "))
    return [Span(": "), *spans] if columns(spans) <= SHORT else []


def _value_spans(word: str, value: str) -> list[Span]:
    return [Span(f"{word} ", "dim"), Span(value)] if value else []


def _write_values(lines: LineWriter, place: groups.EntryPlace, indent: int) -> None:
    """Write what the findings of a place expect and found; the widest lines are indented less."""
    shown = place.values
    if len(shown) > 1 and not any(isinstance(one.values, Excerpt) for one in shown):
        founds = [_found_alone(lines, one) for one in shown]
        if all(founds):
            more = ", and other values" if place.has_more_values else ""
            lines.write(Span("found ", "dim"), Span(f"{', '.join(founds)}{more}"), indent=indent)
            return
    for one in shown:
        label = f"{one.label}: " if len(shown) > 1 and one.label else ""
        if isinstance(one.values, Excerpt):
            excerpt = one.values
            before = columns([Span(label + on_one_line(excerpt.excerpt[: excerpt.caret]))])
            lines.write(Span(label), Span(excerpt.excerpt), indent=indent, wraps=False)
            lines.write(Span(" " * before), Span("^", "error"), indent=indent, wraps=False)
        else:
            _write_pair(lines, one.values, label, indent)
    if place.has_more_values:
        lines.write(Span("… and other values"), indent=indent)


def _found_alone(lines: LineWriter, one: groups.PlacedValues) -> str:
    """Return a value with its line where nothing is expected, else ""."""
    if isinstance(one.values, Excerpt) or one.values.expected:
        return ""
    found = _cut_lines(lines, one.values.found)
    return found if one.line is None else f"{found} (line {one.line})"


def _write_pair(lines: LineWriter, values: groups.ValuePair, label: str, indent: int) -> None:
    wanted, seen = _cut_lines(lines, values.expected), _cut_lines(lines, values.found)
    expected, found = _value_spans("expected", wanted), _value_spans("found", seen)
    comma = [Span(", ")] if expected and found else []
    whole = [Span(label), *expected, *comma, *found]
    below = [Span("found    ", "dim"), Span(seen)]
    if lines.fits(whole, indent) or not (comma and lines.fits(expected) and lines.fits(below)):
        lines.write(*whole, indent=lines.fit_indent(whole, indent))
        return
    # One above the other, digests can be compared.
    if label:
        lines.write(Span(label.rstrip()), indent=indent)
        indent += 2
    indent = min(lines.fit_indent(expected, indent), lines.fit_indent(below, indent))
    lines.write(*expected, indent=indent)
    lines.write(*below, indent=indent)


def _cut_lines(lines: LineWriter, value: str) -> str:
    if lines.style.width is None or len(value) <= LONGEST:
        return value
    return f"{value[:LONGEST]}… (-f json shows more)"

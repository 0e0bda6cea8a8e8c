"""The lines about one rule: its findings by message and file, their values, and the remedy."""

from __future__ import annotations

from typing import Final

from evalstream.model.finding import Excerpt, Finding, FindingList, Status
from evalstream.model.report import Report
from evalstream.model.text import count_noun, on_one_line
from evalstream.reporters import groups
from evalstream.reporters.lines import SHOW_ALL, LineWriter, ListCounts, Span, columns
from evalstream.reporters.overview import FEW
from evalstream.reporters.summary import fix_mark

MESSAGES: Final = 10
"""How many messages of a rule a report of many runs shows."""

ALL: Final = groups.Caps(files=None)

LONGEST: Final = 200
"""How many characters of a value a terminal shows."""

SHORT: Final = 30
"""How many columns the values take that are written beside their file."""


class GroupLines:
    """Writes the group of one rule."""

    def __init__(self, lines: LineWriter, listing: ListCounts, code: str, report: Report) -> None:
        self._lines, self._code = lines, code
        self._severities = listing.severities(code)
        self._heading = listing.heading(code, report)
        self._more = listing.beyond(code, report)
        self._text = report.rules.get(code)
        self._caps = groups.Caps(messages=MESSAGES if report.totals.runs > FEW else None)
        if lines.style.lists_all:
            self._caps = ALL

    def write(self, findings: FindingList) -> None:
        """Write the name of the rule, its findings, and how to fix them."""
        self._head(next(iter(findings)).name)
        for entries, beyond in groups.join_findings(findings, self._caps):
            files = {place.file for entry in entries for place in entry.places}
            is_one = len(files) == 1 and not any(entry.more for entry in entries)
            if is_one:
                self._lines.write(self._lines.path(files.pop(), 2), indent=2)
            for entry in entries:
                if is_one:
                    self._in_one_file(entry)
                else:
                    self._in_files(entry)
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
        """Write the line of the rule: its code and name, marks, and the number of findings."""
        role = self._severities[0].label
        marks = []
        if self._text is not None and self._text.status is Status.PREVIEW:
            marks.append(" (preview)")
        self._lines.write(
            Span(self._code, role),
            Span(f" {name}{''.join(marks)}", "code"),
            Span(": "),
            Span(self._heading, role),
        )

    def _in_one_file(self, entry: groups.FindingEntry) -> None:
        """Write an entry whose file is named above."""
        for place in entry.places:
            where = place.where()
            lines = [Span(where, "code"), Span(": ")] if where else []
            self._lines.write(*lines, *self._message(entry), *_counts(place), indent=2)
            write_values(self._lines, place, 4)

    def _in_files(self, entry: groups.FindingEntry) -> None:
        """Write an entry, and below it its files."""
        files = f" ({count_noun(entry.findings, 'finding')} in {count_noun(entry.files, 'file')})"
        is_joined = entry.files > 1
        self._lines.write(*self._message(entry), Span(files if is_joined else "", "dim"), indent=2)
        for place in entry.places:
            where = place.where()
            after = "" if not where else f": {where}" if place.lines > 1 else place.first.position
            is_plain = place.is_plain and is_joined
            after_it = [Span(after, "code"), Span("" if is_plain else place.count(), "dim")]
            beside = short_values(place)
            after_it += beside
            path = self._lines.path(place.file, 4 + columns(after_it))
            self._lines.write(path, *after_it, indent=4)
            if not beside:
                write_values(self._lines, place, 6)
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


def write_alone(lines: LineWriter, finding: Finding) -> None:
    """Write one finding with its code, without waiting for others."""
    place, label = groups.EntryPlace(finding), finding.severity.label
    head = [Span(finding.code, label), Span(f" {finding.name}", "code"), Span(": ")]
    line = [Span(finding.position, "code"), Span(": ")]
    path = lines.path(finding.file, columns(head) + columns(line))
    pointer = Span("" if finding.pointer is None else f"{finding.pointer}: ")
    mark = Span(fix_mark(finding.fix), "fix")
    message = [Span(label, label), Span(": "), pointer, Span(finding.message), mark]
    message += _counts(place)
    lines.write(*head, path, *line, *message)
    write_values(lines, place, 4)


def _counts(place: groups.EntryPlace) -> list[Span]:
    """Return how many findings a place stands for, and the sample of a single one."""
    texts = [place.count().strip()]
    if place.findings == 1 and place.first.sample_id is not None:
        texts.append(f"[sample {place.first.sample_id}]")
    return [span for text in texts if text for span in (Span(" "), Span(text, "dim", one=True))]


def short_values(place: groups.EntryPlace) -> list[Span]:
    """Return the values of a place if they are few and short, to be written beside its file."""
    if len(place.values) != 1 or isinstance(place.values[0].values, Excerpt):
        return []
    expected, found = place.values[0].values
    spans = [*_value_spans("expected", expected), *_value_spans("found", found)]
    if expected and found:
        spans.insert(2, Span(", "))
    return [Span(": "), *spans] if columns(spans) <= SHORT else []


def _value_spans(word: str, value: str) -> list[Span]:
    return [Span(f"{word} ", "dim"), Span(value)] if value else []


def write_values(lines: LineWriter, place: groups.EntryPlace, indent: int) -> None:
    """Write what the findings of a place expect and found; the widest lines are indented less."""
    shown = place.values
    if len(shown) > 1 and all(isinstance(one.values, groups.ValuePair) for one in shown):
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
    """Return the beginning of a long value on a terminal, and say where more of it is."""
    if lines.style.width is None or len(value) <= LONGEST:
        return value
    return f"{value[:LONGEST]}… (-f json shows more)"

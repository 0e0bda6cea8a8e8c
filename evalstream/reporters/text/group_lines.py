"""The lines about one rule: its findings by message and file, and how to fix them."""

from __future__ import annotations

from typing import Final

from evalstream.model.finding import Finding, FindingList, Severity
from evalstream.model.report import Report
from evalstream.model.rule_text import Status
from evalstream.model.text import counted
from evalstream.reporters.lines import LineWriter, Span, columns
from evalstream.reporters.listing import SHOW_ALL, Listing
from evalstream.reporters.summary import fix_mark
from evalstream.reporters.text.groups import Entry, Place, joined
from evalstream.reporters.text.value_lines import short_values, write_values

FILES: Final = 10
"""How many files of an entry are named on a terminal, unless infos are listed, too."""


class GroupLines:
    """Writes the group of one rule."""

    def __init__(self, lines: LineWriter, listing: Listing, code: str, report: Report) -> None:
        self._lines, self._code = lines, code
        self._severities = listing.severities(code)
        self._heading = listing.heading(code, report)
        self._more = listing.beyond(code, report)
        text = report.rules.get(code)
        self._fix = "" if text is None else text.fix
        self._status = " (preview)" if text is not None and text.status is Status.PREVIEW else ""
        style = lines.style
        is_short = style.width is not None and style.min_severity > Severity.INFO
        self._files = FILES if is_short else None

    def write(self, findings: FindingList) -> None:
        """Write the name of the rule, its findings, and how to fix them."""
        self._head(next(iter(findings)).name)
        for entries in joined(findings):
            files = {place.file for entry in entries for place in entry.places}
            is_one = len(files) == 1
            if is_one:
                self._lines.write(self._lines.path(files.pop(), 2), indent=2)
            for entry in entries:
                if is_one:
                    self._in_one_file(entry)
                else:
                    self._in_files(entry)
        if self._more:
            more = counted(self._more, "more finding")
            self._lines.write(Span(f"… and {more} not listed ({SHOW_ALL} lists all)"), indent=2)
        if self._fix:
            self._lines.write(Span("fix: ", "fix"), Span(self._fix, "fix"), indent=2)
        self._lines.blank()

    def _head(self, name: str) -> None:
        role = self._severities[0].label
        self._lines.write(
            Span(self._code, role),
            Span(f" {name}{self._status}", "code"),
            Span(": "),
            Span(self._heading, role),
        )

    def _in_one_file(self, entry: Entry) -> None:
        """Write an entry whose file is named above."""
        for place in entry.places:
            where = place.where()
            lines = [Span(where, "code"), Span(": ")] if where else []
            self._lines.write(*lines, *self._message(entry), *_counts(place), indent=2)
            write_values(self._lines, place, 4)

    def _in_files(self, entry: Entry) -> None:
        """Write an entry, and below it its files."""
        total = sum(place.occurrences for place in entry.places)
        files = f" ({counted(total, 'finding')} in {counted(len(entry.places), 'file')})"
        is_joined = len(entry.places) > 1
        self._lines.write(*self._message(entry), Span(files if is_joined else "", "dim"), indent=2)
        for place in entry.places[: self._files]:
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
        others = [] if self._files is None else entry.places[self._files :]
        if others:
            count = counted(sum(place.occurrences for place in others), "finding")
            more = counted(len(others), "more file")
            self._lines.write(Span(f"… and {more} with {count} (-v lists them)"), indent=4)

    def _message(self, entry: Entry) -> list[Span]:
        spans = []
        if len(self._severities) > 1:
            label = entry.severity.label
            spans = [Span(label, label), Span(": ")]
        if entry.pointer:
            spans.append(Span(f"{entry.pointer}: "))
        return [*spans, Span(entry.message), Span(fix_mark(entry.fix), "fix")]


def write_alone(lines: LineWriter, finding: Finding) -> None:
    """Write one finding with its code, without waiting for others."""
    place, label = Place(finding), finding.severity.label
    head = [Span(finding.code, label), Span(f" {finding.name}", "code"), Span(": ")]
    line = [Span(finding.position, "code"), Span(": ")]
    path = lines.path(finding.file, columns(head) + columns(line))
    pointer = Span("" if finding.pointer is None else f"{finding.pointer}: ")
    mark = Span(fix_mark(finding.fix), "fix")
    message = [Span(label, label), Span(": "), pointer, Span(finding.message), mark]
    message += _counts(place)
    lines.write(*head, path, *line, *message)
    write_values(lines, place, 4)


def _counts(place: Place) -> list[Span]:
    """Return how many findings a place stands for, and the sample of a single one."""
    said = [place.count().strip()]
    if place.findings == 1 and place.first.sample_id is not None:
        said.append(f"[sample {place.first.sample_id}]")
    return [span for text in said if text for span in (Span(" "), Span(text, "dim", one=True))]

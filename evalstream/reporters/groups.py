"""Findings of one rule joined by their message, with the files that have it and their values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from evalstream.model.data_class import NamedTuple
from evalstream.model.finding import Excerpt, Finding, Severity
from evalstream.model.text import count_noun
from evalstream.parsing.json import dumps
from evalstream.reporters.summary import occurrences

MOST: Final = 1_000
"""How many places are joined at a time; beyond it the same message may appear again."""


class Caps(NamedTuple):
    """How many findings of a rule a report shows, None for all; it counts the others.

    `ranges` limits the ranges of lines that are named of a file, `values` its different values.
    """

    messages: int | None = None
    files: int | None = 10
    values: int = 3
    ranges: int = 5


class ValuePair(NamedTuple):
    """The expected and the found value of a finding, as text; "" for a missing one."""

    expected: str
    found: str


class PlacedValues(NamedTuple):
    """Values, and where the first of them are."""

    line: int | None
    pointer: str
    values: ValuePair | Excerpt

    @property
    def label(self) -> str:
        """The line, or else the pointer."""
        return self.pointer if self.line is None else f"line {self.line}"


class EntryPlace:
    """One file of an entry: its lines, the number of findings, and their values."""

    def __init__(self, finding: Finding, caps: Caps = Caps()) -> None:  # noqa: B008 - constant
        self.file, self.first = finding.file, finding
        self.findings = self.occurrences = self.lines = 0
        self.ranges: list[list[int]] = []
        self.values: list[PlacedValues] = []
        self.has_more_values = False
        self.last: int | None = None
        self._caps = caps
        self.add(finding)

    def add(self, finding: Finding) -> None:
        """Add a finding of the same file and message, on the same line or a later one."""
        self.findings += 1
        self.occurrences += finding.occurrences
        line = finding.line
        if line is not None and line != self.last:
            self.lines += 1
            if (
                self.ranges
                and self.last is not None
                and line == self.last + 1 == self.ranges[-1][1] + 1
            ):
                self.ranges[-1][1] = line
            elif len(self.ranges) < self._caps.ranges:
                self.ranges.append([line, line])
            self.last = line
        if not self.has_more_values:
            self._add_values(finding, finding_values(finding))

    def follows(self, line: int | None) -> bool:
        """Tell whether a line can be added: the number of lines is exact only in their order."""
        return line is None or self.last is None or line >= self.last

    def where(self) -> str:
        """Name the first lines: `line 3`, or `lines 3, 7-9, … and 1,204 more`."""
        if not self.ranges:
            return ""
        named = ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in self.ranges)
        more = self.lines - sum(b - a + 1 for a, b in self.ranges)
        if more:
            return f"lines {named}, … and {more:,} more"
        if self.findings == 1 and self.first.column is not None:
            return f"line {named}, column {self.first.column}"
        return f"{'line' if self.lines == 1 else 'lines'} {named}"

    @property
    def is_plain(self) -> bool:
        """Whether the lines that are named say how many findings there are."""
        named = sum(b - a + 1 for a, b in self.ranges)
        return self.findings == self.occurrences == self.lines == named

    def count(self) -> str:
        """Say in brackets how many findings were joined, or how many rows one stands for."""
        if self.findings == 1:
            return occurrences(self.first)
        findings = count_noun(self.findings, "finding")
        if self.occurrences == self.findings:
            return f" ({findings})"
        return f" ({findings}, {count_noun(self.occurrences, 'row')})"

    def _add_values(self, finding: Finding, values: ValuePair | Excerpt | None) -> None:
        if values is None or any(values == known.values for known in self.values):
            return
        if len(self.values) < self._caps.values:
            line = finding.line if finding.column is None else None
            self.values.append(PlacedValues(line, finding.pointer or "", values))
        else:
            self.has_more_values = True


class FindingEntry:
    """Findings of one rule with the same message, severity, repair and shape of the pointer.

    `places` are the files that are shown; `more` places with `more_findings` are only counted.
    """

    def __init__(self, finding: Finding, caps: Caps) -> None:
        self.message: str = finding.message
        self.severity: Severity = finding.severity
        self.fix = finding.fix
        self.pointer = finding.pointer or ""
        self.places: list[EntryPlace] = []
        self.more = self.more_findings = 0
        self._caps = caps
        self._latest: dict[str, EntryPlace] = {}
        self._latest_more: str | None = None

    @property
    def findings(self) -> int:
        """How many findings say this."""
        return self.more_findings + sum(place.occurrences for place in self.places)

    @property
    def files(self) -> int:
        """How many places the findings are in."""
        return self.more + len(self.places)

    def add(self, finding: Finding) -> bool:
        """Add a finding, and tell whether it made a new place."""
        if finding.pointer is not None and finding.pointer != self.pointer:
            self.pointer = pointer_shape(finding.pointer)
        place = self._latest.get(finding.file)
        if place is not None and place.follows(finding.line):
            place.add(finding)
            return False
        if self._caps.files is not None and len(self.places) >= self._caps.files:
            self.more += finding.file != self._latest_more
            self.more_findings += finding.occurrences
            self._latest_more = finding.file
            return False
        place = self._latest[finding.file] = EntryPlace(finding, self._caps)
        self.places.append(place)
        return True


class JoinedEntries(NamedTuple):
    """Entries in the order of their first findings, and how many findings have other messages."""

    entries: list[FindingEntry]
    beyond: int


def join_findings(findings: Iterable[Finding], caps: Caps) -> Iterator[JoinedEntries]:
    """Iterate over joined findings of one rule with at most `MOST` places at a time."""
    entries: dict[tuple[str, str, int, str | None], FindingEntry] = {}
    places = beyond = 0
    for finding in findings:
        shape = pointer_shape(finding.pointer or "")
        key = finding.message, shape, int(finding.severity), finding.fix
        entry = entries.get(key)
        if entry is None:
            if caps.messages is not None and len(entries) >= caps.messages:
                beyond += finding.occurrences
                continue
            entry = entries[key] = FindingEntry(finding, caps)
        places += entry.add(finding)
        if places >= MOST:
            yield JoinedEntries(list(entries.values()), beyond)
            entries, places, beyond = {}, 0, 0
    if entries:
        yield JoinedEntries(list(entries.values()), beyond)


def pointer_shape(pointer: str) -> str:
    """Return a JSON Pointer with `*` for each index of an array."""
    return "/".join("*" if part.isdecimal() else part for part in pointer.split("/"))


def finding_values(finding: Finding) -> ValuePair | Excerpt | None:
    """Return the values of a finding, or the excerpt around a syntax violation."""
    if isinstance(finding.found, Excerpt):
        return finding.found
    if finding.expected is None and finding.found is None:
        return None
    return ValuePair(
        "" if finding.expected is None else _describe_expected(finding.expected),
        "" if finding.found is None else _encode(finding.found),
    )


def _encode(value: object) -> str:
    return dumps(value).decode()


def _describe_expected(expected: object) -> str:
    if not isinstance(expected, dict) or len(expected) != 1:
        return _encode(expected)
    ((keyword, value),) = expected.items()
    if keyword == "enum" and isinstance(value, list):
        return f"one of {', '.join(map(_encode, value))}"
    if keyword == "type":
        return " or ".join(value) if isinstance(value, list) else str(value)
    words = _LIMITS.get(keyword)
    return _encode(expected) if words is None else f"{words} {_encode(value)}"


_LIMITS: Final = {
    "minimum": "at least",
    "maximum": "at most",
    "exclusiveMinimum": "more than",
    "exclusiveMaximum": "less than",
}

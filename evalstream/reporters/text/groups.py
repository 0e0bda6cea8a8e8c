"""Join the findings of one rule that say the same, and name each file once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from evalstream.model.finding import Excerpt, Finding, Severity
from evalstream.model.text import counted
from evalstream.reporters.summary import occurrences
from evalstream.reporters.text.values import Values, values_of

MOST: Final = 1_000
"""How many places are joined at a time; beyond it the same message may appear again."""

RANGES: Final = 5
"""How many ranges of lines are named."""

VALUES: Final = 3
"""How many different values of joined findings are shown."""


class PlacedValues(NamedTuple):
    """Values, and where the first of them are."""

    line: int | None
    pointer: str
    values: Values | Excerpt

    @property
    def label(self) -> str:
        """The line, or else the pointer."""
        return self.pointer if self.line is None else f"line {self.line}"


class Place:
    """One file of an entry: its lines, the number of findings, and their values."""

    def __init__(self, finding: Finding) -> None:
        self.file, self.first = finding.file, finding
        self.findings = self.occurrences = self.lines = 0
        self.ranges: list[list[int]] = []
        self.values: list[PlacedValues] = []
        self.has_more_values = False
        self.last: int | None = None
        self.add(finding)

    def add(self, finding: Finding) -> None:
        """Add a finding of the same file and message, on the same line or a later one."""
        self.findings += 1
        self.occurrences += finding.occurrences
        line = finding.line
        if line is not None and line != self.last:
            self._add_line(line)
        if not self.has_more_values:
            self._add_values(finding, values_of(finding))

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
        findings = counted(self.findings, "finding")
        if self.occurrences == self.findings:
            return f" ({findings})"
        return f" ({findings}, {counted(self.occurrences, 'row')})"

    def _add_line(self, line: int) -> None:
        self.lines += 1
        if (
            self.ranges
            and self.last is not None
            and line == self.last + 1 == self.ranges[-1][1] + 1
        ):
            self.ranges[-1][1] = line
        elif len(self.ranges) < RANGES:
            self.ranges.append([line, line])
        self.last = line

    def _add_values(self, finding: Finding, values: Values | Excerpt | None) -> None:
        if values is None or any(values == known.values for known in self.values):
            return
        if len(self.values) < VALUES:
            line = finding.line if finding.column is None else None
            self.values.append(PlacedValues(line, finding.pointer or "", values))
        else:
            self.has_more_values = True


class Entry:
    """Findings of one rule with the same message, severity, repair and shape of the pointer."""

    def __init__(self, finding: Finding) -> None:
        self.message: str = finding.message
        self.severity: Severity = finding.severity
        self.fix = finding.fix
        self.pointer = finding.pointer or ""
        self.places: list[Place] = []
        self._latest: dict[str, Place] = {}

    def add(self, finding: Finding) -> bool:
        """Add a finding, and tell whether it made a new place."""
        if finding.pointer is not None and finding.pointer != self.pointer:
            self.pointer = shape_of(finding.pointer)
        place = self._latest.get(finding.file)
        if place is not None and place.follows(finding.line):
            place.add(finding)
            return False
        place = self._latest[finding.file] = Place(finding)
        self.places.append(place)
        return True


def joined(findings: Iterable[Finding], most: int = MOST) -> Iterator[list[Entry]]:
    """Iterate over lists of entries with at most so many places, in the order of the findings."""
    entries: dict[tuple[str, str, int, str | None], Entry] = {}
    places = 0
    for finding in findings:
        shape = shape_of(finding.pointer or "")
        key = finding.message, shape, int(finding.severity), finding.fix
        entry = entries.get(key)
        if entry is None:
            entry = entries[key] = Entry(finding)
        places += entry.add(finding)
        if places >= most:
            yield list(entries.values())
            entries, places = {}, 0
    if entries:
        yield list(entries.values())


def shape_of(pointer: str) -> str:
    """Return a JSON Pointer with `*` for each index of an array."""
    return "/".join("*" if part.isdecimal() else part for part in pointer.split("/"))

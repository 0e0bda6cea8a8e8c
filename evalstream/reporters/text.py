"""For people: findings grouped by code with exact counts, then a line per run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from evalstream.model.finding import Excerpt, Finding, FindingList
from evalstream.model.report import Report
from evalstream.model.rule_text import RuleText, Status
from evalstream.model.text import on_one_line
from evalstream.parsing.json import dumps
from evalstream.parsing.lazy_regex import LazyPattern
from evalstream.reporters.base import PLAIN, Sink, Style
from evalstream.reporters.summary import (
    occurrences,
    result_lines,
    run_line,
    total_lines,
    vanished_lines,
)

IN_MEMORY: Final = 1_000
"""How many findings of each code are kept in memory: there are over a hundred codes."""


_BEGINNING: Final = LazyPattern(
    rb"\s*(?:[A-Z]{2,3}\d{3} [a-z0-9-]+(?: \(preview\))?: "
    rb"|[^\n]*: (?:passed|FAILED|incomplete|not checked)\b"
    rb"|[\d,]+ runs? not looked at)"
)
"""A finding, the line of a run, or that of runs which were not reached."""


class TextReporter:
    """Keeps the findings by code and writes at the end."""

    def __init__(self, output: Sink, style: Style = PLAIN) -> None:
        self._output, self._style = output, style
        self._groups: dict[str, FindingList] = {}

    @staticmethod
    def wrote(head: bytes) -> bool:
        """Tell by its first bytes whether a file is such a report."""
        return _BEGINNING.match(head) is not None

    def finding(self, finding: Finding) -> None:
        """Keep one finding in its group."""
        self._groups.setdefault(finding.code, FindingList(IN_MEMORY)).append(finding)

    def finish(self, report: Report) -> None:
        """Write the groups in the order of their codes, then the runs."""
        for code, findings in sorted(self._groups.items()):
            text = report.rules.get(code)
            for line in _group(findings, report.counts.get(code, 0), text):
                self._output.write(f"{on_one_line(line)}\n")
            self._output.write("\n")
        for run in report.runs:
            for line in (run_line(run), *result_lines(run)):
                self._output.write(f"{on_one_line(line)}\n")
            if run.change is not None:
                lines = map(on_one_line, (run.change or "nothing would change\n").split("\n"))
                self._output.write("\n" + "\n".join(lines))
        for line in total_lines(report):
            self._output.write(f"\n{line}\n")
        for line in vanished_lines(report):
            self._output.write(f"{on_one_line(line)}\n")


class LiveTextReporter:
    """Writes each finding as it comes, and in the end a line per run."""

    def __init__(self, output: Sink, style: Style = PLAIN) -> None:
        self._output, self._style = output, style

    def finding(self, finding: Finding) -> None:
        """Write one finding, its code before its lines."""
        first, *others = _lines(finding)
        for line in (f"{finding.code} {finding.name}: {first.lstrip()}", *others):
            self._output.write(f"{on_one_line(line)}\n")

    def finish(self, report: Report) -> None:
        """Write the runs."""
        for run in report.runs:
            for line in (run_line(run), *result_lines(run)):
                self._output.write(f"{on_one_line(line)}\n")
        for line in total_lines(report):
            self._output.write(f"\n{line}\n")
        for line in vanished_lines(report):
            self._output.write(f"{on_one_line(line)}\n")


def _group(findings: FindingList, count: int, text: RuleText | None) -> Iterator[str]:
    """Iterate over the lines about one rule: its findings, how many more there are, the remedy."""
    is_preview = text is not None and text.status is Status.PREVIEW
    shown = 0
    for finding in findings:
        if not shown:
            mark = " (preview)" if is_preview else ""
            yield f"{finding.code} {finding.name}{mark}: {count:,}"
        shown += finding.occurrences
        yield from _lines(finding)
    if shown < count:
        yield f"  … and {count - shown:,} more (--max-findings 0 shows all)"
    if text is not None and text.fix:
        yield f"  fix: {text.fix}"


def _lines(finding: Finding) -> Iterator[str]:
    place = finding.file if finding.line is None else f"{finding.file}:{finding.line}"
    pointer = f" {finding.pointer}" if finding.pointer else ""
    count = occurrences(finding)
    sample = f" [sample {finding.sample_id}]" if finding.sample_id is not None else ""
    yield f"  {place}{pointer}: {finding.severity.label}: {finding.message}{count}{sample}"
    if isinstance(finding.found, Excerpt):
        yield f"      {finding.found.excerpt}"
        yield f"      {' ' * finding.found.caret}^"
        return
    values = []
    if finding.expected is not None:
        values.append(f"expected {_wanted(finding.expected)}")
    if finding.found is not None:
        values.append(f"found {_shown(finding.found)}")
    if values:
        yield f"      {', '.join(values)}"


def _shown(value: object) -> str:
    return dumps(value).decode()


def _wanted(expected: object) -> str:
    """Write what is expected, a small JSON Schema in words."""
    if not isinstance(expected, dict) or len(expected) != 1:
        return _shown(expected)
    ((keyword, value),) = expected.items()
    if keyword == "enum" and isinstance(value, list):
        return f"one of {', '.join(map(_shown, value))}"
    if keyword == "type":
        return " or ".join(value) if isinstance(value, list) else str(value)
    words = _LIMITS.get(keyword)
    return _shown(expected) if words is None else f"{words} {_shown(value)}"


_LIMITS: Final = {
    "minimum": "at least",
    "maximum": "at most",
    "exclusiveMinimum": "more than",
    "exclusiveMaximum": "less than",
}

"""The findings about a store as a whole: each stamped and counted, those to show kept in order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from evalstream.batch.single import count_findings
from evalstream.engine.collector import make_finding
from evalstream.engine.result import Counts
from evalstream.formats.registry import MAIN_CATALOGUE
from evalstream.io.names import printable
from evalstream.model.finding import FindingList, Severity, Show, Violation
from evalstream.model.options import Options
from evalstream.model.run_summary import NOT_CHECKED, RunSummary


class StoreFindings:
    """Takes violations, file by file in any order; `name` makes a path one of reports."""

    def __init__(self, options: Options, name: Callable[[str], str]) -> None:
        self._options, self._name = options, name
        self._selection = MAIN_CATALOGUE.selection(options)
        self._shown: dict[tuple[str, Severity], int] = {}
        self._kept = FindingList()
        self._counts: Counts = {}
        self.open_reason: str | None = None

    def report(self, code: str, path: str, message: str, **details: Any) -> None:
        """Take a violation of a rule in a file."""
        line = details.pop("line", None)
        self.add(MAIN_CATALOGUE[code].violation(message, **details), path, line)

    def add(self, violation: Violation, path: str, line: int | None = None) -> None:
        """Take a violation in a file."""
        if violation.code not in self._selection:
            return
        finding = make_finding(violation, printable(self._name(path)), self._selection, line=line)
        key = (finding.code, finding.severity)
        self._counts[key] = self._counts.get(key, 0) + finding.occurrences
        most, shown = self._options.max_findings, self._shown.get(key, 0)
        if not most or shown < most:
            self._shown[key] = shown + 1
            if not self._options.show_values:
                finding = finding._replace(found=None, expected=None)
            self._kept.append(finding)

    def leave_open(self, path: str, reason: str) -> None:
        """Take a file that could not be read: the check is not complete."""
        self.open_reason = self.open_reason or f"{printable(self._name(path))}: {reason}"
        self.report("ES001", path, f"cannot be read: {reason}")

    @property
    def has_errors(self) -> bool:
        """Whether a finding fails the check."""
        fails, threshold = self._selection.fails, self._options.threshold
        return any(fails(*key, threshold) for key in self._counts if key[0] not in NOT_CHECKED)

    def finish(self, summary: RunSummary, show: Show) -> None:
        """Show what is to be shown by file, line and code, and judge the store."""
        for finding in sorted(self._kept, key=lambda one: (one.file, *one.order(), one.message)):
            show(finding)
        count_findings(self._counts, self._selection, self._options.threshold, summary)
        summary.incomplete_reason = summary.incomplete_reason or self.open_reason
        summary.selected, summary.ignored = self._options.select, self._options.ignore
        summary.judge(summary.failing, has_scores=False)

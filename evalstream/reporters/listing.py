"""Which findings a report for people lists, and which ones it only counts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from evalstream.model.data_class import replace
from evalstream.model.finding import Finding, Severity
from evalstream.model.report import Report
from evalstream.model.text import count_noun
from evalstream.reporters.base import Reporter, Style
from evalstream.reporters.lines import Span
from evalstream.reporters.summary import severities

SHOW_ALL: Final = "--max-findings 0"
"""The option that lists all findings of a rule."""


class ListCounts:
    """Counts the findings that come by rule, and whether they are listed."""

    def __init__(self, style: Style) -> None:
        self._style = style
        self._listed: dict[str, dict[Severity, int]] = {}
        self._hidden: dict[str, dict[Severity, int]] = {}
        self._names: dict[str, str] = {}

    def takes(self, finding: Finding) -> bool:
        """Count one finding, and tell whether it is listed."""
        is_listed = finding.severity >= self._style.min_severity
        by_code = self._listed if is_listed else self._hidden
        self._names[finding.code] = finding.name
        counts = by_code.setdefault(finding.code, {})
        counts[finding.severity] = counts.get(finding.severity, 0) + finding.occurrences
        return is_listed and not self._style.quiet

    def codes(self) -> list[str]:
        """Return the codes of listed findings, the most severe first."""
        return sorted(self._listed, key=lambda code: (-max(self._listed[code]), code))

    def severities(self, code: str) -> list[Severity]:
        """Return the severities of the listed findings of a rule, the highest first."""
        return sorted(self._listed[code], reverse=True)

    def beyond(self, code: str, report: Report) -> int:
        """Return how many findings of a rule are counted beyond those that came."""
        return max(0, report.counts.get(code, 0) - self._came(code))

    def more(self, report: Report) -> str:
        """Say how many findings of listed rules are beyond the limit; "" if none is."""
        more = sum(self.beyond(code, report) for code in self._listed)
        return (
            f"{count_noun(more, 'more finding')} not listed ({SHOW_ALL} lists all)" if more else ""
        )

    def heading(self, code: str, report: Report) -> str:
        """Say how many findings a rule has, and of which severity."""
        listed, more = self._listed[code], self.beyond(code, report)
        if not more:
            return ", ".join(severities(listed))
        total = count_noun(sum(listed.values()) + more, "finding")
        return f"{total} ({'/'.join(one.label for one in self.severities(code))})"

    def note(self, report: Report) -> str:
        """Say how many findings are not listed because of their severity, and how to list them.

        Returns "" where all are listed, or counted where their rule is.
        """
        hidden = {code: self._came(code) for code in self._hidden if code not in self._listed}
        hidden = {code: max(came, report.counts.get(code, 0)) for code, came in hidden.items()}
        is_capped = any(self.beyond(code, report) for code in hidden)
        total = sum(hidden.values()) + sum(
            sum(self._hidden[code].values()) for code in self._hidden if code in self._listed
        )
        if not total:
            return ""
        lowest = self._style.min_severity
        below = {one: n for one, n in report.totals.severities.items() if one < lowest}
        exact = sum(below.values()) == total
        what = " and ".join(severities(below)) if exact else count_noun(total, "finding")
        them = "it" if total == 1 else "them"
        options = f"-v {SHOW_ALL}" if is_capped else "-v"
        return f"{what} not listed ({options} lists {them})"

    def statistics(self, report: Report) -> Iterator[tuple[Span, ...]]:
        """Iterate over lines with the number of findings of each rule, and the total.

        The severity is the highest of those that came. Rules with the most findings come first.
        """
        counts = report.counts
        if not counts:
            return
        width = max(len(f"{report.total:,}"), 4)
        for code, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
            came = self._listed.get(code, {}) | self._hidden.get(code, {})
            label = max(came).label if came else ""
            yield (
                Span(f"{count:{width},}  "),
                Span(f"{code:<6}", "code"),
                Span("  "),
                Span(f"{label:<7}", label),
                Span(f"  {self._names.get(code, '')}"),
            )
        yield (Span(f"{report.total:{width},}  total of {count_noun(len(counts), 'rule')}"),)

    def _came(self, code: str) -> int:
        listed, hidden = self._listed.get(code, {}), self._hidden.get(code, {})
        return sum(listed.values()) + sum(hidden.values())


class ListingFrom:
    """Passes on the findings of a severity and above, and the outcome with their number."""

    def __init__(self, lowest: Severity, reporter: Reporter) -> None:
        self._lowest, self._reporter = lowest, reporter
        self._shown = 0

    def finding(self, finding: Finding) -> None:
        """Pass on one finding, or drop it."""
        if finding.severity >= self._lowest:
            self._shown += 1
            self._reporter.finding(finding)

    def finish(self, report: Report) -> None:
        """Pass on the outcome."""
        self._reporter.finish(replace(report, shown=self._shown))


def list_from(lowest: Severity, reporter: Reporter) -> Reporter:
    """Return a reporter that lists findings of a severity and above."""
    return reporter if lowest is Severity.INFO else ListingFrom(lowest, reporter)

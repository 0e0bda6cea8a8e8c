"""The check of a run that was rewritten: its verdict, and what fails it as reasons."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain, islice
from typing import Final

from evalstream.batch.rewriting.outcome import Outcome
from evalstream.batch.single import check_any
from evalstream.io.names import printable
from evalstream.io.progress import Progress
from evalstream.model.data_class import replace
from evalstream.model.finding import Finding, FindingList, Severity
from evalstream.model.options import Options
from evalstream.model.report import RunSummary
from evalstream.model.run import Run
from evalstream.model.text import count_noun
from evalstream.reporters.groups import Caps, join_findings

MOST_REASONS: Final = 20
"""Number of reasons of an outcome."""

MOST_FINDINGS: Final = 1_000
"""Number of findings of a rule in a file that are joined to reasons."""


def check_result(
    run: Run, options: Options, staging: str | None, progress: Progress, outcome: Outcome
) -> None:
    """Check a run, and refuse its outcome if it fails.

    Paths in the reasons are relative to the `staging` folder, where the run has no lasting place.
    """
    summary, failing = check_with_reasons(run, options, staging, progress)
    outcome.checked = summary
    outcome.is_unconfirmed = summary.verdict == "unconfirmed"
    if summary.verdict == "failed":
        total = sum(summary.failing.values())
        outcome.refuse(f"the result does not pass its check: {count_noun(total, 'error')}")
        outcome.reasons += failing.of(summary.failing)
    elif summary.verdict == "incomplete":
        reason = summary.incomplete_reason or "the result was not checked completely"
        outcome.leave_unread(_local(reason, staging))


class Reasons:
    """The findings of a check as reasons; findings of a rule that say the same share one line."""

    def __init__(self, staging: str | None) -> None:
        self._staging = staging
        self._findings: dict[str, FindingList] = {}

    def add(self, finding: Finding) -> None:
        """Add a finding, if it is an error."""
        if finding.severity >= Severity.ERROR:
            self._findings.setdefault(finding.code, FindingList(MOST_FINDINGS)).append(finding)

    def of(self, counts: Mapping[str, int]) -> tuple[str, ...]:
        """Return the reasons of rules, of which `counts` has the number of findings."""
        every = (
            line
            for code in self._findings
            if code in counts
            for line in self._of(code, counts[code])
        )
        return tuple(islice(every, MOST_REASONS))

    def _of(self, code: str, count: int) -> Iterator[str]:
        findings = self._findings[code]
        joined = join_findings(findings, Caps(files=None))
        for entry in chain.from_iterable(entries for entries, _ in joined):
            name, message = next(iter(findings)).name, _local(entry.message, self._staging)
            pointer = f" {entry.pointer}" if entry.pointer else ""
            for place in entry.places:
                where, many = place.where(), place.count()
                yield f"{code} {name}:{f' {where}' if where else ''}{pointer} {message}{many}"
        more = count - sum(one.occurrences for one in findings)
        if more > 0:
            yield f"{code}: … and {count_noun(more, 'more finding')}"


def check_with_reasons(
    run: Run, options: Options, staging: str | None, progress: Progress
) -> tuple[RunSummary, Reasons]:
    """Check a run; return its summary, and its findings as reasons."""
    reasons = Reasons(staging)
    options = replace(options, max_findings=MOST_FINDINGS)
    return check_any(run, options, reasons.add, progress), reasons


def _local(text: str, staging: str | None) -> str:
    return text if staging is None else text.replace(f"{printable(staging)}/", "")

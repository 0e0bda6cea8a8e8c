"""The check of a run that was rewritten: its verdict, and what fails it as reasons."""

from __future__ import annotations

from typing import Final

from evalstream.batch.rewriting.outcome import Outcome
from evalstream.batch.single import check_any
from evalstream.io.names import printable
from evalstream.io.progress import Progress
from evalstream.model.data_class import replace
from evalstream.model.finding import Finding, Severity
from evalstream.model.options import Options
from evalstream.model.run import Run
from evalstream.model.text import counted

MOST_REASONS: Final = 20
"""Number of findings that an outcome gives as reasons."""


def check_result(
    run: Run, options: Options, staging: str | None, progress: Progress, outcome: Outcome
) -> None:
    """Check a run, and refuse its outcome if it fails.

    Paths in the reasons are relative to the `staging` folder, where the run has no lasting place.
    """
    failing: list[str] = []

    def show(finding: Finding) -> None:
        if finding.severity >= Severity.ERROR and len(failing) < MOST_REASONS:
            failing.append(reason_for(finding, staging))

    summary = check_any(run, replace(options, max_findings=MOST_REASONS), show, progress)
    outcome.checked = summary
    outcome.is_unconfirmed = summary.verdict == "unconfirmed"
    if summary.verdict == "failed":
        total = sum(summary.failing.values())
        outcome.refuse(f"the result does not pass its check: {counted(total, 'error')}")
        outcome.reasons += tuple(failing)
    elif summary.verdict == "incomplete":
        reason = summary.incomplete_reason or "the result was not checked completely"
        outcome.leave_unread(_local(reason, staging))


def reason_for(finding: Finding, staging: str | None) -> str:
    """Return a finding as a reason; paths are relative to the `staging` folder."""
    place = "" if finding.line is None else f" line {finding.line:,}"
    where = "" if not finding.pointer else f" {finding.pointer}"
    message = _local(finding.message, staging)
    return f"{finding.code} {finding.name}:{place}{where} {message}"


def _local(text: str, staging: str | None) -> str:
    return text if staging is None else text.replace(f"{printable(staging)}/", "")

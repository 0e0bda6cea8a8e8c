"""The outcome of a check in one line, for users whose report goes to a file."""

from __future__ import annotations

import sys

from evalstream.io.names import printable
from evalstream.model.claim import State
from evalstream.model.report import Report
from evalstream.model.text import count_noun, on_one_line
from evalstream.reporters.summary import (
    format_verdict,
    overall_verdict,
    rule_limits,
    severities,
    unchecked_line,
)


def announce(report: Report, output: str, noun: str) -> None:
    """Say on stderr what became of all runs, and in which file the report is."""
    name = on_one_line(printable(output))
    sys.stderr.write(f"evalstream: {verdict_line(report)}; {noun} in {name}\n")
    sys.stderr.flush()


def verdict_line(report: Report) -> str:
    """Return what was not checked, the verdict over all runs, its rules, and its findings."""
    totals = report.totals
    limited = {rule_limits(run) for run in report.runs}
    if len(limited) == 1:
        (left_out,) = limited
    else:
        left_out = "some rules left out" if any(limited) else ""
    verdict = overall_verdict(report)
    alike = totals.verdicts.get(verdict, 0)
    part = f"{alike:,} of " if 0 < alike < totals.runs else ""
    said = [f"{part}{count_noun(totals.runs, 'run')}"]
    if refuted := totals.claims.get(State.REFUTED.value):
        said.append(count_noun(refuted, "refuted claim"))
    said += severities(totals.severities)
    line = f"{format_verdict(verdict)}{f' ({left_out})' if left_out else ''}: {', '.join(said)}"
    return "; ".join(filter(None, [unchecked_line(totals), line]))

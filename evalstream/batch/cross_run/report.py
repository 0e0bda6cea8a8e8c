"""What is told of runs in the light of others, after everything that is told of each by itself."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import groupby

from evalstream.batch.cross_run.index import CrossRunFinding, CrossRunIndex
from evalstream.batch.results import ResultStore
from evalstream.engine.collector import finding_of
from evalstream.engine.result import Counts, shorten_values
from evalstream.formats.registry import CATALOGUE
from evalstream.model.finding import Finding
from evalstream.model.options import Options
from evalstream.model.report import RunSummary


def report_cross_run(
    across: CrossRunIndex, gathering: ResultStore, options: Options, show: Callable[[Finding], None]
) -> None:
    """Show what runs have to do with each other, and count it among what is said of each."""
    most = options.max_findings
    for number, some in groupby(
        across.violations(CATALOGUE.selection(options).enabled), lambda one: one.number
    ):
        counts: Counts = {}
        shown: dict[str, int] = {}
        for linked in some:
            finding = _finding(linked, options)
            key = finding.code, finding.severity
            counts[key] = counts.get(key, 0) + finding.occurrences
            shown[finding.code] = shown.get(finding.code, 0) + 1
            if not most or shown[finding.code] <= most:
                show(finding)
        gathering.amend(number, partial(_count, counts, options))


def _finding(linked: CrossRunFinding, options: Options) -> Finding:
    violation = shorten_values(linked.violation, show_values=options.show_values)
    return finding_of(
        violation, linked.file, CATALOGUE.selection(options), line=linked.line, offset=linked.offset
    )


def _count(counts: Counts, options: Options, summary: RunSummary) -> None:
    for (code, severity), count in counts.items():
        summary.count(code, severity, count)
        if severity >= options.threshold:
            summary.verdict = "failed"

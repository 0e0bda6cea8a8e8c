"""Findings between runs, reported after the findings of each run."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import groupby
from typing import Final

from evalstream.batch.cross_run.index import CrossRunFinding, CrossRunIndex
from evalstream.batch.results import ResultStore
from evalstream.batch.single import ShownFindings, not_checked
from evalstream.engine.collector import make_finding
from evalstream.engine.result import Counts, shorten_values
from evalstream.formats.registry import MAIN_CATALOGUE
from evalstream.model.data_class import replace
from evalstream.model.errors import internal_error
from evalstream.model.finding import Finding
from evalstream.model.options import Options
from evalstream.model.run import Run
from evalstream.model.run_summary import RunSummary
from evalstream.rules.catalogue import Selection
from evalstream.rules.inputs import ES010

ALL_RUNS: Final = "(all runs)"
"""The name of the comparison of all runs, where it needs one."""


def report_cross_run(
    cross_run_index: CrossRunIndex,
    results: ResultStore,
    options: Options,
    show: Callable[[Finding], None],
    end_run: Callable[[RunSummary], None] | None = None,
) -> None:
    """Show the findings between runs, and add them to the counts of each run.

    `end_run` is called with the summary of each run that has some. An internal error leaves the
    comparison incomplete, as one more entry after the runs, and takes no run's verdict away.
    """
    shown = ShownFindings(show)
    try:
        _report(cross_run_index, results, options, shown, end_run)
    except BaseException as error:
        if shown.failed:
            raise
        reason = f"the runs were not compared with each other: {internal_error(error)}"
        run = Run(ALL_RUNS, None)
        results.add_last(not_checked(run, ES010.violation(reason), reason, options, show))


def _report(
    cross_run_index: CrossRunIndex,
    results: ResultStore,
    options: Options,
    show: Callable[[Finding], None],
    end_run: Callable[[RunSummary], None] | None,
) -> None:
    limit = options.max_findings
    ignores = bool(options.per_file_ignores)
    selection = MAIN_CATALOGUE.selection(options)
    matches = cross_run_index.violations(selection.enabled)
    for number, group in groupby(matches, lambda item: item.number):
        own = replace(options, ignore=results.ignored_rules(number)) if ignores else options
        enabled = MAIN_CATALOGUE.selection(own).enabled
        counts: Counts = {}
        shown: dict[str, int] = {}
        for match in group:
            if match.violation.code not in enabled:
                continue
            finding = _finding(match, options, selection)
            key = finding.code, finding.severity
            counts[key] = counts.get(key, 0) + finding.occurrences
            shown[finding.code] = shown.get(finding.code, 0) + 1
            if not limit or shown[finding.code] <= limit:
                show(finding)
        results.amend(number, partial(_count, counts, options))
        if end_run is not None:
            results.amend(number, end_run)


def _finding(match: CrossRunFinding, options: Options, selection: Selection) -> Finding:
    violation = shorten_values(match.violation, show_values=options.show_values)
    return make_finding(violation, match.file, selection, line=match.line, offset=match.offset)


def _count(counts: Counts, options: Options, summary: RunSummary) -> None:
    for (code, severity), count in counts.items():
        summary.count(code, severity, count)
        if MAIN_CATALOGUE.selection(options).fails(code, severity, options.threshold):
            summary.fail(code, count)

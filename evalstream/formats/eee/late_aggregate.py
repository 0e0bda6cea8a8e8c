"""Check one run whose aggregate arrives later than its rows."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Final

from evalstream.formats.eee.checker import check_run
from evalstream.formats.eee.rules.seal import ES506
from evalstream.io.progress import Progress
from evalstream.model.data_class import replace
from evalstream.model.finding import Finding, FindingList, Severity
from evalstream.model.options import Options, RowRouting
from evalstream.model.run import Run
from evalstream.model.run_summary import RunSummary
from evalstream.rules.claims import ES805
from evalstream.rules.inputs import ES006

LATER: Final = (
    *("seal_to", "file_path", "create", "seal_anyway", "dry_run", "expect_rows", "expect_samples"),
)
"""Routing options that concern the whole run, which is checked when its aggregate exists."""


def check_late(
    run: Run, options: Options, show: Callable[[Finding], None], progress: Progress
) -> RunSummary:
    """Check a run whose aggregate arrives later than its rows.

    Findings go to `show`, in order. The rows are first checked alone as they come, and against the
    aggregate when it exists: completely if a copy of them was kept, else only their bytes and their
    number. Raises CannotWrite if rows or a seal cannot be written to their target.
    """
    routing = options.routing
    copy = routing.tee or (run.rows if routing.follow else None)
    if copy is None:
        return check_run(run, options, show, progress, is_late=True)
    shown = FindingList()

    def show_and_remember(finding: Finding) -> None:
        shown.append(finding)
        show(finding)

    first_routing = replace(routing, **{name: getattr(RowRouting(), name) for name in LATER})
    alone_codes = (ES506.code, ES805.code)
    alone = replace(options, ignore=(*options.ignore, *alone_codes), routing=first_routing)
    first = check_run(Run(run.rows, None), alone, show_and_remember, progress)
    if first.incomplete_reason is not None:
        # The copy may have less than the whole stream.
        if routing.seal_to is not None:
            first.note_unsealed()
        return first
    later = RowRouting(**{name: getattr(routing, name) for name in LATER})
    again = replace(options, routing=later, skip_noise=options.skip_noise and not routing.tee)
    show_new = _skip_shown(shown, show)
    joined = Run(copy, run.aggregate)
    second = check_run(joined, again, show_new, progress, is_stream=True)
    return _with_noise(second, first)


def _with_noise(summary: RunSummary, first: RunSummary) -> RunSummary:
    """Add the skipped noise, which a copy does not contain."""
    skipped = first.counts.get(ES006.code, 0) - summary.counts.get(ES006.code, 0)
    if skipped > 0:
        summary.counts[ES006.code] = first.counts[ES006.code]
        notices = summary.severities.get(Severity.INFO, 0)
        summary.severities[Severity.INFO] = notices + skipped
    return summary


def _skip_shown(shown: FindingList, show: Callable[[Finding], None]) -> Callable[[Finding], None]:
    """Return a function that shows findings in the same order, without those shown before."""
    before = iter(shown)
    waiting: list[Finding] = list(islice(before, 1))

    def show_new(finding: Finding) -> None:
        while waiting and waiting[0].order() < finding.order():
            waiting[:] = islice(before, 1)
        if not waiting or waiting[0]._replace(file=finding.file, fix=finding.fix) != finding:
            show(finding)

    return show_new

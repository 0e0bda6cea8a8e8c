"""Check one run, even where its aggregate comes later than its rows."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from typing import Final

from evalstream.formats.eee.checker import RunCheck
from evalstream.formats.eee.rules.seal import ES506
from evalstream.io.overwriting import is_device
from evalstream.io.progress import Progress
from evalstream.io.remote import is_remote
from evalstream.model.finding import Finding, Severity
from evalstream.model.finding_list import FindingList
from evalstream.model.options import Options, RowRouting
from evalstream.model.report import RunSummary
from evalstream.model.run import STDIN, Run
from evalstream.rules.inputs import ES006

LATER: Final = (
    "seal_to",
    "file_path",
    "create",
    "force",
    "dry_run",
    "expect_rows",
    "expect_samples",
)
"""The parts of a flow that concern the whole run, which is judged once its aggregate is there."""


def check_run(
    run: Run, options: Options, show: Callable[[Finding], None], progress: Progress
) -> RunSummary:
    """Check one run and hand its findings to `show`, in order.

    An aggregate that is not there when a stream begins may come while it lasts. Then rows are
    checked by themselves as they come, and against it once it is there: in full where a copy of
    them was kept, else their bytes and number alone. Raises CannotWrite where rows that are to
    go somewhere, or a seal, cannot be written there.
    """
    flow = options.flow
    if not _is_awaited(run, options):
        return RunCheck(run, options, show, progress).summary()
    copy = flow.tee or (run.rows if flow.follow else None)
    if copy is None:
        return RunCheck(run, options, show, progress, awaited=True).summary()
    told = FindingList()

    def tell(finding: Finding) -> None:
        told.append(finding)
        show(finding)

    first_flow = replace(flow, **{name: getattr(RowRouting(), name) for name in LATER})
    alone = replace(options, ignore=(*options.ignore, ES506.code), flow=first_flow)
    first = RunCheck(Run(run.rows, None), alone, tell, progress).summary()
    if first.trouble is not None:
        # What the copy holds may be less than what was to come.
        if flow.seal_to is not None:
            first.tell_unsealed()
        return first
    later = RowRouting(**{name: getattr(flow, name) for name in LATER})
    again = replace(options, flow=later, skip_noise=options.skip_noise and not flow.tee)
    unheard = _unheard(told, show)
    second = RunCheck(Run(copy, run.aggregate), again, unheard, progress).summary()
    return _with_noise(second, first)


def _with_noise(summary: RunSummary, first: RunSummary) -> RunSummary:
    """Add what a copy shows no more: the noise that was stepped over."""
    skipped = first.counts.get(ES006.code, 0) - summary.counts.get(ES006.code, 0)
    if skipped > 0:
        summary.counts[ES006.code] = first.counts[ES006.code]
        remarks = summary.severities.get(Severity.INFO, 0)
        summary.severities[Severity.INFO] = remarks + skipped
    return summary


def _is_awaited(run: Run, options: Options) -> bool:
    """Tell whether a stream of rows begins before its aggregate is there."""
    if run.aggregate is None or run.rows is None or is_remote(run.aggregate):
        return False
    comes_by = run.rows == STDIN or options.flow.follow or is_device(run.rows)
    return comes_by and not os.path.exists(run.aggregate)


def _unheard(told: FindingList, show: Callable[[Finding], None]) -> Callable[[Finding], None]:
    """Return what shows findings, but for those that were told before, in the same order."""
    before = iter(told)
    waiting: list[Finding] = list(islice(before, 1))

    def unheard(finding: Finding) -> None:
        while waiting and waiting[0].order() < finding.order():
            waiting[:] = islice(before, 1)
        if not waiting or waiting[0]._replace(file=finding.file) != finding:
            show(finding)

    return unheard

"""Check one run of whatever system its files belong to."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from evalstream.formats import eee
from evalstream.late import check_run
from evalstream.model import Finding, Options, RunSummary
from evalstream.progress import Progress
from evalstream.runs import Run


def check_any(
    run: Run, options: Options, show: Callable[[Finding], None], progress: Progress
) -> RunSummary:
    """Check one run and hand its findings to `show`, in order. Raises what its check raises."""
    if run.format == eee.NAME:
        return check_run(run, options, show, progress)
    summary: RunSummary = import_module(f"evalstream.systems.{run.format}").check(
        run, options, show, progress
    )
    return summary

"""Write what becomes of runs that are changed: text on stdout, and JSON lines into a file."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import nullcontext
from typing import Final

from evalstream.batch.rewriting.change_report import (
    ChangeReport,
    is_change_report,
    outcome_as_dict,
    report_line,
)
from evalstream.batch.rewriting.outcome import Outcome
from evalstream.cli.terminal import guard_output
from evalstream.io.output import Output
from evalstream.io.overwriting import OutputKind
from evalstream.model.options import Options

CHANGES: Final = OutputKind("a report of evalstream about changed runs", is_change_report)


def run_changes(
    call: Callable[..., object],
    summary: ChangeReport,
    report: str | None,
    options: Options,
    *,
    force: bool,
    progress: bool | None,
) -> None:
    """Fix or migrate runs, write each outcome as it comes, and the totals in the end.

    The file `report` is complete or not there. With `force` it may replace any other. Raises
    UsageError, and OSError.
    """
    kind = None if force else CHANGES
    opened = nullcontext() if report is None else Output(report, kind=kind)
    with guard_output(), opened as file:
        sys.stdout.write("")  # a closed stdout raises before anything is changed

        def show(outcome: Outcome) -> None:
            summary.add(outcome)
            for line in summary.describe_outcome(outcome):
                sys.stdout.write(f"{line}\n")
            if file is not None:
                values = outcome_as_dict(outcome, show_values=options.show_values)
                file.write(report_line(values))

        call(
            outputs=[] if report is None else [report],
            options=options,
            show=show,
            progress=sys.stderr.isatty() if progress is None else progress,
        )
        for line in summary.lines():
            sys.stdout.write(f"{line}\n")
        sys.stdout.flush()
        if file is not None:
            file.write(report_line(summary.as_dict()))

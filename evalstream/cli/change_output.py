"""Write what becomes of runs that are changed: text on stdout, and JSON lines into a file."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import TracebackType
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


class ChangeOutput:
    """Writes each outcome as it comes, and their sum in the end.

    The file is complete or not there. With `force` it may replace any other. Raises UsageError, and
    OSError.
    """

    def __init__(
        self, report: ChangeReport, path: str | None, *, show_values: bool, force: bool = False
    ) -> None:
        self._report, self._show_values = report, show_values
        kind = None if force else CHANGES
        self._file = None if path is None else Output(path, kind=kind)

    def __enter__(self) -> ChangeOutput:
        """Return itself. Raises CannotWrite, before anything is changed, if stdout is closed."""
        sys.stdout.write("")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Complete the file, or remove it after an error."""
        if self._file is not None:
            self._file.__exit__(kind, error, trace)

    def add(self, outcome: Outcome) -> None:
        """Write the outcome of one run."""
        self._report.add(outcome)
        for line in self._report.describe_outcome(outcome):
            sys.stdout.write(f"{line}\n")
        if self._file is not None:
            self._file.write(report_line(outcome_as_dict(outcome, show_values=self._show_values)))

    def finish(self) -> None:
        """Write the totals of all outcomes."""
        for line in self._report.lines():
            sys.stdout.write(f"{line}\n")
        sys.stdout.flush()
        if self._file is not None:
            self._file.write(report_line(self._report.as_dict()))


def run_changes(
    call: Callable[..., object],
    summary: ChangeReport,
    report: str | None,
    options: Options,
    *,
    force: bool,
    progress: bool | None,
) -> None:
    """Fix or migrate runs, and write their outcomes and the totals."""
    with (
        guard_output(),
        ChangeOutput(summary, report, show_values=options.show_values, force=force) as output,
    ):
        call(
            outputs=[] if report is None else [report],
            options=options,
            show=output.add,
            progress=sys.stderr.isatty() if progress is None else progress,
        )
        output.finish()

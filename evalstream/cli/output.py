"""What all commands that report have in common: where the report goes, and how they end."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, NoReturn

import typer

from evalstream.cli.app import guarded, stop
from evalstream.cli.options import REPORTERS, Format
from evalstream.cli.replaceable import refuse_foreign
from evalstream.engine.routing import outputs_of
from evalstream.io.names import printable
from evalstream.io.output import Output
from evalstream.io.overwriting import STDERR, STDOUT, journaled, refuse_overwriting
from evalstream.model.options import Options, RowRouting
from evalstream.model.report import Report
from evalstream.model.signals import STOPPING, Stopped
from evalstream.reporters.base import Reporter
from evalstream.reporters.text import LiveTextReporter


class Target(NamedTuple):
    """What a report looks like, and where it goes; with `force` over any other file, too."""

    form: Format
    output: str | None
    is_part: bool = False
    force: bool = False

    def outputs(self, routing: RowRouting) -> list[str]:
        """Return the files that the report, and rows that are passed on, go to."""
        report = STDOUT if routing.passing is None else STDERR
        named = [report if self.output is None else self.output]
        return named if routing.passing is None else [STDOUT, *named]

    def check(self) -> None:
        """Raise UsageError where the report would replace what evalstream did not write."""
        if self.output is not None and not self.force:
            refuse_foreign(self.output, _is_report, "a report")

    def reporter(self, output: Output, *, live: bool) -> Reporter:
        """Return what writes the report."""
        if self.is_part:
            from evalstream.batch.parts import PartReporter

            return PartReporter(output)
        if live and self.form is Format.text:
            return LiveTextReporter(output)
        reporter: Reporter = REPORTERS[self.form](output)
        return reporter


def report_of(
    call: Callable[..., Report],
    options: Options,
    target: Target,
    read: Iterable[str | None] = (),
    ledger: str | None = None,
) -> NoReturn:
    """Make a call that reports, and exit with the report's code.

    Files that are `read` are not written over: by the report, by rows that go somewhere, or by
    the ledger. What the call finds by itself it compares on its own.
    """
    written = [*target.outputs(options.routing), *outputs_of(options.routing), *journaled(ledger)]
    refuse_overwriting(written, [name for name in read if name is not None])
    target.check()
    make = _reported if options.routing.seal_to is None else _sealing
    report = make(call, options.routing, target)
    if STOPPING.raised is not None:
        unsealed = "" if options.routing.seal_to is None else "; it was not sealed"
        stop(f"stopped by a signal; the verdict is partial{unsealed}", report.exit_code)
    # What is left needs no last look for garbage, which would take 0.02 s.
    gc.freeze()
    raise typer.Exit(report.exit_code)


def _reported(call: Callable[..., Report], routing: RowRouting, target: Target) -> Report:
    """Make the call, and write its report where it belongs."""
    # Where rows take standard output, the report goes elsewhere, and comes as they do.
    live = routing.passing is not None
    standard = sys.stderr.buffer if live else None
    with guarded(), Output(target.output, live=live, standard=standard) as written:
        return call(reporter=target.reporter(written, live=live))


def _sealing(call: Callable[..., Report], routing: RowRouting, target: Target) -> Report:
    """Make a call that seals; a signal ends it with a code that says whether it did."""
    told: list[Report] = []

    def listened(*, reporter: Reporter) -> Report:
        return call(reporter=_Overheard(reporter, told))

    try:
        return _reported(listened, routing, target)
    except Stopped as stopped:
        name, by = printable(routing.seal_to or ""), stopped.name
        if any(run.sealed for report in told for run in report.runs):
            end = f"stopped by {by} while the report was written; {name} was sealed"
            stop(end, told[0].exit_code)
        stop(f"stopped by {by}; {name} was not sealed", 128 + stopped.signal)


class _Overheard:
    """A reporter whose outcome is also told to a list, before it is written."""

    def __init__(self, reporter: Reporter, told: list[Report]) -> None:
        self._reporter, self._told = reporter, told
        self.finding = reporter.finding

    def finish(self, report: Report) -> None:
        """Tell the outcome, and pass it on."""
        self._told.append(report)
        self._reporter.finish(report)


def _is_report(head: bytes) -> bool:
    """Tell whether a file is a report in any form, or a part of one."""
    from evalstream.batch.parts import PartReporter

    kinds: tuple[Any, ...] = (*REPORTERS.values(), PartReporter)
    return any(kind.wrote(head) for kind in kinds)

"""What all commands that report have in common: where the report goes, and how they end."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterable
from typing import NamedTuple, NoReturn

import typer

from evalstream.cli.app import guarded, stop
from evalstream.cli.options import REPORTERS, Format
from evalstream.model import Options, Report, Reporter
from evalstream.outlets import refuse_overwriting
from evalstream.output import Output
from evalstream.reporters.text import LiveTextReporter
from evalstream.stopping import STOPPING


class Target(NamedTuple):
    """What a report looks like, and where it goes."""

    form: Format
    output: str | None
    is_part: bool = False

    def reporter(self, output: Output, *, live: bool) -> Reporter:
        """Return what writes the report."""
        if self.is_part:
            from evalstream.parts import PartReporter

            return PartReporter(output)
        if live and self.form is Format.text:
            return LiveTextReporter(output)
        reporter: Reporter = REPORTERS[self.form](output)
        return reporter


def report_of(
    call: Callable[..., Report],
    options: Options,
    target: Target,
    read: Iterable[str | None],
    keeps: str | None = None,
) -> NoReturn:
    """Make a call that reports, and exit with the report's code.

    Files that are `read`, and the ledger that the call `keeps`, are not written over.
    """
    flow, output = options.flow, target.output
    if output is not None:
        kept = (*read, keeps, flow.tee, flow.accepted, flow.rejected)
        refuse_overwriting([output], [name for name in kept if name is not None])
    # Where rows take standard output, the report goes elsewhere, and comes as they do.
    live = flow.passing is not None
    standard = sys.stderr.buffer if live else None
    with guarded(), Output(output, live=live, standard=standard) as written:
        report = call(reporter=target.reporter(written, live=live))
    if STOPPING.granted is not None:
        stop("stopped by a signal; the verdict is partial", report.exit_code)
    # What is left needs no last look for garbage, which would take 0.02 s.
    gc.freeze()
    raise typer.Exit(report.exit_code)

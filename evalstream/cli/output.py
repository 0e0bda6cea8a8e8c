"""Write the report of a command and its outcome in one line, and end the command."""

from __future__ import annotations

import contextlib
import gc
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, NoReturn

from evalstream.cli.program import stop
from evalstream.cli.terminal import FOR_PEOPLE, choose_style, guard_output
from evalstream.engine.routing import refuse_foreign, routed_files
from evalstream.io.names import printable
from evalstream.io.output import Output
from evalstream.io.overwriting import STDERR, STDOUT, OutputKind, ledger_files, refuse_overwriting
from evalstream.model.claim import State
from evalstream.model.data_class import NamedTuple, replace
from evalstream.model.errors import UsageError
from evalstream.model.exit_codes import OWN, of_signal, shown_exit_code
from evalstream.model.options import Options, RowRouting
from evalstream.model.report import Report
from evalstream.model.signals import STOPPING, Stopped
from evalstream.model.text import count_noun, on_one_line
from evalstream.reporters import (
    REPORT_OPTIONS,
    TEXT,
    VERDICT_OPTIONS,
    ReportOptions,
    is_report,
    reporter_type,
    summary,
)
from evalstream.reporters.base import Reporter

PICTURED: Final = "html"
"""The report format that shows sketches of the rows."""


class Target(NamedTuple):
    """How a report looks and where it goes; with `force` it may replace any other file."""

    options: ReportOptions
    is_part: bool = False
    force: bool = False

    @property
    def output(self) -> str | None:
        """The file of the report, None for a standard stream."""
        return self.options.output

    @property
    def form(self) -> str:
        """The name of the report format."""
        return self.options.form or TEXT

    def complete(self, options: Options) -> Options:
        """Return the options of a check with what the report needs."""
        is_pictured = options.sketches or self.form == PICTURED
        return replace(options, sketches=is_pictured)

    def outputs(self, routing: RowRouting) -> list[str]:
        """Return the files that the report and passed-on rows are written to."""
        report = STDOUT if routing.passing is None else STDERR
        named = [report if self.output is None else self.output]
        return named if routing.passing is None else [STDOUT, *named]

    @property
    def kind(self) -> OutputKind | None:
        """The files that the report may replace, None for any."""
        return None if self.force else REPORT

    def check(self) -> None:
        """Raise UsageError if the report would replace a file that evalstream did not write."""
        if self.output is not None and self.kind is not None:
            self.kind.refuse_foreign(self.output)

    def reporter(self, output: Output, *, live: bool) -> Reporter:
        """Return the reporter."""
        if self.is_part:
            from evalstream.batch.parts import PartReporter

            return PartReporter(output)
        style = choose_style(self.options, STDERR if live else STDOUT)
        if live and self.form == TEXT:
            from evalstream.reporters.text import LiveTextReporter

            return LiveTextReporter(output, style)
        reporter = reporter_type(self.form)(output, style)
        # Reports for people say how many findings they do not list.
        if self.form in FOR_PEOPLE:
            return reporter
        from evalstream.reporters.lines import ListingFrom

        return ListingFrom(style.min_severity, reporter)


def with_former_force(options: Options, target: Target) -> Options:
    """Return options in which `--force` seals anyway, its former meaning, and warn on stderr.

    Where it is needed to replace a file, it means that alone.
    """
    if not target.force or options.routing.seal_anyway:
        return options
    try:
        target._replace(force=False).check()
        refuse_foreign(options.routing)
    except UsageError:
        return options
    sys.stderr.write(
        "evalstream: --force seals rows with errors in this version only; use --seal-anyway for "
        "that, and --force to replace files that evalstream did not write\n"
    )
    return replace(options, routing=replace(options.routing, seal_anyway=True))


@contextlib.contextmanager
def open_report(
    options: Options, target: Target, read: Iterable[str | None] = (), ledger: str | None = None
) -> Iterator[Reporter]:
    """Give the reporter of a call, whose report is complete when the context ends.

    The report, routed rows and the ledger never replace a file that is in `read`. The call checks
    the files that it finds itself. After a signal, the exit code of a call that seals shows whether
    it sealed.
    """
    written = [
        *target.outputs(options.routing),
        *routed_files(options.routing),
        *ledger_files(ledger),
    ]
    refuse_overwriting(written, [name for name in read if name is not None])
    target.check()
    _refuse_hidden_failure(options, target.options)
    # Rows take standard output; the report goes to stderr, line by line as they do.
    live = options.routing.passing is not None
    standard, kind = sys.stderr.buffer if live else None, target.kind
    recorded: _Recorded | None = None
    try:
        with guard_output(), Output(target.output, live=live, standard=standard, kind=kind) as file:
            reporter = target.reporter(file, live=live)
            recorded = _Recorded(reporter)
            yield reporter if options.routing.seal_to is None else recorded
    except Stopped as stopped:
        if options.routing.seal_to is None:
            raise
        name, by = printable(options.routing.seal_to), stopped.name
        report = None if recorded is None else recorded.report
        if report is not None and any(run.sealed for run in report.runs):
            end = f"stopped by {by} while the report was written; {name} was sealed"
            stop(end, report.exit_code)
        stop(f"stopped by {by}; {name} was not sealed", of_signal(stopped.signal))


def end_with(report: Report, options: Options, target: Target) -> NoReturn:
    """Exit with the code of a report that is written, and say where it is, or what stopped it."""
    if STOPPING.raised is not None:
        unsealed = "" if options.routing.seal_to is None else "; it was not sealed"
        stop(f"stopped by a signal; the verdict is partial{unsealed}", report.exit_code)
    if target.output is not None and not target.options.quiet:
        announce(report, target.output, "part" if target.is_part else "report")
    # A last garbage collection would take 0.02 s.
    gc.freeze()
    chosen = target.options
    code, scheme = report.exit_code, chosen.exit_codes
    sys.exit(shown_exit_code(code, report.totals, scheme, zero=chosen.exit_zero))


def report_outcome(
    call: Callable[..., Any],
    lines: Callable[[Any], Iterable[str]],
    options: Options,
    target: Target,
    read: Iterable[str | None] = (),
) -> NoReturn:
    """Make a call whose outcome has a report, report it, and exit with the outcome's code.

    `lines` returns further lines for stderr, which follow the report.
    """
    outcome: Any = None
    try:
        with open_report(options, target, read) as reporter:
            held = _Recorded(reporter, waits=True)
            try:
                outcome = call(reporter=held)
                outcome.report.exit_code = outcome.exit_code
            finally:
                held.release(None if outcome is None else outcome.exit_code)
        end_with(outcome.report, options, target)
    finally:
        for line in () if outcome is None else lines(outcome):
            sys.stderr.write(f"evalstream: {on_one_line(line)}\n")


def _refuse_hidden_failure(options: Options, reporting: ReportOptions) -> None:
    """Raise UsageError for exit codes that exclude each other, or hide that nothing was sealed."""
    if reporting.exit_zero and reporting.exit_codes != OWN:
        raise UsageError("--exit-zero cannot be combined with --exit-codes eee")
    if options.routing.seal_to is None:
        return
    for name in VERDICT_OPTIONS:
        if getattr(reporting, name) != REPORT_OPTIONS[name].default:
            flag = f"--{name.replace('_', '-')}"
            raise UsageError(
                f"{flag} cannot be combined with --seal-to: without a seal the exit code is "
                "that of the check, never 0"
            )


class _Recorded:
    """A reporter that keeps its outcome, and passes it on: at once, or `waits` to be released."""

    def __init__(self, reporter: Reporter, *, waits: bool = False) -> None:
        self._reporter, self._waits = reporter, waits
        self.report: Report | None = None
        self.finding = reporter.finding

    def finish(self, report: Report) -> None:
        self.report = report
        if not self._waits:
            self._reporter.finish(report)

    def release(self, exit_code: int | None) -> None:
        """Pass the outcome on, if there is one, with an exit code unless that is None."""
        if self.report is not None:
            if exit_code is not None:
                self.report.exit_code = exit_code
            self._reporter.finish(self.report)


def _is_report(head: bytes) -> bool:
    """Tell whether a file is a report of any format, or the part of a shard."""
    from evalstream.batch.parts import PartReporter

    return PartReporter.wrote(head) or is_report(head)


REPORT: Final = OutputKind("a report of evalstream", _is_report)


def announce(report: Report, output: str, noun: str) -> None:
    """Write to stderr the verdict of all runs, and which file holds the report."""
    name = on_one_line(printable(output))
    sys.stderr.write(f"evalstream: {verdict_line(report)}; {noun} in {name}\n")
    sys.stderr.flush()


def verdict_line(report: Report) -> str:
    """Return what was not checked, the verdict over all runs, its rules, and its findings."""
    totals = report.totals
    left_out = summary.join_limits(map(summary.rule_limits, report.runs))
    verdict = summary.overall_verdict(report)
    alike = totals.verdicts.get(verdict, 0)
    part = f"{alike:,} of " if 0 < alike < totals.runs else ""
    said = [f"{part}{count_noun(totals.runs, 'run')}"]
    if refuted := totals.claims.get(State.REFUTED.value):
        said.append(count_noun(refuted, "refuted claim"))
    said += summary.severities(totals.severities)
    hidden = f" ({left_out})" if left_out else ""
    line = f"{summary.format_verdict(verdict)}{hidden}: {', '.join(said)}"
    return "; ".join(filter(None, [summary.unchecked_line(totals), line]))

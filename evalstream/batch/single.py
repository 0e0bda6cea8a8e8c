"""Check one run of whatever format its files belong to."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from evalstream.discovery.inputs import refuse_idle
from evalstream.engine.collector import make_finding
from evalstream.engine.result import Counts
from evalstream.formats import registry
from evalstream.io.names import printable
from evalstream.io.progress import Progress
from evalstream.model.data_class import replace
from evalstream.model.errors import (
    CannotCheck,
    CannotWrite,
    ExecutorLost,
    MissingExtra,
    UsageError,
    describe_error,
    internal_error,
)
from evalstream.model.finding import Finding, Severity, Show, Violation
from evalstream.model.options import Options, SampleRequest
from evalstream.model.run import STDIN, Run
from evalstream.model.run_summary import NOT_CHECKED, Checked, RunSummary
from evalstream.model.signals import Stopped
from evalstream.rules.catalogue import Selection
from evalstream.rules.inputs import ES001, ES005, ES010, ES012

if TYPE_CHECKING:
    from evalstream.stats.run_samples import RunSamples

UNCHECKED: Final = "nothing was checked: {}"

NO_RULES: Final = (
    "--select, --ignore and --per-file-ignores leave no rule for the format {} that can run here"
)


ENDING: Final = (UsageError, CannotWrite, MissingExtra, ExecutorLost, BrokenPipeError)
"""Errors that end the whole call, whatever run they come from."""


def check_any(run: Run, options: Options, show: Show, progress: Progress) -> RunSummary:
    """Check one run and hand its findings to `show`, in order.

    Standard input shows its format by its content. Whatever goes wrong with the run makes its
    verdict incomplete. Raises what ends the whole call, and UsageError where options do not go
    with what standard input holds.
    """
    with GuardedCheck(run, options, show) as guarded:
        chosen, shown = _complete_options(run, options), guarded.shown
        found = _find_format(run, chosen, shown)
        if isinstance(found, RunSummary):
            guarded.summary = found
        elif chosen.attestation_only:
            from evalstream.attestation.verification import digest_run

            guarded.summary = _complete(digest_run(found), found, chosen, shown)
        else:
            one = registry.FORMATS[found.format]
            summary = one.check(found, chosen, shown, progress, registry.detect_kind)
            guarded.summary = _complete(summary, found, chosen, shown)
    if options.strict:
        guarded.summary.demand_claims()
    if not options.show_values:
        guarded.summary.hide_claimed_texts()
    return guarded.summary


class GuardedCheck:
    """The check of a run, which sets `summary`, and hands its findings to `shown`.

    An exception makes the run incomplete, with a reason; findings that were shown before stay.
    Raises what ends the whole call: UsageError, CannotWrite, MissingExtra, ExecutorLost, Stopped, a
    closed pipe, and what `show` raises.
    """

    summary: RunSummary

    def __init__(self, run: Run, options: Options, show: Show) -> None:
        self._run, self._options = run, options
        self.shown = ShownFindings(show)

    def __enter__(self) -> GuardedCheck:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        """Make the run incomplete after an exception, and show the finding of it."""
        if error is None or self.shown.failed or isinstance(error, ENDING):
            return False
        if isinstance(error, (CannotCheck, OSError)):
            rule, reason = ES001, f"cannot be checked: {describe_error(error)}"
        else:
            rule, reason = ES010, str(internal_error(error))
        violation = rule.violation(reason)
        self.summary = _broken_off(self._run, violation, reason, self._options, self.shown)
        return True


class ShownFindings:
    """Passes findings on, counts them, and notes if they could not be passed on."""

    def __init__(self, show: Show) -> None:
        self._show = show
        self.counts: Counts = {}
        self.failed = False

    def __call__(self, finding: Finding) -> None:
        """Pass a finding on."""
        try:
            self._show(finding)
        except BaseException:
            self.failed = True
            raise
        key = finding.code, finding.severity
        self.counts[key] = self.counts.get(key, 0) + finding.occurrences


def _broken_off(
    run: Run, violation: Violation, reason: str, options: Options, shown: ShownFindings
) -> RunSummary:
    """Return the summary of a run whose check an exception ended, and show the finding of it."""
    before = dict(shown.counts)
    summary = not_checked(run, violation, reason, options, shown)
    count_findings(before, registry.CATALOGUE.selection(options), options.threshold, summary)
    if options.routing.seal_to is not None:
        summary.note_unsealed()
    return summary


def _complete_options(run: Run, options: Options) -> Options:
    options = options_for(run, options)
    if _holds_samples(options):
        has_places = options.expect_digests is not None or options.sample_digests is not None
        request = SampleRequest("sample_id", counts_only=True, has_places=has_places)
        options = replace(options, samples=request)
    return options if options.attestation is None else replace(options, digests=True)


def _holds_samples(options: Options) -> bool:
    files = options.expect_ids, options.expect_digests, options.sample_digests
    return any(file is not None for file in files)


def _find_format(run: Run, options: Options, show: Show) -> Run | RunSummary:
    """Return a run with the format that its content shows, or why nothing of it was checked."""
    is_alone = run.rows == STDIN and run.aggregate is None and run.inputs is None
    if not is_alone or options.input_format != "auto":
        return run
    # Most runs come from files, and need no detector here.
    from evalstream.discovery.standard_input import run_on_stdin

    try:
        found = run_on_stdin(run, options)
    except Stopped as stopped:
        incomplete_reason = f"stopped by {stopped.name} before any row came"
        return RunSummary(run.rows, None, run.format, incomplete_reason=incomplete_reason)
    if found is None:
        violation = ES005.violation(registry.UNKNOWN)
        return not_checked(run, violation, UNCHECKED.format(registry.UNKNOWN), options, show)
    refuse_idle(options, found.format)
    return found


def _note_limits(summary: RunSummary, options: Options) -> None:
    """Note which rules and which schema the user chose, as the verdict holds for these alone."""
    summary.selected, summary.ignored = options.select, options.ignore
    version = None if options.schema_version == "auto" else options.schema_version
    summary.schema = "given" if options.schema else version


def _complete(summary: RunSummary, run: Run, options: Options, show: Show) -> RunSummary:
    """Add to the outcome of a check what is compared with it, and which rules were chosen."""
    summary.noun = registry.FORMATS[run.format].noun
    _note_limits(summary, options)
    if _holds_samples(options):
        _hold_samples(run, summary, options, show)
    if options.attestation is not None:
        from evalstream.attestation.verification import verify_run

        add_violations(verify_run(summary, options), summary, options, show)
    if not is_checked(run.format, options):
        # The rows went where they were to go all the same.
        reason = NO_RULES.format(run.format)
        summary.leave_open(reason)
        summary.incomplete_reason = summary.incomplete_reason or reason
    return summary


def _hold_samples(run: Run, summary: RunSummary, options: Options, show: Show) -> None:
    """Hold the samples of a run that was read in full against files of them, and drop them.

    Documents that pass without scores of samples, such as a benchmark, are not a run of it where
    the call has others.
    """
    samples, summary.samples = summary.samples, None
    try:
        violations, checked = _held_samples(samples, run, summary, options)
        summary.checked = (*summary.checked, *checked)
        add_violations(violations, summary, options, show)
    finally:
        if samples is not None:
            samples.close()


def add_violations(
    violations: Iterable[Violation], summary: RunSummary, options: Options, show: Show
) -> None:
    """Add violations that were found beside the check of a run to its summary, and show them."""
    selection = registry.CATALOGUE.selection(options)
    for violation in violations:
        if violation.code not in selection:
            continue
        name = summary.file or summary.aggregate or summary.inputs or ""
        finding = make_finding(violation, name, selection)
        if not options.show_values:
            finding = finding._replace(expected=None, found=None)
        counts = {(finding.code, finding.severity): finding.occurrences}
        count_findings(counts, selection, options.threshold, summary)
        show(finding)


def count_findings(
    counts: Counts, selection: Selection, threshold: Severity, summary: RunSummary
) -> None:
    """Count findings in the summary of their run, which some of them may fail."""
    for (code, severity), times in counts.items():
        summary.count(code, severity, times)
        if code not in NOT_CHECKED and selection.fails(code, severity, threshold):
            summary.fail(code, times)


def _held_samples(
    samples: RunSamples | None, run: Run, summary: RunSummary, options: Options
) -> tuple[list[Violation], list[Checked]]:
    """Return the differences from the files of samples, and what was compared, for the verdict."""
    if summary.incomplete_reason is not None:
        message = "no digests were written, since the check is incomplete"
        lacks = options.sample_digests is not None
        found = [ES012.violation(message, severity=Severity.WARNING)] if lacks else []
        is_compared = options.expect_ids is not None or options.expect_digests is not None
        said = [Checked("samples not compared with those expected", None)] if is_compared else []
        return found, said
    violations: list[Violation] = []
    checked: list[Checked] = []
    is_no_run = samples is None and summary.otherwise == "passed" and options.has_others
    if options.expect_ids is not None and is_no_run:
        checked.append(Checked("no samples to compare with those expected", None))
    elif options.expect_ids is not None:
        from evalstream.batch.sample_digests import hold_expected

        found, said = hold_expected(samples, options.expect_ids)
        violations += found
        checked += said
    if options.sample_digests is not None or options.expect_digests is not None:
        from evalstream.batch.sample_digests import hold_digests

        found, said = hold_digests(samples, summary.rows or 0, run, options)
        violations += found
        checked += said
    return violations, checked


@lru_cache(maxsize=64)
def is_checked(name: str, options: Options) -> bool:
    """Tell whether the options leave a rule that checks files of a format.

    Rules over several runs cannot where there is one, nor those that need an option without it.
    """
    if not options.select and not options.ignore:
        return True
    enabled = registry.CATALOGUE.select_codes(options)
    codes = registry.main_format().cross_run.codes()
    if options.links and any(codes[one] in enabled for one in registry.FORMATS[name].compared):
        return True
    idle = set() if options.links else set(codes.values())
    idle |= {code for code in enabled if not registry.has_needed(code, options)}
    return registry.has_rules(name, enabled - idle)


def options_for(run: Run, options: Options) -> Options:
    """Return the options of a call for one of its runs."""
    if not options.per_file_ignores:
        return options
    # Few calls have such options.
    from evalstream.batch.per_file_ignores import with_per_file_ignores

    return with_per_file_ignores(options, (run.rows, run.aggregate))


def not_checked(
    run: Run, violation: Violation, incomplete_reason: str, options: Options, show: Show
) -> RunSummary:
    """Say of a run why nothing of it was checked, and show the finding that says so."""
    rows, aggregate, inputs = (
        None if path is None else printable(path) for path in (run.rows, run.aggregate, run.inputs)
    )
    summary = RunSummary(
        rows, aggregate, run.format, inputs=inputs, incomplete_reason=incomplete_reason
    )
    if violation.code != ES010.code:
        # What looks at names may be where the internal error is.
        options = options_for(run, options)
    summary.noun = registry.FORMATS[run.format].noun
    _note_limits(summary, options)
    add_violations([violation], summary, options, show)
    return summary

"""Bundles of small runs, and their check by worker processes."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, groupby, islice
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from evalstream.batch.plan import PlannedRun
from evalstream.batch.results import RunResult, dump_summary, load_summary
from evalstream.batch.single import UNCHECKED, add_violations, check_any, not_checked, options_for
from evalstream.discovery.unrecognised import GONE, NOT_OURS, Unrecognised
from evalstream.engine.collector import make_finding
from evalstream.executors.base import Backend, run_in_order
from evalstream.formats.registry import MAIN_CATALOGUE, main_format
from evalstream.io.names import printable
from evalstream.io.progress import Progress
from evalstream.model.block import MEBIBYTE, group_by_size
from evalstream.model.data_class import NamedTuple, replace
from evalstream.model.errors import InternalError, WorkerLost
from evalstream.model.finding import Finding, FindingList, Severity, Violation
from evalstream.model.options import Options
from evalstream.model.run import FaultyInput, ForeignLog, NoInput, Run
from evalstream.model.run_summary import RunSummary
from evalstream.model.text import notify
from evalstream.rules.inputs import ES001, ES005, ES008, ES010

if TYPE_CHECKING:
    from evalstream.stats.run_links import RunLinks

BUNDLE_RUNS: Final = 32
BUNDLE_BYTES: Final = 2 * MEBIBYTE
"""Most runs, and bytes of rows, per task: enough to outweigh the cost of a task."""

FULL_COLLECTION_EVERY: Final = 32
"""After so many bundles the garbage collector also visits the objects that outlived a bundle."""

WORTH_WORKERS: Final = 2
"""Number of bundles from which starting workers pays off."""


class StoredResult(NamedTuple):
    """The result of a run with its summary as it is stored: who checks it makes the bytes, once.

    Beside them is all that is needed of the summary before it is read from there again; its links
    are not among the bytes.
    """

    number: int
    data: bytes
    file: str | None
    aggregate: str | None
    links: RunLinks | None
    is_note: bool
    has_failed: bool
    errors: int
    bytes: int
    findings: Iterable[Finding]

    @property
    def summary(self) -> RunSummary:
        """The summary, from its bytes, with its links."""
        summary = load_summary(self.data)
        summary.links = self.links
        return summary


def store_result(checked: RunResult) -> StoredResult:
    """Return a result with its summary as it is stored; the summary loses its links."""
    number, summary, findings = checked
    links, summary.links = summary.links, None
    return StoredResult(
        number,
        dump_summary(summary),
        summary.file,
        summary.aggregate,
        links,
        summary.is_note,
        summary.verdict == "failed",
        summary.severities.get(Severity.ERROR, 0),
        summary.bytes,
        findings,
    )


Results = Sequence[RunResult | StoredResult]


class RunBundle(NamedTuple):
    """Several small runs that one task checks."""

    runs: tuple[PlannedRun, ...]

    @property
    def path(self) -> str:
        """The name of the bundle in messages: that of its first run."""
        first = self.runs[0].found
        path = first.path if isinstance(first, NoInput) else first.rows or first.aggregate
        return printable(path or "")

    def describe(self) -> str:
        """Name the rows of the bundle."""
        more = len(self.runs) - 1
        return f"the rows of this run and {more:,} more" if more else "the rows of this run"


def bundle_small_runs(
    planned: Iterable[PlannedRun],
    is_small: Callable[[PlannedRun], bool],
    worth: int = WORTH_WORKERS,
) -> Iterator[PlannedRun | RunBundle]:
    """Bundle small runs that follow each other, and pass on all other runs.

    Fewer than `worth` bundles are passed on as single runs.
    """
    for are_small, group in groupby(planned, is_small):
        if not are_small:
            yield from group
            continue
        some = group_by_size(group, attrgetter("size"), BUNDLE_BYTES, BUNDLE_RUNS)
        bundles = (RunBundle(tuple(runs)) for runs in some)
        first = list(islice(bundles, worth))
        if len(first) < worth:
            yield from chain.from_iterable(bundle.runs for bundle in first)
        else:
            yield from chain(first, bundles)


def check_bundles(
    bundles: Iterable[RunBundle],
    options: Options,
    backend: Backend,
    check: Callable[[RunBundle], Results] | None = None,
) -> Iterator[Results]:
    """Check bundles in workers, and yield the results of their runs, in order.

    `check` is what workers run, by default `check_bundle`. A run that kills its worker on each
    attempt counts as not checked.
    """
    if backend.inherit_modules:
        main_format().prepare(options, BUNDLE_BYTES)
    if check is None:
        check = partial(check_bundle, replace(options, jobs=1, executor="serial"))
    lost = partial(_one_by_one, options, backend, check)
    return run_in_order(backend, check, bundles, lost)


def check_bundle(options: Options, bundle: RunBundle) -> list[StoredResult]:
    """Check the runs of a bundle in this process; this function runs as a task.

    Workers have no automatic garbage collection, so it runs once per bundle.
    """
    gc.collect(2 if gc.get_count()[2] >= FULL_COLLECTION_EVERY else 1)
    checked = (check_planned(options, planned, Progress(shown=False)) for planned in bundle.runs)
    return [store_result(item._replace(findings=list(item.findings))) for item in checked]


def check_planned(options: Options, planned: PlannedRun, progress: Progress) -> RunResult:
    """Check one run, or report why there is nothing to check."""
    found = planned.found
    if isinstance(found, Unrecognised):
        return _unrecognised_result(planned, found, options)
    if isinstance(found, NoInput):
        of_class = {FaultyInput: ES010, ForeignLog: ES008}
        rule = of_class.get(type(found), ES005 if found.readable else ES001)
        violation = rule.violation(found.reason)
        return planned_not_checked(planned, UNCHECKED.format(found.reason), options, violation)
    findings = FindingList()
    summary = check_any(found, options, findings.append, progress)
    return RunResult(planned.number, summary, findings)


def planned_not_checked(
    planned: PlannedRun, reason: str, options: Options, violation: Violation | None = None
) -> RunResult:
    """Return the result of a run that could not be checked, by default for an unreadable input."""
    found = planned.found
    run = Run(found.path, None, format=found.format) if isinstance(found, NoInput) else found
    findings: list[Finding] = []
    violation = violation or ES001.violation(reason)
    summary = not_checked(run, violation, reason, options, findings.append)
    return RunResult(planned.number, summary, findings)


def with_fault(checked: RunResult, fault: InternalError, options: Options) -> RunResult:
    """Return the result of a run that was checked, with an internal error that came later."""
    summary, violation = checked.summary, ES010.violation(str(fault))
    summary.links = None
    summary.leave_open(violation.message)
    summary.incomplete_reason = summary.incomplete_reason or violation.message
    added: list[Finding] = []
    add_violations([violation], summary, options, added.append)
    return checked._replace(findings=chain(checked.findings, added))


def _unrecognised_result(planned: PlannedRun, found: Unrecognised, options: Options) -> RunResult:
    """Return the result of a name that a search did not check; a note where it does not matter."""
    name, violation = printable(found.path), found.violation()
    options = options_for(Run(found.path, None), options)
    incomplete_reason = found.reason if found.leaves_open else None
    summary = RunSummary(
        name,
        None,
        found.format,
        incomplete_reason=incomplete_reason,
        excluded=found.excluded,
        missing=found.count(GONE),
        other_files=found.count(NOT_OURS),
    )
    findings = []
    selection = MAIN_CATALOGUE.selection(options)
    if violation is not None and violation.code in selection:
        finding = make_finding(violation, name, selection)
        summary.count(violation.code, finding.severity, 1)
        findings.append(finding)
        if selection.fails(finding.code, finding.severity, options.threshold):
            summary.fail(violation.code, 1)
    summary.is_note = summary.verdict != "failed" and incomplete_reason is None
    return RunResult(planned.number, summary, findings)


def _one_by_one(
    options: Options,
    backend: Backend,
    check: Callable[[RunBundle], Results],
    bundle: RunBundle,
    error: WorkerLost,
) -> Results:
    """Check the runs of a bundle one by one, and report the run that kills its worker."""
    if len(bundle.runs) == 1:
        (planned,) = bundle.runs
        notify(str(error))
        return [planned_not_checked(planned, str(error), options)]
    lost = partial(_one_by_one, options, backend, check)
    alone = (RunBundle((planned,)) for planned in bundle.runs)
    return list(chain.from_iterable(run_in_order(backend, check, alone, lost)))

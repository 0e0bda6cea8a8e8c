"""Batches: plan, check or merge the runs of one call, and compare the runs with each other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import closing, nullcontext, suppress
from functools import partial
from itertools import chain, groupby
from typing import TYPE_CHECKING, Final

from evalstream.batch.cross_run.index import CrossRunIndex
from evalstream.batch.packing import StoredResult
from evalstream.batch.plan import FolderPartition, RunPlan, Shard
from evalstream.batch.results import ResultStore
from evalstream.batch.scheduler import BatchScheduler
from evalstream.batch.serialize import verdict_options
from evalstream.batch.single import ShownFindings, count_findings, not_checked
from evalstream.engine.collector import make_finding
from evalstream.engine.result import Counts, shorten_values
from evalstream.formats.registry import MAIN_CATALOGUE, main_format
from evalstream.model.data_class import replace
from evalstream.model.errors import CannotCheck, internal_error
from evalstream.model.finding import Show
from evalstream.model.options import Options, RowRouting
from evalstream.model.report import GoneRuns, Totals
from evalstream.model.run import NoInput, Run
from evalstream.model.run_summary import RunSummary
from evalstream.model.signals import STOPPING, Stopped
from evalstream.reporters.summary import TOOL
from evalstream.rules.inputs import ES010

if TYPE_CHECKING:
    from evalstream.batch.ledger.ledger import Ledger
    from evalstream.batch.parts import PartFile, PartReporter

NONE_GONE: Final = GoneRuns()

Outcome = tuple[Sequence[RunSummary], Totals]


def check_many(
    found: Iterable[Run | NoInput],
    options: Options,
    show: Show,
    *,
    ledger: str | None = None,
    overwrite: bool = False,
    shard: tuple[Shard, PartReporter] | None = None,
    partition: FolderPartition | None = None,
    progress: bool,
    end_run: Callable[[RunSummary], None] | None = None,
) -> Outcome:
    """Check runs and return their summaries and totals; with a shard, its results go to its part.

    With a partition, `found` is read only if the shard needs all runs.
    With `overwrite` the ledger may replace another file. `end_run` may change the summary of a run
    after its findings were shown.
    """
    own_shard, part = shard or (None, None)
    with (
        closing(RunPlan(found, own_shard, partition)) as plan,
        closing(CrossRunIndex()) as cross_run_index,
    ):

        def settle(number: int, _: RunSummary, __: int) -> None:
            if end_run is not None:
                results.amend(number, end_run)

        on_emitted = part.run if part else None if end_run is None else settle
        results = ResultStore(plan.numbers(), show, on_emitted)
        lost: str | None = None
        gone = NONE_GONE

        def add_links(checked: StoredResult) -> None:
            if checked.links is not None:
                names = checked.file, checked.aggregate
                cross_run_index.add(checked.number, *names, checked.links)

        has_links = _compares_runs(plan, options)
        linked_options = replace(options, links=has_links, has_others=plan.runs > 1)
        with (
            suppress(Stopped),
            _open_ledger(ledger, linked_options, overwrite=overwrite) as open_ledger,
        ):
            scheduler = BatchScheduler(plan, linked_options, results, open_ledger, add_links)
            scheduler.run(progress=progress)
            lost = scheduler.lost
            if open_ledger is not None and part is None:
                gone = open_ledger.find_gone()
        results.finish()
        unreached = plan.own_count - results.count
        if part is None or own_shard is None:
            report_cross_run(cross_run_index, results, options, show, end_run)
        else:
            # It loads msgspec, which takes longer than a small batch.
            from evalstream.batch.parts import PartTrailer

            partial = bool(unreached) or STOPPING.raised is not None
            part.links(cross_run_index.parts())
            settings = verdict_options(options)
            is_whole = partition is None or partition.is_whole
            planned, named = (plan.count, plan.found) if is_whole else (None, None)
            part.write_trailer(
                PartTrailer(
                    tool=dict(TOOL),
                    shard=own_shard.number,
                    of=own_shard.of,
                    plan=plan.digest,
                    planned=planned,
                    found=named,
                    runs=plan.own_count,
                    options=settings,
                    partial=partial,
                )
            )
    return _outcome(results, unreached, lost, gone)


def merge_many(parts: Sequence[PartFile], options: Options, show: Show) -> Outcome:
    """Return the summaries and totals of all parts. Raises CannotCheck where they overlap."""
    results = ResultStore(iter(sorted(chain.from_iterable(part.numbers for part in parts))), show)
    with closing(CrossRunIndex()) as cross_run_index:
        for part in parts:
            for run in part.runs():
                if results.has(run.number):
                    reason = f"{run.summary.file} is in another part as well; nothing was merged"
                    raise CannotCheck(f"{part.path}: {reason}")
                results.add(run.number, run.summary, run.findings)
            part.links(cross_run_index.add_part)
        results.finish()
        report_cross_run(cross_run_index, results, options, show)
    return _outcome(results, unreached=0)


def _open_ledger(
    ledger: str | None, options: Options, *, overwrite: bool
) -> Ledger | nullcontext[None]:
    if ledger is None:
        return nullcontext()
    from evalstream.batch.ledger.ledger import Ledger

    return Ledger(ledger, options, overwrite=overwrite)


def _compares_runs(plan: RunPlan, options: Options) -> bool:
    codes = main_format().cross_run.codes().values()
    wanted = not MAIN_CATALOGUE.selection(options).enabled.isdisjoint(codes)
    return wanted and plan.runs > 1 and options.routing == RowRouting()


def _outcome(
    results: ResultStore, unreached: int, lost: str | None = None, gone: GoneRuns = NONE_GONE
) -> Outcome:
    totals = Totals(unreached=unreached, lost=lost, gone=gone)
    for run in results.summaries():
        totals.add(run)
    return results.runs(), totals


ALL_RUNS: Final = "(all runs)"
"""The name of the comparison of all runs, where it needs one."""


def report_cross_run(
    cross_run_index: CrossRunIndex,
    results: ResultStore,
    options: Options,
    show: Show,
    end_run: Callable[[RunSummary], None] | None = None,
) -> None:
    """Show the findings between runs, and add them to the counts of each run.

    `end_run` is called with the summary of each run that has some. An internal error leaves the
    comparison incomplete, as one more entry after the runs, and takes no run's verdict away.
    """
    shown = ShownFindings(show)
    try:
        _report_matches(cross_run_index, results, options, shown, end_run)
    except BaseException as error:
        if shown.failed:
            raise
        reason = f"the runs were not compared with each other: {internal_error(error)}"
        run = Run(ALL_RUNS, None)
        results.add_last(not_checked(run, ES010.violation(reason), reason, options, show))


def _report_matches(
    cross_run_index: CrossRunIndex,
    results: ResultStore,
    options: Options,
    show: Show,
    end_run: Callable[[RunSummary], None] | None,
) -> None:
    limit = options.max_findings
    ignores = bool(options.per_file_ignores)
    selection = MAIN_CATALOGUE.selection(options)
    matches = cross_run_index.violations(selection.enabled)
    for number, group in groupby(matches, lambda item: item.number):
        own = replace(options, ignore=results.summary(number).ignored) if ignores else options
        enabled = MAIN_CATALOGUE.selection(own).enabled
        counts: Counts = {}
        shown: dict[str, int] = {}
        for match in group:
            if match.violation.code not in enabled:
                continue
            violation = shorten_values(match.violation, options, selection)
            finding = make_finding(
                violation, match.file, selection, line=match.line, offset=match.offset
            )
            key = finding.code, finding.severity
            counts[key] = counts.get(key, 0) + finding.occurrences
            shown[finding.code] = shown.get(finding.code, 0) + 1
            if not limit or shown[finding.code] <= limit:
                show(finding)
        results.amend(number, partial(count_findings, counts, selection, options.threshold))
        if end_run is not None:
            results.amend(number, end_run)

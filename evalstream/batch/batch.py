"""Batches: plan, check or merge the runs of one call, and compare the runs with each other."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext, suppress
from itertools import chain
from typing import TYPE_CHECKING, Final

from evalstream.batch.cross_run.index import CrossRunIndex
from evalstream.batch.cross_run.report import report_cross_run
from evalstream.batch.fingerprint import verdict_options
from evalstream.batch.packing import StoredResult
from evalstream.batch.partition import FolderPartition
from evalstream.batch.parts import PartFile, PartReporter, PartTrailer
from evalstream.batch.plan import RunPlan
from evalstream.batch.results import ResultStore
from evalstream.batch.scheduler import BatchScheduler
from evalstream.batch.shards import Shard
from evalstream.formats.registry import MAIN_CATALOGUE, main_format
from evalstream.model.data_class import replace
from evalstream.model.errors import CannotCheck
from evalstream.model.finding import Finding
from evalstream.model.options import Options, RowRouting
from evalstream.model.report import GoneRuns, Totals
from evalstream.model.run import NoInput, Run
from evalstream.model.run_summary import RunSummary
from evalstream.model.signals import STOPPING, Stopped

if TYPE_CHECKING:
    from evalstream.batch.ledger.ledger import Ledger

NONE_GONE: Final = GoneRuns()

Outcome = tuple[Sequence[RunSummary], Totals]


@contextmanager
def _translate_database_errors() -> Iterator[None]:
    """Translate errors of the temporary databases. Raises CannotCheck."""
    try:
        yield
    except sqlite3.Error as error:
        remedy = "set TMPDIR to a folder with more space"
        raise CannotCheck(
            f"cannot write the temporary files of the batch: {error}; {remedy}"
        ) from error


@_translate_database_errors()
def check_many(
    found: Iterable[Run | NoInput],
    options: Options,
    show: Callable[[Finding], None],
    *,
    ledger: str | None,
    overwrite: bool,
    shard: tuple[Shard, PartReporter] | None,
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
            cross_run_index.add(checked.number, checked)

        linked_options = replace(options, links=_compares_runs(plan, options))
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
            partial = bool(unreached) or STOPPING.raised is not None
            part.links(cross_run_index.parts())
            settings = verdict_options(options)
            is_whole = partition is None or partition.is_whole
            planned, named = (plan.count, plan.found) if is_whole else (None, None)
            part.write_trailer(
                PartTrailer(
                    own_shard, plan.digest, planned, named, plan.own_count, settings, partial
                )
            )
    return _outcome(results, unreached, lost, gone)


@_translate_database_errors()
def merge_many(
    parts: Sequence[PartFile], options: Options, show: Callable[[Finding], None]
) -> Outcome:
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

"""Scheduling of a batch: which executor checks which run, and where the results go."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby, islice
from typing import TYPE_CHECKING, Any, Final

from evalstream.batch.packing import (
    RunBundle,
    RunResult,
    bundle_small_runs,
    check_bundles,
    check_planned,
    planned_not_checked,
)
from evalstream.batch.plan import PlannedRun, RunPlan
from evalstream.batch.results import ResultStore
from evalstream.engine.block_tasks import WORTH_A_POOL_BYTES, usable_cores
from evalstream.executors import serial
from evalstream.executors.base import Backend
from evalstream.io.file_names import is_packed_name
from evalstream.io.progress import Progress
from evalstream.io.remote import is_remote
from evalstream.model.errors import ExecutorLost
from evalstream.model.options import Options
from evalstream.model.run import Run
from evalstream.model.signals import STOPPING, Stopped
from evalstream.stats.run_links import encode_links

if TYPE_CHECKING:
    from evalstream.batch.ledger.ledger import CachedRun, Ledger
    from evalstream.batch.ledger.run_state import RunState

LOOKED_UP: Final = 64
"""Number of runs to look up in a ledger with one lock of its file."""

OUTLIER_BYTES: Final = 1 << 30
OUTLIER_SHARE: Final = 4
"""Limits above which a cluster cuts a file into blocks: bytes, and the share of a worker's part.

A file above both is split, so that no file keeps one worker busy long after the others.
"""


class BatchScheduler:
    """Checks the runs of a plan, and adds the results to a store.

    `on_result` is called with each result.
    """

    def __init__(
        self,
        plan: RunPlan,
        options: Options,
        results: ResultStore,
        ledger: Ledger | None,
        on_result: Callable[[RunResult], None],
    ) -> None:
        self._plan, self._options, self._results = plan, options, results
        self._ledger, self._on_result = ledger, on_result
        self._states: dict[int, RunState | None] = {}
        self._progress = Progress(shown=False)
        self._runs = self._findings = 0

    def run(self, *, progress: bool) -> None:
        """Check all runs. Raises Stopped after a signal; the results so far are in the store."""
        with Progress(shown=progress) as self._progress:
            self._progress.begin("runs", self._plan.total)
            try:
                self._check_all()
            except ExecutorLost as error:
                self._mark_rest_unchecked(str(error))

    def _check_all(self) -> None:
        backend = self._backend()
        is_remote_executor = backend.submit_aside is not None
        if backend.parallelism <= 1 and not is_remote_executor:
            for planned in self._without_entry(self._plan.in_order()):
                self._check_here(planned)
            return
        runs, is_small = self._without_entry(self._plan.by_size()), self._small(backend)
        work = (
            bundle_small_runs(runs, is_small, worth=1)
            if is_remote_executor
            else bundle_small_runs(runs, is_small)
        )
        for are_bundles, group in groupby(work, lambda item: isinstance(item, RunBundle)):
            if are_bundles:
                bundles = (bundle for bundle in group if isinstance(bundle, RunBundle))
                for checked in check_bundles(bundles, self._options, backend):
                    for item in checked:
                        self._record(item, item.summary.bytes)
                continue
            for one_run in group:
                if isinstance(one_run, PlannedRun):
                    self._check_here(one_run)

    def _backend(self) -> Backend:
        """Choose the executor. Raises MissingExtra, and ExecutorLost where it has no workers."""
        options = self._options
        jobs = options.jobs or usable_cores()
        if options.executor == "serial":
            return serial.backend()
        if options.executor == "dask":
            from evalstream.executors.dask import backend as dask

            return dask.backend(options.dask_address, options.dask_scheduler_file, workers=jobs)
        from evalstream.executors import pool

        return pool.backend(jobs)

    def _small(self, backend: Backend) -> Callable[[PlannedRun], bool]:
        """Return the predicate of the runs that one worker checks as a whole."""
        if backend.submit_aside is None:
            return lambda run: not run.is_stream and run.size < WORTH_A_POOL_BYTES
        share = self._plan.total // (OUTLIER_SHARE * backend.parallelism)
        largest = max(OUTLIER_BYTES, share)

        def is_small(run: PlannedRun) -> bool:
            rows = run.found.rows if isinstance(run.found, Run) else None
            # A compressed or remote file cannot be split, so one worker reads it as a whole.
            is_whole = rows is not None and (is_packed_name(rows) or is_remote(rows))
            return not run.is_stream and (is_whole or run.size < largest)

        return is_small

    def _without_entry(self, planned: Iterator[PlannedRun]) -> Iterator[PlannedRun]:
        """Iterate over the runs without a valid entry in the ledger."""
        while some := list(islice(planned, LOOKED_UP if self._ledger is not None else 1)):
            cached = self._cached(some)
            for item in some:
                STOPPING.check()
                if item.number in cached:
                    self._count(_cached_result(item, cached.pop(item.number)), item.size)
                    continue
                if self._ledger is not None and isinstance(item.found, Run):
                    self._states[item.number] = self._ledger.begin(item.found)
                yield item

    def _cached(self, planned: Sequence[PlannedRun]) -> dict[int, CachedRun]:
        """Look some runs up in the ledger, and return the results that are valid, by number."""
        if self._ledger is None:
            return {}
        runs = [(item.number, item.found) for item in planned if isinstance(item.found, Run)]
        found = self._ledger.find_each([run for _, run in runs])
        results = zip(runs, found, strict=True)
        return {number: result for (number, _), result in results if result is not None}

    def _check_here(self, planned: PlannedRun) -> None:
        """Check a run in this process, with workers for its blocks where that pays off."""
        STOPPING.check()
        if self._ledger is not None:
            self._ledger.flush()
        self._record(check_planned(self._options, planned, self._progress.within()), 0)
        if STOPPING.raised is not None:
            raise Stopped(STOPPING.raised)

    def _record(self, checked: RunResult, size: int) -> None:
        """Add the result of a run, and write it to the ledger."""
        number, summary, findings = checked
        if self._ledger is not None and number in self._states:
            # A format without links has none to collect, so its runs need not be checked for them.
            none: list[dict[str, Any]] | None = [] if self._options.links else None
            links = none if summary.links is None else encode_links(summary.links)
            self._ledger.record(self._states.pop(number), summary, findings, links)
        self._count(checked, size)

    def _count(self, checked: RunResult, size: int) -> None:
        number, summary, findings = checked
        self._on_result(checked)
        self._results.add(number, summary, findings)
        self._runs += 1
        self._findings += sum(summary.counts.values())
        self._progress.add(size, runs=self._runs, findings=self._findings)

    def _mark_rest_unchecked(self, reason: str) -> None:
        """Report all remaining runs as not checked, with the reason."""
        for planned in self._plan.in_order():
            if not self._results.has(planned.number):
                self._count(planned_not_checked(planned, reason, self._options), planned.size)


def _cached_result(planned: PlannedRun, find: CachedRun) -> RunResult:
    """Return the result of a run from the ledger."""
    find.summary.links = find.linked()
    return RunResult(planned.number, find.summary, find.findings)

"""Scheduling of a batch: which executor checks which run, and where the results go."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby, islice
from typing import TYPE_CHECKING, Any, Final

from evalstream.batch.packing import (
    BUNDLE_BYTES,
    WORTH_WORKERS,
    RunBundle,
    StoredResult,
    bundle_small_runs,
    check_bundles,
    check_planned,
    planned_not_checked,
    store_result,
    with_fault,
)
from evalstream.batch.plan import PlannedRun, RunPlan
from evalstream.batch.results import ResultStore, RunResult
from evalstream.engine.row_pass import WORTH_A_POOL_BYTES, usable_cores
from evalstream.executors.base import Backend
from evalstream.io.progress import Progress
from evalstream.model.errors import ExecutorLost, internal_error
from evalstream.model.options import Options
from evalstream.model.run import NoInput, Run
from evalstream.model.signals import STOPPING, Stopped
from evalstream.model.text import count_noun, notify
from evalstream.rules.inputs import ES010
from evalstream.stats.run_links import encode_links

if TYPE_CHECKING:
    from evalstream.batch.ledger.ledger import Ledger
    from evalstream.batch.ledger.run_state import RunState
    from evalstream.model.run_summary import RunSummary

LOOKED_UP: Final = 64
"""Number of runs to look up in a ledger with one lock of its file."""

MOST_LINKED_BYTES: Final = 16 << 30
"""Largest file that a worker of a cluster checks where rows of runs are compared.

What relates its rows to others comes back in one message, of about 32 bytes a row.
"""


class BatchScheduler:
    """Checks the runs of a plan, and adds the results to a store.

    `on_result` is called with each result. `lost` says why the runs without a result were not
    reached, if the executor was lost.
    """

    def __init__(
        self,
        plan: RunPlan,
        options: Options,
        results: ResultStore,
        ledger: Ledger | None,
        on_result: Callable[[StoredResult], None],
    ) -> None:
        self._plan, self._options, self._results = plan, options, results
        self._ledger, self._on_result = ledger, on_result
        self._states: dict[int, RunState | None] = {}
        self._progress = Progress(shown=False)
        self._runs = self._failed = self._errors = 0
        self.lost: str | None = None

    def run(self, *, progress: bool) -> None:
        """Check all runs. Raises Stopped after a signal; the results so far are in the store."""
        with Progress(shown=progress) as self._progress:
            self._progress.begin("runs", self._plan.total)
            try:
                if self._options.executor == "dask" or self._jobs > 1:
                    self._check_by_workers()
                else:
                    for planned in self._without_entry(self._plan.in_order()):
                        self._check_here(planned)
            except ExecutorLost as error:
                self._note_loss(str(error))

    @property
    def _jobs(self) -> int:
        options = self._options
        return 1 if options.executor == "serial" else options.jobs or usable_cores()

    def _check_by_workers(self) -> None:
        """Check bundles of small runs in workers, and others here.

        Raises UsageError and MissingExtra, and ExecutorLost where the executor has no workers.
        """
        backend: Backend | None = None
        runs = self._with_data(self._without_entry(self._plan.by_size()))
        check, most, worth = None, WORTH_A_POOL_BYTES - 1, WORTH_WORKERS
        if self._options.executor == "dask":
            # Other checks need no wire.
            from evalstream.batch.wire import remote_check
            from evalstream.executors.dask import backend as dask

            place = self._options.dask_address, self._options.dask_scheduler_file
            insecure = self._options.dask_insecure
            backend = dask.backend(*place, workers=self._jobs, insecure=insecure)
            check, worth = remote_check(self._options), 1
            most = MOST_LINKED_BYTES if self._options.links else sys.maxsize
        work = bundle_small_runs(runs, lambda one: not one.is_stream and one.size <= most, worth)
        for are_bundles, group in groupby(work, lambda item: isinstance(item, RunBundle)):
            if are_bundles:
                if backend is None:
                    from evalstream.executors import pool

                    backend = pool.backend(self._jobs)
                bundles = (bundle for bundle in group if isinstance(bundle, RunBundle))
                for checked in check_bundles(bundles, self._options, backend, check):
                    for item in checked:
                        self._record(item)
                continue
            for one_run in group:
                if isinstance(one_run, PlannedRun):
                    self._check_here(one_run)

    def _with_data(self, planned: Iterator[PlannedRun]) -> Iterator[PlannedRun]:
        """Iterate over the runs; inputs without one need no worker, and are reported here."""
        for item in planned:
            if isinstance(item.found, NoInput):
                self._check_here(item)
            else:
                yield item

    def _without_entry(self, planned: Iterator[PlannedRun]) -> Iterator[PlannedRun]:
        while some := list(islice(planned, LOOKED_UP if self._ledger is not None else 1)):
            cached = self._find_cached(some)
            for item in some:
                STOPPING.check()
                if item.number in cached:
                    self._count(store_result(cached.pop(item.number)), item.size)
                    continue
                if self._ledger is not None and isinstance(item.found, Run):
                    try:
                        self._states[item.number] = self._ledger.begin(item.found)
                    except BaseException as error:  # noqa: BLE001 - whatever is wrong with this run
                        self._count(store_result(self._at_fault(item, error)), item.size)
                        continue
                yield item

    def _find_cached(self, planned: Sequence[PlannedRun]) -> dict[int, RunResult]:
        """Look some runs up in the ledger, and return the results that are valid, by number.

        One whose look-up meets an internal error is not checked.
        """
        if self._ledger is None:
            return {}
        try:
            runs = [item for item in planned if isinstance(item.found, Run)]
            found = self._ledger.find_each([item.found for item in runs])  # type: ignore[misc]
            results = {}
            for item, cached in zip(runs, found, strict=True):
                if cached is not None:
                    cached.summary.links = cached.load_links()
                    results[item.number] = RunResult(item.number, cached.summary, cached.findings)
            return results
        except BaseException as error:  # noqa: BLE001 - whatever is wrong with one of these runs
            if len(planned) == 1:
                return {planned[0].number: self._at_fault(planned[0], error)}
            internal_error(error)
            alone = (self._find_cached([item]) for item in planned)
            return {number: result for one in alone for number, result in one.items()}

    def _at_fault(self, planned: PlannedRun, error: BaseException) -> RunResult:
        """Return the result of a run with which an internal error has to do. Raises others."""
        reason = str(internal_error(error))
        return planned_not_checked(planned, reason, self._options, ES010.violation(reason))

    def _check_here(self, planned: PlannedRun) -> None:
        """Check a run in this process, with workers for its blocks where that pays off."""
        STOPPING.check()
        if self._ledger is not None and not 0 < planned.size <= BUNDLE_BYTES:
            # The check may take long, or wait, and the process may be killed meanwhile.
            self._ledger.flush()
        checked = check_planned(self._options, planned, self._progress.within())
        self._record(checked, size=0)
        if STOPPING.raised is not None:
            raise Stopped(STOPPING.raised)

    def _record(self, result: RunResult | StoredResult, size: int | None = None) -> None:
        """Add the result of a run, and write it to the ledger.

        `size` is the progress that it makes, by default that of all its bytes.
        """
        checked = result if isinstance(result, StoredResult) else store_result(result)
        if self._ledger is not None and checked.number in self._states:
            try:
                state = self._states.pop(checked.number)
                self._remember(self._ledger, state, checked, result.summary)
            except BaseException as error:  # noqa: BLE001 - whatever is wrong with this run
                checked = self._with_fault(checked, error)
        self._count(checked, checked.bytes if size is None else size)

    def _remember(
        self, ledger: Ledger, state: RunState | None, checked: StoredResult, summary: RunSummary
    ) -> None:
        # A format without links has none to collect, so its runs need not be checked for them.
        none: list[dict[str, Any]] | None = [] if self._options.links else None
        links = none if checked.links is None else encode_links(checked.links)
        ledger.record(state, summary, checked.findings, links)

    def _count(self, checked: StoredResult, size: int) -> None:
        try:
            self._on_result(checked)
        except BaseException as error:  # noqa: BLE001 - whatever is wrong with this run
            checked = self._with_fault(checked, error)
        number, data, *_, findings = checked
        self._results.add_stored(number, data, findings, is_note=checked.is_note)
        self._runs += not checked.is_note
        self._failed += checked.has_failed
        self._errors += checked.errors
        counts = {"runs": self._runs, "failed": self._failed, "errors": self._errors}
        self._progress.add(size, **counts)

    def _with_fault(self, checked: StoredResult, error: BaseException) -> StoredResult:
        """Return a result with the internal error that came after its check. Raises others."""
        result = RunResult(checked.number, checked.summary, checked.findings)
        return store_result(with_fault(result, internal_error(error), self._options))

    def _note_loss(self, reason: str) -> None:
        """Say at once that the remaining runs are not checked, and report what needs no worker."""
        self.lost = reason
        for planned in self._plan.in_order():
            if isinstance(planned.found, NoInput) and not self._results.has(planned.number):
                self._check_here(planned)
        total = self._plan.own_count
        left = total - self._results.count
        notify(f"{reason}; {left:,} of {count_noun(total, 'run')} NOT CHECKED")

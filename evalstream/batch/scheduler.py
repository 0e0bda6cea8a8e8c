"""Many runs in one call: who checks which when, and what became of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Final

from evalstream.batch.packing import (
    Checked,
    RunBundle,
    check_packs,
    check_planned,
    packed,
    planned_not_checked,
)
from evalstream.batch.plan import RunPlan
from evalstream.batch.planned import PlannedRun
from evalstream.batch.results import ResultStore
from evalstream.engine.row_pass import WORTH_A_POOL_BYTES, usable_cores
from evalstream.executors import serial
from evalstream.executors.base import Backend
from evalstream.io.file_names import is_packed_name
from evalstream.io.progress import Progress
from evalstream.io.remote import is_remote
from evalstream.model.errors import ExecutorLost
from evalstream.model.options import Options
from evalstream.model.run import Run
from evalstream.model.signals import STOPPING, Stopped
from evalstream.stats.run_links import decode_links as unpacked_links
from evalstream.stats.run_links import encode_links as packed_links

if TYPE_CHECKING:
    from evalstream.batch.ledger.ledger import CachedRun, Ledger
    from evalstream.batch.ledger.run_state import RunState

OUTLIER_BYTES: Final = 1 << 30
OUTLIER_SHARE: Final = 4
"""On a cluster a file is cut into blocks where it is larger than this, and than a worker's part
of all bytes over this: then no file keeps one worker busy long after the others are done."""


class BatchScheduler:
    """Checks the runs of a plan, and hands what became of them to a gathering.

    `hear` is told of each run that was taken.
    """

    def __init__(
        self,
        plan: RunPlan,
        options: Options,
        gathering: ResultStore,
        ledger: Ledger | None,
        hear: Callable[[Checked], None],
    ) -> None:
        self._plan, self._options, self._gathering = plan, options, gathering
        self._ledger, self._hear = ledger, hear
        self._states: dict[int, RunState | None] = {}
        self._progress = Progress(shown=False)
        self._runs = self._findings = 0

    def run(self, *, progress: bool) -> None:
        """Check all runs. Raises Stopped where the process is to end; what was done is taken."""
        with Progress(shown=progress) as self._progress:
            self._progress.begin("runs", self._plan.total)
            try:
                self._check_all()
            except ExecutorLost as error:
                self._mark_rest_unchecked(str(error))

    def _check_all(self) -> None:
        backend = self._backend()
        is_elsewhere = backend.submit_aside is not None
        if backend.parallelism <= 1 and not is_elsewhere:
            for planned in self._unanswered(self._plan.in_order()):
                self._check_here(planned)
            return
        runs, is_small = self._unanswered(self._plan.by_size()), self._small(backend)
        work = packed(runs, is_small, worth=1) if is_elsewhere else packed(runs, is_small)
        for are_packs, some in groupby(work, lambda one: isinstance(one, RunBundle)):
            if are_packs:
                packs = (pack for pack in some if isinstance(pack, RunBundle))
                for checked in check_packs(packs, self._options, backend):
                    for one in checked:
                        self._take(one, one.summary.bytes)
                continue
            for one_run in some:
                if isinstance(one_run, PlannedRun):
                    self._check_here(one_run)

    def _backend(self) -> Backend:
        """Choose who checks runs. Raises MissingExtra, and ExecutorLost where there is nobody."""
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
        """Return what tells which runs one worker checks as a whole."""
        if backend.submit_aside is None:
            return lambda run: not run.is_stream and run.size < WORTH_A_POOL_BYTES
        share = self._plan.total // (OUTLIER_SHARE * backend.parallelism)
        largest = max(OUTLIER_BYTES, share)

        def is_small(run: PlannedRun) -> bool:
            rows = run.found.rows if isinstance(run.found, Run) else None
            # What is packed or in a store cannot be cut anywhere, and so is a worker's as a whole.
            is_whole = rows is not None and (is_packed_name(rows) or is_remote(rows))
            return not run.is_stream and (is_whole or run.size < largest)

        return is_small

    def _unanswered(self, planned: Iterator[PlannedRun]) -> Iterator[PlannedRun]:
        """Iterate over the runs for which the ledger does not answer."""
        for one in planned:
            STOPPING.check()
            if self._ledger is not None and isinstance(one.found, Run):
                known = self._ledger.known(one.found)
                if known is not None:
                    self._count(_remembered(one, known), one.size)
                    continue
                self._states[one.number] = self._ledger.begin(one.found)
            yield one

    def _check_here(self, planned: PlannedRun) -> None:
        """Check a run in this process, with workers for its blocks where that is worth it."""
        STOPPING.check()
        if self._ledger is not None:
            self._ledger.flush()
        self._take(check_planned(self._options, planned, self._progress.within()), 0)
        if STOPPING.raised is not None:
            raise Stopped(STOPPING.raised)

    def _take(self, checked: Checked, size: int) -> None:
        """Take what became of a run, and have the ledger remember it."""
        number, summary, findings = checked
        if self._ledger is not None and number in self._states:
            links = None if summary.links is None else packed_links(summary.links)
            self._ledger.record(self._states.pop(number), summary, findings, links)
        self._count(checked, size)

    def _count(self, checked: Checked, size: int) -> None:
        number, summary, findings = checked
        self._hear(checked)
        self._gathering.take(number, summary, findings)
        self._runs += 1
        self._findings += sum(summary.counts.values())
        self._progress.add(size, runs=self._runs, findings=self._findings)

    def _mark_rest_unchecked(self, reason: str) -> None:
        """Say of all runs that were not checked why that is so."""
        for planned in self._plan.in_order():
            if not self._gathering.has(planned.number):
                self._count(planned_not_checked(planned, reason, self._options), planned.size)


def _remembered(planned: PlannedRun, known: CachedRun) -> Checked:
    """Return what a ledger says of a run."""
    if known.links is not None:
        known.summary.links = unpacked_links(known.links)
    return Checked(planned.number, known.summary, known.findings)

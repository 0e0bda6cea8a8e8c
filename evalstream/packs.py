"""Many small runs in one call: packed together, checked by worker processes, told in order."""

from __future__ import annotations

import gc
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, groupby, islice
from typing import Final

from evalstream.any_run import check_any
from evalstream.catalog import enabled_codes
from evalstream.collector import finding_of
from evalstream.errors import WorkerLost
from evalstream.executors import Backend, run_in_order
from evalstream.formats import eee
from evalstream.model import MEBIBYTE, Fault, Finding, Options, RunSummary
from evalstream.progress import Progress
from evalstream.row_pass import WORTH_A_POOL_BYTES, usable_cores
from evalstream.rules.stream import ES001
from evalstream.runs import STDIN, Nothing, Run, printable
from evalstream.sources.remote import is_remote

PACK_RUNS: Final = 32
PACK_BYTES: Final = 2 * MEBIBYTE
"""How many runs, and bytes of rows, one task checks: enough to be worth its way."""

WORTH_WORKERS: Final = 2
"""From how many packs on it is worth to start workers."""

Checked = tuple[RunSummary, list[Finding]]


@dataclass(frozen=True, slots=True)
class Pack:
    """Some small runs, with `size` bytes of rows in all."""

    runs: tuple[Run, ...]
    size: int

    @property
    def path(self) -> str:
        """The name under which the pack is spoken of: that of its first run."""
        return _name(self.runs[0])

    def described(self) -> str:
        """Say which rows the pack holds."""
        more = len(self.runs) - 1
        return f"the rows of this run and {more:,} more" if more else "the rows of this run"


def packed(found: Iterable[Run | Nothing], jobs: int) -> Iterator[Run | Nothing | Pack]:
    """Put small runs that follow each other together, and pass on the rest as it is.

    Those that are too few to be worth workers are passed on one by one.
    """
    if (jobs or usable_cores()) <= 1:
        yield from found
        return
    for is_small, some in groupby(found, _is_small):
        if not is_small:
            yield from some
            continue
        packs = _packs(run for run in some if isinstance(run, Run))
        first = list(islice(packs, WORTH_WORKERS))
        if len(first) < WORTH_WORKERS:
            yield from chain.from_iterable(pack.runs for pack in first)
        else:
            yield from chain(first, packs)


def check_packs(packs: Iterable[Pack], options: Options) -> Iterator[list[Checked]]:
    """Check packs by worker processes, and return what becomes of their runs, in order.

    A run that kills its worker each time counts as not checked.
    """
    from evalstream.executors import pool

    backend = pool.backend(options.jobs or usable_cores())
    check = partial(check_pack, replace(options, jobs=1))
    lost = partial(_one_by_one, options, backend, check)
    return run_in_order(backend, check, packs, lost)


def check_pack(options: Options, pack: Pack) -> list[Checked]:
    """Check the runs of a pack in whatever process this is; the task that executors run.

    Workers do not collect garbage by themselves; what runs leave behind is little, and many.
    """
    gc.collect()
    checked = []
    for run in pack.runs:
        findings: list[Finding] = []
        with Progress(shown=False) as progress:
            checked.append((check_any(run, options, findings.append, progress), findings))
    return checked


def not_checked(
    rows: str | None, aggregate: str | None, trouble: str, fault: Fault, options: Options
) -> Checked:
    """Return what is said of a run that was not looked at, and why."""
    summary = RunSummary(file=rows, aggregate=aggregate, format=eee.NAME, trouble=trouble)
    if fault.code not in enabled_codes(options):
        return summary, []
    finding = finding_of(fault, rows or aggregate or "", options.profile)
    summary.counts[fault.code] = 1
    summary.severities[finding.severity] = 1
    return summary, [finding]


def _packs(runs: Iterable[Run]) -> Iterator[Pack]:
    some: list[Run] = []
    size = 0
    for run in runs:
        some.append(run)
        size += _size(run) or 0
        if len(some) == PACK_RUNS or size >= PACK_BYTES:
            yield Pack(tuple(some), size)
            some, size = [], 0
    if some:
        yield Pack(tuple(some), size)


def _is_small(found: Run | Nothing) -> bool:
    if not isinstance(found, Run) or found.rows == STDIN:
        return False
    size = _size(found)
    return size is not None and size < WORTH_A_POOL_BYTES


def _size(run: Run) -> int | None:
    """Return the bytes of a run's rows, None where they are no regular file."""
    if run.rows is None:
        return 0
    if is_remote(run.rows):
        return None
    try:
        status = os.stat(run.rows)
    except OSError:
        return None
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def _one_by_one(
    options: Options,
    backend: Backend,
    check: Callable[[Pack], list[Checked]],
    pack: Pack,
    error: WorkerLost,
) -> list[Checked]:
    """Check the runs of a pack that kills its worker each by itself, and name the one that does."""
    if len(pack.runs) == 1:
        (run,) = pack.runs
        aggregate = None if run.aggregate is None else printable(run.aggregate)
        rows = None if run.rows is None else printable(run.rows)
        return [not_checked(rows, aggregate, str(error), ES001.fault(str(error)), options)]
    lost = partial(_one_by_one, options, backend, check)
    alone = (Pack((run,), _size(run) or 0) for run in pack.runs)
    return list(chain.from_iterable(run_in_order(backend, check, alone, lost)))


def _name(run: Run) -> str:
    return printable(run.rows or run.aggregate or "")

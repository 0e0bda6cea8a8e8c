"""Many runs of one call: planned, checked or merged, and checked against each other."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext, suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from evalstream.batch.cross_run.index import CrossRunIndex
from evalstream.batch.cross_run.report import report_cross_run
from evalstream.batch.fingerprint import deciding
from evalstream.batch.packing import Checked
from evalstream.batch.parts import Part, PartReporter, PartTrailer
from evalstream.batch.plan import RunPlan
from evalstream.batch.results import ResultStore
from evalstream.batch.scheduler import BatchScheduler
from evalstream.batch.shards import Shard
from evalstream.formats.registry import CATALOGUE, main_format
from evalstream.model.errors import CannotCheck
from evalstream.model.finding import Finding
from evalstream.model.options import Options, RowRouting
from evalstream.model.report import RunSummary, Totals
from evalstream.model.run import NoInput, Run
from evalstream.model.signals import STOPPING, Stopped

if TYPE_CHECKING:
    from evalstream.batch.ledger.ledger import Ledger

Outcome = tuple[Sequence[RunSummary], Totals]


@contextmanager
def _kept_on_disk() -> Iterator[None]:
    """Say in our words what is wrong with the temporary databases. Raises CannotCheck."""
    try:
        yield
    except sqlite3.Error as error:
        place = "TMPDIR says where they are"
        raise CannotCheck(
            f"the runs could not be kept in temporary files: {error}; {place}"
        ) from error


@_kept_on_disk()
def check_many(
    found: Iterable[Run | NoInput],
    options: Options,
    show: Callable[[Finding], None],
    *,
    ledger: str | None,
    overwrite: bool,
    shard: tuple[Shard, PartReporter] | None,
    progress: bool,
) -> Outcome:
    """Check runs, and return what became of them; a shard's go to its part.

    With `overwrite` the ledger may replace another file.
    """
    ours, part = shard or (None, None)
    with closing(RunPlan(found, ours)) as plan, closing(CrossRunIndex()) as across:
        gathering = ResultStore(plan.numbers(), show, part.run if part else None)

        def hear(checked: Checked) -> None:
            across.add(checked.number, checked.summary)
            checked.summary.links = None

        held = replace(options, links=_are_held_together(plan, options))
        with suppress(Stopped), _opened(ledger, held, overwrite=overwrite) as book:
            BatchScheduler(plan, held, gathering, book, hear).run(progress=progress)
        gathering.finish()
        unreached = plan.ours - gathering.count
        if part is None or ours is None:
            report_cross_run(across, gathering, options, show)
        else:
            partial = bool(unreached) or STOPPING.granted is not None
            part.links(across.parts())
            chosen = deciding(options)
            part.foot(PartTrailer(ours, plan.digest, plan.count, plan.ours, chosen, partial))
    return _outcome(gathering, unreached)


@_kept_on_disk()
def merge_many(parts: Sequence[Part], options: Options, show: Callable[[Finding], None]) -> Outcome:
    """Return what became of the runs of all parts. Raises CannotCheck where they overlap."""
    gathering = ResultStore(iter(range(parts[0].footing.planned)), show)
    with closing(CrossRunIndex()) as across:
        for part in parts:
            for run in part.runs():
                if gathering.has(run.number):
                    reason = f"another part holds {run.summary.file}, too; nothing was merged"
                    raise CannotCheck(f"{part.path}: {reason}")
                gathering.take(run.number, run.summary, run.findings)
            for links in part.links():
                across.take_part(links)
        gathering.finish()
        report_cross_run(across, gathering, options, show)
    return _outcome(gathering, unreached=0)


def _opened(ledger: str | None, options: Options, *, overwrite: bool) -> Ledger | nullcontext[None]:
    if ledger is None:
        return nullcontext()
    from evalstream.batch.ledger.ledger import Ledger

    return Ledger(ledger, options, overwrite=overwrite)


def _are_held_together(plan: RunPlan, options: Options) -> bool:
    linking = main_format().cross_run.codes().values()
    wanted = not CATALOGUE.selection(options).enabled.isdisjoint(linking)
    return wanted and plan.runs > 1 and options.routing == RowRouting()


def _outcome(gathering: ResultStore, unreached: int) -> Outcome:
    totals = Totals(unreached=unreached)
    for run in gathering.taken():
        totals.add(run)
    return gathering.runs(), totals

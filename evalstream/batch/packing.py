"""Many small runs in one call: packed together, checked by worker processes."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, groupby, islice
from typing import Final, NamedTuple

from evalstream.batch.planned import PlannedRun
from evalstream.batch.single import UNCHECKED, check_any, not_checked
from evalstream.discovery.unrecognised import Unrecognised
from evalstream.engine.collector import finding_of
from evalstream.executors.base import Backend, run_in_order
from evalstream.formats.registry import CATALOGUE
from evalstream.io.names import printable
from evalstream.io.progress import Progress
from evalstream.model.block import MEBIBYTE
from evalstream.model.errors import WorkerLost
from evalstream.model.finding import Finding, Violation
from evalstream.model.finding_list import FindingList
from evalstream.model.options import Options
from evalstream.model.report import RunSummary
from evalstream.model.run import ForeignLog, NoInput, Run
from evalstream.rules.inputs import ES001, ES005, ES008

PACK_RUNS: Final = 32
PACK_BYTES: Final = 2 * MEBIBYTE
"""How many runs, and bytes of rows, one task checks: enough to be worth its way."""

WORTH_WORKERS: Final = 2
"""From how many packs on it is worth to start workers."""


class Checked(NamedTuple):
    """What became of a run: its number, its summary and the findings to be shown."""

    number: int
    summary: RunSummary
    findings: Iterable[Finding]


@dataclass(frozen=True, slots=True)
class RunBundle:
    """Some small runs."""

    runs: tuple[PlannedRun, ...]

    @property
    def path(self) -> str:
        """The name under which the pack is spoken of: that of its first run."""
        return name_of(self.runs[0].found)

    def described(self) -> str:
        """Say which rows the pack holds."""
        more = len(self.runs) - 1
        return f"the rows of this run and {more:,} more" if more else "the rows of this run"


def packed(
    planned: Iterable[PlannedRun],
    is_small: Callable[[PlannedRun], bool],
    worth: int = WORTH_WORKERS,
) -> Iterator[PlannedRun | RunBundle]:
    """Put small runs that follow each other together, and pass on the rest.

    Less than `worth` packs are not worth workers, and passed on one by one.
    """
    for are_small, some in groupby(planned, is_small):
        if not are_small:
            yield from some
            continue
        packs = _packs(some)
        first = list(islice(packs, worth))
        if len(first) < worth:
            yield from chain.from_iterable(pack.runs for pack in first)
        else:
            yield from chain(first, packs)


def check_packs(
    packs: Iterable[RunBundle], options: Options, backend: Backend
) -> Iterator[list[Checked]]:
    """Check packs by workers, and return what becomes of their runs, in order.

    A run that kills its worker each time counts as not checked.
    """
    check = partial(check_pack, replace(options, jobs=1, executor="serial"))
    lost = partial(_one_by_one, options, backend, check)
    return run_in_order(backend, check, packs, lost)


def check_pack(options: Options, pack: RunBundle) -> list[Checked]:
    """Check the runs of a pack in whatever process this is; the task that executors run.

    Workers do not collect garbage by themselves; what runs leave behind is little, and many.
    """
    gc.collect()
    checked = (check_planned(options, planned, Progress(shown=False)) for planned in pack.runs)
    return [one._replace(findings=list(one.findings)) for one in checked]


def check_planned(options: Options, planned: PlannedRun, progress: Progress) -> Checked:
    """Check one run, or say why there is nothing to check."""
    found = planned.found
    if isinstance(found, Unrecognised):
        return _left(planned, found, options)
    if isinstance(found, NoInput):
        rule = ES008 if isinstance(found, ForeignLog) else ES005 if found.readable else ES001
        incomplete_reason, violation = UNCHECKED.format(found.reason), rule.violation(found.reason)
        return _not_checked(planned, incomplete_reason, violation, options)
    findings = FindingList()
    summary = check_any(found, options, findings.append, progress)
    return Checked(planned.number, summary, findings)


def planned_not_checked(planned: PlannedRun, reason: str, options: Options) -> Checked:
    """Say of a run that it could not be looked at, and why."""
    return _not_checked(planned, reason, ES001.violation(reason), options)


def _not_checked(
    planned: PlannedRun, incomplete_reason: str, violation: Violation, options: Options
) -> Checked:
    found = planned.found
    run = Run(found.path, None, format=found.format) if isinstance(found, NoInput) else found
    findings: list[Finding] = []
    summary = not_checked(run, violation, incomplete_reason, options, findings.append)
    return Checked(planned.number, summary, findings)


def _left(planned: PlannedRun, found: Unrecognised, options: Options) -> Checked:
    """Say what a search left unchecked; where it does not matter, that is no run but a note."""
    name, violation = printable(found.path), found.violation()
    incomplete_reason = found.reason if found.leaves_open else None
    summary = RunSummary(
        name, None, found.format, incomplete_reason=incomplete_reason, excluded=found.excluded
    )
    findings = []
    selection = CATALOGUE.selection(options)
    if violation is not None and violation.code in selection:
        finding = finding_of(violation, name, selection)
        summary.count(violation.code, finding.severity, 1)
        findings.append(finding)
        if finding.severity >= options.threshold:
            summary.verdict = "failed"
    summary.is_note = summary.verdict != "failed" and incomplete_reason is None
    return Checked(planned.number, summary, findings)


def name_of(found: Run | NoInput) -> str:
    """Return the name under which a run is spoken of."""
    path = found.path if isinstance(found, NoInput) else found.rows or found.aggregate
    return printable(path or "")


def _packs(planned: Iterable[PlannedRun]) -> Iterator[RunBundle]:
    some: list[PlannedRun] = []
    size = 0
    for one in planned:
        some.append(one)
        size += one.size
        if len(some) == PACK_RUNS or size >= PACK_BYTES:
            yield RunBundle(tuple(some))
            some, size = [], 0
    if some:
        yield RunBundle(tuple(some))


def _one_by_one(
    options: Options,
    backend: Backend,
    check: Callable[[RunBundle], list[Checked]],
    pack: RunBundle,
    error: WorkerLost,
) -> list[Checked]:
    """Check the runs of a pack that kills its worker each by itself, and name the one that does."""
    if len(pack.runs) == 1:
        (planned,) = pack.runs
        return [planned_not_checked(planned, str(error), options)]
    lost = partial(_one_by_one, options, backend, check)
    alone = (RunBundle((planned,)) for planned in pack.runs)
    return list(chain.from_iterable(run_in_order(backend, check, alone, lost)))

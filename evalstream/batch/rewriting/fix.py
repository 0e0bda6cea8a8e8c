"""Fix one run: repair its rows and its aggregate, check the result, and put it in place."""

from __future__ import annotations

import filecmp
import os
import shutil
import stat
from collections.abc import Collection, Iterable, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from operator import attrgetter
from typing import Final

from evalstream.batch.rewriting.migrate import refuse_partial
from evalstream.batch.rewriting.outcome import ChangeStatus, Outcome, change_run, check_with_reasons
from evalstream.batch.rewriting.staging import Staging, remove_leftovers
from evalstream.batch.single import check_any
from evalstream.engine.block_rewriting import LineRepairs
from evalstream.engine.rewriting import RewrittenRows, rewrite_rows
from evalstream.formats.registry import CATALOGUE, main_format
from evalstream.formats.rewriting import RunRepair
from evalstream.io.file import DigestedFile
from evalstream.io.inputs import document_bytes
from evalstream.io.names import is_remote, printable
from evalstream.io.output import sync_file, unwritable, writing
from evalstream.io.progress import Progress
from evalstream.io.temporary import is_temporary_name, remove_abandoned
from evalstream.model.data_class import DataClass, field, replace
from evalstream.model.errors import CannotCheck, CannotWrite
from evalstream.model.finding import Finding
from evalstream.model.options import Options
from evalstream.model.run import STDIN, NoInput, Run
from evalstream.model.run_summary import RunSummary
from evalstream.model.signals import STOPPING, signals_blocked
from evalstream.model.text import count_noun
from evalstream.rules.base import RepairAction
from evalstream.rules.syntax import ES102

NOT_A_FILE: Final = "only files on this machine can be fixed"
OUTSIDE: Final = "{} lies outside {}, the folder that all inputs share; name a folder around both"
SHARED: Final = (
    "another aggregate names {} as well, and its seal would not fit the repaired rows; --to writes "
    "repaired copies of both pairs"
)
SALVAGE: Final = "see evalstream salvage"
SYNTAX: Final = "ES1"
DEPTH: Final = 6
"""Number of the last parts of a path that a staged file keeps, so that rules about paths hold."""


class FixJob(DataClass):
    """The part of a fix that is the same for all runs of a call.

    `codes` are the rules whose findings are mended. With `writes` files are replaced in place, or
    written below `folder` by their paths relative to `root`; without, nothing is written.
    `had_leftovers` tells whether killed calls had left files in a folder before this call
    reached it, and `shared` has the rows files that several runs would replace. Use it as a
    context manager: its end makes the names of all placed files durable.
    """

    codes: frozenset[str]
    writes: bool
    folder: str | None
    root: str
    options: Options
    progress: Progress
    had_leftovers: dict[str, bool] = field(default_factory=dict)
    shared: set[str] = field(default_factory=set)
    _staging: tuple[str | None, Staging] | None = None

    def __enter__(self) -> FixJob:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Make the names of all placed files durable, and remove what got no place."""
        if self._staging is not None:
            self._staging[1].__exit__()
            self._staging = None

    def staging(self, place: str | None) -> Staging:
        """Return the folder for new files at a place, shared by later runs. Raises CannotWrite."""
        if self._staging is None or self._staging[0] != place:
            self.__exit__()
            with writing(place or "a temporary folder"):
                self._staging = place, Staging(place)
        return self._staging[1]

    def note_shared(self, found: Iterable[Run | NoInput]) -> None:
        """Note which rows files are those of several runs, before any is replaced."""
        seen: set[str] = set()
        for run in found if self.folder is None else ():
            if isinstance(run, Run) and run.rows and not is_remote(run.rows):
                path = self.target(run.rows)
                (self.shared if path in seen else seen).add(path)

    def targets(self, run: Run) -> list[str]:
        """Return where rows and aggregate go, "" for none. Raises ValueError for no place."""
        return [self.target(path) if path else "" for path in (run.rows, run.aggregate)]

    def clean(self, target: str) -> None:
        """Remove what killed calls left beside a file. Nothing is raised: leftovers do no harm."""
        folder = os.path.dirname(target)
        if folder not in self.had_leftovers:
            self.had_leftovers[folder] = False
            with suppress(OSError):
                self.had_leftovers[folder] = any(map(is_temporary_name, os.listdir(folder)))
            if self.had_leftovers[folder]:
                remove_leftovers(folder)
        if self.had_leftovers[folder]:
            with suppress(OSError):
                remove_abandoned(target)

    def target(self, path: str) -> str:
        """Return where the repaired form of a file goes. Raises ValueError for no place."""
        if self.folder is None:
            # The target of a link is replaced, not the link.
            return os.path.realpath(path)
        relative = os.path.relpath(os.path.abspath(path), self.root)
        if relative.split(os.sep)[0] == os.pardir:
            raise ValueError(OUTSIDE.format(printable(path), printable(self.root)))
        return os.path.join(self.folder, relative)


def fix_any(found: Run | NoInput, job: FixJob) -> Outcome:
    """Fix one run and return its outcome. Raises Stopped, and CannotWrite."""
    return change_run(found, lambda run, outcome: _fix(run, job, outcome))


def _fix(run: Run, job: FixJob, outcome: Outcome) -> None:
    """Fix a run. Raises ValueError for one that is refused, CannotCheck, OSError, Stopped."""
    if run.format != main_format().name:
        options = replace(job.options, max_findings=1)
        before = check_any(run, options, lambda _finding: None, job.progress)
        if before.incomplete_reason is not None:
            raise CannotCheck(before.incomplete_reason)
        _leave(before, outcome)
        return
    if any(path == STDIN or is_remote(path) for path in (run.rows, run.aggregate) if path):
        raise ValueError(NOT_A_FILE)
    targets = job.targets(run) if job.folder is None else []
    # Files are prepared where they can be renamed into place.
    place = job.folder or os.path.dirname(targets[0] or targets[1])
    for target in filter(None, targets) if job.writes else ():
        job.clean(target)
    states = _states(run)
    before = _check_source(run, job)
    # Only findings that the repairs mend are mended: all else stays byte for byte.
    unsafe = job.codes & main_format().repairs[1] & before.counts.keys()
    codes = (job.codes & before.fixable.keys()) | unsafe
    if not codes:
        _leave(before, outcome)
        return
    targets = targets or job.targets(run)
    text = None if run.aggregate is None else document_bytes(run.aggregate)
    repairs = (CATALOGUE[code].repair for code in codes)
    actions = frozenset(repair.action for repair in repairs if repair is not None)
    repair = main_format().repair(text, actions)
    staging = job.staging(place if job.writes else None)
    try:
        parts = _write_repaired(run, repair, before, (text, actions), job, staging, outcome)
        if not outcome.row_changes and not outcome.document_changes:
            _leave(before, outcome)
            return
        outcome.target = targets[0] or targets[1]
        _judge(Run(*parts), before, job, staging, outcome)
        if job.writes:
            is_copy = job.folder is not None
            _put_in_place(run, parts, targets, staging, states=states, is_copy=is_copy)
    finally:
        staging.clear()


def _check_source(run: Run, job: FixJob) -> RunSummary:
    """Check the source. Raises ValueError where its findings forbid a repair."""
    refused: list[str] = []

    def show(finding: Finding) -> None:
        if main_format().refuses_repair(finding.code, finding.severity):
            is_of_rows = run.rows is not None and finding.file == printable(run.rows)
            line = None if finding.line is None else f"line {finding.line:,}"
            place = line if is_of_rows else finding.pointer
            where = f"{place}: " if place else ""
            refused.append(f"{finding.code} {finding.name}: {where}{finding.message}")

    before = check_any(run, replace(job.options, max_findings=1), show, job.progress)
    if refused:
        # Rows in another encoding than UTF-8 have no whole lines to be saved.
        is_torn = any(one.startswith(SYNTAX) and not one.startswith(ES102.code) for one in refused)
        advice = f"; {SALVAGE}" if is_torn else ""
        raise ValueError(f"{refused[0]}{advice}")
    if before.incomplete_reason is not None:
        raise CannotCheck(before.incomplete_reason)
    return before


def _write_repaired(
    run: Run,
    repair: RunRepair,
    before: RunSummary,
    source: tuple[bytes | None, Collection[RepairAction]],
    job: FixJob,
    staging: Staging,
    outcome: Outcome,
) -> tuple[str | None, str | None]:
    """Write what needs a repair, and return the paths of the rows and the aggregate."""
    text, actions = source
    rows, digests = run.rows, None
    if run.rows is not None:
        made = _rows(run.rows, staging, repair, before, actions, job, outcome)
        if outcome.row_changes and job.target(run.rows) in job.shared:
            raise ValueError(SHARED.format(printable(run.rows)))
        if outcome.row_changes:
            digests, path = made.target, staging.path(_staging_name(run.rows))
            rows = DigestedFile(path, digests, os.stat(path))
    paths = None if run.rows is None or run.aggregate is None else (run.rows, run.aggregate)
    repaired = repair.aggregate(paths, digests, outcome.row_count)
    aggregate = run.aggregate
    if run.aggregate is not None and repaired is not None and repaired[0] != text:
        outcome.document_changes.add_each(repaired[1])
        aggregate = staging.write(_staging_name(run.aggregate), repaired[0])
    return rows, aggregate


def _judge(
    staged: Run, before: RunSummary, job: FixJob, staging: Staging, outcome: Outcome
) -> None:
    """Check the result. Raises ValueError for one that fails anew, and CannotCheck."""
    after, reasons = check_with_reasons(staged, job.options, staging.folder, job.progress)
    outcome.checked = after
    new = {code: n for code, n in after.failing.items() if n > before.failing.get(code, 0)}
    if new:
        raise ValueError(f"a repair would make it fail: {'; '.join(reasons.of(new))}")
    if after.incomplete_reason is not None:
        raise CannotCheck(after.incomplete_reason)
    if after.verdict == "failed":
        total = sum(after.failing.values())
        outcome.status = ChangeStatus.PARTLY
        what = "that this call does not repair" if _has_repairs(after) else "without a repair"
        outcome.reasons = (f"{count_noun(total, 'finding')} {what}", *reasons.of(after.failing))


def _rows(
    path: str,
    staging: Staging,
    repair: RunRepair,
    before: RunSummary,
    actions: Collection[RepairAction],
    job: FixJob,
    outcome: Outcome,
) -> RewrittenRows:
    """Write the repaired rows. Raises ValueError where they cannot be repaired, CannotCheck."""
    with staging.open(_staging_name(path)) as target:
        rows = rewrite_rows(
            path,
            target,
            partial(repair.rewriter, before.version),
            job.options,
            algorithms=repair.algorithms,
            target_algorithms=repair.algorithms,
            progress=job.progress,
            repairs=LineRepairs(
                byte_order_mark=RepairAction.REMOVE_BYTE_ORDER_MARK in actions,
                line_ends=RepairAction.END_LINES_IN_LF in actions,
                blank_lines=RepairAction.REMOVE_BLANK_LINES in actions,
                final_newline=RepairAction.END_LAST_LINE in actions,
                array_to_lines=False,
            ),
        )
    refuse_partial(rows, "fixed")
    wrong = repair.wrong_seal(rows.source, rows.rows)
    if wrong is not None:
        raise ValueError(wrong)
    outcome.row_count = rows.rows
    outcome.row_changes = rows.tally
    return rows


def _leave(before: RunSummary, outcome: Outcome) -> None:
    """Note that a run has nothing to fix, and whether it fails all the same."""
    outcome.status, outcome.checked = ChangeStatus.UNCHANGED, before
    if before.verdict == "failed":
        outcome.status = ChangeStatus.PARTLY
        codes = ", ".join(f"{code} {count:,}" for code, count in sorted(before.failing.items()))
        words = "this call does not repair" if _has_repairs(before) else "there is no repair for"
        outcome.reasons = (f"{words} what fails it: {codes}",)


def _has_repairs(run: RunSummary) -> bool:
    """Tell whether another call would repair findings that fail a run."""
    return bool(run.failing.keys() & {**run.fixable, **run.fixable_unsafely}.keys())


def _put_in_place(
    run: Run,
    parts: tuple[str | None, str | None],
    targets: Sequence[str],
    staging: Staging,
    *,
    states: Sequence[tuple[int, ...]],
    is_copy: bool,
) -> None:
    """Put repaired files in place, rows first, unless the source has other states by now.

    Raises Stopped before, ValueError, CannotCheck, and CannotWrite.
    """
    STOPPING.check()
    moves: list[tuple[str, str]] = []
    target = targets[0]
    try:
        with ExitStack() as stack:
            for path, source, target in zip(parts, (run.rows, run.aggregate), targets, strict=True):
                if path is None or source is None or (path == source and not is_copy):
                    continue
                if is_copy and os.path.lexists(target):
                    if not (os.path.isfile(target) and filecmp.cmp(path, target, shallow=False)):
                        raise ValueError(f"{printable(target)} is another file, which stays")
                    continue
                folder = os.path.dirname(target)
                os.makedirs(folder, exist_ok=True)
                is_beside = is_copy or folder == os.path.dirname(staging.folder)
                here = staging if is_beside else stack.enter_context(Staging(folder))
                moves.append((_complete(path, source, here), target))
            # A signal waits until all are in place.
            with signals_blocked():
                if _states(run) != states:
                    raise CannotCheck("the files changed while they were repaired")
                _replace_all(moves)
                for _, target in moves:
                    staging.sync_later(os.path.dirname(target))
    except OSError as error:
        raise CannotWrite(unwritable(error.filename2 or target, error)) from error


def _replace_all(moves: Sequence[tuple[str, str]]) -> None:
    """Give new files their places; one that has none leaves the old ones. Raises OSError.

    A file that is mounted, or of another user in a folder like /tmp, is not replaced.
    """
    placed: list[tuple[str, str]] = []
    try:
        for path, target in moves:
            with suppress(OSError):
                os.link(target, f"{path}.old")
            os.replace(path, target)
            placed.append((f"{path}.old", target))
    except OSError:
        # The file that has no new one is still in its place; its link is one name too many.
        with suppress(FileNotFoundError):
            os.unlink(f"{path}.old")
        for old, target in placed:
            with suppress(FileNotFoundError):
                os.replace(old, target)
        raise
    for old, _ in placed:
        with suppress(FileNotFoundError):
            os.unlink(old)


def _complete(path: str, source: str, staging: Staging) -> str:
    """Write a file to the disk with the mode of its source; one that is elsewhere is copied."""
    if not path.startswith(f"{staging.folder}/"):
        path = shutil.copyfile(path, staging.path(f"copied/{_staging_name(source)}"))
    os.chmod(path, stat.S_IMODE(os.stat(source).st_mode))
    sync_file(path)
    return path


def _states(run: Run) -> list[tuple[int, ...]]:
    """Return what changes with the files of a run. Raises OSError."""
    version = attrgetter("st_dev", "st_ino", "st_size", "st_mtime_ns", "st_ctime_ns")
    return [version(os.stat(path)) for path in (run.rows, run.aggregate) if path is not None]


def _staging_name(path: str) -> str:
    return "/".join(os.path.abspath(path).split(os.sep)[-DEPTH:])

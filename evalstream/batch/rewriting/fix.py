"""Fix one run: repair its rows and its aggregate, check the result, and put it in place."""

from __future__ import annotations

import os
from collections.abc import Collection
from typing import Final

from evalstream.batch.rewriting.migrate import left_rows, reason_of, shown
from evalstream.batch.rewriting.outcome import Outcome, Status
from evalstream.batch.rewriting.result_check import check_result
from evalstream.batch.rewriting.staging import Staging
from evalstream.batch.single import check_any
from evalstream.engine.line_repairs import LineRepairs
from evalstream.engine.rewriting import RewrittenRows, rewrite_rows
from evalstream.formats.registry import main_format
from evalstream.formats.rewriting import RunRepair
from evalstream.io.digest import CHUNK_BYTES
from evalstream.io.document import document_bytes
from evalstream.io.names import printable
from evalstream.io.output import Output
from evalstream.io.progress import Progress
from evalstream.io.remote import is_remote
from evalstream.model.data_class import DataClass, replace
from evalstream.model.errors import CannotCheck, CannotWrite
from evalstream.model.finding import Finding
from evalstream.model.hex_digest import ALGORITHMS
from evalstream.model.options import Options
from evalstream.model.report import RunSummary
from evalstream.model.run import STDIN, NoInput, Run
from evalstream.model.signals import STOPPING

OTHER_FORMAT: Final = "there are no repairs for the format {}"
NOT_A_FILE: Final = "only files on this machine can be fixed"
DEPTH: Final = 6
"""Number of the last parts of a path that a staged file keeps, so that rules about paths hold."""


class FixJob(DataClass):
    """What is the same for all runs of a call.

    `codes` are the rules whose findings are mended. With `writes` files are replaced in place, or
    written below `folder` by their paths relative to `root`; without, nothing is written.
    """

    codes: Collection[str]
    writes: bool
    folder: str | None
    root: str
    options: Options
    progress: Progress

    def target(self, path: str) -> str:
        """Return where the repaired form of a file goes."""
        if self.folder is None:
            # The target of a link is replaced, not the link.
            return os.path.realpath(path)
        return os.path.join(self.folder, os.path.relpath(os.path.abspath(path), self.root))


def fix_any(found: Run | NoInput, job: FixJob) -> Outcome:
    """Fix one run and return what became of it. Raises Stopped, and CannotWrite."""
    if isinstance(found, NoInput):
        return Outcome(printable(found.path), None, Status.UNREAD, reasons=(found.reason,))
    outcome = Outcome(shown(found.rows), shown(found.aggregate))
    try:
        _fix(found, job, outcome)
    except ValueError as error:
        outcome.refuse(str(error))
    except (CannotCheck, OSError) as error:
        outcome.leave_unread(reason_of(error))
    return outcome


def _fix(run: Run, job: FixJob, outcome: Outcome) -> None:
    """Fix a run. Raises ValueError for one that is refused, CannotCheck, OSError, Stopped."""
    if run.format != main_format().name:
        raise ValueError(OTHER_FORMAT.format(run.format))
    if any(path == STDIN or is_remote(path) for path in (run.rows, run.aggregate) if path):
        raise ValueError(NOT_A_FILE)
    before = check_any(run, replace(job.options, max_findings=1), _ignore, job.progress)
    if not job.codes & before.counts.keys():
        _leave(before, outcome)
        return
    text = None if run.aggregate is None else document_bytes(run.aggregate)
    repair = main_format().repair(text, job.codes)
    with Staging(_staging_place(run, job)) as staging:
        _rewrite(run, repair, before, text, job, staging, outcome)


def _rewrite(
    run: Run,
    repair: RunRepair,
    before: RunSummary,
    text: bytes | None,
    job: FixJob,
    staging: Staging,
    outcome: Outcome,
) -> None:
    """Write the repaired files, check them, and put them in place of the old ones, or beside."""
    staged_rows = None if run.rows is None else staging.path(_staged(run.rows))
    rows = None if run.rows is None else _rows(run.rows, staged_rows, repair, before, job, outcome)
    digests = None if rows is None or not outcome.row_changes else rows.target
    paths = None if run.rows is None or run.aggregate is None else (run.rows, run.aggregate)
    repaired = repair.aggregate(paths, digests, outcome.row_count)
    staged_aggregate = None
    if run.aggregate is not None and repaired is not None:
        new_text, applied = repaired
        outcome.document_changes.add_document(applied)
        staged_aggregate = staging.path(_staged(run.aggregate))
        with Output(staged_aggregate) as output:
            output.write(new_text)
    if not outcome.row_changes and not outcome.document_changes:
        _leave(before, outcome)
        return
    outcome.target = job.target(run.rows or run.aggregate or "")
    staged = Run(staged_rows, staged_aggregate)
    check_result(staged, job.options, staging.folder, job.progress, outcome)
    # What a repair leaves is reported; it is no reason to keep what was mended.
    if outcome.status is Status.REFUSED:
        outcome.status = Status.PARTLY
    if job.writes and outcome.status is not Status.UNREAD:
        pairs = [(run.rows, staged_rows, bool(outcome.row_changes))]
        pairs.append((run.aggregate, staged_aggregate, new_text != text if repaired else False))
        _put_in_place(pairs, job)


def _rows(
    path: str,
    target: str | None,
    repair: RunRepair,
    before: RunSummary,
    job: FixJob,
    outcome: Outcome,
) -> RewrittenRows:
    """Write the repaired rows. Raises ValueError where they cannot be repaired, CannotCheck."""
    codes = job.codes
    rows = rewrite_rows(
        path,
        target,
        repair.rewriter(before.version),
        job.options,
        algorithms=ALGORITHMS,
        target_algorithms=ALGORITHMS,
        progress=job.progress,
        repairs=LineRepairs(
            byte_order_mark="ES102" in codes,
            line_ends="ES112" in codes,
            blank_lines="ES110" in codes,
            final_newline="ES111" in codes,
            array_to_lines=False,
        ),
    )
    if rows.incomplete_reason is not None or rows.changed is not None:
        changed = f"the rows changed while they were read: {rows.changed}"
        raise CannotCheck(rows.incomplete_reason or changed)
    if rows.left_count:
        raise ValueError(left_rows(rows, "fixed"))
    wrong = repair.wrong_seal(rows.source, rows.rows)
    if wrong is not None:
        raise ValueError(wrong)
    outcome.row_count = rows.rows
    outcome.row_changes.merge(rows.tally)
    return rows


def _leave(before: RunSummary, outcome: Outcome) -> None:
    """Note that a run has nothing to fix, and whether it fails all the same."""
    outcome.status, outcome.checked = Status.UNCHANGED, before
    if before.verdict == "failed":
        outcome.status = Status.PARTLY
        codes = ", ".join(f"{code} {count:,}" for code, count in sorted(before.failing.items()))
        outcome.reasons = (f"there is no repair for what fails it: {codes}",)
    elif before.verdict != "passed":
        outcome.leave_unread(before.incomplete_reason or "it could not be checked completely")


def _put_in_place(pairs: list[tuple[str | None, str | None, bool]], job: FixJob) -> None:
    """Move the repaired files to their places, rows first.

    Raises Stopped before anything is moved, ValueError where another file is in the way, and
    CannotWrite.
    """
    STOPPING.check()
    moves = [
        (staged, job.target(path), path)
        for path, staged, is_changed in pairs
        if path is not None and staged is not None and (is_changed or job.folder is not None)
    ]
    if job.folder is not None:
        for staged, target, _ in moves:
            if os.path.lexists(target) and not _are_equal(staged, target):
                raise ValueError(f"{printable(target)} is another file, which stays")
    STOPPING.defer()
    for staged, target, source in moves:
        try:
            os.makedirs(os.path.dirname(target), exist_ok=True)
            os.chmod(staged, os.stat(source).st_mode & 0o7777)
            os.replace(staged, target)
        except OSError as error:
            raise CannotWrite(f"{printable(target)}: {error.strerror or error}") from error


def _are_equal(one: str, other: str) -> bool:
    if not os.path.isfile(other) or os.path.getsize(one) != os.path.getsize(other):
        return False
    with open(one, "rb") as first, open(other, "rb") as second:
        while chunk := first.read(CHUNK_BYTES):
            if chunk != second.read(CHUNK_BYTES):
                return False
    return True


def _staging_place(run: Run, job: FixJob) -> str | None:
    """Return the folder in which files are prepared: where they can be renamed into place."""
    if not job.writes:
        return None
    return job.folder or os.path.dirname(job.target(run.rows or run.aggregate or ""))


def _staged(path: str) -> str:
    return "/".join(os.path.abspath(path).split(os.sep)[-DEPTH:])


def _ignore(_: Finding) -> None:
    """Drop a finding: the numbers of each code are enough."""

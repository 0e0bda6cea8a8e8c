"""Migrate one run: rewrite and seal it, check both, place them, and remember it in a ledger."""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from typing import Final, TypeGuard

from evalstream._version import __version__
from evalstream.batch.ledger import database
from evalstream.batch.ledger.run_state import CompanionFinder, RunState, read_state
from evalstream.batch.rewriting.outcome import ChangeStatus, Outcome, change_run, check_result
from evalstream.batch.rewriting.staging import Staging, lock_folder
from evalstream.batch.single import check_any
from evalstream.engine.rewriting import RewrittenRows, rewrite_rows
from evalstream.formats.registry import main_format
from evalstream.formats.rewriting import Migrator, RunMigration
from evalstream.io.codecs import COMPRESSIONS
from evalstream.io.digest import hash_stored
from evalstream.io.file import DigestedFile
from evalstream.io.inputs import document_bytes
from evalstream.io.names import is_remote, printable
from evalstream.io.output import sync_file, sync_folder
from evalstream.io.progress import Progress
from evalstream.io.readers import file_state
from evalstream.io.temporary import move_to_free_name
from evalstream.model.data_class import DataClass, field, replace
from evalstream.model.errors import CannotCheck, CannotWrite, describe_error
from evalstream.model.exit_codes import ExitCode
from evalstream.model.options import Options
from evalstream.model.run import STDIN, NoInput, Run
from evalstream.model.signals import STOPPING, signals_blocked
from evalstream.model.text import count_noun
from evalstream.parsing.json import canonical

STAGED_ROWS: Final = "rows"
NO_AGGREGATE: Final = "rows without an aggregate cannot be migrated; --aggregate names it"


class MigrationJob(DataClass):
    """The part of a migration that is the same for all runs of a call: how, and where to.

    Results have their places below `folder`, where they are put if the job `writes`. `had_files`
    tells whether a folder of results had any before this call reached it.
    """

    migrator: Migrator
    folder: str
    writes: bool
    staging: Staging
    options: Options
    progress: Progress
    had_files: dict[str, bool] = field(default_factory=dict)


def migrate_any(found: Run | NoInput, job: MigrationJob) -> Outcome:
    """Migrate one run and return its outcome. Raises Stopped, and CannotWrite."""
    try:
        return change_run(found, lambda run, outcome: _migrate(run, job, outcome))
    finally:
        job.staging.clear()


def _migrate(run: Run, job: MigrationJob, outcome: Outcome) -> None:
    """Migrate a run. Raises ValueError for one that is refused, CannotCheck, OSError, Stopped."""
    if run.format != main_format().name:
        raise ValueError(f"runs of the format {run.format} are not migrated")
    if run.aggregate is None:
        raise ValueError(NO_AGGREGATE)
    text = document_bytes(run.aggregate)
    migration = job.migrator(text, run.aggregate)
    if migration.is_migrated:
        outcome.status, outcome.target = ChangeStatus.PRESENT, run.aggregate
        check_result(run, job.options, None, job.progress, outcome)
        return
    if run.missing is not None:
        raise ValueError(f"the rows that the aggregate declares are missing: {run.missing}")
    if migration.refusal is not None:
        raise ValueError(migration.refusal)
    if migration.needs:
        outcome.needs = migration.needs
        raise ValueError(count_noun(len(migration.needs), "value") + " must be supplied")
    digest = hashlib.sha256(text).hexdigest()
    if _is_file(run.rows) and _may_be_there(migration, job):
        name = migration.name(digest, hash_stored(run.rows))
        if _is_there(migration, name, job, outcome):
            return
    _rewrite(run, migration, digest, job, outcome)


def _is_file(rows: str | None) -> TypeGuard[str]:
    """Tell whether rows can be read twice."""
    return rows is not None and rows != STDIN and not is_remote(rows)


def _rewrite(
    run: Run, migration: RunMigration, digest: str, job: MigrationJob, outcome: Outcome
) -> None:
    """Write the new rows and the new aggregate, check them, and give them their places."""
    rows = _rows(run, migration, job, outcome)
    # Rows made of listed samples have no source of their own.
    rows_digest = None if rows is None else rows.source.get("stored", {}).get("sha256")
    name = migration.name(digest, rows_digest)
    if _is_there(migration, name, job, outcome):
        return
    aggregate_path, rows_path = migration.paths(name)
    seal = None if rows is None else (rows_path, rows.target["sha256"], rows.rows)
    source = os.path.basename(printable(run.aggregate or ""))
    text, applied = migration.aggregate(source, digest, rows_digest, seal)
    outcome.document_changes.add_each(applied)
    staged = job.staging.write(aggregate_path, text)
    new_rows = None
    if rows is not None:
        rows_path += COMPRESSIONS[rows.codec].ending if rows.codec else ""
        new_rows = job.staging.path(rows_path)
        os.rename(job.staging.path(STAGED_ROWS), new_rows)
        new_rows = DigestedFile(new_rows, rows.target, os.stat(new_rows))
    outcome.target = os.path.join(job.folder, aggregate_path)
    check_result(Run(new_rows, staged), job.options, job.staging.folder, job.progress, outcome)
    if outcome.status is ChangeStatus.WRITTEN and job.writes:
        try:
            _place(job.folder, job.staging, (new_rows, rows_path), (staged, aggregate_path))
        except FileExistsError:
            # Another call wrote the same result meanwhile.
            if not _is_there(migration, name, job, outcome):
                raise


def _rows(
    run: Run, migration: RunMigration, job: MigrationJob, outcome: Outcome
) -> RewrittenRows | None:
    """Write the new rows, if there are some. Raises ValueError for a wrong row or seal."""
    inline = migration.inline_rows()
    if inline is not None:
        if run.rows is not None:
            raise ValueError("the aggregate lists samples itself, and has a rows file as well")
        job.staging.write(STAGED_ROWS, inline.data)
        sha256 = hashlib.sha256(inline.data).hexdigest()
        outcome.row_count = inline.rows
        outcome.row_changes = inline.tally
        return RewrittenRows("", inline.rows, {}, {"sha256": sha256}, "jsonl")
    if run.rows is None:
        return None
    is_checked = bool(migration.hidden_rules)
    if is_checked and not _is_file(run.rows):
        raise ValueError("a new sample_hash needs rows in a file on this machine")
    state = file_state(run.rows) if is_checked else None
    unchecked = _refuse_hidden(run, migration, job)
    with job.staging.open(STAGED_ROWS) as target:
        rows = rewrite_rows(
            run.rows,
            target,
            migration.rewriter,
            job.options,
            algorithms=migration.algorithms,
            progress=job.progress,
        )
    outcome.row_count = rows.rows
    outcome.row_changes = rows.tally
    if rows.changed is None and is_checked and file_state(run.rows) != state:
        raise CannotCheck("the rows changed between their check and their migration")
    refuse_partial(rows, "migrated")
    if unchecked is not None:
        raise CannotCheck(unchecked)
    wrong = migration.wrong_seal(rows.source, rows.rows)
    if wrong is not None:
        raise ValueError(wrong)
    return rows


def _refuse_hidden(run: Run, migration: RunMigration, job: MigrationJob) -> str | None:
    """Refuse a source with findings that the result no longer shows. Raises ValueError.

    Returns why the source could not be checked in full, if so.
    """
    if not migration.hidden_rules:
        return None
    options = replace(job.options, select=tuple(migration.hidden_rules), ignore=(), max_findings=1)
    summary = check_any(run, options, lambda _finding: None, job.progress)
    if summary.failing:
        codes = ", ".join(sorted(summary.failing))
        raise ValueError(f"a new sample_hash would hide what the rows violate: {codes}")
    return summary.incomplete_reason


def refuse_partial(rows: RewrittenRows, done: str) -> None:
    """Refuse rows that were not rewritten as a whole, and say why: each reason with its first line.

    Raises CannotCheck for rows that were not read in full, and ValueError for those that are left.
    """
    if rows.incomplete_reason is not None or rows.changed is not None:
        changed = f"the rows changed while they were read: {rows.changed}"
        raise CannotCheck(rows.incomplete_reason or changed)
    if rows.is_whole:
        return
    if rows.unsuited is not None:
        raise ValueError(f"the rows cannot be {done}: {rows.unsuited}")
    reasons: dict[str, int] = {}
    for row in rows.left:
        reasons.setdefault(row.reason, row.line)
    parts = [f"line {line:,}: {reason}" for reason, line in reasons.items()]
    raise ValueError(f"{count_noun(rows.left_count, 'row')} cannot be {done}; {'; '.join(parts)}")


def _may_be_there(migration: RunMigration, job: MigrationJob) -> bool:
    """Tell whether an earlier call may have written the result, so that a digest is worth it."""
    folder = os.path.dirname(os.path.join(job.folder, migration.paths("x")[0]))
    if folder not in job.had_files:
        job.had_files[folder] = False
        with suppress(OSError), os.scandir(folder) as entries:
            job.had_files[folder] = any(entries)
    return job.had_files[folder]


def _is_there(migration: RunMigration, name: str, job: MigrationJob, outcome: Outcome) -> bool:
    """Tell whether an earlier call wrote the result; if so, check it."""
    aggregate, rows = (os.path.join(job.folder, path) for path in migration.paths(name))
    if not os.path.lexists(aggregate):
        return False
    with lock_folder(os.path.dirname(aggregate)):
        # A call that has just placed it has removed its other name, which changes its ctime.
        pass
    endings = ("", *(one.ending for one in COMPRESSIONS.values()))
    there = next((rows + end for end in endings if os.path.lexists(rows + end)), None)
    outcome.status, outcome.target = ChangeStatus.PRESENT, aggregate
    check_result(Run(there, aggregate), job.options, None, job.progress, outcome)
    return True


def _place(
    folder: str, staging: Staging, rows: tuple[str | None, str], aggregate: tuple[str, str]
) -> None:
    """Move a run to its place, rows first. Raises Stopped, CannotWrite, FileExistsError."""
    STOPPING.check()
    target, rows_target = (os.path.join(folder, path) for _, path in (aggregate, rows))
    try:
        for staged in (rows[0], aggregate[0]):
            if staged is not None:
                sync_file(staged)
        # Signals wait, and so do other calls, which may have made other rows of the same source.
        with signals_blocked(), lock_folder(os.path.dirname(target)):
            if not os.path.lexists(target):
                _move((rows[0], rows_target), (aggregate[0], target))
                staging.sync_later(os.path.dirname(target))
                return
    except OSError as error:
        raise CannotWrite(f"{folder}: {describe_error(error)}") from error
    raise FileExistsError(target)


def _move(rows: tuple[str | None, str], aggregate: tuple[str, str]) -> None:
    """Move the rows and the aggregate of a run, or neither of them. Raises OSError."""
    staged, target = rows
    if staged is not None:
        # Rows without an aggregate are those of a call that was killed here.
        os.replace(staged, target)
        sync_folder(os.path.dirname(target))
    try:
        move_to_free_name(*aggregate)
    except FileExistsError:
        # A call that no lock keeps out has just written the aggregate: it needs its rows.
        raise
    except OSError:
        if staged is not None:
            os.unlink(target)
        raise


_FIND: Final = "SELECT target, target_state FROM migration WHERE key=? AND settings=? AND state=?"
_RECORD: Final = "INSERT OR REPLACE INTO migration VALUES (?, ?, ?, ?, ?)"


class MigrationLedger:
    """A table in the file of a ledger, which checks may use as well.

    `settings` are what decides how runs are migrated, as JSON values. A run is remembered once its
    result is there and passes, and neither changed within the last seconds. With `overwrite`
    another file is replaced. Raises CannotWrite, and UsageError for another file.
    """

    def __init__(self, path: str, settings: object, *, overwrite: bool = False) -> None:
        text = canonical({"tool": __version__, "settings": settings})
        self._settings = hashlib.sha256(text).hexdigest()
        self._path, self._companions = path, CompanionFinder()
        tables = [database.CREATE_MIGRATIONS]
        self._connection = database.open_for_writing(path, overwrite=overwrite, tables=tables)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def state(self, run: Run) -> RunState | None:
        """Return the state of a run before it is read, None for a stream."""
        return read_state(run, self._companions)

    def find(self, run: Run, state: RunState | None) -> Outcome | None:
        """Return the outcome of a run that was migrated before and has not changed, or None."""
        if state is None:
            return None
        values = (state.key, self._settings, state.text)
        with database.translate_sqlite_errors(self._path, CannotWrite):
            found = database.retry_while_locked(
                lambda: self._connection.execute(_FIND, values).fetchone()
            )
        if found is None or self._result_state(found[0]) != found[1]:
            return None
        rows, aggregate = (
            None if name is None else printable(name) for name in (run.rows, run.aggregate)
        )
        return Outcome(rows, aggregate, ChangeStatus.PRESENT, found[0], is_remembered=True)

    def record(self, state: RunState | None, outcome: Outcome) -> None:
        """Remember a run whose result is there and passes."""
        is_there = outcome.status in {ChangeStatus.WRITTEN, ChangeStatus.PRESENT} and outcome.target
        if state is None or not state.is_settled or not is_there:
            return
        result = self._result_state(outcome.target or "")
        if outcome.exit_code is not ExitCode.PASSED or result is None:
            return
        values = (state.key, self._settings, state.text, outcome.target, result)
        with database.translate_sqlite_errors(self._path, CannotWrite):
            database.retry_while_locked(lambda: self._connection.execute(_RECORD, values))

    def _result_state(self, aggregate: str) -> str | None:
        """Return the state of a result, None where it is gone or may still change unseen."""
        stem = aggregate.removesuffix(".json") + "_samples.jsonl"
        endings = ("", *(one.ending for one in COMPRESSIONS.values()))
        rows = next((stem + end for end in endings if os.path.isfile(stem + end)), None)
        if not os.path.isfile(aggregate):
            return None
        state = read_state(Run(rows, aggregate), CompanionFinder())
        return state.text if state is not None and state.is_settled else None

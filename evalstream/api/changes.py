"""The Python API of what changes runs: fix and migrate."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from typing import Any, Final

from evalstream.api.arguments import Input, optional_path, require_path, require_paths
from evalstream.batch.plan import RunPlan, parse_shard
from evalstream.batch.rewriting.fix import FixJob, fix_any
from evalstream.batch.rewriting.migrate import MigrationJob, MigrationLedger, migrate_any
from evalstream.batch.rewriting.outcome import MOST_FINDINGS, Outcome, new_outcome
from evalstream.batch.rewriting.staging import Staging
from evalstream.discovery.inputs import find_all, is_pattern, literal_folder, without_overlap
from evalstream.discovery.unrecognised import Unrecognised
from evalstream.formats.registry import CATALOGUE, main_format
from evalstream.io.names import is_remote
from evalstream.io.output import writing
from evalstream.io.overwriting import Outputs, ledger_files
from evalstream.io.progress import Progress
from evalstream.model.data_class import DataClass, field, replace
from evalstream.model.errors import UsageError, internal_error
from evalstream.model.exit_codes import ExitCode
from evalstream.model.options import Options
from evalstream.model.run import NoInput, Run
from evalstream.model.text import split_codes, split_entries
from evalstream.settings.options import kept_options

NEWEST: Final = main_format().migration_targets[-1]


class ChangedRuns(DataClass):
    """The outcomes of the runs of a call.

    Attributes:
        outcomes: One outcome for each run, in the order of the inputs.

    """

    outcomes: list[Outcome] = field(default_factory=list)

    @property
    def exit_code(self) -> ExitCode:
        """The largest exit code of an outcome; USAGE for a call without a run is raised before."""
        return max((one.exit_code for one in self.outcomes), default=ExitCode.UNCHECKED)


def migrate(
    inputs: Input | Iterable[Input],
    to: Input,
    *,
    to_version: str = NEWEST,
    aggregate: Input | None = None,
    collection: str | None = None,
    developer: str | Sequence[str] = (),
    deployment: str | None = None,
    eval_library: str | None = None,
    fill: bool = False,
    decide: str | Sequence[str] = (),
    rehash: str = "keep",
    tables: Mapping[str, Mapping[str, str]] | None = None,
    dry_run: bool = False,
    shard: str | None = None,
    ledger: Input | None = None,
    overwrite: bool = False,
    outputs: Iterable[Input] = (),
    options: Options | None = None,
    show: Callable[[Outcome], None] | None = None,
    progress: bool = False,
) -> ChangedRuns:
    """Write runs in another version into a datastore below the folder `to`.

    `inputs` and `aggregate` are those of `check`; sources are never changed. The values from
    `collection` to `tables` are those of the command line: `developer` has texts ID=DEV,
    `deployment` is TYPE/AVAILABILITY, `eval_library` NAME@VERSION, `decide` has names of decisions,
    and `tables` is what a file for `--map` holds. With `dry_run` nothing is written to `to`.
    `shard` migrates one of several parts of the runs. `ledger` is a file that remembers what was
    migrated: runs that have not changed since are not read again; with `overwrite` it may replace
    any other file. `outputs` are files that the
    caller writes meanwhile, such as a report; no input may be one of them. `options` sets workers
    and limits. Outcomes go to `show` as they come; without it they are kept.

    Raises UsageError for a call that makes no sense, and CannotWrite where `to` cannot be written.
    What cannot be migrated or read is among the outcomes.
    """
    values: dict[str, Any] = {
        "collection": collection,
        "developer": split_entries(developer),
        "deployment": deployment,
        "eval_library": eval_library,
        "fill": fill,
        "decide": split_entries(decide),
        "rehash": rehash,
        "tables": tables or {},
    }
    migrator = main_format().migrator(to_version, values)
    folder = require_path(to, "the target")
    if is_remote(folder):
        raise UsageError("--to is a folder on this machine, not a URL")
    if os.path.exists(folder) and not os.path.isdir(folder):
        raise UsageError(f"{folder} is not a folder")
    chosen = kept_options(options)
    names = require_paths(inputs)
    beside = optional_path(aggregate, "the aggregate")
    written = Outputs(
        [*ledger_files(None if ledger is None else os.fspath(ledger)), *_paths(outputs)]
    )
    found_all = _changeable(find_all(names, beside, None, chosen))
    found = without_overlap(found_all, written, chosen.routing)
    part = None if shard is None else parse_shard(shard)
    runs = ChangedRuns()
    take = runs.outcomes.append if show is None else show
    placed = None if dry_run else folder
    with (
        closing(RunPlan(found, part)) as plan,
        Progress(shown=progress) as bar,
        _stage(placed) as staging,
        ExitStack() as stack,
    ):
        shown = replace(chosen, max_findings=MOST_FINDINGS)
        job = MigrationJob(migrator, folder, not dry_run, staging, shown, bar)
        memory = None
        if ledger is not None and placed is not None:
            settings = [to_version, os.path.abspath(placed), values]
            book = MigrationLedger(os.fspath(ledger), settings, overwrite=overwrite)
            memory = stack.enter_context(closing(book))
        for planned in plan.in_order():
            take(_migrate_run(planned.found, job, memory))
    return runs


def _stage(folder: str | None) -> Staging:
    """Make a folder for runs that are not complete, below a folder or not. Raises CannotWrite."""
    with writing(folder or tempfile.gettempdir()):
        return Staging(folder)


def _migrate_run(
    found: Run | NoInput, job: MigrationJob, memory: MigrationLedger | None
) -> Outcome:
    """Migrate a run, unless a ledger remembers that it was migrated and has not changed."""
    if memory is None or isinstance(found, NoInput):
        return migrate_any(found, job)
    try:
        state = memory.state(found)
        outcome = memory.find(found, state)
        if outcome is None:
            outcome = migrate_any(found, job)
            memory.record(state, outcome)
    except BaseException as error:  # noqa: BLE001 - whatever is wrong with this run
        outcome = new_outcome(found)
        outcome.leave_unread(str(internal_error(error)))
    return outcome


def fix(
    inputs: Input | Iterable[Input],
    *,
    aggregate: Input | None = None,
    write: bool = False,
    to: Input | None = None,
    select: str | Sequence[str] = (),
    unsafe: bool = False,
    outputs: Iterable[Input] = (),
    options: Options | None = None,
    show: Callable[[Outcome], None] | None = None,
    progress: bool = False,
) -> ChangedRuns:
    """Repair rows and aggregates where one repair is safe, and seal them again.

    `inputs` and `aggregate` are those of `check`. Nothing is written unless `write` is set, which
    replaces the files, or a folder `to` is given, which gets the repaired files by their paths
    below the folder that all inputs share. `select` limits the repairs to rules, by code, prefix or
    name; `unsafe` adds repairs that replace what the data says. `outputs` are files that the caller
    writes meanwhile; no input may be one of them. `options` sets workers and limits. Outcomes go to
    `show` as they come; without it they are kept.

    Raises UsageError for a call that makes no sense, and CannotWrite.
    """
    if write and to is not None:
        raise UsageError("--write and --to exclude each other")
    names = list(require_paths(inputs))
    folder = None if to is None else os.path.abspath(os.fspath(to))
    chosen = kept_options(options)
    beside = optional_path(aggregate, "the aggregate")
    runs = ChangedRuns()
    take = runs.outcomes.append if show is None else show
    with (
        Progress(shown=progress) as bar,
        FixJob(
            choose_repairs(select, unsafe=unsafe),
            write or folder is not None,
            folder,
            _common_root(names if beside is None else [*names, beside]),
            replace(chosen, max_findings=MOST_FINDINGS),
            bar,
        ) as job,
    ):
        written = Outputs(_paths(outputs))
        found_all = _changeable(find_all(names, beside, None, chosen))
        with closing(RunPlan(without_overlap(found_all, written, chosen.routing))) as plan:
            job.note_shared(planned.found for planned in plan.in_order())
            for planned in plan.in_order():
                take(fix_any(planned.found, job))
    return runs


def choose_repairs(select: str | Sequence[str], *, unsafe: bool) -> frozenset[str]:
    """Return the codes of the rules whose findings are mended. Raises UsageError."""
    safe, others = main_format().repairs
    codes = frozenset(safe | others if unsafe else safe)
    if not select:
        return codes
    wanted = CATALOGUE.expand_codes(split_codes(select))
    chosen = frozenset(code for code in codes if code.startswith(wanted))
    if not chosen and (left := sorted(code for code in others if code.startswith(wanted))):
        raise UsageError(f"the repair of {', '.join(left)} is unsafe: it needs --unsafe")
    if not chosen:
        known = ", ".join(sorted(codes))
        hint = "" if unsafe else "; --unsafe adds others"
        raise UsageError(f"--select names no rule with a repair; these have one: {known}{hint}")
    return chosen


def _changeable(found: Iterable[Run | NoInput]) -> Iterator[Run | NoInput]:
    """Pass on runs and what may hold data; a README and its likes need no change."""
    return (one for one in found if not isinstance(one, Unrecognised) or one.leaves_open)


def _paths(given: Iterable[Input]) -> Iterator[str]:
    return (os.fspath(one) for one in given)


def _common_root(names: Sequence[str]) -> str:
    """Return the folder that all inputs share: a folder that is named, or that of a file."""
    local = [name for name in names if not is_remote(name)]
    paths = [os.path.abspath(literal_folder(name) if is_pattern(name) else name) for name in local]
    folders = [path if os.path.isdir(path) else os.path.dirname(path) for path in paths]
    return os.path.commonpath(folders) if folders else os.getcwd()

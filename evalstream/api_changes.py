"""The Python API of what changes runs: migrate."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from typing import Any, Final

from evalstream.batch.plan import RunPlan
from evalstream.batch.rewriting.migrate import MigrationJob, migrate_any
from evalstream.batch.rewriting.outcome import Outcome
from evalstream.batch.rewriting.staging import Staging
from evalstream.batch.shards import shard_of
from evalstream.discovery.inputs import find_all
from evalstream.formats.registry import main_format
from evalstream.io.progress import Progress
from evalstream.io.remote import is_remote
from evalstream.model.data_class import DataClass, field, replace
from evalstream.model.errors import UsageError
from evalstream.model.exit_codes import ExitCode
from evalstream.model.options import Options

Input = str | os.PathLike[str]

NEWEST: Final = "0.3.0"


class ChangedRuns(DataClass):
    """What became of the runs of a call, in the order of the inputs."""

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
    developer: Sequence[str] = (),
    deployment: str | None = None,
    eval_library: str | None = None,
    fill: bool = False,
    decide: Sequence[str] = (),
    rehash: str = "keep",
    tables: Mapping[str, Mapping[str, str]] | None = None,
    dry_run: bool = False,
    shard: str | None = None,
    options: Options | None = None,
    show: Callable[[Outcome], None] | None = None,
    progress: bool = False,
) -> ChangedRuns:
    """Write runs in another version into a datastore below the folder `to`.

    `inputs` and `aggregate` are those of `check`; sources are never changed. The values from
    `collection` to `tables` are those of the command line: `developer` has texts ID=DEV,
    `deployment` is TYPE/AVAILABILITY, `eval_library` NAME@VERSION, `decide` has names of decisions,
    and `tables` is what a file for `--map` holds. With `dry_run` nothing is written to `to`.
    `shard` migrates one of several parts of the runs. `options` sets workers and limits. Outcomes
    go to `show` as they come; without it they are kept.

    Raises UsageError for a call that makes no sense, and CannotWrite where `to` cannot be written.
    What cannot be migrated or read is among the outcomes.
    """
    values: dict[str, Any] = {
        "collection": collection,
        "developer": developer,
        "deployment": deployment,
        "eval_library": eval_library,
        "fill": fill,
        "decide": decide,
        "rehash": rehash,
        "tables": tables or {},
    }
    migrator = main_format().migrator(to_version, values)
    folder = os.fspath(to)
    if is_remote(folder):
        raise UsageError("--to is a folder on this machine, not a URL")
    if os.path.exists(folder) and not os.path.isdir(folder):
        raise UsageError(f"{folder} is not a folder")
    chosen = replace(options or Options(), max_findings=0)
    names = [inputs] if isinstance(inputs, (str, os.PathLike)) else inputs
    beside = None if aggregate is None else os.fspath(aggregate)
    found = find_all((os.fspath(name) for name in names), beside, None, chosen)
    part = None if shard is None else shard_of(shard)
    runs = ChangedRuns()
    take = runs.outcomes.append if show is None else show
    placed = None if dry_run else folder
    with (
        closing(RunPlan(found, part)) as plan,
        Progress(shown=progress) as bar,
        Staging(placed) as staging,
    ):
        job = MigrationJob(migrator, placed, staging, chosen, bar)
        for planned in plan.in_order():
            take(migrate_any(planned.found, job))
    return runs

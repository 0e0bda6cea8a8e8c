"""The command `migrate`."""

# The annotations are objects, not text, as they are read when the module is imported.

import sys
from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any, Final

from evalstream.cli.command import command
from evalstream.cli.options import (
    WORK_LIMITS,
    FilesFrom,
    ForceReport,
    Inputs,
    PairedAggregate,
    ShowProgress,
    named_inputs,
)
from evalstream.cli.terminal import announce_terminal
from evalstream.formats.registry import main_format
from evalstream.io.overwriting import STDOUT, ledger_files, refuse_overwriting
from evalstream.model.errors import UsageError, describe_error
from evalstream.model.option_fields import Group, OptionText
from evalstream.model.options import Options

TARGETS: Final = tuple(main_format().migration_targets)
TO: Final = OptionText("The folder around data/ of the datastore to write.", metavar="DIR")


@command(
    lambda option: option in WORK_LIMITS,
    examples=(
        "evalstream migrate old/ --to new/ --collection tiny-arithmetic --dry-run --diff",
        "evalstream migrate old/ --to new/ --fill --decide evaluation-id",
    ),
)
def migrate(
    *,
    options: Options,
    inputs: Inputs = None,
    to: Annotated[str, TO],
    to_version: Annotated[
        str, OptionText("The version to write.", metavar="VERSION", choices=TARGETS)
    ] = TARGETS[-1],
    aggregate: PairedAggregate = None,
    files_from: FilesFrom = None,
    collection: Annotated[
        str | None,
        OptionText("The collection of runs whose path does not show it.", Group.VALUES, "NAME"),
    ] = None,
    developer: Annotated[
        tuple[str, ...],
        OptionText("The developer of a model whose id does not name it.", Group.VALUES, "ID=DEV"),
    ] = (),
    deployment: Annotated[
        str | None,
        OptionText(
            "How the models ran, and whether their weights are open, where a run does not say it.",
            Group.VALUES,
            "TYPE/AVAILABILITY",
        ),
    ] = None,
    eval_library: Annotated[
        str | None,
        OptionText("The harness of runs that do not name theirs.", Group.VALUES, "NAME@VERSION"),
    ] = None,
    map_file: Annotated[
        str | None,
        OptionText(
            "A TOML file with such values by pattern of model, path or evaluation.",
            Group.VALUES,
            "FILE",
            flags=("--map",),
        ),
    ] = None,
    fill: Annotated[
        bool, OptionText("Write unknown for what is not supplied.", Group.VALUES)
    ] = False,
    decide: Annotated[
        tuple[str, ...],
        OptionText(
            "Changes that replace or move what a source says: evaluation-id, result-id, "
            "transcript, output, inline-scores, or all.",
            Group.VALUES,
            "NAMES",
        ),
    ] = (),
    rehash: Annotated[
        str,
        OptionText(
            "Keep each sample_hash, or compute it by the recipe json-list.",
            Group.VALUES,
            choices=("keep", "json-list"),
        ),
    ] = "keep",
    ledger: Annotated[
        str | None,
        OptionText(
            "Remember in this file what was migrated, and skip unchanged runs.",
            Group.EXECUTION,
            "FILE",
        ),
    ] = None,
    shard: Annotated[
        str | None,
        OptionText(
            "Migrate one part of the runs: 3/100, slurm/100 or slurm.", Group.EXECUTION, "N/OF"
        ),
    ] = None,
    dry_run: Annotated[
        bool, OptionText("Do everything but write to the folder.", Group.REPORT)
    ] = False,
    diff: Annotated[
        bool, OptionText("Show one example of each kind of change.", Group.REPORT)
    ] = False,
    report: Annotated[
        str | None,
        OptionText(
            "Write what became of each run to this file, as JSON lines.", Group.REPORT, "FILE"
        ),
    ] = None,
    force: ForceReport = False,
    progress: ShowProgress = None,
) -> None:
    """Convert runs to a newer version, write them into a datastore, and check the result.

    The sources stay as they are, and numbers keep their digits. migrate makes mechanical changes
    itself. You supply what a source does not have, or let --fill fill it in, and decide how its
    values are replaced. A run that fails its check is not written. Exit codes: 0 every run was
    written, or was there and does not fail; 1 some were refused; 2 wrong usage; 3 some could not be
    read.
    """
    from evalstream.api.changes import migrate as run_migration
    from evalstream.batch.rewriting.change_report import MIGRATED, ChangeReport
    from evalstream.cli.change_output import run_changes

    announce_terminal("rows", *(inputs or []))
    written = [STDOUT, *ledger_files(ledger), *([] if report is None else [report])]
    refuse_overwriting(written, [name for name in (*(inputs or []), files_from, map_file) if name])
    summary = ChangeReport(MIGRATED, is_dry=dry_run, diff=diff, show_values=options.show_values)
    missing = "no input given; evalstream migrate old/ --to new/ migrates a folder"
    call = partial(
        run_migration,
        named_inputs(inputs, files_from, missing),
        to,
        to_version=to_version,
        aggregate=aggregate,
        collection=collection,
        developer=developer,
        deployment=deployment,
        eval_library=eval_library,
        fill=fill,
        decide=decide,
        rehash=rehash,
        tables=None if map_file is None else _tables(map_file),
        dry_run=dry_run,
        shard=shard,
        ledger=ledger,
        overwrite=force,
    )
    run_changes(call, summary, report, options, force=force, progress=progress)
    sys.exit(int(summary.exit_code))


def _tables(path: str) -> Mapping[str, Any]:
    """Read a TOML file. Raises UsageError."""
    import tomllib

    try:
        with open(path, "rb") as file:
            return tomllib.load(file)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: not valid TOML: {error}") from error
    except OSError as error:
        raise UsageError(f"{path}: {describe_error(error)}") from error

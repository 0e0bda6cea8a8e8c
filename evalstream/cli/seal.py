"""The command that seals rows: `seal`."""

import sys
from functools import partial
from typing import Annotated

import typer

from evalstream.api import check as run_check
from evalstream.cli.app import command_group
from evalstream.cli.options import (
    Create,
    ExpectRows,
    ExpectSamples,
    FailOn,
    FailOnSeverity,
    FilePath,
    Format,
    Ignore,
    Jobs,
    MaxFindings,
    NoValues,
    Profile,
    Recipe,
    ReportFile,
    ReportFormat,
    Rows,
    SchemaVersion,
    Select,
    ShowProgress,
    Strict,
    Tee,
    codes_of,
)
from evalstream.cli.output import Target, report_of
from evalstream.model.finding import Severity
from evalstream.model.options import Options, RowRouting

DEFAULTS = Options()

commands = command_group()


@commands.command()
def seal(
    rows: Rows,
    aggregate: Annotated[
        str, typer.Option(metavar="FILE", help="The aggregate that is to seal the rows.")
    ],
    force: Annotated[
        bool,
        typer.Option(
            "--force",
            help="Seal rows that are faulty or do not cover what is claimed, too, and write the "
            "report over a file that evalstream did not write.",
        ),
    ] = False,
    create: Create = False,
    expect_rows: ExpectRows = None,
    expect_samples: ExpectSamples = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would change, and change nothing.")
    ] = False,
    tee: Tee = None,
    file_path: FilePath = None,
    schema_version: SchemaVersion = DEFAULTS.schema_version,
    recipe: Recipe = DEFAULTS.recipe,
    select: Select = None,
    ignore: Ignore = None,
    profile: Profile = DEFAULTS.profile,
    strict: Strict = False,
    fail_on: FailOnSeverity = FailOn.error,
    format_: ReportFormat = Format.text,
    output: ReportFile = None,
    max_findings: MaxFindings = DEFAULTS.max_findings,
    no_values: NoValues = False,
    jobs: Jobs = DEFAULTS.jobs,
    progress: ShowProgress = None,
) -> None:
    """Write into an aggregate what a check verifies: format, path, algorithm, checksum, rows.

    The rows are checked first, against the aggregate as it will be. Faulty rows are not sealed,
    nor are rows that do not cover what the aggregate claims already: num_samples, sample_ids, a
    larger total_rows. Every other byte of the aggregate stays as it is, and it is replaced whole
    or not at all. Exit codes are those of check; without a seal it is never 0.
    """
    routing = RowRouting(
        seal_to=aggregate,
        force=force,
        dry_run=dry_run,
        tee=tee,
        file_path=file_path,
        create=create,
        expect_rows=expect_rows,
        expect_samples=expect_samples,
    )
    options = Options(
        select=codes_of(select),
        ignore=codes_of(ignore),
        profile=profile,
        strict=strict,
        fail_on=Severity[fail_on.name.upper()],
        jobs=jobs,
        schema_version=schema_version,
        recipe=recipe,
        max_findings=max_findings,
        show_values=not no_values,
        routing=routing,
    )
    shown = sys.stderr.isatty() if progress is None else progress
    target = Target(format_, output, force=force)
    call = partial(
        run_check,
        [rows],
        aggregate=aggregate,
        outputs=target.outputs(routing),
        options=options,
        progress=shown,
    )
    report_of(call, options, target, [rows])

"""The command that checks rows: `check`."""

# The annotations are objects here, not text: typer would evaluate each text four times.

import os
import sys
from collections.abc import Iterable
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Annotated

import typer

from evalstream.api import check as run_check
from evalstream.cli.app import command_group
from evalstream.cli.options import (
    Create,
    Executor,
    ExpectRows,
    ExpectSamples,
    FailOn,
    FailOnSeverity,
    FilePath,
    Format,
    Ignore,
    Inputs,
    Jobs,
    MaxDepth,
    MaxFindings,
    MaxLineBytes,
    NoValues,
    Passing,
    Profile,
    Recipe,
    ReportFile,
    SchemaVersion,
    Select,
    ShowProgress,
    Strict,
    Tee,
    codes_of,
)
from evalstream.cli.output import Target, report_of
from evalstream.engine.routing import SIDECAR
from evalstream.formats.registry import NAMES as FORMATS
from evalstream.io.overwriting import is_same_file
from evalstream.model.errors import UsageError
from evalstream.model.finding import Severity
from evalstream.model.options import Options, RowRouting
from evalstream.model.run import STDIN
from evalstream.parsing.json import fast
from evalstream.parsing.json_schema import compile_schema

DEFAULTS = Options()

commands = command_group()


@commands.command()
def check(
    inputs: Inputs = None,
    aggregate: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="The aggregate of the one rows file named; the benchmark of an evaluation "
            "(infereval), the output of a log (harpia), the folder of a document (evalguard).",
        ),
    ] = None,
    inputs_file: Annotated[
        str | None,
        typer.Option("--inputs", metavar="FILE", help="What was put into the evaluation (harpia)."),
    ] = None,
    files_from: Annotated[
        str | None,
        typer.Option(
            metavar="LIST", help="Inputs named in a file or on stdin (-), by lines or NUL bytes."
        ),
    ] = None,
    ledger: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Remember here what was checked, and skip what has not changed."
        ),
    ] = None,
    shard: Annotated[
        str | None,
        typer.Option(
            metavar="N/OF",
            help="Check one part of the runs, for evalstream merge: 3/100, slurm/100 or slurm.",
        ),
    ] = None,
    executor: Annotated[
        Executor, typer.Option(help="Who runs the work: this process, workers, or Dask.")
    ] = Executor.auto,
    dask_address: Annotated[
        str | None,
        typer.Option(metavar="URL", help="The scheduler of a Dask cluster; else a local one."),
    ] = None,
    dask_scheduler_file: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="The file that the Dask cluster's scheduler wrote."),
    ] = None,
    input_format: Annotated[
        str,
        typer.Option(help=f"The system whose files these are: auto, {', '.join(FORMATS)}."),
    ] = DEFAULTS.input_format,
    exclude: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATTERN",
            help="Leave out of searched folders what this matches, by path or name (repeatable).",
        ),
    ] = None,
    schema_version: SchemaVersion = DEFAULTS.schema_version,
    schema: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Judge rows by this JSON Schema instead of ours."),
    ] = None,
    recipe: Recipe = DEFAULTS.recipe,
    select: Select = None,
    ignore: Ignore = None,
    profile: Profile = DEFAULTS.profile,
    strict: Strict = False,
    fail_on: FailOnSeverity = FailOn.error,
    expect_rows: ExpectRows = None,
    expect_samples: ExpectSamples = None,
    format_: Annotated[
        Format | None, typer.Option("--format", help="How the report looks; text unless said.")
    ] = None,
    output: ReportFile = None,
    max_findings: MaxFindings = DEFAULTS.max_findings,
    no_values: NoValues = False,
    jobs: Jobs = DEFAULTS.jobs,
    engine: Annotated[
        str, typer.Option(help="The schema engine: auto, rust or portable.")
    ] = DEFAULTS.engine,
    max_line_bytes: MaxLineBytes = DEFAULTS.max_line_bytes,
    max_depth: MaxDepth = DEFAULTS.max_depth,
    memory_limit: Annotated[
        int,
        typer.Option(metavar="N", help="Bytes for the identities of rows; more go to disk."),
    ] = DEFAULTS.memory_limit,
    progress: ShowProgress = None,
    tee: Tee = None,
    pass_: Annotated[
        Passing | None,
        typer.Option(
            "--pass",
            help="Let rows through to stdout, all or only valid ones; the report goes to stderr.",
        ),
    ] = None,
    accepted: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write the rows without a fault here.")
    ] = None,
    rejected: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help=f"Write the other rows here, and what is wrong with them to FILE{SIDECAR}.",
        ),
    ] = None,
    skip_noise: Annotated[
        bool,
        typer.Option("--skip-noise", help="Step over lines that hold no row, and count them."),
    ] = False,
    noise: Annotated[
        str | None,
        typer.Option(
            metavar="REGEX", help="Step over faulty lines in which this is found, and count them."
        ),
    ] = None,
    seal_to: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Seal the rows in this aggregate at the end, if they are sound."
        ),
    ] = None,
    file_path: FilePath = None,
    create: Create = False,
    force: Annotated[
        bool,
        typer.Option(
            "--force",
            help="Write the report and the ledger over files that evalstream did not write, and "
            "the seal in spite of what speaks against it.",
        ),
    ] = False,
    follow: Annotated[
        bool, typer.Option("--follow", help="Read on while the file grows, with running counts.")
    ] = False,
    idle_timeout: Annotated[
        float,
        typer.Option(
            metavar="SECONDS", help="How long a followed file stands still before it is done."
        ),
    ] = DEFAULTS.routing.idle_timeout,
) -> None:
    """Check rows against their schema, their hashes, and what their aggregate claims.

    Exit codes: 0 sound, 1 findings, 2 wrong usage, 3 something could not be checked.
    """
    routing = RowRouting(
        tee=tee,
        passing=None if pass_ is None else pass_.name,
        accepted=accepted,
        rejected=rejected,
        seal_to=seal_to,
        file_path=file_path,
        create=create,
        force=force and seal_to is not None,
        expect_rows=expect_rows,
        expect_samples=expect_samples,
        follow=follow,
        idle_timeout=idle_timeout,
    )
    options = Options(
        select=codes_of(select),
        ignore=codes_of(ignore),
        profile=profile,
        input_format=input_format,
        exclude=tuple(exclude or ()),
        executor=executor.name,
        dask_address=dask_address,
        dask_scheduler_file=dask_scheduler_file,
        strict=strict,
        fail_on=Severity[fail_on.name.upper()],
        jobs=jobs,
        schema_version=schema_version,
        schema=None if schema is None else _schema_text(schema),
        recipe=recipe,
        engine=engine,
        max_findings=max_findings,
        show_values=not no_values,
        max_line_bytes=max_line_bytes,
        max_depth=max_depth,
        memory_limit=memory_limit,
        skip_noise=skip_noise,
        noise=noise,
        routing=routing,
    )
    shown = follow or sys.stderr.isatty() if progress is None else progress
    named = _named(inputs or [], files_from)
    if shard is not None and format_ not in (None, Format.jsonl):
        raise UsageError("what --shard writes is read by evalstream merge, which knows --format")
    target = Target(format_ or Format.text, output, is_part=shard is not None, force=force)
    call = partial(
        run_check,
        named,
        aggregate=aggregate,
        inputs_file=inputs_file,
        ledger=ledger,
        shard=shard,
        outputs=target.outputs(routing),
        overwrite=force,
        options=options,
        progress=shown,
    )
    only_read = _only_read(aggregate, seal_to)
    schema_file = None if schema is None else os.fspath(schema)
    read = (*(inputs or []), only_read, inputs_file, files_from, schema_file)
    report_of(call, options, target, read, ledger)


def _only_read(aggregate: str | None, sealed: str | None) -> str | None:
    """Return an aggregate that is not also the one that is sealed."""
    if aggregate is None or (sealed is not None and is_same_file(aggregate, sealed)):
        return None
    return aggregate


def _schema_text(path: Path) -> str:
    try:
        text = path.read_text(encoding="utf-8")
        compile_schema(fast(text.encode()), trusted=False)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise UsageError(f"{path}: no JSON: {error}") from error
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from error
    return text


def _named(inputs: list[str], files_from: str | None) -> Iterable[str]:
    """Return the inputs that were named on the command line, and those in a list."""
    if files_from is None:
        return inputs
    if files_from == STDIN and STDIN in inputs:
        raise UsageError("standard input is either a list of files or rows, not both")
    from evalstream.discovery.input_list import inputs_from

    return chain(inputs, inputs_from(files_from))

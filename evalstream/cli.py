"""The command line: read options, call the check, print, exit."""

from __future__ import annotations

import contextlib
import gc
import os
import sys
import traceback
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from evalstream._version import __version__
from evalstream.catalog import RULES
from evalstream.check import check as run_check
from evalstream.digest import RECIPES
from evalstream.errors import CannotCheck, CannotWrite, UsageError
from evalstream.formats import NAMES as FORMATS
from evalstream.formats.eee import INSTANCE_VERSIONS
from evalstream.model import Flow, Options, Reporter, Severity
from evalstream.outlets import SIDECAR, refuse_overwriting
from evalstream.output import Output
from evalstream.parsing import fast
from evalstream.profiles import PROFILES
from evalstream.reporters.github import GithubReporter
from evalstream.reporters.json import JsonReporter
from evalstream.reporters.jsonl import JsonLinesReporter
from evalstream.reporters.text import LiveTextReporter, TextReporter
from evalstream.salvage import REST, salvage, salvage_lines
from evalstream.schema import compile_schema
from evalstream.stopping import STOPPING, Stopped

DEFAULTS = Options()
USAGE, UNCHECKED, PIPE_CLOSED = 2, 3, 141


class Format(str, Enum):
    """The reporters, by the name under which the command line knows them."""

    text = "text"
    jsonl = "jsonl"
    json = "json"
    github = "github"


class FailOn(str, Enum):
    """The severities, by the words of reports."""

    error = "error"
    warning = "warning"
    info = "info"


class Passing(str, Enum):
    """Which rows go through to standard output."""

    all = "all"
    valid = "valid"


REPORTERS: dict[Format, type[Any]] = {
    Format.text: TextReporter,
    Format.jsonl: JsonLinesReporter,
    Format.json: JsonReporter,
    Format.github: GithubReporter,
}

app = typer.Typer(
    name="evalstream",
    help="The integrity gate for LLM-evaluation results.",
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


class _PipeClosed(BaseException):
    """Whoever read our output is gone; typer would take it for a fault of its own."""


def main() -> NoReturn:
    """Run the command line and exit with its code."""
    STOPPING.listen()
    try:
        app(standalone_mode=True)
    except UsageError as error:
        _stop(str(error), USAGE)
    except (CannotCheck, CannotWrite) as error:
        _stop(str(error), UNCHECKED)
    except Stopped as stopped:
        _stop(f"stopped by {stopped.name}; the check is not complete", 128 + stopped.signal)
    except _PipeClosed:
        # Whatever is still buffered has no reader; a second error on exit would show.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(PIPE_CLOSED)
    except OSError as error:
        _stop(f"{error.filename or 'the report'}: {error.strerror}", UNCHECKED)
    except Exception:  # noqa: BLE001 - a fault of ours must not look like a verdict
        traceback.print_exc()
        _stop("internal error; the check is not complete", UNCHECKED)
    sys.exit(0)


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.")] = False,
) -> None:
    """Check that evaluation results are whole, well formed and what their aggregate claims."""
    if version:
        typer.echo(f"evalstream {__version__}")
        raise typer.Exit


Inputs = Annotated[
    list[str],
    typer.Argument(
        metavar="INPUTS",
        help="Rows files (.jsonl, .ndjson, packed or not), aggregates (.json), folders, URLs, or - "
        "for stdin.",
    ),
]
Rows = Annotated[
    str,
    typer.Argument(metavar="ROWS", help="A rows file, packed or not, a URL, or - for stdin."),
]
SchemaVersion = Annotated[
    str,
    typer.Option(
        help=f"Judge all by this version, not the declared one: {', '.join(INSTANCE_VERSIONS)}."
    ),
]
Recipe = Annotated[
    str, typer.Option(help=f"The recipe of sample_hash, not detected: {', '.join(RECIPES)}.")
]
Select = Annotated[
    list[str] | None,
    typer.Option(metavar="CODES", help="Only these rules, by code or prefix (ES4,ES501)."),
]
Ignore = Annotated[list[str] | None, typer.Option(metavar="CODES", help="Not these rules.")]
Strict = Annotated[bool, typer.Option("--strict", help="Let warnings fail, too.")]
ReportFormat = Annotated[Format, typer.Option("--format", help="How the report looks.")]
ReportFile = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="Write the report here, whole or not at all; in a stream with --pass as it comes.",
    ),
]
MaxFindings = Annotated[
    int, typer.Option(metavar="N", help="Show at most N findings per code; 0 shows all.")
]
NoValues = Annotated[
    bool,
    typer.Option("--no-values", help="Show no values found in the data; keys and sample ids stay."),
]
Jobs = Annotated[int, typer.Option(metavar="N", help="Worker processes; 0 uses every core.")]
ShowProgress = Annotated[
    bool | None, typer.Option(help="Show a progress bar on stderr; by default on a terminal.")
]
MaxLineBytes = Annotated[
    int, typer.Option(metavar="N", help="The longest line that is looked at, in bytes.")
]
MaxDepth = Annotated[int, typer.Option(metavar="N", help="The deepest nesting that is looked at.")]
Tee = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="Copy every byte of the rows here, as it comes."),
]
FilePath = Annotated[
    str | None,
    typer.Option(metavar="PATH", help="What file_path is to say, not found out by itself."),
]


@app.command()
def check(
    inputs: Inputs,
    aggregate: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="The aggregate of the one rows file named."),
    ] = None,
    inputs_file: Annotated[
        str | None,
        typer.Option("--inputs", metavar="FILE", help="What was put into the evaluation (harpia)."),
    ] = None,
    format_name: Annotated[
        str,
        typer.Option(help=f"The system whose files these are: auto, {', '.join(FORMATS)}."),
    ] = DEFAULTS.format_name,
    schema_version: SchemaVersion = DEFAULTS.schema_version,
    schema: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Judge rows by this JSON Schema instead of ours."),
    ] = None,
    recipe: Recipe = DEFAULTS.recipe,
    select: Select = None,
    ignore: Ignore = None,
    profile: Annotated[
        str,
        typer.Option(help=f"What is demanded beyond the usual: {', '.join(PROFILES)}."),
    ] = DEFAULTS.profile,
    strict: Strict = False,
    fail_on: Annotated[
        FailOn, typer.Option(help="The severity from which on the check fails.")
    ] = FailOn.error,
    format_: ReportFormat = Format.text,
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
    follow: Annotated[
        bool, typer.Option("--follow", help="Read on while the file grows, with running counts.")
    ] = False,
    idle_timeout: Annotated[
        float,
        typer.Option(
            metavar="SECONDS", help="How long a followed file stands still before it is done."
        ),
    ] = DEFAULTS.flow.idle_timeout,
) -> None:
    """Check rows against their schema, their hashes, and what their aggregate claims.

    Exit codes: 0 sound, 1 findings, 2 wrong usage, 3 something could not be checked.
    """
    flow = Flow(
        tee=tee,
        passing=None if pass_ is None else pass_.name,
        accepted=accepted,
        rejected=rejected,
        seal_to=seal_to,
        file_path=file_path,
        follow=follow,
        idle_timeout=idle_timeout,
    )
    options = Options(
        select=_codes(select),
        ignore=_codes(ignore),
        profile=profile,
        format_name=format_name,
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
        flow=flow,
    )
    shown = follow or sys.stderr.isatty() if progress is None else progress
    _report(inputs, aggregate, options, format_, output, progress=shown, more=inputs_file)


@app.command()
def seal(
    rows: Rows,
    aggregate: Annotated[
        str, typer.Option(metavar="FILE", help="The aggregate that is to seal the rows.")
    ],
    force: Annotated[
        bool, typer.Option("--force", help="Seal faulty rows, too; the report still says so.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would change, and change nothing.")
    ] = False,
    tee: Tee = None,
    file_path: FilePath = None,
    schema_version: SchemaVersion = DEFAULTS.schema_version,
    recipe: Recipe = DEFAULTS.recipe,
    select: Select = None,
    ignore: Ignore = None,
    strict: Strict = False,
    format_: ReportFormat = Format.text,
    output: ReportFile = None,
    max_findings: MaxFindings = DEFAULTS.max_findings,
    no_values: NoValues = False,
    jobs: Jobs = DEFAULTS.jobs,
    progress: ShowProgress = None,
) -> None:
    """Write into an aggregate what a check verifies: format, path, algorithm, checksum, rows.

    The rows are checked first, against the aggregate as it will be. Every other byte of the
    aggregate stays as it is, and it is replaced whole or not at all. Exit codes are those of
    check.
    """
    options = Options(
        select=_codes(select),
        ignore=_codes(ignore),
        strict=strict,
        jobs=jobs,
        schema_version=schema_version,
        recipe=recipe,
        max_findings=max_findings,
        show_values=not no_values,
        flow=Flow(seal_to=aggregate, force=force, dry_run=dry_run, tee=tee, file_path=file_path),
    )
    shown = sys.stderr.isatty() if progress is None else progress
    _report([rows], aggregate, options, format_, output, progress=shown)


@app.command("salvage")
def salvage_(
    rows: Rows,
    to: Annotated[str, typer.Option(metavar="FILE", help="Write the whole rows here.")],
    rest: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help=f"Write everything else here, with its offsets; by default to the rows' {REST}.",
        ),
    ] = None,
    max_line_bytes: MaxLineBytes = DEFAULTS.max_line_bytes,
) -> None:
    """Save the whole rows of a torn file, byte for byte, and what is left of the others.

    The file itself is never changed. Exit codes: 0 nothing was lost, 1 something was, 3 the file
    could not be read to its end.
    """
    with _guarded():
        saved = salvage(rows, to, rest, max_line_bytes=max_line_bytes)
        for line in salvage_lines(saved, to, rest or to + REST):
            typer.echo(line)
    raise typer.Exit(saved.exit_code)


@app.command()
def rules(
    code: Annotated[str | None, typer.Argument(help="A code, or the beginning of some.")] = None,
) -> None:
    """List the rules, or explain one."""
    matching = [rule for rule in RULES.values() if rule.code.startswith((code or "").upper())]
    if not matching:
        raise UsageError(f"no rule has the code {code!r}; see: evalstream rules")
    with _guarded():
        for rule in matching:
            line = f"{rule.code}  {rule.severity.label:8}{rule.name:28}{rule.summary}"
            typer.echo(rule.explained() if rule.code == (code or "").upper() else line)


def _codes(given: list[str] | None) -> tuple[str, ...]:
    return tuple(code.strip() for text in given or () for code in text.split(",") if code.strip())


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


def _report(
    inputs: list[str],
    aggregate: str | None,
    options: Options,
    form: Format,
    output: str | None,
    *,
    progress: bool,
    more: str | None = None,
) -> NoReturn:
    """Check, report, and exit with the report's code."""
    if output is not None:
        flow = options.flow
        kept = (*inputs, aggregate, more, flow.tee, flow.accepted, flow.rejected)
        refuse_overwriting([output], [name for name in kept if name is not None])
    # Where rows take standard output, the report goes elsewhere, and comes as they do.
    live = options.flow.passing is not None
    standard = sys.stderr.buffer if live else None
    with _guarded(), Output(output, live=live, standard=standard) as target:
        reporter: Reporter = (
            LiveTextReporter(target) if live and form is Format.text else REPORTERS[form](target)
        )
        report = run_check(
            inputs,
            aggregate=aggregate,
            inputs_file=more,
            options=options,
            reporter=reporter,
            progress=progress,
        )
    if STOPPING.granted is not None:
        _stop("stopped by a signal; the verdict is partial", report.exit_code)
    # What is left needs no last look for garbage, which would take 0.02 s.
    gc.freeze()
    raise typer.Exit(report.exit_code)


@contextlib.contextmanager
def _guarded() -> Iterator[None]:
    """Let a closed pipe through typer, which would take it for its own."""
    try:
        yield
    except BrokenPipeError as error:
        raise _PipeClosed from error


def _stop(message: str, code: int) -> NoReturn:
    print(f"evalstream: {message}", file=sys.stderr)
    sys.exit(code)

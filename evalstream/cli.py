"""The command line: read options, call the check, print, exit."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import sys
import traceback
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from types import FrameType
from typing import Annotated, Any, NoReturn

import typer

from evalstream._version import __version__
from evalstream.catalog import RULES
from evalstream.check import check as run_check
from evalstream.digest import RECIPES
from evalstream.errors import CannotCheck, UsageError
from evalstream.formats.eee import INSTANCE_VERSIONS
from evalstream.model import Options, Reporter, Severity
from evalstream.output import Output
from evalstream.parsing import fast
from evalstream.profiles import PROFILES
from evalstream.reporters.github import GithubReporter
from evalstream.reporters.json import JsonReporter
from evalstream.reporters.jsonl import JsonLinesReporter
from evalstream.reporters.text import TextReporter
from evalstream.schema import compile_schema

DEFAULTS = Options()
USAGE, UNCHECKED, INTERRUPTED, PIPE_CLOSED, TERMINATED = 2, 3, 130, 141, 143


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


class _Stopped(BaseException):
    """Something from outside ended the check; typer would give it another exit code."""

    def __init__(self, code: int, reason: str = "") -> None:
        self.code, self.reason = code, reason


def main() -> NoReturn:
    """Run the command line and exit with its code."""
    signal.signal(signal.SIGTERM, _terminate)
    try:
        app(standalone_mode=True)
    except UsageError as error:
        _stop(str(error), USAGE)
    except CannotCheck as error:
        _stop(str(error), UNCHECKED)
    except _Stopped as stopped:
        if stopped.code == PIPE_CLOSED:
            # Whatever is still buffered has no reader; a second error on exit would show.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(PIPE_CLOSED)
        _stop(f"{stopped.reason}; the check is not complete", stopped.code)
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


@app.command()
def check(
    inputs: Annotated[
        list[str],
        typer.Argument(
            metavar="INPUTS",
            help="Rows files (.jsonl, .ndjson), aggregates (.json), folders, or - for stdin.",
        ),
    ],
    aggregate: Annotated[
        str | None, typer.Option(metavar="FILE", help="The aggregate of the one rows file named.")
    ] = None,
    schema_version: Annotated[
        str,
        typer.Option(
            help=f"Judge all by this version, not the declared one: {', '.join(INSTANCE_VERSIONS)}."
        ),
    ] = DEFAULTS.schema_version,
    schema: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Judge rows by this JSON Schema instead of ours."),
    ] = None,
    recipe: Annotated[
        str, typer.Option(help=f"The recipe of sample_hash, not detected: {', '.join(RECIPES)}.")
    ] = DEFAULTS.recipe,
    select: Annotated[
        list[str] | None,
        typer.Option(metavar="CODES", help="Only these rules, by code or prefix (ES4,ES501)."),
    ] = None,
    ignore: Annotated[
        list[str] | None, typer.Option(metavar="CODES", help="Not these rules.")
    ] = None,
    profile: Annotated[
        str,
        typer.Option(help=f"What is demanded beyond the usual: {', '.join(PROFILES)}."),
    ] = DEFAULTS.profile,
    strict: Annotated[bool, typer.Option("--strict", help="Let warnings fail, too.")] = False,
    fail_on: Annotated[
        FailOn, typer.Option(help="The severity from which on the check fails.")
    ] = FailOn.error,
    format_: Annotated[
        Format, typer.Option("--format", help="How the report looks.")
    ] = Format.text,
    output: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Write the report here, whole or not at all."),
    ] = None,
    max_findings: Annotated[
        int, typer.Option(metavar="N", help="Show at most N findings per code; 0 shows all.")
    ] = DEFAULTS.max_findings,
    no_values: Annotated[
        bool,
        typer.Option(
            "--no-values", help="Show no values found in the data; keys and sample ids stay."
        ),
    ] = False,
    jobs: Annotated[
        int, typer.Option(metavar="N", help="Worker processes; 0 uses every core.")
    ] = DEFAULTS.jobs,
    engine: Annotated[
        str, typer.Option(help="The schema engine: auto, rust or portable.")
    ] = DEFAULTS.engine,
    max_line_bytes: Annotated[
        int, typer.Option(metavar="N", help="The longest line that is looked at, in bytes.")
    ] = DEFAULTS.max_line_bytes,
    max_depth: Annotated[
        int, typer.Option(metavar="N", help="The deepest nesting that is looked at.")
    ] = DEFAULTS.max_depth,
    memory_limit: Annotated[
        int,
        typer.Option(metavar="N", help="Bytes for the identities of rows; more go to disk."),
    ] = DEFAULTS.memory_limit,
    progress: Annotated[
        bool | None, typer.Option(help="Show a progress bar on stderr; by default on a terminal.")
    ] = None,
) -> None:
    """Check rows against their schema, their hashes, and what their aggregate claims.

    Exit codes: 0 sound, 1 findings, 2 wrong usage, 3 something could not be checked.
    """
    options = Options(
        select=_codes(select),
        ignore=_codes(ignore),
        profile=profile,
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
    )
    shown = sys.stderr.isatty() if progress is None else progress
    with _guarded(), Output(output) as target:
        reporter: Reporter = REPORTERS[format_](target)
        report = run_check(
            inputs, aggregate=aggregate, options=options, reporter=reporter, progress=shown
        )
    # What is left needs no last look for garbage, which would take 0.02 s.
    gc.freeze()
    raise typer.Exit(report.exit_code)


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


@contextlib.contextmanager
def _guarded() -> Iterator[None]:
    """Let a closed pipe and an interrupt through typer, which would take them for its own."""
    try:
        yield
    except BrokenPipeError as error:
        raise _Stopped(PIPE_CLOSED) from error
    except KeyboardInterrupt as error:
        raise _Stopped(INTERRUPTED, "interrupted") from error


def _terminate(_number: int, _frame: FrameType | None) -> NoReturn:
    raise _Stopped(TERMINATED, "terminated")


def _stop(message: str, code: int) -> NoReturn:
    print(f"evalstream: {message}", file=sys.stderr)
    sys.exit(code)

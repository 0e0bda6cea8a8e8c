"""The options that several commands have, each written once."""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Any

import typer

from evalstream.formats.registry import main_format
from evalstream.reporters.github import GithubReporter
from evalstream.reporters.json import JsonReporter
from evalstream.reporters.jsonl import JsonLinesReporter
from evalstream.reporters.text import TextReporter
from evalstream.rules.profiles import PROFILES


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


class Executor(str, Enum):
    """Who runs the work, by the names of the modules that do."""

    auto = "auto"
    serial = "serial"
    pool = "pool"
    dask = "dask"


REPORTERS: dict[Format, type[Any]] = {
    Format.text: TextReporter,
    Format.jsonl: JsonLinesReporter,
    Format.json: JsonReporter,
    Format.github: GithubReporter,
}

Inputs = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="INPUTS",
        help="Rows files (.jsonl, .ndjson, .jsonlines, packed or not), aggregates (.json), "
        "folders, patterns, URLs, or - for stdin.",
    ),
]
Rows = Annotated[
    str,
    typer.Argument(metavar="ROWS", help="A rows file, packed or not, a URL, or - for stdin."),
]
SchemaVersion = Annotated[
    str,
    typer.Option(
        help="Judge all by this version, not the declared one: "
        f"{', '.join(main_format().judging_versions)}."
    ),
]
Recipe = Annotated[
    str,
    typer.Option(
        help=f"The recipe of sample_hash, not detected: {', '.join(main_format().recipes)}."
    ),
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
    typer.Option(
        "--no-values",
        help="Show no values found in the data; names, ids, figures and what was expected stay.",
    ),
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

Profile = Annotated[
    str, typer.Option(help=f"What is demanded beyond the usual: {', '.join(PROFILES)}.")
]
FailOnSeverity = Annotated[FailOn, typer.Option(help="The severity from which on the check fails.")]
Create = Annotated[
    bool, typer.Option("--create", help="Begin the aggregate if there is none to be sealed.")
]
ExpectRows = Annotated[
    int | None,
    typer.Option(metavar="N", help="Fail, and seal nothing, unless there are so many rows."),
]
ExpectSamples = Annotated[
    int | None,
    typer.Option(metavar="N", help="Fail, and seal nothing, unless rows score so many samples."),
]
ForceReport = Annotated[
    bool,
    typer.Option("--force", help="Write the report over a file that evalstream did not write."),
]


def codes_of(given: list[str] | None) -> tuple[str, ...]:
    """Return the codes that stand between commas."""
    return tuple(code.strip() for text in given or () for code in text.split(",") if code.strip())

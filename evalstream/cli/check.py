"""The command `check`."""

# The annotations are objects, not text, as they are read when the module is imported.

import sys
from collections.abc import Iterable
from itertools import chain
from typing import Annotated, Final

from evalstream.api.check_inputs import check_inputs
from evalstream.api.reports import FindingSink
from evalstream.cli.command import command
from evalstream.cli.options import FilesFrom, ForceReport, Inputs, ShowProgress
from evalstream.cli.output import Target, end_with, open_report, with_former_force
from evalstream.cli.terminal import announce_terminal
from evalstream.io.names import printable
from evalstream.io.overwriting import is_same_file
from evalstream.model.data_class import replace
from evalstream.model.errors import UsageError
from evalstream.model.option_fields import Group, OptionText
from evalstream.model.options import Options, RowRouting
from evalstream.model.run import STDIN
from evalstream.model.signals import STOPPING
from evalstream.reporters import ReportOptions
from evalstream.settings.options import read_schema_text
from evalstream.settings.resolve import LEDGER

STREAMING: Final = ("concise", "jsonl", "github")
"""The report formats that write each finding as it comes."""

PART_FORMAT: Final = "jsonl"
"""The only report format that goes with --shard, though it changes nothing."""


EXAMPLES: Final = (
    "evalstream check run.jsonl --aggregate aggregate.json",
    "evalstream check results/ --format json --output report.json",
    "cat run.jsonl | evalstream check - --aggregate aggregate.json",
)


@command(lambda option: option.checks, reports=True, examples=EXAMPLES)
def check(
    *,
    options: Options,
    reporting: ReportOptions,
    inputs: Inputs = None,
    aggregate: Annotated[
        str | None,
        OptionText(
            "The aggregate of the one rows file named; the benchmark of an evaluation "
            "(infereval), the output of a log (harpia), the folder of a document (evalguard).",
            Group.INPUT,
            "FILE",
        ),
    ] = None,
    inputs_file: Annotated[
        str | None,
        OptionText(
            "The input of the evaluation (harpia).", Group.INPUT, "FILE", former=("--inputs",)
        ),
    ] = None,
    files_from: FilesFrom = None,
    missing_ok: Annotated[
        bool, OptionText("Skip names of --files-from that are gone, and count them.", Group.INPUT)
    ] = False,
    ledger: Annotated[str | None, LEDGER] = None,
    shard: Annotated[
        str | None,
        OptionText(
            "Check one part of the runs, for evalstream merge: 3/100, slurm/100 or slurm.",
            Group.EXECUTION,
            "N/OF",
        ),
    ] = None,
    progress: ShowProgress = None,
    force: ForceReport = False,
) -> None:
    """Check rows against their schema, their hashes, and the claims of their aggregate.

    Exit codes: 0 no finding that fails, 1 findings, 2 wrong usage, 3 something could not be
    checked, whatever was found.
    """
    if not inputs and files_from is None:
        examples = "\n  ".join(EXAMPLES)
        raise UsageError(
            f"no input given; for example:\n  {examples}\nsee: evalstream check --help"
        )
    announce_terminal("rows", *(inputs or []))
    announce_terminal("names of inputs", files_from)
    schema_file = options.schema
    schema = None if schema_file is None else read_schema_text(schema_file)
    options = replace(options, schema=schema)
    target = Target(reporting, is_part=shard is not None, force=force)
    if options.routing.seal_to is not None:
        options = with_former_force(options, target)
    routing = options.routing
    if shard is not None and reporting.form not in (None, PART_FORMAT):
        raise UsageError("--format cannot be combined with --shard; give it to evalstream merge")
    if shard is not None and (reporting.verbose or reporting.statistics or reporting.min_severity):
        raise UsageError(
            "--shard cannot be combined with --verbose, --min-severity and --statistics; give them "
            "to evalstream merge"
        )
    if options.baseline is not None:
        _warn_of_options(options.baseline, options)
    named = _iterate_inputs(inputs or [], files_from, missing_ok=missing_ok)
    only_read = _only_read(aggregate, routing.seal_to)
    read = (*(inputs or []), only_read, inputs_file, files_from, schema_file)
    with open_report(options, target, read, ledger) as reporter:
        report = check_inputs(
            named,
            target.complete(options),
            FindingSink(reporter),
            aggregate=aggregate,
            inputs_file=inputs_file,
            ledger=ledger,
            shard=shard,
            outputs=target.outputs(routing),
            overwrite=force,
            progress=_shows_progress(target, routing) if progress is None else progress,
        )
        if options.write_baseline is not None and STOPPING.raised is None:
            name = printable(options.write_baseline)
            sys.stderr.write(f"evalstream: wrote {name}; check against it with --baseline {name}\n")
    end_with(report, options, target)


def _warn_of_options(baseline: str, options: Options) -> None:
    """Say on stderr if a baseline was written with other options. Raises UsageError."""
    from evalstream.batch.baseline.baseline_file import differing_options

    differing = differing_options(baseline, options)
    if differing:
        sys.stderr.write(
            f"evalstream: the baseline {printable(baseline)} was written with other options, which "
            f"decide which findings there are: {'; '.join(differing)}\n"
        )


def _shows_progress(target: Target, routing: RowRouting) -> bool:
    """Tell whether a bar is shown: on a terminal unless findings appear there as they come."""
    if routing.follow or not sys.stderr.isatty():
        return routing.follow
    is_live = routing.passing is not None
    findings = sys.stderr if is_live else sys.stdout
    comes_at_once = is_live or target.form in STREAMING
    return target.output is not None or not (comes_at_once and findings.isatty())


def _only_read(aggregate: str | None, sealed: str | None) -> str | None:
    """Return an aggregate unless it is also the one that is sealed."""
    if aggregate is None or (sealed is not None and is_same_file(aggregate, sealed)):
        return None
    return aggregate


def _iterate_inputs(
    inputs: list[str], files_from: str | None, *, missing_ok: bool
) -> Iterable[str]:
    if "" in inputs:
        raise UsageError(f"input {inputs.index('') + 1:,} is an empty text, not a path")
    if files_from is None:
        if missing_ok:
            raise UsageError("--missing-ok requires --files-from")
        return inputs
    if files_from == STDIN and STDIN in inputs:
        raise UsageError("standard input cannot be both a list of files and rows")
    from evalstream.discovery.input_list import inputs_from

    return chain(inputs, inputs_from(files_from, missing_ok=missing_ok))

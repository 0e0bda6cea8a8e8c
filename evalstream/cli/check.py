"""The command `check`."""

# The annotations are objects, not text, as they are read when the module is imported.

import sys
from collections.abc import Iterable
from functools import partial
from itertools import chain
from typing import Annotated, Final

from evalstream.api import check as run_check
from evalstream.api_options import schema_text_of
from evalstream.cli.command import command
from evalstream.cli.options import Inputs, ShowProgress
from evalstream.cli.output import Target, report_of
from evalstream.cli.terminal import announce_terminal
from evalstream.io.overwriting import is_same_file
from evalstream.model.data_class import replace
from evalstream.model.errors import UsageError
from evalstream.model.options import Group, Options, OptionText
from evalstream.model.run import STDIN
from evalstream.reporters.options import ReportOptions
from evalstream.settings.declared import LEDGER

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
    files_from: Annotated[
        str | None,
        OptionText(
            "A file, or - for stdin, that lists inputs, separated by newlines or NUL bytes.",
            Group.INPUT,
            "LIST",
        ),
    ] = None,
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
    force: Annotated[
        bool,
        OptionText(
            "Replace a report and a ledger that evalstream did not write, and seal rows that "
            "have errors or do not cover the claims.",
            Group.REPORT,
        ),
    ] = False,
) -> None:
    """Check rows against their schema, their hashes, and the claims of their aggregate.

    Exit codes: 0 no finding that fails, 1 findings, 2 wrong usage, 3 something could not be
    checked.
    """
    if not inputs and files_from is None:
        from evalstream.cli.help import how_to_begin

        raise how_to_begin("no input given; for example:", EXAMPLES, "evalstream check")
    announce_terminal("rows", *(inputs or []))
    announce_terminal("names of inputs", files_from)
    schema_file = options.schema
    routing = replace(options.routing, force=force and options.routing.seal_to is not None)
    schema = None if schema_file is None else schema_text_of(schema_file)
    options = replace(options, schema=schema, routing=routing)
    if shard is not None and reporting.form not in (None, PART_FORMAT):
        raise UsageError("--format cannot be combined with --shard; give it to evalstream merge")
    if shard is not None and (reporting.verbose or reporting.statistics or reporting.min_severity):
        raise UsageError(
            "--shard cannot be combined with --verbose, --min-severity and --statistics; give them "
            "to evalstream merge"
        )
    target = Target(reporting, is_part=shard is not None, force=force)
    call = partial(
        run_check,
        _named(inputs or [], files_from),
        aggregate=aggregate,
        inputs_file=inputs_file,
        ledger=ledger,
        shard=shard,
        outputs=target.outputs(routing),
        overwrite=force,
        options=target.complete(options),
        progress=routing.follow or sys.stderr.isatty() if progress is None else progress,
    )
    only_read = _only_read(aggregate, routing.seal_to)
    read = (*(inputs or []), only_read, inputs_file, files_from, schema_file)
    report_of(call, options, target, read, ledger)


def _only_read(aggregate: str | None, sealed: str | None) -> str | None:
    """Return an aggregate unless it is also the one that is sealed."""
    if aggregate is None or (sealed is not None and is_same_file(aggregate, sealed)):
        return None
    return aggregate


def _named(inputs: list[str], files_from: str | None) -> Iterable[str]:
    """Return the inputs that are named on the command line or in a list."""
    if files_from is None:
        return inputs
    if files_from == STDIN and STDIN in inputs:
        raise UsageError("standard input cannot be both a list of files and rows")
    from evalstream.discovery.input_list import inputs_from

    return chain(inputs, inputs_from(files_from))

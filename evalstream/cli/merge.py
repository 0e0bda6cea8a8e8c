"""The command that puts the parts of a batch together: `merge`."""

from functools import partial
from typing import Annotated

import typer

from evalstream.api import merge as merge_parts
from evalstream.cli.app import command_group
from evalstream.cli.options import ForceReport, Format, ReportFile, ReportFormat
from evalstream.cli.output import Target, report_of
from evalstream.model.options import Options

commands = command_group()


@commands.command()
def merge(
    parts: Annotated[
        list[str], typer.Argument(metavar="PARTS", help="What check --shard wrote, all of it.")
    ],
    format_: ReportFormat = Format.text,
    output: ReportFile = None,
    force: ForceReport = False,
) -> None:
    """Put the parts of a batch together to the report that one check would have written.

    A part that is missing, doubled, cut off or of another batch is named, and nothing is merged
    (exit code 3). Other exit codes are those of check.
    """
    target = Target(format_, output, force=force)
    report_of(partial(merge_parts, parts), Options(), target, parts)

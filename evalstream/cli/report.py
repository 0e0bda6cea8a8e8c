"""The command `report`."""

from typing import Annotated

from evalstream.api.check import read_report
from evalstream.cli.command import command
from evalstream.cli.options import ArgumentText, ForceReport
from evalstream.cli.output import Target, end_with, open_report
from evalstream.cli.terminal import announce_terminal
from evalstream.model.options import Options
from evalstream.model.run import STDIN
from evalstream.reporters import ReportOptions


@command(
    reports=True,
    examples=(
        "evalstream report findings.jsonl",
        "evalstream report report.json --format github",
        "evalstream report parts/*.jsonl --format json --output report.json",
    ),
)
def report(
    *,
    reporting: ReportOptions,
    files: Annotated[
        list[str],
        ArgumentText(
            "FILES",
            "A report in jsonl or json, - for stdin, or all files that check --shard wrote.",
        ),
    ],
    force: ForceReport = False,
) -> None:
    """Show a stored report in another format.

    The exit code is that of the check. If the report is truncated or damaged, the message names
    the line, and the exit code is 3.
    """
    announce_terminal("a report", *files)
    target = Target(reporting, force=force)
    with open_report(Options(), target, [one for one in files if one != STDIN]) as reporter:
        stored = read_report(files, reporter=reporter)
    end_with(stored, Options(), target)

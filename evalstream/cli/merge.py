"""The command `merge`."""

from typing import Annotated

from evalstream.api.check import merge as merge_parts
from evalstream.cli.command import command
from evalstream.cli.options import ArgumentText, ForceReport
from evalstream.cli.output import Target, end_with, open_report
from evalstream.model.options import Options
from evalstream.reporters import ReportOptions


@command(
    reports=True, examples=("evalstream merge parts/*.jsonl --format json --output report.json",)
)
def merge(
    *,
    reporting: ReportOptions,
    parts: Annotated[list[str], ArgumentText("PARTS", "All files that check --shard wrote.")],
    force: ForceReport = False,
) -> None:
    """Merge shard reports into one report.

    If a part is missing, repeated, cut off or of another batch, the message names it and nothing
    is merged (exit code 3). Other exit codes are those of check.
    """
    target = Target(reporting, force=force)
    with open_report(Options(), target, parts) as reporter:
        report = merge_parts(parts, reporter=reporter)
    end_with(report, Options(), target)

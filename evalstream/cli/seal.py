"""The command `seal`."""

import sys
from typing import Annotated

from evalstream.api.check import check as run_check
from evalstream.api.check import pair_to_seal, sealing
from evalstream.cli.command import command
from evalstream.cli.options import ForceReport, Rows, ShowProgress
from evalstream.cli.output import Target, end_with, open_report, with_former_force
from evalstream.cli.terminal import announce_terminal
from evalstream.model.option_fields import Group, OptionText
from evalstream.model.options import Options
from evalstream.reporters import VERDICT_OPTIONS, ReportOptions


@command(
    lambda option: option.seals,
    reports=True,
    without=VERDICT_OPTIONS,
    examples=(
        "evalstream seal run.jsonl",
        "evalstream seal run.jsonl --aggregate aggregate.json --dry-run",
        "evalstream seal config/",
    ),
)
def seal(
    *,
    options: Options,
    reporting: ReportOptions,
    rows: Rows,
    aggregate: Annotated[
        str | None,
        OptionText(
            "The aggregate to seal the rows in (default: the one that check pairs with them); for "
            "infereval the benchmark of the evaluation.",
            Group.SEAL,
            "FILE",
        ),
    ] = None,
    force: ForceReport = False,
    progress: ShowProgress = None,
) -> None:
    """Write the seal of checked rows into an aggregate: format, path, algorithm, checksum, rows.

    seal checks the rows first, against the aggregate with its seal. It refuses rows with errors,
    torn rows, rows that refute the claims of the aggregate or do not cover them, and rows that
    differ from a checksum that is already there. All other bytes of the aggregate stay, and the
    file is replaced completely or not at all. A folder of EvalGuard gets a manifest with the
    SHA-256 of each document, an evaluation of infereval the hash of its benchmark; neither needs
    an aggregate. Exit codes are those of check; without a seal the exit code is never 0.
    """
    announce_terminal("rows", rows)
    target = Target(reporting, force=force)
    rows, aggregate = pair_to_seal(rows, aggregate, options)
    options = sealing(with_former_force(options, target), rows, aggregate)
    routing = options.routing
    with open_report(options, target, [rows]) as reporter:
        report = run_check(
            [rows],
            aggregate=aggregate,
            outputs=target.outputs(routing),
            overwrite=force,
            options=target.complete(options),
            reporter=reporter,
            progress=sys.stderr.isatty() if progress is None else progress,
        )
    end_with(report, options, target)

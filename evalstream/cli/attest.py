"""The command `attest`."""

# The annotations are objects, not text, as they are read when the module is imported.

import sys
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

from evalstream.api.reports import Report
from evalstream.cli.command import command
from evalstream.cli.options import (
    WHOLE_CHECK,
    FilesFrom,
    ForceReport,
    Inputs,
    PairedAggregate,
    ShowProgress,
    named_inputs,
)
from evalstream.cli.output import Target, report_call
from evalstream.io.names import printable
from evalstream.model.errors import UsageError
from evalstream.model.options import Options, OptionText
from evalstream.model.text import count_noun, on_one_line
from evalstream.reporters.base import Reporter
from evalstream.reporters.options import VERDICT_OPTIONS, ReportOptions

MOST_REFUSALS = 5
"""How many runs without a statement are named."""


@command(
    lambda option: option in WHOLE_CHECK,
    reports=True,
    without=(*VERDICT_OPTIONS, "output"),
    examples=(
        "evalstream attest results/ --key key.pem -o results.intoto.jsonl",
        "evalstream check results/ --attestation results.intoto.jsonl --trust key.pub.pem",
    ),
)
def attest(
    *,
    options: Options,
    reporting: ReportOptions,
    inputs: Inputs = None,
    output: Annotated[
        str,
        OptionText("Write the statements to this file.", metavar="FILE", flags=("--output", "-o")),
    ],
    aggregate: PairedAggregate = None,
    files_from: FilesFrom = None,
    key: Annotated[
        str | None,
        OptionText("The private key of Ed25519 that signs, PEM or OpenSSH.", metavar="FILE"),
    ] = None,
    unsigned: Annotated[
        bool, OptionText("Write bare statements, for another program to sign.")
    ] = False,
    time: Annotated[
        str | None,
        OptionText(
            "The time in the statements (default: SOURCE_DATE_EPOCH, else now).", metavar="TIME"
        ),
    ] = None,
    allow_open: Annotated[
        bool, OptionText("Attest runs with claims that are open or rounded, too.")
    ] = False,
    force: ForceReport = False,
    progress: ShowProgress = None,
) -> None:
    """Check runs in full, and sign a statement about each that its bytes fit its claims.

    The statements are in-toto attestations, one on a line, in the order of the runs; check
    --attestation verifies them. Without a passed verdict and confirmed claims of every run
    nothing is written. Exit codes are those of check; 1 also where a passed run is refused.
    """
    from evalstream.api.attest import attest as run_attest

    if not inputs and files_from is None:
        raise UsageError(
            "no input given; for example: evalstream attest results/ --unsigned -o FILE"
        )
    target = Target(reporting, force=force)
    call = partial(
        run_attest,
        list(named_inputs(inputs or [], files_from)),
        output,
        key=key,
        unsigned=unsigned,
        time=time,
        allow_open=allow_open,
        aggregate=aggregate,
        outputs=target.outputs(options.routing),
        overwrite=force,
        options=target.complete(options),
        progress=sys.stderr.isatty() if progress is None else progress,
    )
    read = (*(inputs or []), aggregate, files_from, key)
    report_call(partial(_announce, call, output), options, target, read)


def _announce(call: Callable[..., Any], output: str, *, reporter: Reporter) -> Report:
    """Make the call, and say on stderr whether the file was written, and why not."""
    found = call(reporter=reporter)
    report: Report = found.report
    name = on_one_line(printable(output))
    if found.statements:
        statements = count_noun(found.statements, "statement")
        sys.stderr.write(f"evalstream: wrote {statements} to {name}\n")
        return report
    sys.stderr.write(f"evalstream: {name} was not written\n")
    for run, reason in list(found.refusals.items())[:MOST_REFUSALS]:
        sys.stderr.write(f"evalstream: {on_one_line(run)}: {reason}\n")
    more = len(found.refusals) - MOST_REFUSALS
    if more > 0:
        sys.stderr.write(f"evalstream: {count_noun(more, 'more run')} without a statement\n")
    report.exit_code = found.exit_code
    return report

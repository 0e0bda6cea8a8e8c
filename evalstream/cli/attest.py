"""The command `attest`."""

# The annotations are objects, not text, as they are read when the module is imported.

import sys
from collections.abc import Iterator
from functools import partial
from itertools import islice
from typing import Annotated, Any

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
from evalstream.cli.output import Target, report_outcome
from evalstream.io.names import printable
from evalstream.model.option_fields import OptionText
from evalstream.model.options import Options
from evalstream.model.text import count_noun
from evalstream.reporters import VERDICT_OPTIONS, ReportOptions

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
    store: Annotated[
        str | None,
        OptionText(
            "Say of each run whether the latest snapshot of this store lists it.", metavar="ROOT"
        ),
    ] = None,
    force: ForceReport = False,
    progress: ShowProgress = None,
) -> None:
    """Check runs in full, and sign a statement for each: these bytes fit these claims.

    The statements are in-toto attestations, one on a line, in the order of the runs; check
    --attestation verifies them. Without a passed verdict and confirmed claims of every run
    nothing is written. Exit codes are those of check; 1 also where a passed run is refused.
    """
    from evalstream.api.attest import attest as run_attest

    missing = "no input given; for example: evalstream attest results/ --unsigned -o FILE"
    target = Target(reporting, force=force)
    call = partial(
        run_attest,
        list(named_inputs(inputs, files_from, missing)),
        output,
        key=key,
        unsigned=unsigned,
        time=time,
        allow_open=allow_open,
        store=store,
        aggregate=aggregate,
        outputs=target.outputs(options.routing),
        overwrite=force,
        options=target.complete(options),
        progress=sys.stderr.isatty() if progress is None else progress,
    )
    read = (*(inputs or []), aggregate, files_from, key)
    report_outcome(call, partial(_describe, output), options, target, read)


def _describe(output: str, found: Any) -> Iterator[str]:
    if found.statements:
        yield f"wrote {count_noun(found.statements, 'statement')} to {printable(output)}"
        return
    yield f"{printable(output)} was not written"
    for run, reason in islice(found.refusals.items(), MOST_REFUSALS):
        yield f"{run}: {reason}"
    more = len(found.refusals) - MOST_REFUSALS
    if more > 0:
        yield f"{count_noun(more, 'more run')} without a statement"

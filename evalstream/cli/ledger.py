"""The command `ledger`."""

from typing import Annotated

from evalstream.batch.ledger.entries import DAMAGED, FORMS, entries, export_entries, wrote
from evalstream.cli.command import command
from evalstream.cli.options import ArgumentText, ForceReport
from evalstream.cli.terminal import guard_output
from evalstream.io.output import Output
from evalstream.io.overwriting import STDOUT, OutputKind, ledger_files, refuse_overwriting
from evalstream.model.option_fields import Group, OptionText
from evalstream.model.run_summary import VERDICTS
from evalstream.model.text import split_codes


@command(
    examples=(
        "evalstream ledger runs.ledger --verdict failed",
        "evalstream ledger runs.ledger --code ES4,checksum-mismatch --format csv",
    )
)
def ledger(
    *,
    file: Annotated[str, ArgumentText("FILE", "The ledger of earlier checks.")],
    verdict: Annotated[
        str | None, OptionText("Only runs with this verdict.", choices=(*VERDICTS, DAMAGED))
    ] = None,
    code: Annotated[
        tuple[str, ...],
        OptionText("Only runs with such findings, by code, prefix or name.", metavar="CODES"),
    ] = (),
    under: Annotated[
        str | None, OptionText("Only runs in or below this folder or URL.", metavar="FOLDER")
    ] = None,
    form: Annotated[
        str,
        OptionText("Output format.", Group.REPORT, choices=tuple(FORMS), flags=("--format", "-f")),
    ] = "text",
    output: Annotated[
        str | None,
        OptionText(
            "Write to this file, complete or not at all.", Group.REPORT, "FILE", ("--output", "-o")
        ),
    ] = None,
    force: ForceReport = False,
) -> None:
    """List the runs of a ledger, or export them as a table."""
    refuse_overwriting([STDOUT if output is None else output], ledger_files(file))
    kind = None if force else OutputKind("an export of a ledger", wrote)
    with guard_output(), Output(output, kind=kind) as target:
        export_entries(entries(file, verdict, split_codes(code), under), form, target)

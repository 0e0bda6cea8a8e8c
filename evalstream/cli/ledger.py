"""The command `ledger`."""

from typing import Annotated

import typer

from evalstream.batch.ledger.entries import DAMAGED, entries
from evalstream.batch.ledger.export import FORMS, export, wrote
from evalstream.cli.app import command_group
from evalstream.cli.command import codes_of
from evalstream.cli.program import guarded
from evalstream.cli.replaceable import refuse_foreign
from evalstream.io.output import Output
from evalstream.io.overwriting import STDOUT, journaled, refuse_overwriting
from evalstream.model.report import VERDICTS

commands = command_group()


@commands.command()
def ledger(
    file: Annotated[str, typer.Argument(metavar="FILE", help="The ledger of earlier checks.")],
    verdict: Annotated[
        str | None,
        typer.Option(help=f"Only runs with this verdict: {', '.join((*VERDICTS, DAMAGED))}."),
    ] = None,
    code: Annotated[
        list[str] | None,
        typer.Option(metavar="CODES", help="Only runs with such findings, by code or prefix."),
    ] = None,
    under: Annotated[
        str | None, typer.Option(metavar="FOLDER", help="Only runs in or below this folder.")
    ] = None,
    form: Annotated[
        str, typer.Option("--format", "-f", help=f"Output format: {', '.join(FORMS)}.")
    ] = "text",
    output: Annotated[
        str | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Write to this file, complete or not at all."
        ),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace an output file that evalstream did not write.")
    ] = False,
) -> None:
    """List the runs that a ledger remembers, filtered or all, or export them as a table."""
    refuse_overwriting([STDOUT if output is None else output], journaled(file))
    if output is not None and not force:
        refuse_foreign(output, wrote, "an export of a ledger")
    with guarded(), Output(output) as target:
        export(entries(file, verdict, codes_of(code), under), form, target)

"""The command that saves rows of a torn file: `salvage`."""

from __future__ import annotations

from typing import Annotated

import typer

from evalstream.cli.app import command_group, guarded
from evalstream.cli.options import MaxLineBytes, Rows
from evalstream.engine.salvage import REST, salvage, salvage_lines
from evalstream.io.overwriting import STDOUT, refuse_overwriting
from evalstream.model.options import Options

DEFAULTS = Options()

commands = command_group()


@commands.command("salvage")
def salvage_(
    rows: Rows,
    to: Annotated[str, typer.Option(metavar="FILE", help="Write the whole rows here.")],
    rest: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help=f"Write everything else here, with its offsets; by default to the rows' {REST}.",
        ),
    ] = None,
    max_line_bytes: MaxLineBytes = DEFAULTS.max_line_bytes,
) -> None:
    """Save the whole rows of a torn file, byte for byte, and what is left of the others.

    The file itself is never changed. Exit codes: 0 nothing was lost, 1 something was, 3 the file
    could not be read to its end.
    """
    refuse_overwriting([STDOUT], [rows])
    with guarded():
        saved = salvage(rows, to, rest, max_line_bytes=max_line_bytes)
        for line in salvage_lines(saved, to, rest or to + REST):
            typer.echo(line)
    raise typer.Exit(saved.exit_code)

"""The command `salvage`."""

from typing import Annotated

import typer

from evalstream.cli.app import command_group, guarded
from evalstream.cli.help import GroupedCommand
from evalstream.cli.options import Rows, with_options
from evalstream.engine.salvage import REST, salvage_lines
from evalstream.engine.salvage import salvage as salvage_rows
from evalstream.io.overwriting import STDOUT, refuse_overwriting
from evalstream.model.options import OPTIONS, Options

commands = command_group()


@commands.command(cls=GroupedCommand)
@with_options(lambda option: option is OPTIONS["max_line_bytes"].text)
def salvage(
    options: Options,
    rows: Rows,
    to: Annotated[str, typer.Option(metavar="FILE", help="Write the whole rows to this file.")],
    rest: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Write all other bytes to this file, with their offsets "
            f"(default: the name of the rows and {REST}).",
        ),
    ] = None,
) -> None:
    """Save the whole rows of a damaged file, byte for byte, and the rest in a second file.

    The input is never changed. Exit codes: 0 nothing was lost, 1 something was lost, 3 the file
    could not be read to its end.
    """
    refuse_overwriting([STDOUT], [rows])
    with guarded():
        saved = salvage_rows(rows, to, rest, max_line_bytes=options.max_line_bytes)
        for line in salvage_lines(saved, to, rest or to + REST):
            typer.echo(line)
    raise typer.Exit(saved.exit_code)

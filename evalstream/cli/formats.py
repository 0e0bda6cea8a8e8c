"""The command `formats`."""

import typer

from evalstream.cli.app import command_group
from evalstream.cli.program import guarded
from evalstream.formats.registry import FORMATS

commands = command_group()


@commands.command()
def formats() -> None:
    """List the known formats with their versions and documents."""
    with guarded():
        for name, one in FORMATS.items():
            typer.echo(f"{name:12}{one.title}")
            for version, documents in one.versions.items():
                typer.echo(f"  {version:12}{', '.join(documents)}")

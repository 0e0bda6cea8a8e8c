"""The command `formats`."""

from collections.abc import Iterator
from importlib import import_module
from typing import Any

import typer

from evalstream.cli.app import command_group, guarded
from evalstream.formats.registry import NAMES
from evalstream.parsing.json_schema import schema_documents

commands = command_group()


@commands.command()
def formats() -> None:
    """List the known formats with their versions and documents."""
    with guarded():
        for name in NAMES:
            module: Any = import_module(
                f"evalstream.formats.{name}.{'row_view' if name == 'eee' else 'documents'}"
            )
            typer.echo(f"{name:12}{module.TITLE}")
            for version, documents in _versions(name):
                typer.echo(f"  {version:12}{', '.join(documents)}")


def _versions(name: str) -> Iterator[tuple[str, list[str]]]:
    """Iterate over the versions of a format with their documents."""
    versions: dict[str, list[str]] = {}
    for document in schema_documents():
        of, version, kind = document.split("/")
        if of == name:
            versions.setdefault(version, []).append(kind)
    return iter(versions.items())
